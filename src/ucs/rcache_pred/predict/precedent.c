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

static void unlink_unknown(ucs_rcache_pred_precedent_t *precedent)
{
    if (precedent->unknown.next != NULL) {
        ucs_list_del(&precedent->unknown);
        precedent->unknown.next = NULL;
    }
}

/* Let nobody wait here any more. There may be very many: they stay in a ring of
 * their own, which nobody looks at and which each leaves in time */
static void abandon(ucs_rcache_pred_precedent_t *precedent)
{
    ucs_list_del(&precedent->waiting);
    ucs_list_head_init(&precedent->waiting);
}

static void forget_intervals(ucs_rcache_pred_precedent_t *precedent)
{
    precedent->count    = 0;
    precedent->credit   = UCS_RCACHE_PRED_PRECEDENT_CREDIT;
    precedent->is_heard = 0;
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
    unlink_unknown(precedent);
    precedent->way  = way;
    precedent->name = 0;
    forget_intervals(precedent);
    /* What is new is not the first to be replaced */
    precedent->added  = ++table->additions;
    return precedent;
}

void ucs_rcache_pred_precedent_init(ucs_rcache_pred_precedent_table_t *table)
{
    unsigned set, i;

    memset(table, 0, sizeof(*table));
    ucs_list_head_init(&table->unknown);
    for (set = 0; set < UCS_RCACHE_PRED_PRECEDENT_SETS; ++set) {
        for (i = 0; i < UCS_RCACHE_PRED_PRECEDENT_WAYS; ++i) {
            ucs_list_head_init(&table->sets[set][i].waiting);
        }
    }
}

static void add(ucs_rcache_pred_precedent_table_t *table,
                ucs_rcache_pred_precedent_t *precedent,
                ucs_rcache_pred_time_t interval)
{
    unlink_unknown(precedent);
    precedent->added = ++table->additions;
    precedent->intervals[precedent->count %
                         UCS_RCACHE_PRED_PRECEDENT_DEPTH] = interval;
    ++precedent->count;
    if ((precedent->credit == 0) &&
        (precedent->count % UCS_RCACHE_PRED_PRECEDENT_RETRY == 0)) {
        precedent->credit = 1;
    }
}

void ucs_rcache_pred_precedent_add(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way,
                                   ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_precedent_t *precedent = get(table, way);

    if (precedent->is_heard) {
        forget_intervals(precedent);
    }
    add(table, precedent, interval);
}

void ucs_rcache_pred_precedent_hear(ucs_rcache_pred_precedent_table_t *table,
                                    uint64_t way,
                                    const ucs_rcache_pred_time_t *intervals,
                                    unsigned num)
{
    ucs_rcache_pred_precedent_t *precedent = get(table, way);
    unsigned i;

    for (i = 0; i < num; ++i) {
        add(table, precedent, intervals[i]);
    }
    precedent->is_heard = 1;
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

int ucs_rcache_pred_precedent_set_name(
        ucs_rcache_pred_precedent_table_t *table, uint64_t way, uint64_t name)
{
    ucs_rcache_pred_precedent_t *precedent = find(table, way);
    int is_new;

    if (precedent == NULL) {
        return 0;
    }

    is_new          = (precedent->name == 0);
    precedent->name = name;
    if ((precedent->count == 0) && (precedent->unknown.next == NULL)) {
        ucs_list_add_tail(&table->unknown, &precedent->unknown);
    }
    return is_new;
}

unsigned ucs_rcache_pred_precedent_get_news(
        const ucs_rcache_pred_precedent_table_t *table, uint64_t way,
        ucs_rcache_pred_time_t *intervals, uint64_t *name_p)
{
    const ucs_rcache_pred_precedent_t *precedent = find(table, way);

    if ((precedent == NULL) || (precedent->name == 0) ||
        ((precedent->count > UCS_RCACHE_PRED_PRECEDENT_DEPTH) &&
         (precedent->count % UCS_RCACHE_PRED_PRECEDENT_NEWS != 0))) {
        return 0;
    }

    *name_p = precedent->name;
    return get_intervals(precedent, intervals);
}

int ucs_rcache_pred_precedent_is_unknown(
        const ucs_rcache_pred_precedent_table_t *table, uint64_t way)
{
    const ucs_rcache_pred_precedent_t *precedent = find(table, way);

    return (precedent == NULL) || (precedent->count == 0);
}

const ucs_rcache_pred_precedent_t *
ucs_rcache_pred_precedent_next_unknown(ucs_rcache_pred_precedent_table_t *table)
{
    ucs_rcache_pred_precedent_t *precedent;

    while (!ucs_list_is_empty(&table->unknown)) {
        precedent = ucs_list_extract_head(&table->unknown,
                                          ucs_rcache_pred_precedent_t, unknown);
        if (!ucs_list_is_empty(&precedent->waiting)) {
            ucs_list_add_tail(&table->unknown, &precedent->unknown);
            return precedent;
        }
        precedent->unknown.next = NULL;
    }
    return NULL;
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
