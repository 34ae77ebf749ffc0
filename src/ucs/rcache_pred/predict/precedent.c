/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "precedent.h"

#include <ucs/sys/math.h>

#include <string.h>


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

/* Let nobody wait here any more. There may be very many: they stay in a ring of
 * their own, which nobody looks at and which each leaves in time */
static void abandon(ucs_rcache_pred_precedent_t *precedent)
{
    ucs_list_del(&precedent->waiting);
    ucs_list_head_init(&precedent->waiting);
}

/* Find a way of use, or take the room of the one that was added to longest
 * ago */
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
    precedent->way    = way;
    precedent->count  = 0;
    precedent->credit = UCS_RCACHE_PRED_PRECEDENT_CREDIT;
    /* What is new is not the first to be replaced */
    precedent->added  = ++table->additions;
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
    if ((precedent->credit == 0) &&
        (precedent->count % UCS_RCACHE_PRED_PRECEDENT_RETRY == 0)) {
        precedent->credit = 1;
    }
}

/* Whether a precedent may be followed */
static int is_good(const ucs_rcache_pred_precedent_t *precedent)
{
    return (precedent != NULL) && (precedent->count > 0) &&
           (precedent->credit > 0);
}

/* Get the last intervals. @return how many there are */
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

void ucs_rcache_pred_precedent_follow(ucs_rcache_pred_precedent_table_t *table,
                                      uint64_t way)
{
    --find(table, way)->credit;
}

void ucs_rcache_pred_precedent_met(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way)
{
    ucs_rcache_pred_precedent_t *precedent = find(table, way);

    if (precedent != NULL) {
        precedent->credit = ucs_min(precedent->credit +
                                    UCS_RCACHE_PRED_PRECEDENT_MET,
                                    UCS_RCACHE_PRED_PRECEDENT_MAX_CREDIT);
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
