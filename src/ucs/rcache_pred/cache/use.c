/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rcache_pred_int.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Begin and end of use, and unmap: what runs on the critical path.
 *
 *                  begin                      helper, or begin of another use
 *   IDLE ---------------------> REGISTERING ------------------> REGISTERED
 *    ^                                                               |
 *    +---------------------------------------------------------------+
 *      the handle is taken under the lock, then deregistered without it
 *
 * A region whose handle was taken is IDLE at once: a use that comes while the
 * old handle is still being deregistered registers anew and does not wait.
 */


static int pred_is_on_demand(const ucs_rcache_pred_t *pred)
{
    return pred->params.policy == UCS_RCACHE_PRED_POLICY_ON_DEMAND;
}

/* A use starts on a registered region. Under the lock.
 * @return UCS_RCACHE_PRED_RESULT_EARLY or 0 */
static UCS_F_ALWAYS_INLINE unsigned
use_start(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
          ucs_rcache_pred_time_t now, size_t length, unsigned flags,
          const ucs_rcache_pred_context_t *context)
{
    unsigned result = 0;

    ++pred->stats.uses;
    if (region->refs++ > 0) {
        /* The use that found it idle is what has to be predicted */
        region->use_length = ucs_max(region->use_length, length);
        return 0;
    }

    if (region->ahead) {
        region->ahead = 0;
        if (now > region->registered_at + region->early_after) {
            ++pred->stats.early;
            result = UCS_RCACHE_PRED_RESULT_EARLY;
        }
    }

    region->begin      = now;
    region->context    = *context;
    region->use_length = length;
    region->flags      = flags;
    region->referenced = 1;
    region->deadline   = UCS_RCACHE_PRED_TIME_INF; /* Until it is decided */
    return result;
}

/* Tell of a use that begins. Under the lock, and out of line: nobody listens as
 * a rule */
static UCS_F_NOINLINE void
use_emit_begin(ucs_rcache_pred_domain_t *domain, uintptr_t start, size_t length,
               unsigned flags, const ucs_rcache_pred_context_t *context,
               ucs_rcache_pred_time_t now, unsigned result, uint64_t id,
               const ucs_rcache_pred_pieces_t *pieces)
{
    ucs_rcache_pred_event_t event = {
        .kind    = (pieces == NULL)    ? UCS_RCACHE_PRED_USE_WHOLE :
                   pieces->last_resort ? UCS_RCACHE_PRED_USE_LAST_RESORT :
                                       UCS_RCACHE_PRED_USE_PIECES,
        .flags   = flags,
        .id      = id,
        .time    = now,
        .address = start,
        .length  = length,
        .context = *context
    };

    pred_emit_begin(domain, &event, result, pieces);
}

/*
 * The best region for a use that starts at this address: one that is registered
 * and covers it; else one that is being registered and will cover it; else one
 * without uses, whose history goes on; else none. Under the lock.
 */
static UCS_F_ALWAYS_INLINE ucs_rcache_pred_region_t *
use_lookup(ucs_rcache_pred_domain_t *domain, uintptr_t start, size_t length,
           unsigned access)
{
    ucs_rcache_pred_table_t *table = &domain->pred->table;
    ucs_rcache_pred_region_t *region, *best = NULL;

    ucs_hlist_for_each(region, ucs_rcache_pred_start_bucket(table, start),
                       start_link) {
        if ((region->start != start) || (region->domain != domain) ||
            region->stale) {
            continue;
        }

        if ((region->state != UCS_RCACHE_PRED_REGION_IDLE) &&
            ucs_rcache_pred_region_covers(region, length, access)) {
            if (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) {
                return region;
            }
            best = region;
        } else if ((best == NULL) && (region->refs == 0) &&
                   (region->state != UCS_RCACHE_PRED_REGION_REGISTERING)) {
            best = region;
        }
    }

    return best;
}

/*
 * Find a region to register for this use and put it into REGISTERING state.
 * Under the lock, which is given up for a while if there is no room.
 *
 * @param [out] old  Handle to deregister, if the region is registered in a way
 *                   that does not cover the use; else none.
 */
