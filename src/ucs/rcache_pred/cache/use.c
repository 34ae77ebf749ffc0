/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"
#include "lanes.h"
#include "slices.h"
#include "use.h"

#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

#include <math.h>

/*
 * The begin of a use, on the critical path. end.c has the end of a use.
 *
 *        claimed by a use or the helper      registered by the same thread
 *   IDLE ---------------------> REGISTERING ------------------> REGISTERED
 *    ^                                                               |
 *    +---------------------------------------------------------------+
 *      the handle is taken under the lock, then deregistered without it
 *
 * A region whose handle was taken is IDLE at once: a use that comes while another thread
 * still deregisters the old handle registers the region anew and does not wait.
 *
 * A use that does not find its region registered takes three steps:
 * use_acquire() registers the region or waits until another thread has
 * registered it, use_settle() counts the result, and use_tell() emits the
 * event.
 */


static UCS_F_ALWAYS_INLINE int
extent_serves(const ucs_rcache_pred_extent_t *extent, const pred_use_t *use)
{
    return (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) &&
           ucs_rcache_pred_extent_covers(extent, &use->range, use->access);
}

/* Start a use of a registered region. Under lock, or in the lane of the region.
 *
 * @return UCS_RCACHE_PRED_RESULT_EARLY or 0 */
static UCS_F_ALWAYS_INLINE unsigned
region_use(ucs_rcache_pred_region_t *region, const pred_use_t *use)
{
    unsigned result = 0;

    if (region->refs++ > 0) {
        /* The helper predicts uses that find the region idle: a further use at the same
         * time only adds to what was used */
        region->used        = ucs_rcache_pred_range_hull(&region->used,
                                                         &use->range);
        region->use_access |= use->access;
        return 0;
    }

    if (region->extent.ahead) {
        region->extent.ahead = 0;
        if (use->time > region->extent.early_until) {
            result = UCS_RCACHE_PRED_RESULT_EARLY;
        }
    }

    region->begin      = use->time;
    region->context    = *use->context;
    region->used       = use->range;
    region->use_access = use->access;
    region->referenced = 1;
    if (ucs_unlikely(region->extent.flags != use->flags)) {
        region->extent.flags = use->flags;
    }
    return result;
}

/* Start a use of a registered region, count the use, and let the next uses of the region
 * by this thread go through its lane. Under lock. @return as region_use(). */
static UCS_F_ALWAYS_INLINE unsigned
use_start(const pred_use_t *use, ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    unsigned result         = region_use(region, use);

    ++pred->stats.uses;
    if (ucs_unlikely(result != 0)) {
        ++pred->stats.early;
    }
    if (ucs_unlikely(ucs_relaxed_load(&pred->lanes) != NULL)) {
        pred_lane_give_region(pred, region);
    }
    return result;
}

/* @return the handle of a use that has started. With the handle the caller ends the use:
 * the memo will find the extent then. Under lock, with the memo of the table; or in a
 * lane, with the memo of the lane. */
static UCS_F_ALWAYS_INLINE void *
use_memh(ucs_rcache_pred_memo_t *memo, ucs_rcache_pred_extent_t *extent)
{
    ucs_rcache_pred_memo_add(memo, extent);
    return extent->memh;
}

/* Emit the event of a use that begins. Under lock. Not inlined, since usually
 * nobody receives events. */
static UCS_F_NOINLINE void use_tell(const pred_use_t *use)
{
    ucs_rcache_pred_event_t event = {
        .kind    = (use->pieces == NULL)    ? UCS_RCACHE_PRED_USE_WHOLE :
                   use->pieces->last_resort ? UCS_RCACHE_PRED_USE_LAST_RESORT :
                                              UCS_RCACHE_PRED_USE_PIECES,
        .flags   = use->flags,
        .id      = use->id,
        .time    = use->time,
        .address = use->range.start,
        .length  = ucs_rcache_pred_range_length(&use->range),
        .context = *use->context
    };

    pred_emit_begin(use->domain, &event, use->result, use->pieces);
}

/* Find a region that starts where a use does: one that serves the use, or else one without
 * uses, since its history says something about this use too. NULL: there is neither. Under
 * lock. */
