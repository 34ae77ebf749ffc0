/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "timeline.h"
#include "event_check.h"
#include "first_uses.h"
#include "fit.h"
#include "open_uses.h"
#include "waits.h"

#include <ucs/rcache_pred/predict/cost.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Makes the timeline of a trace in a single pass over its events, which are in
 * the order of their times.
 */

static const predreg_cost_t reg_guess   = {
    .page = UCS_RCACHE_PRED_REG_COST_PER_PAGE,
    .op   = UCS_RCACHE_PRED_REG_COST_PER_OP
};
static const predreg_cost_t dereg_guess = {
    .page = UCS_RCACHE_PRED_DEREG_COST_PER_PAGE,
    .op   = UCS_RCACHE_PRED_DEREG_COST_PER_OP
};

typedef struct builder {
    predreg_timeline_t       *timeline;
    const ucs_rcache_trace_t *trace;
    predreg_waits_t          waits;
    predreg_open_uses_t      open;
    predreg_fit_t            reg;
    predreg_fit_t            dereg;
    predreg_first_uses_t     first_uses;   /* Of memory that UCX's own cache
                                              registered */
} builder_t;


static ucs_status_t add_use(builder_t *builder,
                            const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;
    uint64_t begin               = predreg_waits_time(&builder->waits,
                                                      event->time);
    ucs_status_t status;

    predreg_waits_add(&builder->waits, event->time, event->duration);
    if (event->result & UCS_RCACHE_PRED_RESULT_FAILED) {
        return UCS_OK; /* The use was refused: it is none */
    }

    /* If not, the trace tells of the registration itself */
    if (event->result == 0) {
        status = predreg_first_uses_begin(&builder->first_uses, event->domain,
                                          event->address, event->length,
                                          event->duration);
        if (status != UCS_OK) {
            return status;
        }
    }

    timeline->uses[timeline->num_uses] = (predreg_use_t){
        .begin   = begin,
        .end     = UINT64_MAX, /* Not known yet */
        .address = event->address,
        .length  = event->length,
        .context = event->context,
        .flags   = event->flags,
        .domain  = event->domain,
        .kind    = event->kind
    };
    timeline->num_domains = ucs_max(timeline->num_domains, event->domain + 1u);
    return predreg_open_uses_begin(&builder->open, event->id,
                                   timeline->num_uses++);
}

static void end_use(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    uint64_t end = predreg_waits_time(&builder->waits, event->time);
    size_t index = predreg_open_uses_end(&builder->open, event->id);

    predreg_waits_add(&builder->waits, event->time, event->duration);
    if (index == PREDREG_NO_USE) {
        return; /* The use began before the recording, or the event of its begin
                   was lost */
    }

    builder->timeline->uses[index].end = end;
}

static ucs_status_t add_unmap(builder_t *builder,
                              const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;
    uint64_t start               = ucs_min(event->address, PREDREG_MAX_ADDRESS);
    uint64_t end                 = start + ucs_min(event->length,
                                                   PREDREG_MAX_ADDRESS - start);

    /* The hooks tell of an unmap before the system may refuse it */
    if (start == end) {
        return UCS_OK;
    }

    timeline->unmaps[timeline->num_unmaps++] = (predreg_unmap_t){
        .time  = predreg_waits_time(&builder->waits, event->time),
        .start = start,
        .end   = end
    };
    return predreg_first_uses_unmap(&builder->first_uses, start, end);
}

static void add_map(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;

    /* No kernel maps more than that. Such an event may be left out, as one that
     * was lost */
    if ((event->length == 0) || (event->length > PREDREG_MAX_ADDRESS) ||
        (event->address > PREDREG_MAX_ADDRESS - event->length)) {
        return;
    }

    timeline->maps[timeline->num_maps++] = (predreg_map_t){
        .time  = predreg_waits_time(&builder->waits, event->time),
        .start = event->address,
        .end   = event->address + event->length
    };
}

static ucs_status_t add_event(builder_t *builder,
                              const ucs_rcache_pred_event_t *event)
{
    switch (event->type) {
    case UCS_RCACHE_PRED_EVENT_USE_BEGIN:
        return add_use(builder, event);
    case UCS_RCACHE_PRED_EVENT_USE_END:
        end_use(builder, event);
        return UCS_OK;
    case UCS_RCACHE_PRED_EVENT_REG:
    case UCS_RCACHE_PRED_EVENT_DEREG:
        if (!(event->result & UCS_RCACHE_PRED_RESULT_FAILED)) {
            predreg_fit_add((event->type == UCS_RCACHE_PRED_EVENT_REG) ?
                            &builder->reg : &builder->dereg,
                            event->address, event->length, event->duration);
        }
        return UCS_OK;
    case UCS_RCACHE_PRED_EVENT_UNMAP:
        return add_unmap(builder, event);
    case UCS_RCACHE_PRED_EVENT_MAP:
        add_map(builder, event);
        return UCS_OK;
    default:
        return UCS_OK; /* The other events tell what the recorded policy did,
                          which the timeline leaves out */
    }
}