static ucs_status_t
use_claim(ucs_rcache_pred_domain_t *domain, ucs_rcache_pred_region_t *region,
          uintptr_t start, size_t length, unsigned access,
          ucs_rcache_pred_region_t **region_p, pred_handle_t *old)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_rcache_pred_room_t room;
    unsigned capacity;
    ucs_status_t status;

    old->memh = NULL;
    if (region == NULL) {
        while (!ucs_rcache_pred_table_has_room(&pred->table)) {
            capacity = pred->table.capacity;
            ucs_spin_unlock(&pred->lock);
            status = ucs_rcache_pred_room_alloc(&room, capacity);
            ucs_spin_lock(&pred->lock);
            if (status != UCS_OK) {
                return status;
            }

            ucs_rcache_pred_room_give(&pred->table, &room);
            ucs_spin_unlock(&pred->lock);
            ucs_rcache_pred_room_release(&room);
            ucs_spin_lock(&pred->lock);
        }

        region = ucs_rcache_pred_region_new(&pred->table, domain, start,
                                            length);
    } else if (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) {
        *old = pred_take_handle(pred, region);
    }

    region->state   = UCS_RCACHE_PRED_REGION_REGISTERING;
    region->access |= access;
    ucs_rcache_pred_region_set_length(&pred->table, region, length);
    *region_p = region;
    return UCS_OK;
}

/* Register a claimed region, for which there is room; giving up idle ones if
 * the system refuses */
static ucs_status_t
use_register_try(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                 unsigned flags, void **memh_p, ucs_rcache_pred_time_t *end_p)
{
    pred_handle_t handle = pred_region_handle(region);
    ucs_status_t status;

    do {
        status = pred_register(&handle, UCS_RCACHE_PRED_BY_USE, flags, end_p);
    } while ((status == UCS_ERR_NO_MEMORY) && pred_evict(pred, 0));

    *memh_p = handle.memh;
    return status;
}

/*
 * Register a claimed region. Called without the lock, returns with it.
 *
 * @param [in] pieces  The use can do without: failure for lack of room is silent.
 */
static ucs_status_t
use_register(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
             unsigned flags, ucs_rcache_pred_time_t begin, int pieces)
{
    unsigned quiet = pred->params.helper_flags;
    ucs_rcache_pred_time_t end;
    ucs_status_t status;
    void *memh;
    int held;

    flags |= region->access;
    if (!pred_reserve(pred, region->start, region->length, PRED_PART_WHOLE, 0,
                      &held)) {
        status = UCS_ERR_EXCEEDS_LIMIT;
        end    = pred_now(pred);
        goto out;
    }

    status = use_register_try(pred, region, flags | quiet, &memh, &end);
    if ((status != UCS_OK) && (status != UCS_ERR_UNSUPPORTED) &&
        (quiet & ~flags) && !(pieces && (status == UCS_ERR_NO_MEMORY))) {
        /* Fail the way the use wants it: the attempts so far were silent */
        status = use_register_try(pred, region, flags, &memh, &end);
    }

    if (status != UCS_OK) {
        pred_unreserve(pred, region->start, region->length, held);
    }

out:
    ucs_spin_lock(&pred->lock);
    pred->stats.time_critical += pred_elapsed(begin, end);
    pred->stats.refused       += (status == UCS_ERR_EXCEEDS_LIMIT);
    if (status == UCS_OK) {
        ++pred->stats.regs_critical;
        ucs_rcache_pred_region_set_memh(&pred->table, region, memh);
    } else {
        region->state  = UCS_RCACHE_PRED_REGION_IDLE;
        region->access = 0;
    }
    return status;
}

/*
 * A claimed region that is not to be registered: the use does without. Called
 * without the lock, returns with it.
 */
static ucs_status_t use_leave_unregistered(ucs_rcache_pred_t *pred,
                                           ucs_rcache_pred_region_t *region)
{
    ucs_spin_lock(&pred->lock);
    region->state = UCS_RCACHE_PRED_REGION_IDLE;
    return UCS_INPROGRESS;
}

/* The use of a claimed region does without its registration: note it, so that
 * the next one can be predicted. Under the lock. */
static void use_start_in_pieces(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t now, unsigned flags,
                           const ucs_rcache_pred_context_t *context,
                           ucs_rcache_pred_pieces_t *pieces)
{
    region->access    |= flags & pred->params.access_mask;
    region->flags      = flags;
    region->referenced = 1;
    if (region->refs == 0) {
        region->begin = now; /* Its entry of the DQ will come */
    }
    pred_pieces_start(region->domain, pred_is_on_demand(pred) ? NULL : region,
                    region->start, region->length, now, context, pieces);
}

