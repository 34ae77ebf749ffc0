/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_DQ_H_
#define UCS_RCACHE_PRED_DQ_H_

#include "range.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/datastruct/list.h>

/** @file dq.h
 *
 * The deregistration queue, DQ for short (CF'11, sections 3.2 and 4.1), in
 * which uses that have ended are handed to the helper. It is a bounded ring.
 * When it is full, new entries overwrite the oldest, as in the paper. But no
 * region gets lost: if the last of its entries is overwritten, or that of its
 * last use, the region itself goes to a list. It knows its last use, so that only
 * uses before that are forgotten.
 *
 * All functions but the first two are called under the cache's lock, which the
 * end of a use holds anyway. Each takes a bounded number of steps. How entries are
 * added is in dq_use.h.
 */

struct ucs_rcache_pred_region;

/** A use that ended. */
typedef struct ucs_rcache_pred_dq_entry {
    struct ucs_rcache_pred_region *region;
    uint64_t                      generation; /**< Generation of the region at
                                                   the use: differs if the
                                                   region was recycled since */
    ucs_rcache_pred_time_t        begin;      /**< When the use began */
    ucs_rcache_pred_range_t       range;      /**< What was used */
    ucs_rcache_pred_context_t     context;
    unsigned                      access;     /**< Access that the use needed */
} ucs_rcache_pred_dq_entry_t;


/** Protected by the cache's lock. */
typedef struct ucs_rcache_pred_dq {
    ucs_rcache_pred_dq_entry_t *entries;
    uint64_t                   mask;    /**< Number of slots - 1 */
    uint64_t                   head;    /**< Number of entries pushed since the
                                             queue was emptied last */
    uint64_t                   tail;    /**< Number of entries popped or
                                             overwritten since then */
    uint64_t                   dropped; /**< Number of entries that were
                                             overwritten before they were
                                             popped */
    ucs_list_link_t            lost;    /**< Regions whose last entry, or that of
                                             their last use, was overwritten,
                                             linked through lost_link */
} ucs_rcache_pred_dq_t;


/** @param [in] size  Number of entries, a power of 2. */
ucs_status_t ucs_rcache_pred_dq_init(ucs_rcache_pred_dq_t *dq, unsigned size);

/** Free the memory of a queue. */
void ucs_rcache_pred_dq_cleanup(ucs_rcache_pred_dq_t *dq);

/** @return the entry that the next one overwrites; NULL: there is room for it. */
static inline const ucs_rcache_pred_dq_entry_t *
ucs_rcache_pred_dq_next_dropped(const ucs_rcache_pred_dq_t *dq)
{
    return ucs_likely(dq->head - dq->tail <= dq->mask) ?
           NULL : &dq->entries[dq->tail & dq->mask];
}

/** Take the oldest entry out. @return 0 if there is none. */
int ucs_rcache_pred_dq_pop(ucs_rcache_pred_dq_t *dq,
                           ucs_rcache_pred_dq_entry_t *entry);

/** Take out a region of which all entries were overwritten, the last use of
 *  which is yet to be looked at. @return NULL if there is none. */
struct ucs_rcache_pred_region *
ucs_rcache_pred_dq_pop_lost(ucs_rcache_pred_dq_t *dq);

/** Add a region to those whose entries were overwritten, or that of whose last use was, if
 *  it is none: the helper has to look at it, whether it has learned of its last use or
 *  not. */
void ucs_rcache_pred_dq_lose(ucs_rcache_pred_dq_t *dq,
                             struct ucs_rcache_pred_region *region);

/** @return whether there is neither an entry nor a lost region. */
static inline int ucs_rcache_pred_dq_is_empty(ucs_rcache_pred_dq_t *dq)
{
    return (dq->head == dq->tail) && ucs_list_is_empty(&dq->lost);
}

#endif
