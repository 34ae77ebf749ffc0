/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_MERGE_H_
#define UCS_RCACHE_PRED_HELPER_MERGE_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/merge.h
 *
 * Slices that overlap and were in use at a time have a registration each, and the
 * bytes in common are pinned twice (cache/slices.h), as is the page where slices touch
 * within 16 bytes. If they are given up, the next registration takes in those that
 * overlap it. If they are kept, all their uses are hits, and no use would ever merge
 * them: the helper does. */

/**
 * Register a region that is kept anew, with the memory of all that overlap or touch it,
 * and of all that overlap or touch these, if what is pinned twice is worth the time. Those
 * that are not in use are deregistered, the others at the end of their last use. Under
 * helper_mutex and without the lock.
 */
void pred_merge_kept(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/**
 * A region is given up that was registered. If it was merged, and a use of any part of it
 * begins before it was idle for so long that giving it up was worth what that costs, that use
 * registers all of it again if that is not much dearer, see pred_stands_for(): else each would
 * register a part anew, and they would overlap until they are merged again. After that, each
 * part is registered by itself. Under helper_mutex and the lock.
 */
void pred_merge_given_up(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_time_t now);

#endif
