/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "place.h"

#include <ucs/sys/math.h>

#include <string.h>


/* Find a place in its set, or take the room of the one that was judged longest
 * ago; and move it to the front, as the set is in the order of the verdicts */
static ucs_rcache_pred_place_t *
place_get(ucs_rcache_pred_place_table_t *table, uint64_t hash)
{
    ucs_rcache_pred_place_t *set  = table->sets[hash %
                                                UCS_RCACHE_PRED_PLACE_SETS];
    ucs_rcache_pred_place_t place = {.hash = hash};
    unsigned i                    = 0;

    while ((set[i].hash != hash) && (i < UCS_RCACHE_PRED_PLACE_WAYS - 1)) {
        ++i;
    }

    if (set[i].hash == hash) {
        place = set[i];
    }
    memmove(set + 1, set, i * sizeof(*set));
    set[0] = place;
    return set;
}

void ucs_rcache_pred_place_judge(ucs_rcache_pred_place_table_t *table,
                                 uint64_t hash, uint64_t region, int met)
{
    ucs_rcache_pred_place_t *place = place_get(table, hash);

    if (place->region == region) {
        return;
    }

    place->region = region;
    place->score  = met ? ucs_min(place->score + UCS_RCACHE_PRED_PLACE_MET,
                                  UCS_RCACHE_PRED_PLACE_MAX) :
                          ucs_max(place->score - UCS_RCACHE_PRED_PLACE_UNMET,
                                  -UCS_RCACHE_PRED_PLACE_MAX);
}

int ucs_rcache_pred_place_is_doubted(const ucs_rcache_pred_place_table_t *table,
                                     uint64_t hash)
{
    const ucs_rcache_pred_place_t *set = table->sets[hash %
                                                     UCS_RCACHE_PRED_PLACE_SETS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PLACE_WAYS; ++i) {
        if (set[i].hash == hash) {
            return set[i].score <= UCS_RCACHE_PRED_PLACE_DOUBTED;
        }
    }

    return 0;
}
