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
    _Atomic(uint32_t)  sends[UCS_REUSE_NUM_CLASSES];

    /** When to look again at the costs, ns by the clock of who asks; UINT64_MAX: a thread
     *  does just now, which has what follows to itself. Acquire and release */
    _Atomic(uint64_t)  next;
    uint64_t          interval; /**< From the last look to the next one, ns */
    unsigned          looks;    /**< How many there were */
    ucs_reuse_costs_t costs;    /**< The least of all looks */
} uct_predreg_thresholds_t;


/** Whether this thread registers memory to see what that costs. Only the thread uses
 *  it. */
extern __thread int uct_predreg_is_measuring
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/**
 * Measure what small sends cost in a context. The memory is registered with UCP, by
 * memory domains that do not manage it meanwhile: it is in no count and no trace, and
 * is deregistered at once.
 *
 * @param [in]    table     Looking buffers up in it is measured; NULL: a lookup is taken
 *                          to cost UCT_PREDREG_MEASURE_LOOKUP_NSEC.
 * @param [in]    max_nsec  As that of uct_predreg_measure_params_t.
 * @param [inout] costs     The least of these and those found now.
 * @return as uct_predreg_measure(); UCS_OK if the costs are a guess.
 */
ucs_status_t
uct_predreg_thresholds_measure(const uct_predreg_real_t *real, ucp_context_h ucp,
                               const ucs_reuse_table_t *table, uint64_t max_nsec,
                               ucs_reuse_costs_t *costs);

/**
 * Measure the costs, which takes some milliseconds, and after how many sends a
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

/** In a forked child, where there is no other thread: nothing was told yet. */
void uct_predreg_thresholds_reset(void);

#endif
