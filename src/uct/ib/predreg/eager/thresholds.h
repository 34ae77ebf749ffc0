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

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** @file thresholds.h
 *
 * After how many sends a buffer of a context is registered, by what a
 * registration and a copy cost there.
 */

/** After how many sends a buffer of a context is hot. */
typedef struct uct_predreg_thresholds {
    /** By class of length; UCS_REUSE_NEVER. Relaxed: nothing is read by them */
    _Atomic uint32_t  sends[UCS_REUSE_NUM_CLASSES];

    /** When to look again at the costs, ns by the clock of who asks; UINT64_MAX: a thread
     *  does just now, which has what follows to itself. Acquire and release */
    _Atomic uint64_t  next;
    uint64_t          interval; /**< From the last look to the next one, ns */
    unsigned          looks;    /**< How many there were */
    ucs_reuse_costs_t costs;    /**< The least of all looks */
} uct_predreg_thresholds_t;


/** A memory domain that is managed was opened. The name counts in what the
 *  costs depend on. */
void uct_predreg_thresholds_add_domain(const char *name);

/**
 * Find the costs, which may take some milliseconds, and after how many sends a
 * buffer is registered by them. Registers memory with UCP.
 *
 * @param [in]  table       Of the context: looking buffers up in it is measured.
 * @param [out] thresholds  Filled in; no buffer becomes hot if the costs cannot be
 *                          found.
 */
void uct_predreg_thresholds_find(const uct_predreg_core_t *core,
                                 const uct_predreg_real_t *real,
                                 ucp_context_h ucp,
                                 const ucs_reuse_table_t *table,
                                 uct_predreg_thresholds_t *thresholds);

/**
 * Look again at the costs if it is time to: what was found at a busy start may be many
 * times as much as it takes. A look takes less than a millisecond, and there are the fewer,
 * the longer ago the start is. To be called where the program waits; any thread. Arguments
 * as above.
 *
 * @param [in] now  A clock that is the same in each call, ns; not 0.
 */
void uct_predreg_thresholds_look(const uct_predreg_core_t *core,
                                 const uct_predreg_real_t *real,
                                 ucp_context_h ucp,
                                 const ucs_reuse_table_t *table,
                                 uct_predreg_thresholds_t *thresholds,
                                 uint64_t now);

/** @return from which length on messages may gain, bytes; 0: none does. See
 *  uct_predreg_measure_gain_from(); the first call measures. */
size_t uct_predreg_thresholds_gain_from(void);

/** Say once that no length gains. Of a job, the first rank speaks for all. */
void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core);

/** In a forked child, where there is no other thread: forget the domains. */
void uct_predreg_thresholds_reset(void);

#endif
