/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"
#include "register.h"
#include "use.h"

#include <ucs/sys/math.h>

/*
 * Begin of use, on the critical path; end.c is the other end.
 *
 *                  begin                      helper, or begin of another use
 *   IDLE ---------------------> REGISTERING ------------------> REGISTERED
 *    ^                                                               |
 *    +---------------------------------------------------------------+
 *      the handle is taken under the lock, then deregistered without it
 *
 * A region whose handle was taken is IDLE at once: a use that comes while the
 * old handle is still being deregistered registers anew and does not wait.
 *
 * A use that does not find its region registered goes through three steps:
 * use_acquire() registers the region or waits for who does it, use_settle()
 * notes what came of it, and use_tell() tells whoever listens.
 */


/* A use that begins. The fast path has it in registers: it is written to memory,
 * as a copy, only where it is handed to a function that is not inlined. */
typedef struct use {
    /* As asked for */
    ucs_rcache_pred_domain_t        *domain;
    uintptr_t                       start;
    size_t                          length;
    unsigned                        flags;
    unsigned                        access;   /* The flags that widen access */
    const ucs_rcache_pred_context_t *context;
    ucs_rcache_pred_pieces_t        *pieces;  /* NULL: it cannot do without a
                                                 registration of all memory */
    ucs_rcache_pred_time_t          time;     /* When it began */

    /* As found out on the way */
    ucs_rcache_pred_region_t        *region;  /* NULL: there is none */
    ucs_rcache_pred_time_t          waited;   /* For who registers the region,
                                                 ns; 0 only if not at all */
    int                             late;     /* The helper was to register the
                                                 region, and has not yet */
    int                             wake;     /* The helper has to clear the
                                                 region away */
    unsigned                        result;   /* UCS_RCACHE_PRED_RESULT_* */
    uint64_t                        id;       /* Of the region; 0: none */
} use_t;


