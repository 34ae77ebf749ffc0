/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

/*
 * Forecasts of regions that were used only once: such a forecast follows a
 * precedent, the intervals after uses of other regions (precedent.c).
 */


uint64_t ucs_rcache_pred_forecast_teach(ucs_rcache_pred_predictor_t *predictor,
                                        ucs_rcache_pred_forecast_t *forecast,
                                        ucs_rcache_pred_time_t begin,
                                        uint64_t way)
{
    ucs_rcache_pred_time_t last = forecast->history.last;
    uint64_t before             = (begin > last) ? forecast->way : 0;

    ucs_rcache_pred_precedent_leave(&forecast->waits);
    forecast->way = way;
    if (before == 0) {
        return 0;
    }

    if (forecast->follows && ucs_rcache_pred_forecast_is_met(forecast, begin)) {
        ucs_rcache_pred_precedent_tell(&predictor->precedents, before, 1);
    }
    ucs_rcache_pred_precedent_add(&predictor->precedents, before, begin - last);
    return before;
}

/* @return whether the next use of a region that was used once would have come by now,
 * going by the intervals of its precedent */
static int is_too_late(const ucs_rcache_pred_predictor_t *predictor,
                       const ucs_rcache_pred_forecast_t *forecast,
                       ucs_rcache_pred_time_t now,
                       const ucs_rcache_pred_time_t *intervals, unsigned num)
{
    ucs_rcache_pred_history_t history = forecast->history;
    unsigned i;

    for (i = 0; i < num; ++i) {
        ucs_rcache_pred_history_tell(&history, intervals[i], predictor->depth);
    }
    return ucs_rcache_pred_history_expiry(&history) <= now;
}

int ucs_rcache_pred_forecast_follow(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast,
                                    ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t intervals[UCS_RCACHE_PRED_PRECEDENT_DEPTH];
    ucs_rcache_pred_site_t *site;
    unsigned num, i;

    /* The region's own intervals tell more than a precedent */
    if (forecast->history.count > 0) {
        return 0;
    }

    site = ucs_rcache_pred_site_find(&predictor->sites, forecast->last_site);
    if ((site != NULL) && (site->next.period != 0)) {
        return 0;
    }

    num = ucs_rcache_pred_precedent_ask(&predictor->precedents, forecast->way,
                                        intervals);
    if (num == 0) {
        ucs_rcache_pred_precedent_wait(&predictor->precedents, forecast->way,
                                       &forecast->waits);
        return 0;
    }

    /* Buffers that are never used again have waited longest, and are released first: they
     * would use up the trust in the precedent, and leave none to the other buffers */
    if (is_too_late(predictor, forecast, now, intervals, num)) {
        return 0;
    }

    ucs_rcache_pred_precedent_tell(&predictor->precedents, forecast->way, 0);
    ucs_rcache_pred_precedent_leave(&forecast->waits);
    for (i = 0; (site != NULL) && (i < num); ++i) {
        ucs_rcache_pred_history_tell(&site->next, intervals[i],
                                     predictor->depth);
    }
    forecast->follows = 1;
    return 1;
}

ucs_rcache_pred_forecast_t *
ucs_rcache_pred_forecast_next_waiting(ucs_rcache_pred_predictor_t *predictor,
                                      uint64_t way)
{
    ucs_list_link_t *link;

    link = ucs_rcache_pred_precedent_release(&predictor->precedents, way);
    return (link == NULL) ?
           NULL : ucs_container_of(link, ucs_rcache_pred_forecast_t, waits);
}
