/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ahead.h"
#include "burst.h"
#include "decide.h"
#include "join.h"
#include "learn.h"
#include "merge.h"
#include "pace.h"
#include "queue.h"
#include "seat.h"
#include "spend.h"
#include "times.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/event.h>
#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/cache/register.h>
#include <ucs/rcache_pred/cache/slices.h>
#include <ucs/rcache_pred/table/victim.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * What the helper does about a region: deregister it, register it again before
 * its next use, or keep it and await that use (CF'11, section 3.2).
 */

/* With each decision so many ranks are brought up to date, so that few are left
 * to an eviction. Each use is followed by one decision, and notes one region;
 * a registration ahead of it notes another one. */
#define RANK_STEPS 2

/* With each use that is a precedent for others, so many of the regions that have
 * waited for one are told: thousands may wait, and those that have waited for
 * longest are the first to be used */
#define TELL_STEPS 16


static void trace_decision(const ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t now,
                           ucs_rcache_pred_time_t deadline,
                           const ucs_rcache_pred_history_t *history)
{
    if (history == NULL) {
        ucs_debug("%s: %p: no use predicted", region->domain->name,
                  (void*)region->start);
        return;
    }

    ucs_debug("%s: %p: predicted in %.3f ms, %s, period %.3f ms of %u "
              "intervals, lead %.3f, grace %.3f, confidence %u",
              region->domain->name, (void*)region->start,
              ((double)deadline - now) / 1e6,
              (region->forecast.source == 0) ? "region" :
              region->forecast.source_next ? "next use" : "call site",
              history->period / 1e6, history->count,
              ucs_rcache_pred_history_lead(history) / 1e6,
              ucs_rcache_pred_history_grace(history) / 1e6,
              history->confidence);
}

/* Write a decision to the log, and to the trace or whatever else receives the
 * events of the cache */
static void tell_decision(ucs_rcache_pred_t *pred,
                          const ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t deadline,
                          const ucs_rcache_pred_history_t *history, int keep)
{
    trace_decision(region, now, deadline, history);
    if (pred_has_sink(pred)) {
        pred_emit_decision(region, now, deadline, history, keep);
    }
}

/* Keep a region that is registered. If there was time to give it up but no
 * budget, look at it again later: there may be budget for the rest of its idle
 * time then. Otherwise await its use. */
static void region_keep(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline, int in_time)
{
    region->kept = in_time;
    pred_enqueue_awaited(pred, region, now, in_time ?
                         pred_spend_look_again(pred, region, now, deadline) :
                         region->forecast.expiry);
}

/* Keep a region that stands for slices while the burst of their uses goes on.
 * @return whether it does. */
static int region_awaits_slices(ucs_rcache_pred_t *pred,
                                ucs_rcache_pred_region_t *region,
                                ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t end = pred_burst_end(pred, region, now);

    if (end == 0) {
        return 0;
    }

    /* That the rest of them does not come tells nothing about predictions */
    region->kept = 1;
    pred_expect_end(pred, end, region->span);
    pred_enqueue_awaited(pred, region, now, end);
    return 1;
}

/* When a region is needed next, for what gives way where there is no room: as predicted, or
 * as long from now as it usually is. That of one which was used once is not known */
static ucs_rcache_pred_time_t
needed_next(const ucs_rcache_pred_t *pred,
            const ucs_rcache_pred_region_t *region, ucs_rcache_pred_time_t now,
            ucs_rcache_pred_time_t deadline)
{
    return ((deadline == UCS_RCACHE_PRED_TIME_INF) &&
            (region->forecast.history.count > 0)) ?
           pred_spend_look_again(pred, region, now, deadline) : deadline;
}

void pred_region_decide(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    ucs_rcache_pred_history_t *history;
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_times_t times;
    int registered, in_time, keep;

    pred_dequeue(pred, region);
    if (region_awaits_slices(pred, region, now)) {
        return;
    }
    pred_region_times(pred, region, &times);
    deadline = ucs_rcache_pred_forecast_deadline(&pred->predictor,
                                                 &region->forecast, now,
                                                 &history);

    pred_lock(pred);
    ucs_rcache_pred_region_set_deadline(region, needed_next(pred, region, now,
                                                            deadline));
    ucs_rcache_pred_region_note(&pred->table.noted, region);
    ucs_rcache_pred_table_rank_noted(&pred->table, RANK_STEPS);
    registered       = (region->state != UCS_RCACHE_PRED_REGION_IDLE);
    pred_unlock(pred);

    in_time = ucs_rcache_pred_may_deregister(&times, now, deadline);
    pred->rounds.found |= in_time;
    if (in_time && (history != NULL) && pred_join_slices(pred, region, now)) {
        tell_decision(pred, region, now, deadline, history, 0);
        return;
    }

    keep    = registered && (!in_time || !pred_spend_on_region(pred, region,
                                                               &times, now,
                                                               deadline));
    tell_decision(pred, region, now, deadline, history, keep);
    if (keep) {
        pred_merge_kept(pred, region);
        region_keep(pred, region, now, deadline, in_time);
        return;
    }

    if (pred_should_part(region)) {
        pred_region_deregister(pred, region);
        pred_part_slices(pred, region);
        return;
    }

    if (registered) {
        pred_merge_given_up(pred, region, now);
    }
    pred_expect_end(pred, now, (history == NULL) ? 0 : history->period);
    if (deadline != UCS_RCACHE_PRED_TIME_INF) {
        pred_spend_on_ahead(pred, region, &times);
        pred_enqueue_registration(pred, region, deadline, &times);
    }
    pred_region_deregister(pred, region);
}

int pred_region_is_current(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           uint64_t generation)
{
    int current;

    pred_lock(pred);
    current = (region->generation == generation) && !region->stale;
    pred_unlock(pred);
    return current;
}

/* Whether a use is under way */
static int region_is_in_use(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    int in_use;

    pred_lock(pred);
    in_use = (region->refs > 0) || (region->in_pieces > 0);
    pred_unlock(pred);
    return in_use;
}

/* Whether a use is under way, or has ended and its entry is still in the DQ */
static int region_is_used(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region)
{
    int used;

    pred_lock(pred);
    used = pred_region_is_busy(region);
    pred_unlock(pred);
    return used;
}

/* How many bytes the program needs for a use and for those that follow in the
 * same burst */
static uint64_t entry_bytes(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_dq_entry_t *entry)
{
    uint64_t joined;

    pred_lock(pred);
    joined = ucs_rcache_pred_region_is_merged(entry->region) ?
                     0 : ucs_rcache_pred_range_length(&entry->region->joined);
    pred_unlock(pred);
    return ucs_max(joined, ucs_rcache_pred_range_length(&entry->range));
}

/* Regions whose next use could not be predicted have waited for a precedent:
 * decide about those anew that are not registered. What is used again already has
 * told by itself what was asked for. */
static void tell_waiting(ucs_rcache_pred_t *pred, uint64_t way)
{
    ucs_rcache_pred_region_t *region;
    unsigned left = TELL_STEPS;

    while ((way != 0) && (left-- > 0) &&
           ((region = pred_region_next_waiting(pred, way)) != NULL)) {
        if (!region_is_used(pred, region) &&
            pred_region_follow(pred, region) && !region->queued) {
            pred_region_decide(pred, region);
        }
    }
}

void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry)
{
    uint64_t told;

    pred_refund_on_use(pred, entry->region);
    told = pred_region_learn(pred, entry);

    pred_note_demand(pred, entry->region, entry_bytes(pred, entry));
    if (!region_is_used(pred, entry->region)) {
        pred_region_decide(pred, entry->region);
        pred_spend_note_foretold(pred, entry->region->forecast.predicted);
    } else if (region_is_in_use(pred, entry->region)) {
        pred_expect_end(pred, pred->rounds.last,
                        entry->region->forecast.history.period);
    } else {
        pred_merge_kept(pred, entry->region);
    }
    tell_waiting(pred, told);
}

