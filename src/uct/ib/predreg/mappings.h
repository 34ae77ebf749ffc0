/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MAPPINGS_H_
#define UCT_PREDREG_MAPPINGS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/ib/predreg/core/types.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file mappings.h
 *
 * The program's large mappings, for the trace: what an arena serves, or could
 * have served if there had been one. start.c and process.c call these functions.
 */

/** Have memory that is mapped from now on recorded where there is a trace. The
 *  handler that asks for unmapped memory must have been set before. Once in a
 *  process. */
ucs_status_t uct_predreg_mappings_start(uct_predreg_core_t *core);

/** Memory is unmapped: record it if it is as long as a mapping that is recorded.
 *  In memory hooks. @return whether it was recorded. */
int uct_predreg_mappings_unmapped(uct_predreg_core_t *core, uintptr_t start,
                                  size_t length);

END_C_DECLS

#endif
