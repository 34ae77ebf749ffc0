/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "slices.h"
#include "use.h"

#include <ucs/rcache_pred/table/known.h>

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>

#include <inttypes.h>

/*
 * The slow path of the begin of a use: gives the use a region that no other
 * thread registers, and registers that region. Any thread.
 */

/* The most stale extents that one use deregisters. If the program has unmapped more, the
 * next uses and the helper deregister the rest */
#define MAX_STALE 64


ucs_rcache_pred_region_t *
pred_new_region(ucs_rcache_pred_domain_t *domain,
                const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_rcache_pred_room_t room;
    ucs_status_t status;

    while (!ucs_rcache_pred_table_has_room(&pred->table)) {
        ucs_rcache_pred_room_ask(&pred->table, &room);
        pred_unlock(pred);
        status = ucs_rcache_pred_room_alloc(&room);
        pred_lock(pred);
        if (status != UCS_OK) {
            return NULL;
        }

        ucs_rcache_pred_room_give(&pred->table, &room);
        pred_unlock(pred);
        ucs_rcache_pred_room_release(&room);
        pred_lock(pred);
    }

    return ucs_rcache_pred_region_new(&pred->table, domain, range->start,
                                      ucs_rcache_pred_range_length(range));
}

/* @return what to register for a use of a region: the range of the use, or together with
 * it the slices for which the region stands. Joined slices will be used next: they are
 * registered if the bounds can ever have room for all of them, and idle regions give way.
 * Merged slices may not be used soon: they are registered only if there is free room.
 * Under lock. */
static ucs_rcache_pred_range_t
with_joined(const pred_use_t *use, const ucs_rcache_pred_range_t *range)
{
    const ucs_rcache_pred_extent_t *extent = &use->region->extent;
    const ucs_rcache_pred_t *pred          = use->domain->pred;
    ucs_rcache_pred_range_t all;

    if (!ucs_rcache_pred_range_overlaps(&extent->joined, range)) {
        return *range;
    }

    all = ucs_rcache_pred_range_hull(&extent->joined, range);
    if (ucs_rcache_pred_extent_is_merged(extent)) {
        return (pred_stands_for(extent, range, use->time) &&
                pred_range_fits(pred, &all)) ? all : *range;
    }

    return pred_range_never_fits(pred, &all) ? *range : all;
}

ucs_status_t pred_claim(pred_use_t *use, pred_handle_t *old)
{
    ucs_rcache_pred_t *pred       = use->domain->pred;
    ucs_rcache_pred_range_t range = use->range;
    unsigned access               = use->access;
    ucs_rcache_pred_range_t joint;

    old->memh  = NULL;
    use->again = !pred_is_on_demand(pred) &&
                 pred_is_slice_known(use->domain, &use->range);
    if (use->region == NULL) {
        use->region = pred_new_region(use->domain, &use->range);
        if (use->region == NULL) {
            return UCS_ERR_NO_MEMORY;
        }

        use->is_new            = 1;
        pred->stats.forgotten += ucs_rcache_pred_forgotten_return(
                &pred->forgotten, use->range.start);
    } else if (use->region->extent.state == UCS_RCACHE_PRED_EXTENT_REGISTERED) {
        if (pred_range_never_fits(pred, &use->range)) {
            /* Leave the region registered: it may still serve shorter uses */
            ++pred->stats.refused;
            return UCS_ERR_EXCEEDS_LIMIT;
        }

        /* Register what this use needs and what was registered before. Otherwise two uses
         * in turns that need different access or slices would take the registration from
         * each other. But do not register memory in between that nobody knows */
        access |= use->region->extent.access;
        if (ucs_rcache_pred_range_meets(&range, &use->region->extent.known)) {
            range = ucs_rcache_pred_range_hull(&range, &use->region->extent.range);
        }
        *old    = pred_take_handle(pred, &use->region->extent);
    }

    joint      = with_joined(use, &range);
    use->beside = !use->region->extent.apart && pred_keys_are_scarce(use->domain);
    if (use->beside) {
        pred_extend(use->domain, &joint, &access);
    }
    use->joint = (ucs_rcache_pred_range_length(&joint) >
                  ucs_rcache_pred_range_length(&range));
    ucs_rcache_pred_extent_claim(&pred->table, &use->region->extent, &joint,
                                 access | use->region->recent_access);
    return UCS_OK;
}

/* A registration was refused, and giving up smaller ones has cured that: so keys were
 * short, and not bytes, unless the kernel says what else was. Without the lock. */