static ucs_rcache_pred_region_t *use_lookup(const pred_use_t *use)
{
    ucs_rcache_pred_table_t *table = &use->domain->pred->table;
    ucs_rcache_pred_region_t *region, *idle = NULL;

    ucs_hlist_for_each(region, ucs_rcache_pred_start_bucket(table, use->range.start),
                       start_link) {
        if ((region->start != use->range.start) ||
            (region->extent.domain != use->domain) ||
            region->extent.stale) {
            continue;
        }

        if (extent_serves(&region->extent, use)) {
            return region;
        }

        if ((idle == NULL) && (region->refs == 0) &&
            (region->extent.state != UCS_RCACHE_PRED_EXTENT_REGISTERING)) {
            idle = region;
        }
    }

    return idle;
}

/* Find the region of a use, among those that start where the use does and those that
 * share memory with it. NULL: there is none. Under lock. */
static ucs_rcache_pred_region_t *use_find(const pred_use_t *use)
{
    ucs_rcache_pred_region_t *region = use_lookup(use);
    ucs_rcache_pred_extent_t *slice;

    if ((region != NULL) && extent_serves(&region->extent, use)) {
        return region;
    }

    slice = pred_find_slice(use->domain, &use->range, use->access, use->time,
                            use->claims,
                            (region == NULL) ? NULL : &region->extent);
    return (slice == NULL) ? NULL : ucs_rcache_pred_region_of(slice);
}

/* Find the region of a use, and wait until no other thread is registering the region. A
 * use does not wait for a registration that began after the use: otherwise it might wait
 * for ever, while other threads use one slice of its memory after another. Under lock,
 * which is released during the wait. */
static void use_wait(pred_use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    int wait                = 0;

    use->claims = pred->table.claims;
    for (;;) {
        use->region = use_find(use);
        if ((use->region == NULL) ||
            (use->region->extent.state != UCS_RCACHE_PRED_EXTENT_REGISTERING)) {
            break;
        }

        use->late |= use->region->scheduled;
        wait       = 1;
        pred_unlock(pred);
        pred_yield(pred);
        pred_lock(pred);
    }

    if (wait) {
        use->waited = ucs_max(pred_elapsed(use->time, pred_now(pred)), 1ul);
    }
    pred->stats.time_critical += use->waited;
    pred->lost                += use->waited;
}

/* Find an extent that serves a use on demand: one that is registered for another use,
 * which is still under way, perhaps for as long as the program maps the memory. The
 * extent stays registered until the last of its uses has ended. Under lock. */
static ucs_rcache_pred_region_t *use_find_shared(const pred_use_t *use)
{
    ucs_rcache_pred_extent_t *extent = NULL;

    do {
        extent = pred_next_registered(use->domain, extent, &use->range);
    } while ((extent != NULL) && !extent_serves(extent, use));

    return (extent == NULL) ? NULL : ucs_rcache_pred_region_of(extent);
}

/*
 * Have the memory of a use registered: find its region registered, wait for the thread
 * that registers the region, or register the region here. Under lock, which is released
 * during registrations, deregistrations and waits.
 *
 * @return UCS_OK if the region is registered; UCS_INPROGRESS if it is not registered
 *         because it pays to register its memory in pieces; or the error of the
 *         registration.
 */
static ucs_status_t use_acquire(pred_use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    pred_handle_t old;
    ucs_status_t status;
    int known, pays;

    if (pred_is_on_demand(pred)) {
        use->region = use_find_shared(use);
    } else {
        use_wait(use);
    }

    if ((use->region != NULL) && extent_serves(&use->region->extent, use)) {
        /* If the use did not wait, it counts as a hit: the region starts elsewhere than
         * the use, or another thread has registered it since the fast path looked */
        if (use->waited == 0) {
            ++pred->stats.hits;
            use->result = UCS_RCACHE_PRED_RESULT_HIT;
        }
        return UCS_OK;
    }

    use->late |= (use->region != NULL) && use->region->scheduled;
    known      = (use->region != NULL);
    status     = pred_claim(use, &old);
    if (status != UCS_OK) {
        return status;
    }

    /* If the budget has a bound, only the first use of a region goes on in pieces.
     * Otherwise, where the helper registers nothing ahead for lack of budget, each use
     * would register its memory again, while under leave-pinned only the first use
     * does */
    pays = (use->pieces != NULL) && !use->pieces->last_resort &&
           (!known || isinf(pred->params.budget)) &&
           pred_pieces_pay(use->domain, &use->range);
    if (old.memh != NULL) {
        pred_unlock(pred);
        pred_deregister(&old, UCS_RCACHE_PRED_BY_USE);
        pred_lock(pred);
    }

    if (pays) {
        ucs_rcache_pred_extent_unclaim(&pred->table, &use->region->extent);
        return UCS_INPROGRESS;
    }

    return pred_register_claimed(use);
}

