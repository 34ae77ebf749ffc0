/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_DQ_USE_H_
#define UCS_RCACHE_PRED_DQ_USE_H_

#include "dq.h"
#include "region.h"

/** @file dq_use.h
 *
 * How entries are added to the DQ, which each end of a use does: hence without a
 * call. The functions take no lock: the caller holds the cache's, or is
 * in the lane of the region. */

/** Forget that entries of the region were overwritten, since the region is about
 *  to be freed, or its last use has an entry. Its other entries stay. */
static inline void ucs_rcache_pred_dq_forget(ucs_rcache_pred_region_t *region)
{
    if (ucs_unlikely(region->lost)) {
        region->lost = 0;
        ucs_list_del(&region->lost_link);
    }
}

/** Take the oldest entry out of the ring, and out of the count of its region.
 *  @return the entry, of a region that may have been freed since the use. */
static UCS_F_ALWAYS_INLINE const ucs_rcache_pred_dq_entry_t *
ucs_rcache_pred_dq_take_oldest(ucs_rcache_pred_dq_t *dq)
{
    const ucs_rcache_pred_dq_entry_t *entry = &dq->entries[dq->tail++ & dq->mask];

    if (ucs_likely(entry->region->generation == entry->generation)) {
        --entry->region->num_entries;
    }
    return entry;
}

/** Make room in a queue that is full: its oldest entry will be overwritten. Where
 *  nothing can be predicted, each use comes here.
 *
 * A region whose last use is dropped is lost even if it has other entries: they are
 * of earlier uses, and whoever looks at these waits for that of the last one. Entries
 * are not always in the order of the uses: a region may have some in several queues,
 * and uses in pieces end when they like. */
static UCS_F_ALWAYS_INLINE void
ucs_rcache_pred_dq_drop_oldest(ucs_rcache_pred_dq_t *dq)
{
    const ucs_rcache_pred_dq_entry_t *entry = ucs_rcache_pred_dq_take_oldest(dq);
    ucs_rcache_pred_region_t *region        = entry->region;

    ++dq->dropped;
    if (ucs_likely(region->generation == entry->generation) &&
        (ucs_unlikely(region->num_entries == 0) ||
         ucs_unlikely(entry->begin >= region->begin))) {
        ucs_rcache_pred_dq_lose(dq, region);
    }
}

/** Add an entry of a region to a queue. @return where to write it. */
static UCS_F_ALWAYS_INLINE ucs_rcache_pred_dq_entry_t *
ucs_rcache_pred_dq_add(ucs_rcache_pred_dq_t *dq,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_time_t begin)
{
    /* The entry of the last use tells as much as the region knows of it */
    if (ucs_likely(begin >= region->begin)) {
        ucs_rcache_pred_dq_forget(region);
    }

    /* Not later, since the oldest entry may be of the same region */
    ++region->num_entries;
    if (ucs_unlikely(dq->head - dq->tail > dq->mask)) {
        ucs_rcache_pred_dq_drop_oldest(dq);
    }

    return &dq->entries[dq->head++ & dq->mask];
}

/** Add an entry. If the queue is full, it overwrites the oldest one. */
static inline void ucs_rcache_pred_dq_push(ucs_rcache_pred_dq_t *dq,
                                           const ucs_rcache_pred_dq_entry_t *entry)
{
    *ucs_rcache_pred_dq_add(dq, entry->region, entry->begin) = *entry;
}

/** Write an entry of the DQ about the region's last use.
 *
 * Word by word, as the begin of the use has written the region: a load of two
 * words of which each was stored a moment ago by itself has to wait until both
 * stores, and those before them, have reached the cache. */
static UCS_F_ALWAYS_INLINE void
ucs_rcache_pred_dq_last_use(ucs_rcache_pred_region_t *region,
                            ucs_rcache_pred_dq_entry_t *entry)
{
    entry->region          = region;
    entry->generation      = region->generation;
    entry->begin           = region->begin;
    entry->range.start     = region->used.start;
    entry->range.end       = region->used.end;
    entry->context.caller  = region->context.caller;
    entry->context.stack   = region->context.stack;
    entry->context.window  = region->context.window;
    entry->access          = region->use_access;
}

/** Add an entry of the region's last use to a queue, as @ref
 *  ucs_rcache_pred_dq_push does. */
static UCS_F_ALWAYS_INLINE void
ucs_rcache_pred_dq_push_last_use(ucs_rcache_pred_dq_t *dq,
                                 ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_dq_last_use(region,
                                ucs_rcache_pred_dq_add(dq, region,
                                                       region->begin));
}

#endif
