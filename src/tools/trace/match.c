/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>


/* Hash table that gives the id of a region for its address and domain */
KHASH_INIT(match_ids, predreg_pair_t, uint64_t, 1, PREDREG_PAIR_HASH,
           PREDREG_PAIR_EQUAL)

/* Hash table with numbers of uses; the key is the id of a region */
#define MATCH_HASH(_id) ((khint_t)ucs_hash_bits(_id, 32))
KHASH_INIT(match_uses, uint64_t, size_t, 1, MATCH_HASH, kh_int64_hash_equal)


typedef struct match {
    trace_builder_t     *builder;
    khash_t(match_ids)  ids;     /* Id of the region last seen at an address */
    khash_t(match_uses) uses;    /* How many uses of each region, by its id,
                                    have not ended yet */
    uint64_t            next_id; /* Id for the next region that has none; 0: all
                                    ids are taken */
} match_t;


/* @return the first id for regions without an id: a number above the largest id in the
 *         trace, since no id may stand for two regions. */
static uint64_t match_first_id(const trace_builder_t *builder)
{
    const ucs_rcache_pred_event_t *event;
    uint64_t max = 0;

    predreg_for_each(event, builder->trace->events, builder->trace->num_events) {
        max = ucs_max(max, event->id);
    }

    return max + 1;
}

/* An event without an id gets the id of the region last seen at its address.
 * An event with an id makes its region the last seen. */
static ucs_status_t match_region(match_t *match, ucs_rcache_pred_event_t *event,
                                 const trace_origin_t *origin)
{
    const predreg_pair_t key = { event->address, event->domain };
    khiter_t iter;
    int result;

    iter = predreg_kh_put(match_ids, &match->ids, key, &result);
    if (!(origin->open & TRACE_NO_ID)) {
        kh_val(&match->ids, iter) = event->id;
        return UCS_OK;
    }

    if (result != UCS_KH_PUT_KEY_PRESENT) {
        if (match->next_id == 0) {
            return trace_error(
                    &match->builder->source, origin->place, "expected "
                    "id=NUMBER, since the largest number is taken by another "
                    "event");
        }
        kh_val(&match->ids, iter) = match->next_id++;
    }

    event->id = kh_val(&match->ids, iter);
    return UCS_OK;
}

static void match_begin(match_t *match, const ucs_rcache_pred_event_t *event)
{
    khiter_t iter;
    int result;

    if (event->result & UCS_RCACHE_PRED_RESULT_FAILED) {
        return;
    }

    iter = predreg_kh_put(match_uses, &match->uses, event->id, &result);
    if (result != UCS_KH_PUT_KEY_PRESENT) {
        kh_val(&match->uses, iter) = 0;
    }
    ++kh_val(&match->uses, iter);
}

/* Count the end of a use. An end without a begin is an error, unless the recorder lost
 * events: the begin may be one of the lost events. */
static ucs_status_t match_end(match_t *match,
                              const ucs_rcache_pred_event_t *event,
                              const trace_origin_t *origin)
{
    khiter_t iter = kh_get(match_uses, &match->uses, event->id);

    if ((iter != kh_end(&match->uses)) && (kh_val(&match->uses, iter) > 0)) {
        --kh_val(&match->uses, iter);
    } else if (match->builder->trace->lost == 0) {
        return trace_error(
                &match->builder->source, origin->place, "the end of a use, "
                "region %lu, that has not begun, or has ended before",
                (unsigned long)event->id);
    }

    return UCS_OK;
}

/* @return whether match_region() has to look at the event, since the event tells the
 *         address of a region. An unmap tells the address of any memory. The registration
 *         of a piece of a use belongs to no region. */
static int match_has_region(const ucs_rcache_pred_event_t *event,
                            const trace_origin_t *origin)
{
    if (event->type == UCS_RCACHE_PRED_EVENT_USE_END) {
        return origin->open & TRACE_AT_ADDR;
    }

    return (trace_event_type(event)->has & TRACE_HAS_ID) &&
           (event->by != UCS_RCACHE_PRED_BY_PIECE);
}

static ucs_status_t match_event(match_t *match, size_t index)
{
    trace_builder_t *builder       = match->builder;
    ucs_rcache_pred_event_t *event = &builder->trace->events[index];
    const trace_origin_t *origin   = &builder->origins[index];
    ucs_status_t status;

    if ((builder->num_open > 0) && match_has_region(event, origin)) {
        status = match_region(match, event, origin);
        if (status != UCS_OK) {
            return status;
        }
    }

    if (event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) {
        match_begin(match, event);
    } else if (event->type == UCS_RCACHE_PRED_EVENT_USE_END) {
        event->address = 0;
        return match_end(match, event, origin);
    }

    return UCS_OK;
}

ucs_status_t trace_match(trace_builder_t *builder)
{
    ucs_status_t status = UCS_OK;
    match_t match       = {
        .builder = builder,
        .ids     = KHASH_STATIC_INITIALIZER,
        .uses    = KHASH_STATIC_INITIALIZER,
        .next_id = match_first_id(builder)
    };
    size_t i;

    for (i = 0; (i < builder->trace->num_events) && (status == UCS_OK); ++i) {
        status = match_event(&match, i);
    }

    kh_destroy_inplace(match_uses, &match.uses);
    kh_destroy_inplace(match_ids, &match.ids);
    return status;
}