/* Count a use that goes on in pieces, and keep what is needed to predict the
 * next use of its region. Under lock. */
static void use_start_in_pieces(pred_use_t *use)
{
    ucs_rcache_pred_t *pred          = use->domain->pred;
    ucs_rcache_pred_region_t *region = use->region;

    use->result       = UCS_RCACHE_PRED_RESULT_PIECES;
    pred->stats.late += use->late;
    if (region != NULL) {
        region->extent.flags = use->flags;
        region->referenced   = 1;
        if (region->refs == 0) {
            /* At its end the use puts an entry into the DQ. If the entry is overwritten
             * later, the region itself tells the helper of the use */
            region->begin      = use->time;
            region->context    = *use->context;
            region->used       = use->range;
            region->use_access = use->access;
            /* If the region is registered, for shorter uses, its next use is expected
             * later from now on */
            ucs_rcache_pred_region_note(&pred->table.noted, region);
        }
    }

    pred_pieces_start(use, pred_is_on_demand(pred) ? NULL : region);
}

/* Count a use that could not begin. Under lock. */
static void use_fail(pred_use_t *use, ucs_status_t status)
{
    use->result                           = UCS_RCACHE_PRED_RESULT_FAILED;
    use->late                             = 0;
    use->domain->pred->stats.reg_failures += (use->region != NULL) &&
                                             (status != UCS_ERR_UNSUPPORTED) &&
                                             (status != UCS_ERR_EXCEEDS_LIMIT);
}

/* Whether a use whose memory is not registered goes on in pieces: the caller then
 * registers pieces, or, if pieces->unfit says that these will fail too, moves the data in
 * another way. If the cache does not manage the memory, the caller registers it. Under
 * lock. */
static int use_goes_on(const pred_use_t *use, ucs_status_t status)
{
    if ((use->pieces == NULL) || (status == UCS_ERR_UNSUPPORTED)) {
        return 0;
    }

    use->pieces->unfit = pred_is_unfit(status);
    use->domain->pred->stats.reg_failures += use->pieces->unfit;
    return 1;
}

/* Count the result of a use that did not take the fast path. Under lock.
 *
 * @return the status for the caller. */
static ucs_status_t use_settle(pred_use_t *use, ucs_status_t status)
{
    use->id = (use->region == NULL) ? 0 : use->region->generation;
    if (status == UCS_OK) {
        use->domain->pred->stats.late += use->late;
        use->result                   |= use_start(use, use->region);
        pred_guard_overtaken(use->domain->pred, &use->region->extent);
        if (use->range.start != use->region->start) {
            use->region->extent.sliced +=
                    ucs_rcache_pred_range_length(&use->range);
        }
        return status;
    }

    if (use_goes_on(use, status)) {
        status = UCS_INPROGRESS;
        use_start_in_pieces(use);
    } else {
        use_fail(use, status);
    }
    pred_unclaim(use);
    return status;
}

/* Whether a use is of memory that can exist: not empty, and not up to the end of the
 * address space, where a range ends that is too long. Only the slow path asks, since the
 * fast path finds only registered memory. */
static int use_is_valid(const pred_use_t *use)
{
    return (use->range.start < use->range.end) &&
           (use->range.end < UINTPTR_MAX);
}

/* The slow path: the region of a use is not registered. Register it, or wait
 * until another thread has registered it. */
static UCS_F_NOINLINE ucs_status_t
use_begin_slow(pred_use_t *use, void **memh_p)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    ucs_status_t status;

    if (!use_is_valid(use)) {
        return UCS_ERR_INVALID_PARAM;
    }

    use->result = UCS_RCACHE_PRED_RESULT_MISS;

    pred_lock(pred);
    status = use_acquire(use);
    status = use_settle(use, status);
    if (status == UCS_OK) {
        *memh_p = use_memh(&pred->table.memo, &use->region->extent);
    }

    /* If the cache does not manage the memory, the caller registers it, and this is no
     * use of the cache */
    if (pred_has_sink(pred) && (status != UCS_ERR_UNSUPPORTED)) {
        use->result |= use->late ? UCS_RCACHE_PRED_RESULT_LATE : 0;
        use_tell(use);
    }
    pred_unlock(pred);

    /* A hit does not publish the counters, neither here nor on the fast path: the helper
     * publishes them at the end of its next round */
    if (!(use->result & UCS_RCACHE_PRED_RESULT_HIT)) {
        pred_publish(pred);
    }
    if (use->wake) {
        pred_wake(pred);
    }
    return status;
}

