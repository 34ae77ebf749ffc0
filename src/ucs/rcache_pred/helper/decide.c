/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/event.h>
#include <ucs/rcache_pred/predict/companion.h>
#include <ucs/rcache_pred/cache/slices.h>
#include <ucs/rcache_pred/table/victim.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

/*
 * The helper decides about a region after a use: it deregisters the region, to register the
 * memory again before the next use, or keeps the region registered (CF'11, section 3.2).
 */

/* How many noted ranks each decision brings up to date, so that few are left for an
 * eviction to do. There is one decision for each use; the use notes one region, and a
 * registration ahead of it one more. */
#define RANK_STEPS 2

/* While memory is short, the helper looks again after this time, ns, at a region that was
 * kept for lack of budget: the rate of the budget changes */
#define SHORT_KEEP 1000000000

/* When a use has made a precedent for other regions, how many of the regions that wait
 * for the precedent are decided about. Thousands may wait, and the program will first use
 * those that have waited for longest */
#define TELL_STEPS 16


/* What a decision about a region knows of the next use */
typedef struct {
    ucs_rcache_pred_time_t    now;
    ucs_rcache_pred_time_t    deadline; /* INF: no use is predicted */
    ucs_rcache_pred_history_t *history; /* Predicts the use; NULL: no history does */
    ucs_rcache_pred_times_t   times;
    int                       registered;
    int                       in_time; /* Whether there is time to give the region up, and
                                          to register it again before the use */
} outlook_t;


/* Write a decision to the log. Without the lock. */
static void trace_decision(const ucs_rcache_pred_region_t *region,
                           const outlook_t *next)
{
    const ucs_rcache_pred_history_t *history = next->history;

    if (history == NULL) {
        ucs_debug("%s: %p: no use predicted", region->extent.domain->name,
                  (void*)region->start);
        return;
    }

    ucs_debug("%s: %p: predicted in %.3f ms, %s, period %.3f ms of %u "
              "intervals, lead %.3f, grace %.3f, trust %d",
              region->extent.domain->name, (void*)region->start,
              ((double)next->deadline - next->now) / 1e6,
              (region->forecast.source == 0) ? "region" :
              region->forecast.source_next ? "next use" : "call site",
              history->period / 1e6, history->count,
              ucs_rcache_pred_history_lead(history) / 1e6,
              ucs_rcache_pred_history_grace(history) / 1e6,
              history->trust);
}

/* After a decision was made, emit its event, give the lock back, and write the decision
 * to the log */
static void tell_and_unlock(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_region_t *region,
                            const outlook_t *next, int keep)
{
    if (pred_has_sink(pred)) {
        pred_emit_decision(region, next->now, next->deadline, next->history,
                           keep);
    }
    pred_unlock(pred);
    trace_decision(region, next);
}

/* Keep a region that is registered. If there was time to give it up but no
 * budget, look at it again later: there may be budget for the rest of its idle
 * time then. Otherwise await its use. */
static void region_keep(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region,
                        const outlook_t *next)
{
    ucs_rcache_pred_time_t until = region->forecast.expiry;

    if (next->in_time) {
        until = pred_spend_look_again(pred, region, next->now, next->deadline);
        if (pred->shortage.state.is_short) {
            until = ucs_min(until, next->now + SHORT_KEEP);
        }
    }
    region->kept = next->in_time;
    pred_enqueue_awaited(pred, region, next->now, until);
}

/* Keep the region of a burst while the burst goes on. Under lock. @return whether the
 * burst goes on; if not, the caller decides about the region. */
static int region_awaits_slices(ucs_rcache_pred_t *pred,
                                ucs_rcache_pred_region_t *region,
                                ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t end = pred_burst_end(region, now);

    if (end == 0) {
        return 0;
    }

    /* If the other slices are not used, that tells nothing about predictions: do not
     * count it as an unmet one */
    region->kept = 1;
    pred_expect_end(pred, end, region->span);
    pred_enqueue_awaited(pred, region, now, end);
    return 1;
}

/* When a region is needed next, by which evictions choose a victim: as predicted; or
 * without a prediction, as long from now as between most of its uses; INF if it was used
 * only once */
static ucs_rcache_pred_time_t
needed_next(const ucs_rcache_pred_t *pred,
            const ucs_rcache_pred_region_t *region, ucs_rcache_pred_time_t now,
            ucs_rcache_pred_time_t deadline)
{
    return ((deadline == UCS_RCACHE_PRED_TIME_INF) &&
            (region->forecast.history.count > 0)) ?
           pred_spend_look_again(pred, region, now, deadline) : deadline;
}

