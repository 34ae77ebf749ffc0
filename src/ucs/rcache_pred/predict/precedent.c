/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

#include <ucs/sys/math.h>

/*
 * What regions tell about each other: the table of places and of ways of use, and
 * forecasts of regions that were used only once, which follow a precedent.
 */


static ucs_rcache_pred_place_t *
find(const ucs_rcache_pred_place_table_t *table, uint64_t hash)
{
    const ucs_rcache_pred_place_t *set = table->sets[hash %
                                                     UCS_RCACHE_PRED_PLACE_SETS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PLACE_WAYS; ++i) {
        if (set[i].hash == hash) {
            return (ucs_rcache_pred_place_t*)&set[i];
        }
    }

    return NULL;
}

/* Let a new place or way replace another one. Very many links may wait for that one, so
 * this takes the head out of the list and visits none of them: they stay linked to each
 * other in a ring, which nobody looks at, and each link leaves the ring later by
 * itself */
static void replace(ucs_rcache_pred_place_t *place, uint64_t hash)
{
    if (place->hash != 0) {
        ucs_list_del(&place->waiting);
    }

    *place = (ucs_rcache_pred_place_t){.hash = hash};
    ucs_list_head_init(&place->waiting);
}

/* Find the place or way of use with this hash, of which the helper learns something now,
 * or make one */
static ucs_rcache_pred_place_t *
get(ucs_rcache_pred_place_table_t *table, uint64_t hash)
{
    ucs_rcache_pred_place_t *set   = table->sets[hash % UCS_RCACHE_PRED_PLACE_SETS];
    ucs_rcache_pred_place_t *place = find(table, hash);
    unsigned i;

    if (place == NULL) {
        place = set;
        for (i = 1; i < UCS_RCACHE_PRED_PLACE_WAYS; ++i) {
            place = (set[i].learned < place->learned) ? &set[i] : place;
        }
        replace(place, hash);
    }

    place->learned = ++table->learned;
    return place;
}

void ucs_rcache_pred_place_judge(ucs_rcache_pred_place_table_t *table,
                                 uint64_t hash, uint64_t region, int met)
{
    ucs_rcache_pred_place_t *place = get(table, hash);

    if (place->region != region) {
        place->region = region;
        ucs_rcache_pred_trust_tell(&place->trust, UCS_RCACHE_PRED_TRUST_PLACE,
                                   met);
    }
}

int ucs_rcache_pred_place_is_doubted(const ucs_rcache_pred_place_table_t *table,
                                     uint64_t hash)
{
    const ucs_rcache_pred_place_t *place = find(table, hash);

    return (place != NULL) &&
           ucs_rcache_pred_trust_is_doubted(place->trust, UCS_RCACHE_PRED_TRUST_PLACE);
}

uint64_t ucs_rcache_pred_forecast_teach(ucs_rcache_pred_predictor_t *predictor,
                                        ucs_rcache_pred_forecast_t *forecast,
                                        ucs_rcache_pred_time_t begin,
                                        uint64_t way, int met)
{
    ucs_rcache_pred_time_t last = forecast->history.last;
    uint64_t before             = (begin > last) ? forecast->way : 0;
    ucs_rcache_pred_place_t *precedent;

    ucs_rcache_pred_link_leave(&forecast->waits);
    forecast->way = way;
    if (before == 0) {
        return 0;
    }

    precedent = get(&predictor->places, before);
    if (forecast->follows && met) {
        ucs_rcache_pred_trust_tell(&precedent->trust, UCS_RCACHE_PRED_TRUST_WAY, 1);
    }
    precedent->intervals[precedent->count++ %
                         UCS_RCACHE_PRED_PRECEDENT_DEPTH] = begin - last;
    if (ucs_rcache_pred_trust_is_doubted(precedent->trust, UCS_RCACHE_PRED_TRUST_WAY) &&
        (precedent->count % UCS_RCACHE_PRED_PRECEDENT_RETRY == 0)) {
        precedent->trust =
                ucs_rcache_pred_trust_holders[UCS_RCACHE_PRED_TRUST_WAY].doubted + 1;
    }
    return before;
}

/* @return whether a precedent may be followed */
static int is_good(const ucs_rcache_pred_place_t *precedent)
{
    return (precedent != NULL) && (precedent->count > 0) &&
           !ucs_rcache_pred_trust_is_doubted(precedent->trust,
                                             UCS_RCACHE_PRED_TRUST_WAY);
}

/* Tell a history the last intervals of a precedent */
static void tell(const ucs_rcache_pred_place_t *precedent,
                 ucs_rcache_pred_history_t *history, unsigned depth)
{
    uint64_t i = precedent->count -
                 ucs_min(precedent->count, UCS_RCACHE_PRED_PRECEDENT_DEPTH);

    for (; i < precedent->count; ++i) {
        ucs_rcache_pred_history_tell(
                history, precedent->intervals[i % UCS_RCACHE_PRED_PRECEDENT_DEPTH],
                depth);
    }
}

int ucs_rcache_pred_forecast_follow(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast,
                                    ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_place_t *precedent = find(&predictor->places, forecast->way);
    ucs_rcache_pred_history_t history  = forecast->history;
    ucs_rcache_pred_site_t *site       = ucs_rcache_pred_site_find(
            &predictor->sites, forecast->last_site);

    /* The region's own intervals tell more than a precedent */
    if ((history.count > 0) || ((site != NULL) && (site->next.period != 0))) {
        return 0;
    }

    if (!is_good(precedent)) {
        ucs_list_add_tail(&get(&predictor->places, forecast->way)->waiting,
                          &forecast->waits);
        return 0;
    }

    /* Buffers that are never used again have waited longest, and are released first: they
     * would use up the trust in the precedent, and leave none to the other buffers */
    tell(precedent, &history, predictor->depth);
    if (ucs_rcache_pred_history_expiry(&history) <= now) {
        return 0;
    }

    ucs_rcache_pred_trust_tell(&precedent->trust, UCS_RCACHE_PRED_TRUST_WAY, 0);
    if (site != NULL) {
        tell(precedent, &site->next, predictor->depth);
    }
    forecast->follows = 1;
    return 1;
}

ucs_rcache_pred_forecast_t *
ucs_rcache_pred_forecast_next_waiting(ucs_rcache_pred_predictor_t *predictor,
                                      uint64_t way)
{
    ucs_rcache_pred_place_t *precedent = find(&predictor->places, way);
    ucs_rcache_pred_forecast_t *forecast;

    if (!is_good(precedent) || ucs_list_is_empty(&precedent->waiting)) {
        return NULL;
    }

    forecast = ucs_list_head(&precedent->waiting, ucs_rcache_pred_forecast_t, waits);
    ucs_rcache_pred_link_leave(&forecast->waits);
    return forecast;
}
