/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_THRESHOLDS_H_
#define UCT_PREDREG_THRESHOLDS_H_

#include <ucs/reuse/costs.h>
#include <ucs/reuse/table.h>
#include <uct/ib/predreg/compat/real.h>
#include <uct/ib/predreg/core/types.h>

#include <ucp/api/ucp.h>

#include <stddef.h>
#include <stdint.h>

/** @file thresholds.h
 *
 * After how many sends a buffer of a context is registered, by what a
 * registration and a copy cost there.
 */

/** A memory domain that is managed was opened. The name counts in what the
 *  costs depend on. */
void uct_predreg_thresholds_add_domain(const char *name);

/**
 * Find the costs, which may take some milliseconds, and after how many sends a
 * buffer is registered by them. Registers memory with UCP.
 *
 * @param [in]  table  Of the context: looking buffers up in it is measured.
 * @param [out] sends  By class of length, as ucs_reuse_thresholds();
 *                     UCS_REUSE_NEVER for all, if the costs cannot be found.
 */
void uct_predreg_thresholds_find(const uct_predreg_core_t *core,
                                 const uct_predreg_real_t *real,
                                 ucp_context_h ucp,
                                 const ucs_reuse_table_t *table,
                                 uint32_t sends[UCS_REUSE_NUM_CLASSES]);

/** @return from which length on messages may gain, bytes; 0: none does. See
 *  uct_predreg_measure_gain_from(); the first call measures. */
size_t uct_predreg_thresholds_gain_from(void);

/** Say once that no length gains. Of a job, the first rank speaks for all. */
void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core);

/** In a forked child, where there is no other thread: forget the domains. */
void uct_predreg_thresholds_reset(void);

#endif
