/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SNAPSHOT_H_
#define UCT_PREDREG_SNAPSHOT_H_

#include "types.h"

#include <ucs/rcache_pred/stats.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file snapshot.h
 *
 * A snapshot of all numbers that this process tells of itself. The live
 * counters, the summary and the trace ask for it. Any thread may take one.
 */

void uct_predreg_snapshot(uct_predreg_core_t *core,
                          ucs_rcache_pred_snapshot_t *snapshot);

END_C_DECLS

#endif