/*
 * Find a region for a use, and wait until nobody is registering it. Under the
 * lock, which is given up while waiting.
 *
 * @param [out] late_p    Whether the helper was, for a use it had predicted.
 * @param [out] waited_p  For how long, ns; 0 only if not at all.
 */
static ucs_rcache_pred_region_t *
use_wait(ucs_rcache_pred_domain_t *domain, uintptr_t start, size_t length,
         unsigned access, ucs_rcache_pred_time_t now, int *late_p,
         ucs_rcache_pred_time_t *waited_p)
{
    ucs_rcache_pred_t *pred = domain->pred;
    int wait                = 0;
    ucs_rcache_pred_region_t *region;

    *late_p = 0;
    for (;;) {
        region = use_lookup(domain, start, length, access);
        if ((region == NULL) ||
            (region->state != UCS_RCACHE_PRED_REGION_REGISTERING)) {
            break;
        }

        *late_p |= region->scheduled;
        wait     = 1;
        ucs_spin_unlock(&pred->lock);
        pred_yield(pred);
        ucs_spin_lock(&pred->lock);
    }

    *waited_p = wait ? ucs_max(pred_elapsed(now, pred_now(pred)), 1ul) : 0;
    return region;
}

/* A region that was claimed for a use was not registered. Under the lock.
 * @return whether the helper is to be woken. */
static int use_unclaimed(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region)
{
    if (pred_is_on_demand(pred)) {
        ucs_rcache_pred_region_free(&pred->table, region);
        return 0;
    }

    if (!region->stale) {
        return 0;
    }

    /* The helper may have passed by while it was claimed */
    atomic_store(&pred->stale, 1); /* see helper_sleep() */
    return 1;
}

/*
 * The region is not there: register it, or wait for who does it.
 *
 * @param [in] pieces  If not NULL, the use can do without registration.
 */