/* Find out when a region is needed next. Under lock. */
static void look_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                       outlook_t *next)
{
    pred_region_times(pred, region, &next->times);
    next->deadline   = ucs_rcache_pred_forecast_deadline(&pred->predictor,
                                                         &region->forecast,
                                                         next->now,
                                                         &next->history);
    ucs_rcache_pred_region_set_deadline(region,
                                        needed_next(pred, region, next->now,
                                                    next->deadline));
    region->foretold = region->forecast.predicted;
    ucs_rcache_pred_region_note(&pred->table.noted, region);
    ucs_rcache_pred_table_rank_noted(&pred->table, RANK_STEPS);
    next->registered    = (region->extent.state != UCS_RCACHE_PRED_EXTENT_IDLE);
    next->in_time       = ucs_rcache_pred_may_deregister(&next->times, next->now,
                                                         next->deadline);
    pred->rounds.found |= next->in_time;
}

/* Whether to keep a region: it is registered, and there is no time to give it up, or no
 * budget. If there are both, the cost is spent here. Under lock. */
static int should_keep(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                       const outlook_t *next)
{
    return next->registered &&
           (!next->in_time ||
            !pred_spend_on_bytes(pred, region,
                                 pred_page_bytes(pred, &region->extent.range),
                                 &next->times, next->now, next->deadline));
}

/* Give a region up, and put it on the registration queue if its next use is predicted.
 * Under lock, which is given back. */
static void region_give_up(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           const outlook_t *next)
{
    ucs_rcache_pred_time_t deadline = next->deadline;
    pred_handle_t handle;

    if (next->registered && ucs_rcache_pred_extent_is_merged(&region->extent)) {
        pred_merge_given_up(pred, &region->extent, next->now);
    }
    pred_expect_end(pred, next->now,
                    (next->history == NULL) ? 0 : next->history->period);
    if (next->deadline != UCS_RCACHE_PRED_TIME_INF) {
        if (pred_spend_has_own_cpu(pred)) {
            deadline = ucs_rcache_pred_companion_follow(
                    &pred->predictor, &region->forecast, next->history,
                    &next->times, deadline);
        }
        pred_spend_on_ahead(pred, region, &next->times);
        pred_enqueue_registration(pred, region, deadline, &next->times);
    }
    handle = pred_take_idle(pred, &region->extent);
    tell_and_unlock(pred, region, next, 0);
    pred_handle_deregister(pred, &handle);
}

/* Make a decision. Under lock, which is given back. */
static void decide(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                   const outlook_t *next)
{
    if (should_keep(pred, region, next)) {
        tell_and_unlock(pred, region, next, 1);
        pred_merge_kept(pred, region);
        region_keep(pred, region, next);
    } else if ((region->num_joined > 0) &&
               ucs_rcache_pred_trust_is_doubted(
                       pred_burst_trust(&region, &region->extent.joined, 1),
                       UCS_RCACHE_PRED_TRUST_SLICES)) {
        pred_part_slices(pred, region);
        tell_and_unlock(pred, region, next, 0);
    } else {
        region_give_up(pred, region, next);
    }
}

/* @return UCS_OK if a region is not busy, so that the helper can decide about it;
 * otherwise what @ref pred_region_decide returns. Under lock. */
static ucs_status_t busy_status(const ucs_rcache_pred_region_t *region)
{
    return ((region->refs > 0) || (region->in_pieces > 0)) ? UCS_INPROGRESS :
           pred_region_is_busy(region) ? UCS_ERR_BUSY : UCS_OK;
}

ucs_status_t pred_region_decide(ucs_rcache_pred_t *pred,
                                ucs_rcache_pred_region_t *region)
{
    outlook_t next = {.now = pred_now(pred)};
    ucs_status_t status;

    pred_lock(pred);
    pred->stats.precedents = pred->rounds.precedents;
    memcpy(pred->stats.prediction_errors, pred->rounds.errors,
           sizeof(pred->rounds.errors));
    status = busy_status(region);
    if (status != UCS_OK) {
        pred_unlock(pred);
        return status;
    }

    pred_dequeue(pred, region);
    if ((region->num_joined > 0) &&
        region_awaits_slices(pred, region, next.now)) {
        pred_unlock(pred);
        return UCS_OK;
    }

    look_ahead(pred, region, &next);
    if (next.in_time && (next.history != NULL) &&
        pred_may_join(pred, region, next.now)) {
        pred_unlock(pred);
        if (pred_join_slices(pred, region, next.now)) {
            pred_lock(pred);
            tell_and_unlock(pred, region, &next, 0);
            return UCS_OK;
        }
        pred_lock(pred);
    }

    decide(pred, region, &next);
    return UCS_OK;
}

/* There is a new precedent for a way of use: predict the next use of regions that wait
 * for it, and decide anew about those that are on no queue. A region that is busy is left
 * out: its own next use tells more than the precedent. */