static ucs_status_t add_events(builder_t *builder)
{
    const ucs_rcache_trace_t *trace = builder->trace;
    uint64_t origin                 = builder->waits.origin;
    uint64_t previous               = origin;
    ucs_status_t status;
    const char *error;
    size_t i;

    for (i = 0; i < trace->num_events; ++i) {
        error = predreg_event_check(&trace->events[i], origin, previous);
        if (error != NULL) {
            ucs_error("%s: event %zu, at %lu ns, %s", trace->path, i + 1,
                      trace->events[i].time, error);
            return UCS_ERR_INVALID_PARAM;
        }

        status = add_event(builder, &trace->events[i]);
        if (status != UCS_OK) {
            return status;
        }

        previous = trace->events[i].time;
    }

    builder->timeline->duration = predreg_waits_time(&builder->waits, previous);
    return UCS_OK;
}

static ucs_status_t alloc_arrays(builder_t *builder)
{
    const ucs_rcache_trace_t *trace = builder->trace;
    predreg_timeline_t *timeline    = builder->timeline;
    size_t num_uses = 0, num_unmaps = 0, num_maps = 0;
    size_t i;

    for (i = 0; i < trace->num_events; ++i) {
        num_uses   += trace->events[i].type == UCS_RCACHE_PRED_EVENT_USE_BEGIN;
        num_unmaps += trace->events[i].type == UCS_RCACHE_PRED_EVENT_UNMAP;
        num_maps   += trace->events[i].type == UCS_RCACHE_PRED_EVENT_MAP;
    }

    /* Room for one more, because calloc() of 0 elements may return NULL */
    timeline->uses   = calloc(num_uses + 1, sizeof(*timeline->uses));
    timeline->unmaps = calloc(num_unmaps + 1, sizeof(*timeline->unmaps));
    timeline->maps   = calloc(num_maps + 1, sizeof(*timeline->maps));
    if ((timeline->uses == NULL) || (timeline->unmaps == NULL) ||
        (timeline->maps == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    return predreg_open_uses_init(&builder->open, num_uses);
}

int predreg_timeline_fit_reg(predreg_points_t *first_uses, predreg_cost_t *cost,
                             int *page_known_p)
{
    return predreg_points_line(first_uses, &reg_guess, cost, page_known_p);
}

static void fit_costs(builder_t *builder)
{
    predreg_timeline_t *timeline = builder->timeline;

    if (builder->reg.n > 0) {
        timeline->reg_known      = predreg_fit_line(&builder->reg, &reg_guess,
                                                    &timeline->reg);
        timeline->reg_page_known = predreg_fit_knows_page(&builder->reg);
    } else {
        timeline->first_uses       = builder->first_uses.points;
        builder->first_uses.points = (predreg_points_t){ .num_points = 0 };
        timeline->reg_known        =
                predreg_timeline_fit_reg(&timeline->first_uses, &timeline->reg,
                                         &timeline->reg_page_known);
    }

    timeline->dereg_known      = predreg_fit_line(&builder->dereg, &dereg_guess,
                                                  &timeline->dereg);
    timeline->dereg_page_known = predreg_fit_knows_page(&builder->dereg);
}

/* Let uses without an end last until the end of the timeline, and fit the costs
 * to all events */
static void finish(builder_t *builder)
{
    predreg_timeline_t *timeline = builder->timeline;
    size_t i;

    timeline->waited = builder->waits.sum;
    for (i = 0; i < timeline->num_uses; ++i) {
        timeline->uses[i].end = ucs_min(timeline->uses[i].end,
                                        timeline->duration);
    }

    fit_costs(builder);
}

static void builder_cleanup(builder_t *builder)
{
    predreg_first_uses_cleanup(&builder->first_uses);
    predreg_open_uses_cleanup(&builder->open);
}

/* Warn if the pages of the recorded machine are others than those of replays.
 * The traces of all ranks say the same: one warning is enough. */
static void check_page_size(const ucs_rcache_trace_t *trace)
{
    static int warned = 0;
    const char *value = ucs_rcache_trace_get_meta(trace, "page_size");

    if ((value != NULL) && (strtoul(value, NULL, 10) != PREDREG_PAGE_SIZE) &&
        !warned) {
        warned = 1;
        ucs_warn("recorded with pages of %s bytes, replayed with pages of %lu: "
                 "what small buffers pin is counted too low", value,
                 PREDREG_PAGE_SIZE);
    }
}

ucs_status_t predreg_timeline_create(const ucs_rcache_trace_t *trace,
                                     predreg_timeline_t **timeline_p)
{
    builder_t builder = { .trace = trace };
    ucs_status_t status;

    builder.timeline = calloc(1, sizeof(*builder.timeline));
    if (builder.timeline == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    check_page_size(trace);
    builder.timeline->num_domains = ucs_max(trace->num_domains, 1u);
    if (trace->num_events > 0) {
        predreg_waits_init(&builder.waits, trace->events[0].time);
    }

    status = alloc_arrays(&builder);
    if (status == UCS_OK) {
        status = add_events(&builder);
    }

    if (status != UCS_OK) {
        predreg_timeline_destroy(builder.timeline);
        goto out;
    }

    finish(&builder);
    *timeline_p = builder.timeline;
out:
    builder_cleanup(&builder);
    return status;
}

void predreg_timeline_destroy(predreg_timeline_t *timeline)
{
    predreg_points_cleanup(&timeline->first_uses);
    free(timeline->maps);
    free(timeline->unmaps);
    free(timeline->uses);
    free(timeline);
}