static UCS_F_ALWAYS_INLINE int
region_serves(const ucs_rcache_pred_region_t *region, const use_t *use)
{
    return (region != NULL) &&
           (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
           ucs_rcache_pred_region_covers(region, use->length, use->access);
}

/* A use starts on a registered region. Under lock.
 *
 * @return UCS_RCACHE_PRED_RESULT_EARLY or 0 */
static UCS_F_ALWAYS_INLINE unsigned
use_start(const use_t *use, ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    unsigned result         = 0;

    ++pred->stats.uses;
    if (region->refs++ > 0) {
        /* The use that found it idle is what has to be predicted */
        region->use_length = ucs_max(region->use_length, use->length);
        return 0;
    }

    if (region->ahead) {
        region->ahead = 0;
        if (use->time > region->registered_at + region->early_after) {
            ++pred->stats.early;
            result = UCS_RCACHE_PRED_RESULT_EARLY;
        }
    }

    region->begin      = use->time;
    region->context    = *use->context;
    region->use_length = use->length;
    region->flags      = use->flags;
    region->referenced = 1;
    region->deadline   = UCS_RCACHE_PRED_TIME_INF; /* Until it is decided */
    return result;
}

/* Tell of a use that begins, if somebody listens. Under lock, and out of line
 * since nobody listens as a rule. */
static UCS_F_NOINLINE void use_tell(const use_t *use)
{
    ucs_rcache_pred_event_t event = {
        .kind    = (use->pieces == NULL)    ? UCS_RCACHE_PRED_USE_WHOLE :
                   use->pieces->last_resort ? UCS_RCACHE_PRED_USE_LAST_RESORT :
                                              UCS_RCACHE_PRED_USE_PIECES,
        .flags   = use->flags,
        .id      = use->id,
        .time    = use->time,
        .address = use->start,
        .length  = use->length,
        .context = *use->context
    };

    pred_emit_begin(use->domain, &event, use->result, use->pieces);
}

/*
 * The best region for a use that starts at this address: one that is registered
 * and covers it; else one that is being registered and will cover it; else one
 * without uses, whose history goes on; else none. Under lock.
 */
static UCS_F_ALWAYS_INLINE ucs_rcache_pred_region_t *
use_lookup(const use_t *use)
{
    ucs_rcache_pred_table_t *table = &use->domain->pred->table;
    ucs_rcache_pred_region_t *region, *best = NULL;

    ucs_hlist_for_each(region, ucs_rcache_pred_start_bucket(table, use->start),
                       start_link) {
        if ((region->start != use->start) || (region->domain != use->domain) ||
            region->stale) {
            continue;
        }

        if ((region->state != UCS_RCACHE_PRED_REGION_IDLE) &&
            ucs_rcache_pred_region_covers(region, use->length, use->access)) {
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

/* Find the region of a use, and wait until nobody is registering it. Under
 * lock, which is given up while waiting. */
static void use_wait(use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    int wait                = 0;

    for (;;) {
        use->region = use_lookup(use);
        if ((use->region == NULL) ||
            (use->region->state != UCS_RCACHE_PRED_REGION_REGISTERING)) {
            break;
        }

        use->late |= use->region->scheduled;
        wait       = 1;
        ucs_spin_unlock(&pred->lock);
        pred_yield(pred);
        ucs_spin_lock(&pred->lock);
    }

    if (wait) {
        use->waited = ucs_max(pred_elapsed(use->time, pred_now(pred)), 1ul);
    }
    pred->stats.time_critical += use->waited;
}

/* Make a region for a use. Under lock, which is given up for a while if there is
 * no room in the table. */
static ucs_status_t use_new_region(use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    ucs_rcache_pred_room_t room;
    unsigned capacity;
    ucs_status_t status;

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

    use->region = ucs_rcache_pred_region_new(&pred->table, use->domain,
                                             use->start, use->length);
    return UCS_OK;
}

/*
 * Put the region of a use, or a new one, into REGISTERING state. Under lock,
 * which is given up for a while if there is no room in the table.
 *
 * @param [out] old  Handle to deregister, if the region is registered in a way
 *                   that does not cover the use; else none.
 */
static ucs_status_t use_claim(use_t *use, pred_handle_t *old)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    ucs_status_t status;

    old->memh = NULL;
    if (use->region == NULL) {
        status = use_new_region(use);
        if (status != UCS_OK) {
            return status;
        }
    } else if (use->region->state == UCS_RCACHE_PRED_REGION_REGISTERED) {
        *old = pred_take_handle(pred, use->region);
    }

    use->region->state   = UCS_RCACHE_PRED_REGION_REGISTERING;
    use->region->access |= use->access;
    ucs_rcache_pred_region_set_length(&pred->table, use->region, use->length);
    return UCS_OK;
}

/* Register a claimed region, for which there is room; give up idle ones as long
 * as the system refuses it. Without the lock. */
static ucs_status_t register_try(ucs_rcache_pred_t *pred,
                                 pred_handle_t *handle, unsigned flags,
                                 ucs_rcache_pred_time_t *end_p)
{
    ucs_status_t status;

    do {
        status = pred_register(handle, UCS_RCACHE_PRED_BY_USE, flags, end_p);
    } while ((status == UCS_ERR_NO_MEMORY) && pred_evict(pred, 0));

    return status;
}

/*
 * Find room for a claimed region and register it. Without the lock.
 *
 * @param [out] handle  Filled in if it is registered.
 * @param [out] end_p   When the last attempt was over.
 */
static ucs_status_t use_register(const use_t *use, pred_handle_t *handle,
                                 ucs_rcache_pred_time_t *end_p)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    unsigned quiet          = pred->params.helper_flags;
    unsigned flags          = use->flags | use->region->access;
    pred_reservation_t room;
    ucs_status_t status;

    *handle = pred_region_handle(use->region);
    room    = pred_reservation(handle->start, handle->length, PRED_PART_WHOLE);
    if (!pred_reserve(pred, &room, 0)) {
        *end_p = pred_now(pred);
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    status = register_try(pred, handle, flags | quiet, end_p);
    if ((status != UCS_OK) && (status != UCS_ERR_UNSUPPORTED) &&
        (quiet & ~flags) &&
        !((use->pieces != NULL) && (status == UCS_ERR_NO_MEMORY))) {
        /* The attempts so far were to fail silently. Unless the use goes on in
         * pieces, it has to fail the way it asked for: try without. */
        status = register_try(pred, handle, flags, end_p);
    }

    if (status != UCS_OK) {
        pred_bound_give(pred, &room);
    }
    return status;
}

/* Register a claimed region, and count what it took. Under lock, which is given
 * up meanwhile. */
static ucs_status_t use_register_claimed(use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    ucs_rcache_pred_time_t end;
    pred_handle_t handle;
    ucs_status_t status;

    ucs_spin_unlock(&pred->lock);
    status = use_register(use, &handle, &end);
    ucs_spin_lock(&pred->lock);

    pred->stats.time_critical += pred_elapsed(use->time + use->waited, end);
    pred->stats.refused       += (status == UCS_ERR_EXCEEDS_LIMIT);
    if (status == UCS_OK) {
        ++pred->stats.regs_critical;
        ucs_rcache_pred_region_set_memh(&pred->table, use->region, handle.memh);
    } else {
        use->region->state  = UCS_RCACHE_PRED_REGION_IDLE;
        use->region->access = 0;
    }
    return status;
}

/*
 * Get the memory of a use registered: find it, wait for who registers it, or
 * register it. Under lock, which is given up for what takes long.
 *
 * @return UCS_OK: the region is registered; UCS_INPROGRESS: it pays to do
 *         without; or why it could not be registered.
 */
static ucs_status_t use_acquire(use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    pred_handle_t old;
    ucs_status_t status;
    int pays;

    if (!pred_is_on_demand(pred)) {
        use_wait(use);
    }

    if (region_serves(use->region, use)) {
        /* If not by waiting, it was registered since the fast path looked */
        if (use->waited == 0) {
            ++pred->stats.hits;
            use->result = UCS_RCACHE_PRED_RESULT_HIT;
        }
        return UCS_OK;
    }

    use->late |= (use->region != NULL) && use->region->scheduled;
    status     = use_claim(use, &old);
    if (status != UCS_OK) {
        return status;
    }

    pays = (use->pieces != NULL) && !use->pieces->last_resort &&
           pred_pieces_pay(use->domain, use->start, use->length);
    if (old.memh != NULL) {
        ucs_spin_unlock(&pred->lock);
        pred_deregister(&old, UCS_RCACHE_PRED_BY_USE);
        ucs_spin_lock(&pred->lock);
    }

    if (pays) {
        use->region->state = UCS_RCACHE_PRED_REGION_IDLE;
        return UCS_INPROGRESS;
    }

    return use_register_claimed(use);
}

/* A use goes on in pieces: note it, so that the next one can be predicted. Under
 * lock. */
static void use_start_in_pieces(use_t *use)
{
    ucs_rcache_pred_t *pred          = use->domain->pred;
    ucs_rcache_pred_region_t *region = use->region;

    use->result       = UCS_RCACHE_PRED_RESULT_PIECES;
    pred->stats.late += use->late;
    if (region != NULL) {
        region->access    |= use->access;
        region->flags      = use->flags;
        region->referenced = 1;
        if (region->refs == 0) {
            region->begin = use->time; /* Its entry of the DQ will come */
        }
    }

    pred_pieces_start(use->domain, pred_is_on_demand(pred) ? NULL : region,
                      use->start, use->length, use->time, use->context,
                      use->pieces);
}

/* A use could not begin. Under lock. */
static void use_fail(use_t *use, ucs_status_t status)
{
    use->result                           = UCS_RCACHE_PRED_RESULT_FAILED;
    use->late                             = 0;
    use->domain->pred->stats.reg_failures += (use->region != NULL) &&
                                             (status != UCS_ERR_UNSUPPORTED) &&
                                             (status != UCS_ERR_EXCEEDS_LIMIT);
}

/* The region that was claimed for a use was not registered. It may be gone
 * after this. Under lock. */
static void use_unclaim(use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;

    if (use->region == NULL) {
        return;
    }

    if (pred_is_on_demand(pred)) {
        ucs_rcache_pred_region_free(&pred->table, use->region);
    } else if (use->region->stale) {
        /* The helper may have passed by while it was claimed */
        pred_note_stale(pred);
        use->wake = 1;
    }
}

/* Note what came of a use. Under lock.
 *
 * @return what the caller is told. */
static ucs_status_t use_settle(use_t *use, ucs_status_t status)
{
    if ((use->pieces != NULL) && ((status == UCS_ERR_EXCEEDS_LIMIT) ||
                                  (status == UCS_ERR_NO_MEMORY))) {
        status = UCS_INPROGRESS;
    }

    use->id = (use->region == NULL) ? 0 : use->region->generation;
    if (status == UCS_OK) {
        use->domain->pred->stats.late += use->late;
        use->result                   |= use_start(use, use->region);
        return status;
    }

    if (status == UCS_INPROGRESS) {
        use_start_in_pieces(use);
    } else {
        use_fail(use, status);
    }
    use_unclaim(use);
    return status;
}

/* The region of a use is not there: register it, or wait for who does it. */
static UCS_F_NOINLINE ucs_status_t use_begin_slow(use_t *use, void **memh_p)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    ucs_status_t status;

    use->result = UCS_RCACHE_PRED_RESULT_MISS;

    ucs_spin_lock(&pred->lock);
    status = use_acquire(use);
    status = use_settle(use, status);
    if (status == UCS_OK) {
        *memh_p = use->region->memh;
    }

    /* What is not supported is no use of ours: the caller sees to that memory */
    if (pred_has_sink(pred) && (status != UCS_ERR_UNSUPPORTED)) {
        use->result |= use->late ? UCS_RCACHE_PRED_RESULT_LATE : 0;
        use_tell(use);
    }
    ucs_spin_unlock(&pred->lock);

    pred_publish(pred);
    if (use->wake) {
        pred_wake(pred);
    }
    return status;
}

/* The fast path: a use that finds its region registered */
static UCS_F_ALWAYS_INLINE ucs_status_t use_begin(use_t use, void **memh_p)
{
    ucs_rcache_pred_t *pred = use.domain->pred;
    ucs_rcache_pred_region_t *region;
    use_t copy;

    use.time   = pred_now(pred);
    use.access = use.flags & pred->params.access_mask;
    if (ucs_likely(!pred_is_on_demand(pred))) {
        ucs_spin_lock(&pred->lock);
        region = use_lookup(&use);
        if (ucs_likely(region_serves(region, &use))) {
            ++pred->stats.hits;
            use.result = UCS_RCACHE_PRED_RESULT_HIT | use_start(&use, region);
            if (pred_has_sink(pred)) {
                use.id = region->generation;
                copy   = use;
                use_tell(&copy);
            }
            *memh_p = region->memh;
            ucs_spin_unlock(&pred->lock);
            return UCS_OK;
        }
        ucs_spin_unlock(&pred->lock);
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
    use_t use = {
        .domain  = domain,
        .start   = (uintptr_t)address,
        .length  = length,
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
    use_t use = {
        .domain  = domain,
        .start   = (uintptr_t)address,
        .length  = length,
        .flags   = flags,
        .context = context,
        .pieces  = pieces
    };

    return use_begin(use, memh_p);
}