/* @return a region that starts where a use does and serves the use, or NULL. Reads only
 * those fields of regions that no thread writes in its lane. Under lock, or in a lane. */
static UCS_F_ALWAYS_INLINE ucs_rcache_pred_region_t *
hit_lookup(const pred_use_t *use)
{
    ucs_rcache_pred_region_t *region;

    ucs_hlist_for_each(region,
                       ucs_rcache_pred_start_bucket(&use->domain->pred->table,
                                                    use->range.start),
                       start_link) {
        if ((region->start == use->range.start) &&
            (region->extent.domain == use->domain) && !region->extent.stale &&
            extent_serves(&region->extent, use)) {
            return region;
        }
    }

    return NULL;
}

/* The fast path where several threads use memory at the same time: begin a use in the
 * lane of this thread. @return 0 if the use has not begun, and has to begin under the
 * lock. */
static UCS_F_NOINLINE int
use_begin_in_lane(const pred_use_t *use, pred_lanes_t *lanes, void **memh_p)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    pred_lane_t *lane       = pred_lane_find(lanes);
    ucs_rcache_pred_region_t *region;
    int is_hit;

    if ((lane == NULL) || pred_lane_skips(lane) ||
        !pred_lane_enter(pred, lane)) {
        return 0;
    }

    region = hit_lookup(use);
    is_hit = (region != NULL) && (region->extent.lane == lane->number);
    if (ucs_likely(is_hit)) {
        ++lane->uses;
        ++lane->hits;
        lane->early += (region_use(region, use) != 0);
        *memh_p      = use_memh(&lane->memo, &region->extent);
    }
    pred_lane_leave(lane);
    pred_lane_note(lane, is_hit);
    return is_hit;
}

/* The fast path: a use that finds its region registered */
static UCS_F_ALWAYS_INLINE ucs_status_t use_begin(pred_use_t use, void **memh_p)
{
    ucs_rcache_pred_t *pred = use.domain->pred;
    ucs_rcache_pred_region_t *region;
    pred_lanes_t *lanes;
    pred_use_t copy;
    int needs_lane;

    use.time   = pred_now(pred);
    use.access = use.flags & pred->params.access_mask;
    if (ucs_likely(!pred_is_on_demand(pred))) {
        /* Acquire: pairs with the release in pred_lane_take() */
        lanes = atomic_load_explicit(&pred->lanes, memory_order_acquire);
        if (ucs_unlikely(lanes != NULL)) {
            copy = use;
            if (use_begin_in_lane(&copy, lanes, memh_p)) {
                return UCS_OK;
            }
        }

        pred_lock(pred);
        needs_lane = !pred_has_sink(pred) && pred_lane_note_use(pred);
        region     = hit_lookup(&use);
        if (ucs_likely(region != NULL)) {
            ++pred->stats.hits;
            use.result = UCS_RCACHE_PRED_RESULT_HIT | use_start(&use, region);
            if (pred_has_sink(pred)) {
                use.id = region->generation;
                copy   = use;
                use_tell(&copy);
            }
            *memh_p = use_memh(&pred->table.memo, &region->extent);
            pred_unlock(pred);
            if (ucs_unlikely(needs_lane)) {
                pred_lane_take(pred);
            }
            return UCS_OK;
        }
        pred_unlock(pred);
    }

    copy = use;
    return use_begin_slow(&copy, memh_p);
}

ucs_status_t ucs_rcache_pred_begin(ucs_rcache_pred_domain_t *domain,
                                   void *address, size_t length,
                                   unsigned flags,
                                   const ucs_rcache_pred_context_t *context,
                                   void **memh_p)
{
    pred_use_t use = {
        .domain  = domain,
        .range   = ucs_rcache_pred_range((uintptr_t)address, length),
        .flags   = flags,
        .context = context
    };

    return use_begin(use, memh_p);
}

ucs_status_t
ucs_rcache_pred_begin_in_pieces(ucs_rcache_pred_domain_t *domain,
                                void *address, size_t length, unsigned flags,
                                const ucs_rcache_pred_context_t *context,
                                ucs_rcache_pred_pieces_t *pieces, void **memh_p)
{
    pred_use_t use = {
        .domain  = domain,
        .range   = ucs_rcache_pred_range((uintptr_t)address, length),
        .flags   = flags,
        .context = context,
        .pieces  = pieces
    };

    return use_begin(use, memh_p);
}