static UCS_F_NOINLINE ucs_status_t
use_begin_slow(ucs_rcache_pred_domain_t *domain, uintptr_t start, size_t length,
               unsigned flags, const ucs_rcache_pred_context_t *context,
               ucs_rcache_pred_time_t now, ucs_rcache_pred_pieces_t *pieces,
               void **memh_p)
{
    ucs_rcache_pred_t *pred          = domain->pred;
    unsigned access                  = flags & pred->params.access_mask;
    ucs_rcache_pred_region_t *region = NULL;
    int late                         = 0;
    ucs_rcache_pred_time_t waited    = 0;
    ucs_status_t status              = UCS_OK;
    unsigned result                  = UCS_RCACHE_PRED_RESULT_MISS;
    uint64_t id                      = 0;
    int wake                         = 0;
    pred_handle_t old;
    int pays;

    ucs_spin_lock(&pred->lock);
    if (!pred_is_on_demand(pred)) {
        region = use_wait(domain, start, length, access, now, &late, &waited);
        pred->stats.time_critical += waited;
    }

    if ((region != NULL) &&
        (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
        ucs_rcache_pred_region_covers(region, length, access)) {
        /* If not by waiting, it was registered since the fast path looked */
        if (waited == 0) {
            ++pred->stats.hits;
            result = UCS_RCACHE_PRED_RESULT_HIT;
        }
        goto out_start;
    }

    late  |= (region != NULL) && region->scheduled;
    status = use_claim(domain, region, start, length, access, &region, &old);
    if (status != UCS_OK) {
        if (pieces != NULL) {
            /* Nothing will be learned of it */
            pred_pieces_start(domain, NULL, start, length, now, context, pieces);
            status = UCS_INPROGRESS;
        }
        goto out_failed;
    }

    pays = (pieces != NULL) && !pieces->last_resort &&
           pred_pieces_pay(domain, start, length);
    ucs_spin_unlock(&pred->lock);

    if (old.memh != NULL) {
        pred_deregister(&old, UCS_RCACHE_PRED_BY_USE);
    }

    status = pays ? use_leave_unregistered(pred, region) :
                    use_register(pred, region, flags, now + waited,
                                 pieces != NULL);
    if (status == UCS_OK) {
        goto out_start;
    }

    if ((pieces != NULL) && ((status == UCS_ERR_EXCEEDS_LIMIT) ||
                           (status == UCS_ERR_NO_MEMORY))) {
        status = UCS_INPROGRESS;
    }

    if (status == UCS_INPROGRESS) {
        pred->stats.late += late;
        use_start_in_pieces(pred, region, now, flags, context, pieces);
    } else {
        pred->stats.reg_failures += (status != UCS_ERR_UNSUPPORTED) &&
                                    (status != UCS_ERR_EXCEEDS_LIMIT);
    }
    id   = region->generation; /* It may be freed */
    wake = use_unclaimed(pred, region);
    if (status == UCS_ERR_UNSUPPORTED) {
        goto out_unlock; /* No use of ours: the caller sees to that memory */
    }

out_failed:
    result = (status == UCS_INPROGRESS) ? UCS_RCACHE_PRED_RESULT_PIECES :
                                          UCS_RCACHE_PRED_RESULT_FAILED;
    late  &= (status == UCS_INPROGRESS);
    goto out_emit;

out_start:
    pred->stats.late += late;
    result |= use_start(pred, region, now, length, flags, context);
    id      = region->generation;
    *memh_p = region->memh;
out_emit:
    if (pred_has_sink(pred)) {
        result |= late ? UCS_RCACHE_PRED_RESULT_LATE : 0;
        use_emit_begin(domain, start, length, flags, context, now, result, id,
                       pieces);
    }
out_unlock:
    ucs_spin_unlock(&pred->lock);
    pred_publish(pred);
    if (wake) {
        pred_wake(pred);
    }
    return status;
}

static UCS_F_ALWAYS_INLINE ucs_status_t
use_begin(ucs_rcache_pred_domain_t *domain, uintptr_t start, size_t length,
          unsigned flags, const ucs_rcache_pred_context_t *context,
          ucs_rcache_pred_pieces_t *pieces, void **memh_p)
{
    ucs_rcache_pred_t *pred    = domain->pred;
    ucs_rcache_pred_time_t now = pred_now(pred);
    unsigned access            = flags & pred->params.access_mask;
    ucs_rcache_pred_region_t *region;
    unsigned result;

    if (ucs_likely(!pred_is_on_demand(pred))) {
        ucs_spin_lock(&pred->lock);
        region = use_lookup(domain, start, length, access);
        if (ucs_likely((region != NULL) &&
                       (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
                       ucs_rcache_pred_region_covers(region, length,
                                                     access))) {
            ++pred->stats.hits;
            result = UCS_RCACHE_PRED_RESULT_HIT |
                     use_start(pred, region, now, length, flags, context);
            if (pred_has_sink(pred)) {
                use_emit_begin(domain, start, length, flags, context, now,
                               result, region->generation, pieces);
            }
            *memh_p = region->memh;
            ucs_spin_unlock(&pred->lock);
            return UCS_OK;
        }
        ucs_spin_unlock(&pred->lock);
    }

    return use_begin_slow(domain, start, length, flags, context, now, pieces,
                          memh_p);
}

ucs_status_t ucs_rcache_pred_begin(ucs_rcache_pred_domain_t *domain,
                                   void *address, size_t length,
                                   unsigned flags,
                                   const ucs_rcache_pred_context_t *context,
                                   void **memh_p)
{
    return use_begin(domain, (uintptr_t)address, length, flags, context, NULL,
                     memh_p);
}

ucs_status_t ucs_rcache_pred_begin_in_pieces(ucs_rcache_pred_domain_t *domain,
                                        void *address, size_t length,
                                        unsigned flags,
                                        const ucs_rcache_pred_context_t *context,
                                        ucs_rcache_pred_pieces_t *pieces,
                                        void **memh_p)
{
    return use_begin(domain, (uintptr_t)address, length, flags, context, pieces,
                     memh_p);
}

void pred_run_waiters(ucs_rcache_pred_waiter_t *waiters)
{
    ucs_rcache_pred_waiter_t *waiter;

    while (waiters != NULL) {
        waiter  = waiters;
        waiters = waiter->next;
        waiter->cb(waiter->arg);
        free(waiter);
    }
}

/* Under the lock */
static UCS_F_ALWAYS_INLINE void
use_emit_end(ucs_rcache_pred_t *pred, const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t now;

    if (pred_has_sink(pred)) {
        now = pred_now(pred);
        pred_emit_end(region->domain, region->generation, now, now);
    }
}

/* The last use of a region ended that nobody waits to see registered again:
 * deregister here and now. Called with the lock, returns without. */
static void use_end_release(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_waiter_t *waiters = region->waiters;
    uint64_t id                       = region->generation;
    ucs_rcache_pred_time_t begin, end;
    pred_handle_t handle;

    handle          = pred_take_handle(pred, region);
    region->waiters = NULL;
    if (pred_is_on_demand(pred)) {
        ucs_rcache_pred_region_free(&pred->table, region);
    }
    ucs_spin_unlock(&pred->lock);

    begin = pred_now(pred);
    pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
    end   = pred_now(pred);

    ucs_spin_lock(&pred->lock);
    pred->stats.time_critical += pred_elapsed(begin, end);
    if (pred_has_sink(pred)) {
        pred_emit_end(handle.domain, id, begin, end);
    }
    ucs_spin_unlock(&pred->lock);

    pred_publish(pred);
    pred_run_waiters(waiters);
}

ucs_status_t ucs_rcache_pred_end(ucs_rcache_pred_domain_t *domain, void *memh)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_rcache_pred_dq_entry_t entry;
    ucs_rcache_pred_region_t *region;

    ucs_spin_lock(&pred->lock);
    region = ucs_rcache_pred_table_find_memh(&pred->table, domain, memh);
    if (ucs_unlikely((region == NULL) || (region->refs == 0))) {
        ucs_spin_unlock(&pred->lock);
        return UCS_ERR_NO_ELEM;
    }

    if (--region->refs > 0) {
        use_emit_end(pred, region);
        ucs_spin_unlock(&pred->lock);
        return UCS_OK;
    }

    if (ucs_unlikely(region->stale)) {
        atomic_store(&pred->stale, 1); /* see helper_sleep() */
    }

    if (ucs_unlikely(pred_is_on_demand(pred) || (region->waiters != NULL))) {
        use_end_release(pred, region);
    } else {
        entry.region     = region;
        entry.generation = region->generation;
        entry.begin      = region->begin;
        entry.length     = region->use_length;
        entry.context    = region->context;
        use_emit_end(pred, region);
        ucs_spin_unlock(&pred->lock);
        ucs_rcache_pred_dq_push(&pred->dq, &entry);
    }

    pred_wake(pred);
    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        /* The program may compute for long now: let go of the memory at once */
        ucs_rcache_pred_progress(pred);
    }
    return UCS_OK;
}

