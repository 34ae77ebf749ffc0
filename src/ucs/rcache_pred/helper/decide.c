/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_int.h"

#include <ucs/rcache_pred/predict/signature.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * What the helper does about a region: deregister it, register it again before
 * its next use, or keep it and wait for that use (CF'11, section 3.2).
 *
 * A region is on one queue at most: on the RQ while it is not registered and a
 * use is predicted, on the watch list while it is registered and a use is
 * awaited. Uses do not touch the queues: the helper finds out when it takes the
 * region off.
 */


/* The region leaves the queue it is on. A use that finds it unregistered from
 * now on was not predicted. */
static void region_dequeue(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region)
{
    if (!region->queued) {
        return;
    }

    region->queued = 0;
    ucs_list_del(&region->queue_elem.list);
    ucs_spin_lock(&pred->lock);
    region->scheduled = 0;
    ucs_spin_unlock(&pred->lock);
}

static void region_enqueue(ucs_rcache_pred_t *pred, ucs_list_link_t *queue,
                           ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_time_t time)
{
    ucs_rcache_pred_timeq_insert(queue, &region->queue_elem, time);
    region->queued = 1;
    ucs_spin_lock(&pred->lock);
    region->scheduled = (queue == &pred->rq);
    ucs_spin_unlock(&pred->lock);
}

void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    region_dequeue(pred, region);
    ucs_rcache_pred_forecast_forget(&pred->predictor, &region->forecast);

    ucs_spin_lock(&pred->lock);
    ucs_rcache_pred_region_free(&pred->table, region);
    ucs_spin_unlock(&pred->lock);
}

/* Nothing is urgent about a use that has not come: the helper is not woken for
 * each of many short periods that go by, but after this, ns, at the earliest */
#define AWAIT_MIN 4000000

/* Watch for a use that is expected no later than this */
static void region_await(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_time_t now,
                         ucs_rcache_pred_time_t expiry)
{
    region_enqueue(pred, &pred->awaited, region,
                   ucs_max(expiry, now + AWAIT_MIN));
}

/* What things cost for this region: as fitted and measured */
void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times)
{
    size_t pages;

    *times = pred->times;
    ucs_spin_lock(&pred->lock);
    pages        = ucs_rcache_pred_pages(
                           region->start,
                           ucs_max(ucs_rcache_pred_region_expected_length(region),
                                   1ul));
    times->reg   = ucs_rcache_pred_cost_estimate(&region->domain->reg_cost,
                                                 pages);
    times->dereg = ucs_rcache_pred_cost_estimate(&region->domain->dereg_cost,
                                                 pages);
    ucs_spin_unlock(&pred->lock);
    times->margin = (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_PROGRESS) ?
                    ucs_rcache_pred_own_margin(times) :
                    (times->reg + times->dereg);
}

/* Deregister the region, unless a use has begun */
void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t begin;
    pred_handle_t handle;

    ucs_spin_lock(&pred->lock);
    if ((region->state != UCS_RCACHE_PRED_REGION_REGISTERED) ||
        (region->refs > 0)) {
        ucs_spin_unlock(&pred->lock);
        return;
    }

    handle = pred_take_handle(pred, region);
    ucs_spin_unlock(&pred->lock);

    begin = pred_now(pred);
    pred_deregister(&handle, UCS_RCACHE_PRED_BY_HELPER);
    pred->outside += pred_elapsed(begin, pred_now(pred));
}

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

/*
 * Decide about a region without a use: deregister it, and register it again
 * before its deadline; or keep it and look again when its use has not come. One
 * that is not registered, after a use in pieces, is registered for the next one.
 */
