/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_DQ_H_
#define UCS_RCACHE_PRED_DQ_H_

#include <ucs/base/seqslot.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/compiler_def.h>

/** @file dq.h
 *
 * The deregistration queue, DQ for short (CF'11, sections 3.2 and 4.1), in
 * which uses that have ended are handed to the helper. It is a bounded ring
 * with any number of producers and one consumer. When it is full, new entries
 * overwrite the oldest, as in the paper. Lost entries are counted, so that the
 * helper knows when to look for their regions.
 *
 * Progress: push and pop are wait-free.
 */

struct ucs_rcache_pred_region;

/** A use that ended. */
typedef struct ucs_rcache_pred_dq_entry {
    struct ucs_rcache_pred_region *region;
    uint64_t                      generation; /**< Generation of the region at
                                                   the use: differs if the
                                                   region was recycled since */
    ucs_rcache_pred_time_t        begin;      /**< When the use began */
    uint64_t                      length;     /**< Length of the use */
    ucs_rcache_pred_context_t     context;
} ucs_rcache_pred_dq_entry_t;


typedef struct ucs_rcache_pred_dq {
    ucs_rcache_pred_seqslot_t *slots;
    uint64_t                  mask;    /**< Number of slots - 1 */
    unsigned                  shift;   /**< log2 of the number of slots */
    /** The next ticket. Producers increment it atomically. It has a cache line
     *  of its own. */
    _Atomic uint64_t          head UCS_V_ALIGNED(64);
    /** The next ticket to pop. Only the consumer uses it. */
    uint64_t                  tail UCS_V_ALIGNED(64);
    /** How many entries were overwritten before they were popped, or given up
     *  by their producers. Only the consumer uses it. */
    uint64_t                  dropped;
    /** How many calls of pop in a row have found the oldest entry not written.
     *  Only the consumer uses it. */
    unsigned                  waited;
} ucs_rcache_pred_dq_t;


/** @param [in] size  Number of entries, a power of 2. */
ucs_status_t ucs_rcache_pred_dq_init(ucs_rcache_pred_dq_t *dq, unsigned size);

/** Free the memory of a queue. */
void ucs_rcache_pred_dq_cleanup(ucs_rcache_pred_dq_t *dq);

/** Add an entry. If the queue is full, it overwrites the oldest one. Any thread
 *  may call this; it never waits. */
void ucs_rcache_pred_dq_push(ucs_rcache_pred_dq_t *dq,
                             const ucs_rcache_pred_dq_entry_t *entry);

/**
 * Take the oldest entry out. Only the consumer may call this.
 * @return 0 if there is no complete entry. An entry whose producer has taken
 *         its ticket but has not written it yet holds back the entries behind
 *         it.
 */
int ucs_rcache_pred_dq_pop(ucs_rcache_pred_dq_t *dq,
                           ucs_rcache_pred_dq_entry_t *entry);

/** @return whether all tickets that were taken have been popped. Only the
 *          consumer may call this. */
static inline int ucs_rcache_pred_dq_is_empty(ucs_rcache_pred_dq_t *dq)
{
    /* Sequentially consistent: the helper looks here after it has set asleep,
     * and a producer takes its ticket before it looks at asleep, so that one of
     * them sees what the other has done */
    return atomic_load(&dq->head) == dq->tail;
}

#endif
