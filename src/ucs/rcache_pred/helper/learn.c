/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"

#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/predict/predict.h>

#include <ucs/sys/math.h>

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
static int is_overtaken(const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_time_t last = entry->region->learned;

    return (entry->begin < last) && (entry->region->begin >= last);
}

/* How many bytes the program needs for a use and for those that follow in the
 * same burst */
static uint64_t needed_bytes(const ucs_rcache_pred_dq_entry_t *entry)
{
    uint64_t joined = ucs_rcache_pred_region_is_merged(entry->region) ?
                      0 : ucs_rcache_pred_range_length(&entry->region->joined);

    return ucs_max(joined, ucs_rcache_pred_range_length(&entry->range));
}

int pred_region_learn_needs(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_dq_entry_t *entry)
{
    ucs_rcache_pred_region_t *region = entry->region;
    unsigned access                  = 0;
    ucs_rcache_pred_range_t expected;
    unsigned i;

    pred_note_demand(pred, region, needed_bytes(entry));
    if (is_overtaken(entry)) {
        return 0;
    }

    if (region->forecast.history.last != 0) {
        ucs_rcache_pred_region_settle(&pred->table, region);
    } else {
        ucs_rcache_pred_region_introduce(&pred->table, region);
    }

    ucs_rcache_pred_region_add_recent(region, &entry->range, entry->access,
                                      region->renewed);
    for (i = 0; i < UCS_RCACHE_PRED_RECENT; ++i) {
        access |= region->accesses[i];
    }

    region->renewed       = 0;
    region->recent_access = access;
    region->learned       = entry->begin;
    expected              = ucs_rcache_pred_region_expected(region);
    pred_burst_note_use(region, ucs_rcache_pred_range_length(&entry->range),
                        ucs_rcache_pred_range_length(&expected));
    return 1;
}

void pred_count_learned(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds = &pred->rounds;
    unsigned i;

    pred->stats.precedents += rounds->precedents;
    rounds->precedents      = 0;
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        pred->stats.prediction_errors[i] += rounds->errors[i];
        rounds->errors[i]                 = 0;
    }
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
    if (region->forecast.history.count == 0) {
        pred_region_follow(pred, region);
    }
    if (error != UCS_RCACHE_PRED_ERROR_CLASSES) {
        ++pred->rounds.errors[error];
    }
    return told;
}
