/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_LEARN_H_
#define UCS_RCACHE_PRED_HELPER_LEARN_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/learn.h
 *
 * What the helper learns from a use that has ended. decide.c calls this.
 */


/** @return whether an entry of the DQ is still about its region, and the region is not
 *          stale. Under the lock. */
static inline int
pred_entry_is_current(const ucs_rcache_pred_dq_entry_t *entry)
{
    return (entry->region->generation == entry->generation) &&
           !entry->region->stale;
}

/**
 * Remember what memory and what access a use has needed, for the registration ahead of
 * the next one, and for the demand of the process. Called under helper_mutex and the
 * lock.
 *
 * @return whether to go on with @ref pred_region_learn; 0: the helper has learned of a
 *         later use already.
 */
int pred_region_learn_needs(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_dq_entry_t *entry);

/**
 * Add a use to the histories of its region, and count how wrong the prediction for it
 * was. Called under helper_mutex and without the lock.
 *
 * @return for which way of use there is a precedent now;
 *         0: for none. Other regions may wait for it.
 */
uint64_t pred_region_learn(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry);

/** Add to the statistics what pred_region_learn() and pred_region_follow() have counted.
 *  Called under helper_mutex and the lock. */
void pred_count_learned(ucs_rcache_pred_t *pred);

/** @return a region that has waited for this precedent, and does not any more;
 *          NULL if none does. Called as the former. */
ucs_rcache_pred_region_t *pred_region_next_waiting(ucs_rcache_pred_t *pred,
                                                   uint64_t way);

/** Predict the next use of a region, of which nothing is known, as it followed
 *  other uses like its last one, if any did. Called as the former. @return
 *  whether any did; else the region waits for that. */
int pred_region_follow(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region);

#endif