void pred_region_decide(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    ucs_rcache_pred_history_t *history;
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_times_t times;
    int registered, keep;

    region_dequeue(pred, region);
    pred_region_times(pred, region, &times);
    deadline = ucs_rcache_pred_forecast_deadline(&pred->predictor,
                                                 &region->forecast, now,
                                                 &history);

    ucs_spin_lock(&pred->lock);
    region->deadline = deadline;
    registered       = (region->state != UCS_RCACHE_PRED_REGION_IDLE);
    ucs_spin_unlock(&pred->lock);

    keep = registered && !ucs_rcache_pred_may_deregister(&times, now, deadline);
    trace_decision(region, now, deadline, history);
    if (pred_has_sink(pred)) {
        pred_emit_decision(region, now, deadline, history, keep);
    }
    if (keep) {
        region_await(pred, region, now, ucs_rcache_pred_forecast_expiry(&region->forecast,
                                                                 history));
        return;
    }

    pred_expect_end(pred, now, (history == NULL) ? 0 : history->period);
    if (deadline != UCS_RCACHE_PRED_TIME_INF) {
        region_enqueue(pred, &pred->rq, region, deadline);
        ucs_rcache_pred_space_deadlines(&pred->rq, &region->queue_elem,
                                        ucs_rcache_pred_spacing(&times));
    }
    pred_region_deregister(pred, region);
}

/* Whether the region is still what an entry of the DQ is about */
int pred_region_is_current(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           uint64_t generation)
{
    int current;

    ucs_spin_lock(&pred->lock);
    current = (region->generation == generation) && !region->stale;
    ucs_spin_unlock(&pred->lock);
    return current;
}

/* Whether a use is under way */
static int region_is_in_use(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    int in_use;

    ucs_spin_lock(&pred->lock);
    in_use = (region->refs > 0) || (region->in_pieces > 0);
    ucs_spin_unlock(&pred->lock);
    return in_use;
}

/* Whether a use is under way, or its entry of the DQ */
static int region_is_used(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region)
{
    int used;

    ucs_spin_lock(&pred->lock);
    used = (region->refs > 0) || (region->in_pieces > 0) ||
           pred_region_has_news(region) ||
           (region->state == UCS_RCACHE_PRED_REGION_REGISTERING);
    ucs_spin_unlock(&pred->lock);
    return used;
}

/* Whether a use that began later is in the histories already: uses in pieces do not
 * end in the order in which they begin. If the last use itself began before
 * that, it is the clock that went back. */
static int is_overtaken(ucs_rcache_pred_t *pred,
                        const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_time_t last = entry->region->forecast.history.last;
    int overtaken;

    ucs_spin_lock(&pred->lock);
    overtaken = (entry->begin < last) && (entry->region->begin >= last);
    ucs_spin_unlock(&pred->lock);
    return overtaken;
}

/* Take a use into the histories of its region, and count how wrong the
 * prediction for it was. */
static void region_learn(ucs_rcache_pred_t *pred,
                         const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    uint64_t signature;
    unsigned error;

    region->lengths[region->num_lengths++ % UCS_RCACHE_PRED_RECENT_LENGTHS] =
            entry->length;

    signature = ucs_rcache_pred_signature(&entry->context, entry->generation,
                                          region->start, entry->length);
    error     = ucs_rcache_pred_forecast_learn(&pred->predictor,
                                               &region->forecast, entry->begin,
                                               signature,
                                               region->queued &&
                                               !region->scheduled);
    if (error != UCS_RCACHE_PRED_ERROR_CLASSES) {
        ucs_spin_lock(&pred->lock);
        ++pred->stats.prediction_errors[error];
        ucs_spin_unlock(&pred->lock);
    }
}

/* A current entry of the DQ: learn when the use began, then decide about its
 * region, unless another entry will follow */
void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry)
{
    if (!is_overtaken(pred, entry)) {
        region_learn(pred, entry);
    }

    pred_note_demand(pred, entry->region, entry->length);
    if (!region_is_used(pred, entry->region)) {
        pred_region_decide(pred, entry->region);
    } else if (region_is_in_use(pred, entry->region)) {
        pred_expect_end(pred, pred->last_round, entry->region->forecast.history.period);
    }
}