static void learn_limit(const ucs_rcache_pred_domain_t *domain)
{
    ucs_rcache_pred_node_keys_t keys;

    if (pred_may_lack_keys(domain) &&
        ucs_rcache_pred_node_key_refused(domain->limits.node, domain->limits.device,
                                         ucs_monotonic_ns(), &keys)) {
        ucs_warn("%s has no more keys: it refused a registration beside %" PRIu64
                 " of this job in %u processes of the node, and %" PRIu64 " of all jobs of "
                 "the user. The job keeps %" PRIu64 " at a time from now on, see "
                 "UCX_RCACHE_PRED_KEYS in ucx_predreg(7)", domain->name, keys.keys,
                 keys.procs, keys.all, keys.limit);
    }
}

/* Register a claimed region for which room was taken. As long as the system has no memory
 * for the registration, deregister an idle region that is needed later than the deadline,
 * see pred_cure(), and try again. Without the lock. */
static ucs_status_t register_try(ucs_rcache_pred_t *pred,
                                 pred_handle_t *handle, unsigned flags,
                                 ucs_rcache_pred_time_t deadline,
                                 ucs_rcache_pred_time_t *end_p)
{
    pred_cure_t cure = {
        .domain = handle->domain,
        .bytes  = pred_page_bytes(pred, &handle->range)
    };
    ucs_status_t status;

    do {
        status = pred_register(handle, UCS_RCACHE_PRED_BY_USE, flags, end_p);
    } while ((status == UCS_ERR_NO_MEMORY) && pred_cure(&cure, deadline));

    if ((status == UCS_OK) && (cure.regions > 0)) {
        if (cure.given < cure.bytes) {
            learn_limit(handle->domain);
        }
        /* Others may have memory that they need later */
        (void)pred_ask_keys(handle->domain, cure.idle);
    }
    return status;
}

/* Let a claimed region have no more memory and access than the use needs, after the
 * attempt to register more was refused. If no bound refused it, joined slices are parted:
 * there may not be room for all of them, or not the same access. Without the lock. */
static void claim_narrow(const pred_use_t *use, ucs_status_t status)
{
    ucs_rcache_pred_extent_t *extent = &use->region->extent;
    ucs_rcache_pred_t *pred          = use->domain->pred;

    pred_lock(pred);
    extent->access = use->access;
    if (status != UCS_ERR_EXCEEDS_LIMIT) {
        pred_part_slices(pred, use->region);
        /* The device may have refused the access of this use to the memory beside the
         * buffer: the next uses register the buffer alone */
        extent->apart |= use->beside && (status != UCS_ERR_NO_MEMORY);
    }
    ucs_rcache_pred_extent_set_range(&pred->table, extent, &use->range);
    pred_unlock(pred);
}

/* Whether a registration failed for another reason than that the cache does not
 * manage this memory */
static int is_refused(ucs_status_t status)
{
    return (status != UCS_OK) && (status != UCS_ERR_UNSUPPORTED);
}

/* Whether an attempt to register has failed that may succeed with less memory or less
 * access. Less access does not help if there was no room. */
static int is_narrower(const pred_use_t *use, ucs_status_t status)
{
    const ucs_rcache_pred_extent_t *extent = &use->region->extent;

    return is_refused(status) &&
           (!ucs_rcache_pred_range_has(&use->range, &extent->range) ||
            ((status != UCS_ERR_NO_MEMORY) &&
             (status != UCS_ERR_EXCEEDS_LIMIT) &&
             ((use->flags | extent->access) != use->flags)));
}

/*
 * Take room for a claimed region, and register it. Without the lock.
 *
 * @param [in]  joint     Whether the region has slices that the use does not need. Then
 *                        only regions that are needed after the begin of the use are
 *                        evicted, and only for a bound of this process, not for the node
 *                        or the system.
 * @param [out] handle    Handle of the region, if it was registered.
 * @param [out] end_p     When the attempt ended.
 */