static void tell_waiting(ucs_rcache_pred_t *pred, uint64_t way)
{
    unsigned left = TELL_STEPS;
    ucs_rcache_pred_forecast_t *forecast;
    ucs_rcache_pred_region_t *region;
    int is_busy;

    while ((way != 0) && (left-- > 0) &&
           ((forecast = ucs_rcache_pred_forecast_next_waiting(&pred->predictor,
                                                              way)) != NULL)) {
        region = ucs_container_of(forecast, ucs_rcache_pred_region_t, forecast);
        pred_lock(pred);
        is_busy = pred_region_is_busy(region);
        pred_unlock(pred);
        if (!is_busy && pred_region_follow(pred, region) && !region->queued) {
            pred_region_decide(pred, region);
        }
    }
}

void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry, int is_news)
{
    ucs_rcache_pred_region_t *region = entry->region;
    uint64_t told                    = 0;
    ucs_status_t status;

    pred_refund_on_use(pred, region);
    if (is_news) {
        told = pred_region_learn(pred, entry);
    }

    status = pred_region_decide(pred, region);
    if (status == UCS_INPROGRESS) {
        pred_expect_end(pred, pred->rounds.last,
                        region->forecast.history.period);
    } else if (status != UCS_OK) {
        pred_merge_kept(pred, region);
    }
    tell_waiting(pred, told);
}

void pred_process_rq_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_region_t *region;
    ucs_status_t status;
    int evicted, is_needless, is_trusted;

    region = pred_queue_region(ucs_rcache_pred_timeq_head(&pred->rounds.rq));
    pred_lock(pred);
    evicted     = region->extent.evicted;
    /* The registration is needless in two cases. Other extents have the memory registered,
     * and serve the next use. Or the region was evicted, so that no registration ahead is
     * paid for, and the budget has nothing left. Where the registration takes the program's
     * time, the budget is not asked: a registration by the use would take as much */
    is_needless = pred_is_slice_taken(region) ||
                  (evicted && pred_spend_has_own_cpu(pred) &&
                   !ucs_rcache_pred_budget_may_spend(&pred->rounds.budget));
    if (is_needless) {
        pred_dequeue(pred, region);
    }
    pred_unlock(pred);
    if (is_needless) {
        return;
    }

    is_trusted = ucs_rcache_pred_forecast_is_trusted(&pred->predictor,
                                                     &region->forecast);
    if (!is_trusted) {
        /* The budget has paid for the registration when it was scheduled, and the helper
         * does not make it after all */
        pred_refund_on_use(pred, region);
    }

    status = is_trusted ? pred_register_ahead(pred, region) : UCS_ERR_BUSY;

    /* The region stays on the queue until here, so that a use that has waited for this
     * registration counts as predicted, but late */
    pred_lock(pred);
    pred_dequeue(pred, region);
    if ((status != UCS_OK) && (status != UCS_ERR_BUSY) && !evicted) {
        /* If the region stands for slices, let each stand for itself: there may be no room
         * for all slices together, or not all of them allow the same access */
        pred_part_slices(pred, region);
    }
    pred_unlock(pred);
    if (status == UCS_ERR_BUSY) {
        /* If the region was used before its time, the entry of that use is usually still in
         * the DQ, and the decision waits for the entry. But the entry may have been dropped,
         * or there was no use */
        pred_region_decide(pred, region);
    }
    if (status == UCS_OK) {
        if (evicted) {
            pred_spend_on_evicted(pred, region);
        }
        region->prepaid = 0;
        region->kept    = 0;
        pred_expect_end(pred, region->forecast.expiry,
                        region->forecast.period);
        pred_enqueue_awaited(pred, region, pred_now(pred),
                             region->forecast.expiry);
    }
}

/* Whether the use for which a region was kept or registered has not begun yet.
 * Under lock. */
static int is_unmet(const ucs_rcache_pred_region_t *region)
{
    return (region->extent.state == UCS_RCACHE_PRED_EXTENT_REGISTERED) &&
           (region->refs == 0) &&
           (region->extent.ahead || !pred_region_has_news(region));
}

void pred_process_awaited_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_region_t *region;
    int unmet;

    region =
        pred_queue_region(ucs_rcache_pred_timeq_head(&pred->rounds.awaited));

    pred_lock(pred);
    pred_dequeue(pred, region);
    unmet               = is_unmet(region) && !region->kept;
    pred->stats.wasted += unmet && region->extent.ahead;
    if (unmet && pred_has_sink(pred)) {
        pred_emit_unmet(region);
    }
    pred_unlock(pred);

    if (unmet) {
        ucs_rcache_pred_forecast_unmet(&pred->predictor, &region->forecast);
    }
    pred_region_decide(pred, region);
}