/* Whether the region's memory is registered for others. Its next use is one of
 * theirs, or registers the memory once theirs have ended. */
static int region_is_taken(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_region_t *region)
{
    int taken;

    pred_lock(pred);
    taken = pred_is_slice_taken(region);
    pred_unlock(pred);
    return taken;
}

/* Take a region off the registration queue that is not to be registered ahead.
 * If it was used before its time, the entry of that use is usually still in the
 * DQ. If the entry was dropped, or there was no use, the decision about the
 * region has to be made here. */
static void rq_head_drop(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region)
{
    pred_dequeue(pred, region);
    if (!region_is_used(pred, region)) {
        pred_region_decide(pred, region);
    }
}

/* Whether the region was given up for room, and is not registered again yet */
static int region_is_evicted(ucs_rcache_pred_t *pred,
                             const ucs_rcache_pred_region_t *region)
{
    int evicted;

    pred_lock(pred);
    evicted = region->evicted;
    pred_unlock(pred);
    return evicted;
}

void pred_process_rq_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    ucs_rcache_pred_region_t *region;
    ucs_status_t status;
    int evicted;

    region  = pred_queue_region(ucs_rcache_pred_timeq_head(&pred->rounds.rq));
    evicted = region_is_evicted(pred, region);
    if (region_is_taken(pred, region) ||
        (evicted && !pred_spend_may_register(pred, now))) {
        pred_dequeue(pred, region);
        return;
    }

    if (!ucs_rcache_pred_forecast_is_trusted(&pred->predictor,
                                             &region->forecast)) {
        /* The budget was charged when the registration was scheduled, and it is
         * not made after all */
        pred_refund_on_use(pred, region);
        rq_head_drop(pred, region);
        return;
    }

    status = pred_register_ahead(pred, region);
    if (status == UCS_ERR_BUSY) {
        rq_head_drop(pred, region);
        return;
    }

    /* Not earlier, so that a use that has waited for this registration counts
     * as predicted, but late */
    pred_dequeue(pred, region);
    if (status == UCS_OK) {
        if (evicted) {
            pred_spend_on_evicted(pred, region, now);
        }
        region->prepaid = 0;
        region->kept    = 0;
        pred_expect_end(pred, region->forecast.expiry,
                        region->forecast.period);
        pred_enqueue_awaited(pred, region, pred_now(pred),
                             region->forecast.expiry);
    } else if (!evicted) {
        /* There may be no room for all slices together, or not all of them
         * allow the same access */
        pred_part_slices(pred, region);
    }
}

/* Whether the use for which a region was kept or registered has not begun yet.
 * Under lock. */
static int is_unmet(const ucs_rcache_pred_region_t *region)
{
    return (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
           (region->refs == 0) &&
           (region->ahead || !pred_region_has_news(region));
}

void pred_process_awaited_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_region_t *region;
    int unmet;

    region =
        pred_queue_region(ucs_rcache_pred_timeq_head(&pred->rounds.awaited));
    pred_dequeue(pred, region);

    pred_lock(pred);
    unmet               = is_unmet(region) && !region->kept;
    pred->stats.wasted += unmet && region->ahead;
    if (unmet && pred_has_sink(pred)) {
        pred_emit_unmet(region);
    }
    pred_unlock(pred);

    if (unmet) {
        ucs_rcache_pred_forecast_unmet(&pred->predictor, &region->forecast);
    }

    if (!region_is_used(pred, region)) {
        pred_region_decide(pred, region);
    }
}
