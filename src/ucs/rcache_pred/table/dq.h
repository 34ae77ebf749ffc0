/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_DQ_H_
#define UCS_RCACHE_PRED_DQ_H_

#include "region.h"

#include <ucs/datastruct/list.h>

/** @file dq.h
 *
 * The deregistration queue, DQ for short (CF'11, sections 3.2 and 4.1), in
 * which uses that have ended are handed to the helper. It is a bounded ring.
 * When it is full, new entries overwrite the oldest, as in the paper. But the helper
 * hears of each region: if the last entry of a region, or the entry of its last use, is
 * overwritten, the region itself goes to the list lost. The region knows its last use,
 * and so the helper misses only earlier uses.
 *
 * All functions but the first two are called under the lock of the cache, or in the lane
 * of the thread to which the queue belongs. Each takes a bounded number of steps. The
 * functions that add entries are inlined, since each end of a use calls them.
 */

/** A use that ended. */
typedef struct ucs_rcache_pred_dq_entry {
    ucs_rcache_pred_region_t *region;
    uint64_t                      generation; /**< Generation of the region at
                                                   the use. If the region has
                                                   another one now, it was freed
                                                   since, and the entry is void */
    ucs_rcache_pred_time_t        begin;      /**< When the use began */
    ucs_rcache_pred_range_t       range;      /**< What was used */
    ucs_rcache_pred_context_t     context;
    unsigned                      access;     /**< Access that the use needed */
} ucs_rcache_pred_dq_entry_t;


/** A queue. Protected by the lock of the cache; the thread of a lane may write the queue
 *  of its lane in the lane. */
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
    ucs_list_link_t            lost;    /**< Lost regions, linked through lost_link:
                                             the entry of the last use of each was
                                             overwritten, or all its entries were;
                                             or its guard has ended */
} ucs_rcache_pred_dq_t;


/** @param [in] size  Number of entries, a power of 2. */
ucs_status_t ucs_rcache_pred_dq_init(ucs_rcache_pred_dq_t *dq, unsigned size);

/** Free the memory of a queue. */
void ucs_rcache_pred_dq_cleanup(ucs_rcache_pred_dq_t *dq);

/** @return the entry that the next new entry overwrites; NULL: there is room for a new
 *          one. */
static inline const ucs_rcache_pred_dq_entry_t *
ucs_rcache_pred_dq_next_dropped(const ucs_rcache_pred_dq_t *dq)
{
    return ucs_likely(dq->head - dq->tail <= dq->mask) ?
           NULL : &dq->entries[dq->tail & dq->mask];
}

/** Take the oldest entry out. @return 0 if there is none. */
int ucs_rcache_pred_dq_pop(ucs_rcache_pred_dq_t *dq,
                           ucs_rcache_pred_dq_entry_t *entry);

/** Take a region off the list of lost regions: the helper has to look at its last use.
 *  @return NULL if the list is empty. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_dq_pop_lost(ucs_rcache_pred_dq_t *dq);

/** @return whether there is neither an entry nor a lost region. */
static inline int ucs_rcache_pred_dq_is_empty(ucs_rcache_pred_dq_t *dq)
{
    return (dq->head == dq->tail) && ucs_list_is_empty(&dq->lost);
}

/** Take a region off the list of lost regions, if it is there, since the region is about
 *  to be freed, or its last use has an entry now. Its entries stay. */
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

/** Put a region on the list of lost regions, unless it is there already. The helper will
 *  look at the region, whether or not it has learned of the last use. */
static inline void
ucs_rcache_pred_dq_lose(ucs_rcache_pred_dq_t *dq,
                             ucs_rcache_pred_region_t *region)
{
    if (!region->lost) {
        region->lost = 1;
        ucs_list_add_tail(&dq->lost, &region->lost_link);
    }
}

/** Make room in a queue that is full: its oldest entry will be overwritten. Where
 *  nothing can be predicted, the helper pauses for long, and each end of a use comes
 *  here.
 *
 * A region whose last use is dropped goes to the list of lost regions even if it has
 * other entries: these are of earlier uses, and the helper, when it looks at them, waits
 * for the entry of the last use. Entries are not always in the order of the uses: a
 * region may have entries in several queues, and uses in pieces end in any order. */
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
    /* This entry, of the last use, tells the helper all that the region would tell */
    if (ucs_likely(begin >= region->begin)) {
        ucs_rcache_pred_dq_forget(region);
    }

    /* Count the new entry first: the oldest entry may be of the same region, which would
     * otherwise seem to have no entries left */
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
 * The fields are copied word by word, as the begin of the use has written them. If the
 * processor loaded two words at once that were stored one by one a moment ago, the load
 * would wait until both stores, and those before them, have reached the cache. */
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
