/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "event.h"

/*
 * Emits events. Looks at the clock for those times that only events need, with the lock
 * held: without a receiver of events, nobody looks at the clock for them.
 */


static void emit(const ucs_rcache_pred_t *pred,
                 const ucs_rcache_pred_event_t *event)
{
    pred->params.sink->event(pred->params.sink->arg, event);
}

/* @return an event about a region. The caller fills in the time and the other fields of
 *         the type. */
static ucs_rcache_pred_event_t
region_event(const ucs_rcache_pred_region_t *region,
             ucs_rcache_pred_event_type_t type)
{
    return (ucs_rcache_pred_event_t){
        .type    = type,
        .domain  = region->extent.domain->number,
        .id      = region->generation,
        .address = region->extent.range.start,
        .length  = ucs_rcache_pred_range_length(&region->extent.range)
    };
}

void pred_emit_begin(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_event_t *event, unsigned result,
                     const ucs_rcache_pred_pieces_t *pieces)
{
    event->type   = UCS_RCACHE_PRED_EVENT_USE_BEGIN;
    event->result = result;
    event->domain = domain->number;

    if (!(result & UCS_RCACHE_PRED_RESULT_HIT)) {
        event->duration = pred_elapsed(event->time, pred_now(domain->pred));
    }

    if (result & UCS_RCACHE_PRED_RESULT_PIECES) {
        event->id = pieces->id;
    }
    emit(domain->pred, event);
}

void pred_emit_end(const ucs_rcache_pred_domain_t *domain, uint64_t id,
                   ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end)
{
    ucs_rcache_pred_event_t event = {
        .type     = UCS_RCACHE_PRED_EVENT_USE_END,
        .domain   = domain->number,
        .time     = begin,
        .duration = pred_elapsed(begin, end),
        .id       = id
    };

    emit(domain->pred, &event);
}

void pred_emit_registration(ucs_rcache_pred_event_type_t type,
                            ucs_rcache_pred_by_t by,
                            const pred_handle_t *handle,
                            ucs_rcache_pred_time_t begin,
                            ucs_rcache_pred_time_t end, ucs_status_t status)
{
    ucs_rcache_pred_event_t event = {
        .type     = type,
        .result   = (status == UCS_OK) ? 0 : UCS_RCACHE_PRED_RESULT_FAILED,
        .by       = by,
        .domain   = handle->domain->number,
        .time     = begin,
        .duration = pred_elapsed(begin, end),
        .id       = handle->id,
        .address  = handle->range.start,
        .length   = ucs_rcache_pred_range_length(&handle->range)
    };

    emit(handle->domain->pred, &event);
}

void pred_emit_unmap(const ucs_rcache_pred_t *pred,
                     const ucs_rcache_pred_range_t *unmapped)
{
    ucs_rcache_pred_event_t event = {
        .type    = UCS_RCACHE_PRED_EVENT_UNMAP,
        .time    = pred_now(pred),
        .address = unmapped->start,
        .length  = unmapped->end - unmapped->start
    };

    emit(pred, &event);
}

void pred_emit_unmet(const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_t *pred = region->extent.domain->pred;
    ucs_rcache_pred_event_t event;

    event        = region_event(region, UCS_RCACHE_PRED_EVENT_UNMET);
    event.time   = pred_now(pred);
    event.result = region->extent.ahead ? UCS_RCACHE_PRED_RESULT_AHEAD : 0;
    emit(pred, &event);
}

void pred_emit_decision(const ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline,
                        const ucs_rcache_pred_history_t *history, int kept)
{
    ucs_rcache_pred_event_t event;

    event      = region_event(region, UCS_RCACHE_PRED_EVENT_DEADLINE);
    event.time = now;
    if (history != NULL) {
        event.result   = kept ? UCS_RCACHE_PRED_RESULT_KEPT :
                                UCS_RCACHE_PRED_RESULT_AHEAD;
        event.deadline = deadline;
        event.period   = history->period;
    }
    emit(region->extent.domain->pred, &event);
}