/* Take the region into REGISTERING state, if it still wants registering */
static int region_claim(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    int claimed;

    ucs_spin_lock(&pred->lock);
    claimed = !region->stale && (region->in_pieces == 0) &&
              (region->state == UCS_RCACHE_PRED_REGION_IDLE);
    if (claimed) {
        region->state = UCS_RCACHE_PRED_REGION_REGISTERING;
        ++pred->ahead_now;
        ucs_rcache_pred_region_set_length(
                &pred->table, region,
                ucs_rcache_pred_region_expected_length(region));
    }
    ucs_spin_unlock(&pred->lock);
    return claimed;
}

/* Register a claimed region ahead of its use, if there is room among those that
 * are needed earlier */
static ucs_status_t region_register(ucs_rcache_pred_t *pred,
                                    ucs_rcache_pred_region_t *region,
                                    void **memh_p,
                                    ucs_rcache_pred_time_t *end_p)
{
    pred_handle_t handle = pred_region_handle(region);
    ucs_status_t status;
    int held;

    *end_p = pred_now(pred);
    if (!pred_reserve(pred, region->start, region->length, PRED_PART_WHOLE,
                      ucs_max(region->deadline, 1ul), &held)) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    status = pred_register(&handle, UCS_RCACHE_PRED_BY_HELPER,
                           region->flags | region->access |
                           pred->params.helper_flags, end_p);
    if (status != UCS_OK) {
        pred_unreserve(pred, region->start, region->length, held);
    }
    *memh_p = handle.memh;
    return status;
}

/* The region is due: register it ahead of its use, and watch for the use */
void pred_process_rq_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem = ucs_rcache_pred_timeq_head(&pred->rq);
    ucs_rcache_pred_region_t *region   = pred_queue_region(elem);
    ucs_rcache_pred_history_t *history;
    ucs_rcache_pred_time_t begin, end, expiry;
    ucs_status_t status;
    void *memh;

    begin = pred_now(pred);
    if (!region_claim(pred, region)) {
        /* Used before its time: its entry of the DQ is on the way, or was
         * dropped and will be missed */
        region_dequeue(pred, region);
        if (!region_is_used(pred, region)) {
            pred_region_decide(pred, region);
        }
        return;
    }

    status         = region_register(pred, region, &memh, &end);
    pred->outside += pred_elapsed(begin, end);
    history        = ucs_rcache_pred_forecast_source(&pred->predictor,
                                                     &region->forecast);

    ucs_spin_lock(&pred->lock);
    --pred->ahead_now;
    if (status == UCS_OK) {
        ++pred->stats.regs_helper;
        ucs_rcache_pred_region_set_memh(&pred->table, region, memh);
        region->ahead         = 1;
        region->registered_at = end;
        region->early_after   = (history == NULL) ? 0 : (history->period / 4);
    } else {
        region->state = UCS_RCACHE_PRED_REGION_IDLE;
    }
    ucs_spin_unlock(&pred->lock);

    /* Not before: a use that waited until now was predicted, but late */
    region_dequeue(pred, region);
    if (status == UCS_OK) {
        expiry = (history == NULL) ? end : ucs_rcache_pred_forecast_expiry(&region->forecast,
                                                                 history);
        pred_expect_end(pred, expiry,
                        (history == NULL) ? 0 : history->period);
        region_await(pred, region, end, expiry);
    }
}

/* The use that was awaited has not come in time, or has and is on its way here
 * through the DQ */
void pred_process_awaited_head(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem =
            ucs_rcache_pred_timeq_head(&pred->awaited);
    ucs_rcache_pred_region_t *region   = pred_queue_region(elem);
    int unmet;

    region_dequeue(pred, region);

    ucs_spin_lock(&pred->lock);
    unmet = (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
            (region->refs == 0) &&
            (region->ahead ||
             (region->begin <= region->forecast.history.last)); /* No entry on the way */
    pred->stats.wasted += unmet && region->ahead;
    if (unmet && pred_has_sink(pred)) {
        pred_emit_unmet(region);
    }
    ucs_spin_unlock(&pred->lock);

    if (unmet) {
        ucs_rcache_pred_forecast_unmet(&pred->predictor, &region->forecast);
    }

    if (!region_is_used(pred, region)) {
        pred_region_decide(pred, region);
    }
}