static ucs_status_t claim_try(const pred_use_t *use, unsigned flags,
                              int joint, pred_handle_t *handle,
                              ucs_rcache_pred_time_t *end_p)
{
    ucs_rcache_pred_t *pred = use->domain->pred;
    pred_reservation_t room;
    ucs_status_t status;

    *handle       = pred_extent_handle(&use->region->extent);
    room          = pred_domain_reservation(handle->domain, &handle->range,
                                            PRED_PART_WHOLE);
    room.own_only = joint;
    if (!pred_reserve(pred, &room, joint ? use->time : 0)) {
        *end_p = pred_now(pred);
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    status = register_try(pred, handle, flags,
                          joint ? UCS_RCACHE_PRED_TIME_INF : 0, end_p);
    if (status != UCS_OK) {
        pred_bound_give(pred, &room);
    }
    return status;
}

/* Take room for a claimed region, and register it: first with all memory and access that
 * pred_claim() has chosen, then with what the use needs alone. See claim_try(). */
static ucs_status_t claim_register(const pred_use_t *use, pred_handle_t *handle,
                                   ucs_rcache_pred_time_t *end_p)
{
    unsigned quiet = use->domain->pred->params.helper_flags;
    unsigned flags = use->flags | use->region->extent.access;
    ucs_status_t status;

    status = claim_try(use, flags | quiet, use->joint, handle, end_p);
    if (is_narrower(use, status)) {
        /* Try with what the use needs alone: the memory may not allow any more the access
         * of earlier uses, and there may be no room for the memory of other slices */
        flags = use->flags;
        claim_narrow(use, status);
        status = claim_try(use, flags | quiet, 0, handle, end_p);
    }

    if (is_refused(status) && (status != UCS_ERR_EXCEEDS_LIMIT) &&
        (quiet & ~flags) && (use->pieces == NULL)) {
        /* The attempts so far had a flag that keeps mem_reg from logging a failure. A use
         * that cannot go on in pieces fails now, and the failure has to be logged if the
         * flags of the use say so: try once more with these flags alone. */
        status = claim_try(use, flags, 0, handle, end_p);
    }

    return status;
}

/* Count the time that a use has spent on registering, if leave-pinned would have kept the
 * memory registered (use->again). Other memory does not count: leave-pinned would have
 * had to register it as well. Under lock. */
static void note_lost(const pred_use_t *use, ucs_rcache_pred_time_t elapsed)
{
    ucs_rcache_pred_t *pred = use->domain->pred;

    if (!use->again) {
        return;
    }

    if (use->region->extent.evicted) {
        pred->stats.room_lost += elapsed;
    } else {
        pred->lost += elapsed;
    }
}

/*
 * Deregister stale extents without uses, before other memory is registered. The helper
 * deregisters them too, but later: a program that allocates a buffer for each use would
 * have several buffers pinned by then. UCX's own cache does the same at the begin of each
 * use (ucs_rcache_check_inv_queue() in UCX 1.13). The helper forgets the extents. Any
 * thread, under the lock, which is released during deregistrations.
 */
static void deregister_stale(ucs_rcache_pred_t *pred)
{
    ucs_list_link_t *stale = &pred->table.stale;
    unsigned left          = MAX_STALE;
    ucs_rcache_pred_extent_t *extent;
    pred_handle_t handle;

    while ((left-- > 0) && !ucs_list_is_empty(stale)) {
        extent = ucs_list_head(stale, ucs_rcache_pred_extent_t, stale_link);
        if (extent->state != UCS_RCACHE_PRED_EXTENT_REGISTERED) {
            break; /* The list has registered extents first */
        }

        handle = pred_take_handle(pred, extent);
        pred_unlock(pred);
        pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
        pred_lock(pred);
    }
}

ucs_status_t pred_register_claimed(pred_use_t *use)
{
    ucs_rcache_pred_extent_t *extent = &use->region->extent;
    ucs_rcache_pred_t *pred          = use->domain->pred;
    ucs_rcache_pred_time_t end, elapsed;
    pred_handle_t handle;
    ucs_status_t status;

    if (!pred_is_on_demand(pred)) {
        deregister_stale(pred);
        pred_merge_slices(pred, extent, UCS_RCACHE_PRED_BY_USE);
    }
    pred_unlock(pred);
    status = claim_register(use, &handle, &end);
    pred_lock(pred);

    elapsed                     = pred_elapsed(use->time + use->waited, end);
    pred->stats.time_critical  += elapsed;
    pred->stats.refused        += (status == UCS_ERR_EXCEEDS_LIMIT) ||
                                  (status == UCS_ERR_NO_MEMORY);
    pred->stats.refused_system += (status == UCS_ERR_NO_MEMORY);
    if (status == UCS_OK) {
        note_lost(use, elapsed);
        pred->bound.taken_bytes += pred_page_bytes(pred, &handle.range);
        ++pred->bound.taken_regions;
        ++pred->stats.regs_critical;
        ucs_rcache_pred_extent_set_memh(&pred->table, extent, handle.memh);
    } else {
        pred_guard_failed(pred, extent, status);
        ucs_rcache_pred_extent_unclaim(&pred->table, extent);
    }
    return status;
}

void pred_unclaim(pred_use_t *use)
{
    ucs_rcache_pred_t *pred = use->domain->pred;

    if (use->region == NULL) {
        return;
    }

    if (pred_is_on_demand(pred) ||
        (use->is_new && (use->region->in_pieces == 0))) {
        ucs_rcache_pred_region_free(&pred->table, use->region);
    } else if (use->region->extent.stale) {
        /* The region became stale while it was claimed, and could not be cleared away */
        ucs_rcache_pred_region_clear(&pred->table, use->region);
        pred_note_stale(pred);
        use->wake = 1;
    }
}