ucs_status_t ucs_rcache_pred_invalidate(ucs_rcache_pred_domain_t *domain,
                                        void *memh, void (*cb)(void *arg),
                                        void *arg)
{
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_waiter_t *waiter = malloc(sizeof(*waiter));
    ucs_rcache_pred_region_t *region;

    if (waiter == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ucs_spin_lock(&pred->lock);
    region = ucs_rcache_pred_table_find_memh(&pred->table, domain, memh);
    if ((region == NULL) || (region->refs == 0)) {
        ucs_spin_unlock(&pred->lock);
        free(waiter);
        return UCS_ERR_NO_ELEM;
    }

    waiter->cb      = cb;
    waiter->arg     = arg;
    waiter->next    = region->waiters;
    region->waiters = waiter;
    region->stale   = 1;
    ucs_spin_unlock(&pred->lock);

    atomic_store(&pred->stale, 1); /* see helper_sleep() */
    return ucs_rcache_pred_end(domain, memh);
}

void ucs_rcache_pred_unmapped(ucs_rcache_pred_t *pred, uintptr_t start,
                              uintptr_t end)
{
    ucs_rcache_pred_table_t *table = &pred->table;
    unsigned found                 = 0;
    ucs_rcache_pred_region_t *region;
    unsigned i;

    ucs_spin_lock(&pred->lock);
    for (i = ucs_rcache_pred_table_first(table, start);
         (i < table->count) && (table->sorted[i]->start < end); ++i) {
        region = table->sorted[i];
        if (!region->stale && (region->start + region->length > start)) {
            region->stale = 1;
            ++found;
        }
    }
    pred->stats.unmapped += found;
    if ((found > 0) && pred_has_sink(pred)) {
        pred_emit_unmap(pred, start, end);
    }
    ucs_spin_unlock(&pred->lock);

    if (found > 0) {
        atomic_store(&pred->stale, 1); /* see helper_sleep() */
        pred_wake(pred);
    }
}
