/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_RECORD_H_
#define UCT_PREDREG_RECORD_H_

#include "knobs.h"
#include "types.h"

#include <ucs/rcache_pred/api/event.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file record.h
 *
 * The trace of this process, if there is to be one (UCX_RCACHE_PRED_TRACE).
 */

/** @return whether traces are asked for. */
int uct_predreg_is_traced(const uct_predreg_knobs_t *knobs);

/** Make the recorder, if a trace is asked for. If there is no memory for it, a
 *  warning is logged and nothing is recorded. To be called under core.lock,
 *  before the cache is made, which is given the recorder as its sink. */
void uct_predreg_record_create(uct_predreg_core_t *core);

/** Undo uct_predreg_record_create(), if the cache cannot be made. To be called
 *  under core.lock, before a domain is managed. */
void uct_predreg_record_destroy(uct_predreg_core_t *core);

/** @return the sink that hands the events of the cache to the recorder, or NULL
 *  if there is no recorder. */
const ucs_rcache_pred_sink_t *
uct_predreg_record_sink(uct_predreg_core_t *core);

/** Make the trace file, if there is a recorder and this was not called before.
 *  If the file cannot be made, a single warning is logged, and nothing is
 *  recorded. To be called under core.lock. */
void uct_predreg_record_begin(uct_predreg_core_t *core);

/** Record that a domain is managed or watched from now on, after having begun
 *  the trace. To be called under core.lock, before the domain is used. */
void uct_predreg_record_domain(uct_predreg_core_t *core, unsigned number,
                               const char *name);

/** Write all that is left, and the counters, into the trace before the process
 *  exits. */
void uct_predreg_record_finish(uct_predreg_core_t *core);

/** Forget the recorder in a forked child: the trace file is the parent's. */
void uct_predreg_record_reset(uct_predreg_core_t *core);

END_C_DECLS

#endif
