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
 * Deregistration queue (CF'11, sections 3.2 and 4.1): uses that ended, on their
 * way to the helper. A bounded ring of any number of producers and one
 * consumer, in which new entries overwrite the oldest when it is full, as in
 * the paper; what was lost is counted, so that the helper can look for it.
 *
 * Progress: push and pop are wait-free.
 */

struct ucs_rcache_pred_region;

/** A use that ended. */
typedef struct ucs_rcache_pred_dq_entry {
    struct ucs_rcache_pred_region *region;
    uint64_t                      generation; /**< The region's, to tell a
                                                   recycled one */
    ucs_rcache_pred_time_t        begin;      /**< When the use began */
    uint64_t                      length;     /**< Of the use */
    ucs_rcache_pred_context_t     context;
} ucs_rcache_pred_dq_entry_t;


typedef struct ucs_rcache_pred_dq {
    ucs_rcache_pred_seqslot_t *slots;
    uint64_t                  mask;    /**< Number of slots - 1 */
    unsigned                  shift;   /**< log2 of the number of slots */
    /** Next ticket. Producers: atomic increment. On a line of its own. */
    _Atomic uint64_t          head UCS_V_ALIGNED(64);
    /** Next ticket to pop. Consumer only. */
    uint64_t                  tail UCS_V_ALIGNED(64);
    /** Entries overwritten before they were popped, or given up by their
     *  producer. Consumer only. */
    uint64_t                  dropped;
    /** Calls of pop that found the tail's entry not written. Consumer only. */
    unsigned                  waited;
} ucs_rcache_pred_dq_t;


/** @param [in] size  Entries, a power of 2. */
ucs_status_t ucs_rcache_pred_dq_init(ucs_rcache_pred_dq_t *dq, unsigned size);

void ucs_rcache_pred_dq_cleanup(ucs_rcache_pred_dq_t *dq);

/** Any thread. Never waits: overwrites the oldest entry of a full queue. */
void ucs_rcache_pred_dq_push(ucs_rcache_pred_dq_t *dq,
                             const ucs_rcache_pred_dq_entry_t *entry);

/**
 * Consumer only.
 * @return 0 if there is no complete entry. A producer that took its ticket but
 *         has not written yet holds back those behind it until it has.
 */
int ucs_rcache_pred_dq_pop(ucs_rcache_pred_dq_t *dq,
                           ucs_rcache_pred_dq_entry_t *entry);

/** Consumer only: whether there is a ticket that was not popped. */
static inline int ucs_rcache_pred_dq_is_empty(ucs_rcache_pred_dq_t *dq)
{
    /* Sequentially consistent: the helper looks here after it has said that it
     * sleeps; a producer takes its ticket before it asks whether it sleeps */
    return atomic_load(&dq->head) == dq->tail;
}

#endif
