/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/predict/companion.h>

#include <ucs/sys/math.h>

/*
 * What the helper learns from a use: the begin, for predictions, and the needed memory
 * and access, for the registration ahead of the next use.
 */


/* Add the bytes of a region to the demand of this epoch, with its first use in the epoch:
 * those that the use has needed, or those of all joined slices, whichever is more */
static void note_demand(pred_seat_t *seat, const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    ucs_rcache_pred_extent_t *extent = &region->extent;
    size_t joined                    = ucs_rcache_pred_extent_is_merged(extent) ?
                                       0 : ucs_rcache_pred_range_length(&extent->joined);

    if (region->epoch != seat->epoch) {
        region->epoch       = seat->epoch;
        seat->epoch_demand += ucs_max(joined,
                                      ucs_rcache_pred_range_length(&entry->range));
    }
}

int pred_region_learn_needs(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    unsigned access                  = 0;
    ucs_rcache_pred_range_t expected;
    unsigned i;

    note_demand(&pred->seat, entry);
    if ((entry->begin < region->learned) && (region->begin >= region->learned)) {
        /* The helper has learned of a later use already: uses in pieces do not end in the
         * order of their begins, and entries of lanes come later. But if even the region's
         * last use began before the last learned one, the clock went back */
        return 0;
    }

    if (region->forecast.history.last != 0) {
        ucs_rcache_pred_region_settle(&pred->table, region);
    } else {
        ucs_rcache_pred_region_introduce(&pred->table, region);
    }

    ucs_rcache_pred_region_add_recent(region, &entry->range, entry->access,
                                      region->extent.renewed);
    for (i = 0; i < UCS_RCACHE_PRED_RECENT; ++i) {
        access |= region->accesses[i];
    }

    region->extent.renewed = 0;
    region->recent_access  = access;
    region->learned        = entry->begin;
    expected               = ucs_rcache_pred_region_expected(region);
    if (region->num_joined == 0) {
        pred_burst_note(region, ucs_rcache_pred_range_length(&entry->range),
                        ucs_rcache_pred_range_length(&expected));
    }
    return 1;
}

int pred_region_follow(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region)
{
    int told = ucs_rcache_pred_forecast_follow(&pred->predictor,
                                               &region->forecast,
                                               pred_now(pred));

    pred->rounds.precedents += told;
    return told;
}

/* Learn of companions, if the helper has a thread, which can follow them: work that the
 * program does waits until the program communicates */
static void learn_of_companions(ucs_rcache_pred_t *pred,
                                ucs_rcache_pred_region_t *region,
                                ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_times_t times;

    if (pred_spend_has_own_cpu(pred)) {
        pred_lock(pred);
        pred_region_times(pred, region, &times);
        pred_unlock(pred);
        ucs_rcache_pred_companion_learn(&pred->predictor, &region->forecast, begin,
                                        &times);
    }
    ucs_rcache_pred_link_leave(&region->forecast.followers);
}

/* @return when a use ended, as far as the helper knows, ns. The helper looks at the DQ at
 * intervals. A use that is longer than the longest interval ended soon after the last look
 * that did not find the use. The begin of a shorter use is known exactly, and the end comes
 * within one interval after the begin. */
static ucs_rcache_pred_time_t known_end(const ucs_rcache_pred_t *pred,
                                        ucs_rcache_pred_time_t begin,
                                        ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t emptied = ucs_min(pred->rounds.emptied, now);

    return (emptied > begin + PRED_POLL_MAX) ? emptied : begin;
}

/* If the site of this use was the companion of regions that wait to be registered, move
 * their deadlines. Of one that was registered before, the use is awaited for longer, if need
 * be, but once only: the companion may go on to be used where the region is not */
static void tell_followers(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_time_t now   = pred_now(pred);
    ucs_rcache_pred_time_t ended = known_end(pred, begin, now);
    ucs_rcache_pred_site_t *site = pred_spend_has_own_cpu(pred) ?
            ucs_rcache_pred_companion_heard(&pred->predictor, &region->forecast,
                                            begin, ended, now) : NULL;
    ucs_rcache_pred_timeq_t *rq  = &pred->rounds.rq;
    ucs_rcache_pred_forecast_t *forecast, *tmp;
    ucs_rcache_pred_timeq_elem_t *elem;
    ucs_rcache_pred_time_t deadline;

    if (site == NULL) {
        return;
    }

    ucs_list_for_each_safe(forecast, tmp, &site->followers, followers) {
        region   = ucs_container_of(forecast, ucs_rcache_pred_region_t, forecast);
        elem     = &region->queue_elem;
        deadline = ucs_rcache_pred_companion_move(&pred->predictor, forecast,
                                                  site->ended);
        if (!region->scheduled) {
            if (region->queued && !region->kept && (forecast->expiry > elem->time)) {
                ucs_rcache_pred_timeq_remove(&pred->rounds.awaited, elem);
                pred_enqueue_awaited(pred, region, now, forecast->expiry);
            }
            ucs_rcache_pred_link_leave(&forecast->followers);
        } else if (deadline != UCS_RCACHE_PRED_TIME_INF) {
            /* Ready before the deadline by the time for one more item of each queue: what
             * this use sets off besides comes at the same time */
            ucs_rcache_pred_timeq_remove(rq, elem);
            ucs_rcache_pred_timeq_insert(
                    rq, elem, ucs_max(deadline - ucs_min(elem->gap, deadline), now),
                    elem->gap);
        }
    }
}

uint64_t pred_region_learn(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    ucs_rcache_pred_range_t range    = entry->range;
    uint64_t signature, place, told;
    unsigned error;

    if (region->num_joined > 0) {
        if (pred_burst_has(region, entry->begin)) {
            return 0;
        }

        /* Learn the range of all slices: so the history of bursts is the same whichever
         * slice the program uses first */
        range = region->extent.joined;
    }

    signature = ucs_rcache_pred_signature(&entry->context, entry->generation,
                                          range.start,
                                          ucs_rcache_pred_range_length(&range));
    place     = ucs_rcache_pred_signature_of_place(&entry->context);
    told      = ucs_rcache_pred_forecast_teach(
            &pred->predictor, &region->forecast, entry->begin,
            ucs_rcache_pred_signature_with(place,
                                           ucs_rcache_pred_range_length(&range)),
            ucs_rcache_pred_forecast_is_met(&region->forecast, entry->begin));
    learn_of_companions(pred, region, entry->begin);
    error     = ucs_rcache_pred_forecast_learn(&pred->predictor,
                                               &region->forecast, entry->begin,
                                               signature, place);
    tell_followers(pred, region, entry->begin);
    if (region->forecast.history.count == 0) {
        pred_region_follow(pred, region);
    }
    if (error != UCS_RCACHE_PRED_ERROR_CLASSES) {
        ++pred->rounds.errors[error];
    }
    return told;
}
