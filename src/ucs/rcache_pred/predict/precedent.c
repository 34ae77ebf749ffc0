/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

#include <ucs/sys/math.h>

#include <string.h>


/* Find the place with this hash in its set; if it is not there, let it replace the place
 * that was judged longest ago. Then move it to the front: a set is in the order in which
 * its places were judged */
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
    ucs_rcache_pred_trust_tell(&place->trust, UCS_RCACHE_PRED_TRUST_PLACE, met);
}

int ucs_rcache_pred_place_is_doubted(const ucs_rcache_pred_place_table_t *table,
                                     uint64_t hash)
{
    const ucs_rcache_pred_place_t *set = table->sets[hash %
                                                     UCS_RCACHE_PRED_PLACE_SETS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PLACE_WAYS; ++i) {
        if (set[i].hash == hash) {
            return ucs_rcache_pred_trust_is_doubted(set[i].trust);
        }
    }

    return 0;
}


static ucs_rcache_pred_precedent_t *
find(const ucs_rcache_pred_precedent_table_t *table, uint64_t way)
{
    const ucs_rcache_pred_precedent_t *set =
            table->sets[way % UCS_RCACHE_PRED_PRECEDENT_SETS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PRECEDENT_WAYS; ++i) {
        if (set[i].way == way) {
            return (ucs_rcache_pred_precedent_t*)&set[i];
        }
    }

    return NULL;
}

/* Let no link wait for a precedent any more. There may be very many waiting links, so
 * this takes the head out of the list and visits none of them: they stay linked to each
 * other in a ring, which nobody looks at, and each link leaves the ring later by
 * itself */
static void abandon(ucs_rcache_pred_precedent_t *precedent)
{
    ucs_list_del(&precedent->waiting);
    ucs_list_head_init(&precedent->waiting);
}

/* Find the precedent of a way of use. If there is none, make one, in place of the
 * precedent of the same set to which an interval was last added longest ago */
static ucs_rcache_pred_precedent_t *
get(ucs_rcache_pred_precedent_table_t *table, uint64_t way)
{
    ucs_rcache_pred_precedent_t *set       =
            table->sets[way % UCS_RCACHE_PRED_PRECEDENT_SETS];
    ucs_rcache_pred_precedent_t *precedent = find(table, way);
    unsigned i;

    if (precedent != NULL) {
        return precedent;
    }

    precedent = set;
    for (i = 1; i < UCS_RCACHE_PRED_PRECEDENT_WAYS; ++i) {
        if (set[i].added < precedent->added) {
            precedent = &set[i];
        }
    }

    abandon(precedent);
    precedent->way   = way;
    precedent->count = 0;
    precedent->trust = 0;
    /* A new precedent counts as added to, so that it is not the first to be
     * replaced */
    precedent->added = ++table->additions;
    return precedent;
}

void ucs_rcache_pred_precedent_init(ucs_rcache_pred_precedent_table_t *table)
{
    unsigned set, i;

    memset(table, 0, sizeof(*table));
    for (set = 0; set < UCS_RCACHE_PRED_PRECEDENT_SETS; ++set) {
        for (i = 0; i < UCS_RCACHE_PRED_PRECEDENT_WAYS; ++i) {
            ucs_list_head_init(&table->sets[set][i].waiting);
        }
    }
}

void ucs_rcache_pred_precedent_add(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way,
                                   ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_precedent_t *precedent = get(table, way);

    precedent->added = ++table->additions;
    precedent->intervals[precedent->count %
                         UCS_RCACHE_PRED_PRECEDENT_DEPTH] = interval;
    ++precedent->count;
    if (ucs_rcache_pred_trust_is_doubted(precedent->trust) &&
        (precedent->count % UCS_RCACHE_PRED_PRECEDENT_RETRY == 0)) {
        precedent->trust = UCS_RCACHE_PRED_TRUST_DOUBTED + 1;
    }
}

/* @return whether a precedent may be followed */
static int is_good(const ucs_rcache_pred_precedent_t *precedent)
{
    return (precedent != NULL) && (precedent->count > 0) &&
           !ucs_rcache_pred_trust_is_doubted(precedent->trust);
}

/* Get the last intervals of a precedent. @return their number */
static unsigned get_intervals(const ucs_rcache_pred_precedent_t *precedent,
                              ucs_rcache_pred_time_t *intervals)
{
    unsigned num = ucs_min(precedent->count, UCS_RCACHE_PRED_PRECEDENT_DEPTH);
    unsigned i;

    for (i = 0; i < num; ++i) {
        intervals[i] =
                precedent->intervals[(precedent->count - num + i) %
                                     UCS_RCACHE_PRED_PRECEDENT_DEPTH];
    }
    return num;
}

unsigned
ucs_rcache_pred_precedent_ask(const ucs_rcache_pred_precedent_table_t *table,
                              uint64_t way, ucs_rcache_pred_time_t *intervals)
{
    const ucs_rcache_pred_precedent_t *precedent = find(table, way);

    return is_good(precedent) ? get_intervals(precedent, intervals) : 0;
}

void ucs_rcache_pred_precedent_tell(ucs_rcache_pred_precedent_table_t *table,
                                    uint64_t way, int met)
{
    ucs_rcache_pred_precedent_t *precedent = find(table, way);

    if (precedent != NULL) {
        ucs_rcache_pred_trust_tell(&precedent->trust, UCS_RCACHE_PRED_TRUST_WAY,
                                   met);
    }
}

void ucs_rcache_pred_precedent_wait(ucs_rcache_pred_precedent_table_t *table,
                                    uint64_t way, ucs_list_link_t *link)
{
    ucs_list_add_tail(&get(table, way)->waiting, link);
}

void ucs_rcache_pred_precedent_leave(ucs_list_link_t *link)
{
    if (link->next != NULL) {
        ucs_list_del(link);
        link->next = NULL;
    }
}

ucs_list_link_t *
ucs_rcache_pred_precedent_release(ucs_rcache_pred_precedent_table_t *table,
                                  uint64_t way)
{
    ucs_rcache_pred_precedent_t *precedent = find(table, way);
    ucs_list_link_t *link;

    if (!is_good(precedent) || ucs_list_is_empty(&precedent->waiting)) {
        return NULL;
    }

    link = precedent->waiting.next;
    ucs_rcache_pred_precedent_leave(link);
    return link;
}
