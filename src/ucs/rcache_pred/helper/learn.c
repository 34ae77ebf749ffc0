/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "burst.h"
#include "learn.h"

#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/predict/predict.h>

/*
 * What the helper learns from a use: when it began, which predicts the next
 * one, and what memory and what access it needed, which is what to register
 * ahead of the next one.
 */


/* Whether the helper has already learned of a use that began later than the one
 * of this entry. That happens since uses in pieces do not end in the order in
 * which they begin. But if the last use of the region itself began before the
 * last one that it has learned of, then the clock went back, and the entry is not
 * overtaken. */
static int is_overtaken(ucs_rcache_pred_t *pred,
                        const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_time_t last = entry->region->learned;
    int overtaken;

    pred_lock(pred);
    overtaken = (entry->begin < last) && (entry->region->begin >= last);
    pred_unlock(pred);
    return overtaken;
}

/* Remember what memory and what access a use has needed, for the registration
 * ahead of the next one, and how much of that memory the use has needed. */
static void region_learn_needs(ucs_rcache_pred_t *pred,
                               const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    unsigned access                  = 0;
    ucs_rcache_pred_range_t expected;
    int renewed;
    unsigned i;

    pred_lock(pred);
    renewed         = region->renewed;
    region->renewed = 0;
    if (region->forecast.history.last != 0) {
        ucs_rcache_pred_region_settle(&pred->table, region);
    } else {
        ucs_rcache_pred_region_introduce(&pred->table, region);
    }
    pred_unlock(pred);

    ucs_rcache_pred_region_add_recent(region, &entry->range, entry->access,
                                      renewed);
    for (i = 0; i < UCS_RCACHE_PRED_RECENT; ++i) {
        access |= region->accesses[i];
    }

    pred_lock(pred);
    region->recent_access = access;
    expected              = ucs_rcache_pred_region_expected(region);
    pred_unlock(pred);
    pred_burst_note_use(region, ucs_rcache_pred_range_length(&entry->range),
                        ucs_rcache_pred_range_length(&expected));
}

int pred_region_follow(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region)
{
    int told = ucs_rcache_pred_forecast_follow(&pred->predictor,
                                               &region->forecast,
                                               pred_now(pred));

    if (told) {
        pred_lock(pred);
        ++pred->stats.precedents;
        pred_unlock(pred);
    }
    return told;
}

ucs_rcache_pred_region_t *pred_region_next_waiting(ucs_rcache_pred_t *pred,
                                                   uint64_t way)
{
    ucs_rcache_pred_forecast_t *forecast;

    forecast = ucs_rcache_pred_forecast_next_waiting(&pred->predictor, way);
    return (forecast == NULL) ?
           NULL :
           ucs_container_of(forecast, ucs_rcache_pred_region_t, forecast);
}

uint64_t pred_region_learn(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    ucs_rcache_pred_range_t range    = entry->range;
    uint64_t signature, place, told;
    unsigned error;

    if (is_overtaken(pred, entry)) {
        return 0;
    }

    region_learn_needs(pred, entry);
    region->learned = entry->begin;
    if (pred_burst_has(pred, region, entry->begin, &range)) {
        return 0;
    }

    signature = ucs_rcache_pred_signature(&entry->context, entry->generation,
                                          range.start,
                                          ucs_rcache_pred_range_length(&range));
    place     = ucs_rcache_pred_signature_of_place(&entry->context);
    told      = ucs_rcache_pred_forecast_teach(
            &pred->predictor, &region->forecast, entry->begin,
            ucs_rcache_pred_signature_of_way(
                    place, ucs_rcache_pred_range_length(&range)));
    error     = ucs_rcache_pred_forecast_learn(&pred->predictor,
                                               &region->forecast, entry->begin,
                                               signature, place,
                                               region->queued &&
                                               !region->scheduled &&
                                               !region->kept);
    pred_region_follow(pred, region);
    if (error != UCS_RCACHE_PRED_ERROR_CLASSES) {
        pred_lock(pred);
        ++pred->stats.prediction_errors[error];
        pred_unlock(pred);
    }
    return told;
}
