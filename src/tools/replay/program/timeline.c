/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fit.h"

#include <tools/base/containers.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Makes the timeline of a trace in a single pass over its events, which are in
 * the order of their times.
 */

/* The upper limit of addresses of used or registered memory: no processor that UCX runs
 * on has longer virtual addresses (five levels of page tables on x86-64). With this
 * limit, neither lengths nor ends rounded up to pages overflow, and searches of page
 * tables end. */
#define MAX_ADDRESS (1ul << 57)

/* The longest time from the first event to the last one, ns: 146 years. There is room for
 * the waits that another policy adds to it. */
#define MAX_SPAN ((uint64_t)INT64_MAX / 2)

/* Stands for no use */
#define NO_USE SIZE_MAX

/* The open uses with the same number, oldest first, by index */
typedef struct same_uses {
    size_t first;
    size_t last;
} same_uses_t;

KHASH_INIT(open_uses, uint64_t, same_uses_t, 1, kh_int64_hash_func,
           kh_int64_hash_equal)

typedef struct builder {
    predreg_timeline_t       *timeline;
    const ucs_rcache_trace_t *trace;
    uint64_t                 origin;     /* Recorded time of the first event */
    uint64_t                 until;      /* The latest end of all waits so far, as
                                            recorded */
    uint64_t                 last;       /* Time of the last event of the timeline */
    uint64_t                 partners;   /* For how long the rank has waited for its
                                            partners so far: not removed yet, and removed */
    uint64_t                 removed;
    khash_t(open_uses)       open;       /* The uses that have not ended. The key is
                                            the number that the events of a use's begin
                                            and end have in common */
    size_t                   *next;      /* For each open use, the next one with
                                            the same number, or NO_USE */
    predreg_measured_t       measured;
    predreg_first_uses_t     seen;       /* Memory that was registered before */
    predreg_first_uses_t     first_uses; /* First uses of memory that UCX's own cache
                                            registered */
} builder_t;


/* @return the time of an event of a program that never waited, ns after the
 * first event. */
static uint64_t time_of(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    /* If the event is within a wait of another thread, the rest of this wait comes after
     * the event, and is not subtracted */
    uint64_t rest = ucs_max(builder->until, event->time) - event->time;
    uint64_t time = event->time - builder->origin - (builder->timeline->waited - rest) -
                    builder->removed;
    uint64_t most = ucs_min(time - builder->last, builder->partners);

    /* Remove the time in which the rank waited for its partner: the rank did so after its own
     * wait and before this event */
    builder->partners -= most;
    builder->removed  += most;
    builder->last      = time - most;
    return builder->last;
}

/* Remove the wait that begins with an event. If several threads wait at a time, the
 * program as a whole loses this time only once, so it is removed only once. */
static void remove_wait(builder_t *builder,
                        const ucs_rcache_pred_event_t *event)
{
    uint64_t begin = ucs_max(builder->until, event->time);
    uint64_t end   = event->time + event->duration;

    if (end > begin) {
        builder->timeline->waited += end - begin;
        builder->until             = end;
    }
    builder->partners += (uint64_t)(event->duration * builder->timeline->partners);
}

/* Note that a use begins. An end with the same number will end it; uses with the same
 * number end in the order of their begins */
static void open_use(builder_t *builder, uint64_t id, size_t index)
{
    same_uses_t *uses;
    khiter_t iter;
    int ret;

    builder->next[index] = NO_USE;
    iter                 = predreg_kh_put(open_uses, &builder->open, id, &ret);
    uses                 = &kh_val(&builder->open, iter);
    if (ret == UCS_KH_PUT_KEY_PRESENT) {
        builder->next[uses->last] = index;
    } else {
        uses->first = index;
    }
    uses->last = index;
}

/* End the oldest open use with this number. @return the index of the use, or NO_USE. */
static size_t close_use(builder_t *builder, uint64_t id)
{
    khiter_t iter = kh_get(open_uses, &builder->open, id);
    same_uses_t *uses;
    size_t index;

    if (iter == kh_end(&builder->open)) {
        return NO_USE;
    }

    uses        = &kh_val(&builder->open, iter);
    index       = uses->first;
    uses->first = builder->next[index];
    if (uses->first == NO_USE) {
        kh_del(open_uses, &builder->open, iter);
    }
    return index;
}

static void add_use(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;
    uint64_t begin               = time_of(builder, event);
    uint64_t fresh               = 0;

    remove_wait(builder, event);
    if (event->result & UCS_RCACHE_PRED_RESULT_FAILED) {
        return; /* A refused use is not in the timeline */
    }

    /* If the event has no result, UCX's own cache has served the use. Otherwise this
     * library has served the use, and the trace has an event of the registration
     * itself */
    if ((event->result == 0) &&
        (predreg_first_uses_begin(&builder->first_uses, event->domain, event->address,
                                  event->length, event->duration) ==
         PREDREG_FIRST_ALONE)) {
        fresh = event->duration;
    }

    timeline->uses[timeline->num_uses] = (predreg_use_t){
        .fresh   = fresh,
        .begin   = begin,
        .end     = UINT64_MAX, /* Not known yet */
        .address = event->address,
        .length  = event->length,
        .context = event->context,
        .flags   = event->flags,
        .domain  = event->domain,
        .kind    = event->kind
    };
    timeline->recorded[timeline->num_uses] = (predreg_recorded_t){
        .begin = event->time,
        .ready = event->time + event->duration,
        .end   = UINT64_MAX
    };
    timeline->num_domains = ucs_max(timeline->num_domains, event->domain + 1u);
    open_use(builder, event->id, timeline->num_uses++);
}

static void end_use(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    uint64_t end = time_of(builder, event);
    size_t index = close_use(builder, event->id);

    remove_wait(builder, event);
    if (index != NO_USE) { /* Otherwise the use began before the recording, or the
                              event of its begin was lost */
        builder->timeline->uses[index].end     = end;
        builder->timeline->recorded[index].end = event->time;
    }
}

static void add_unmap(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;
    uint64_t start               = ucs_min(event->address, MAX_ADDRESS);
    uint64_t end                 = start + ucs_min(event->length,
                                                   MAX_ADDRESS - start);

    /* A range of an unmap may be wrong: the hooks record an unmap before the kernel
     * refuses it */
    if (start < end) {
        timeline->unmaps[timeline->num_unmaps++] = (predreg_unmap_t){
            time_of(builder, event), start, end
        };
        predreg_first_uses_unmap(&builder->first_uses, start, end);
        predreg_first_uses_unmap(&builder->seen, start, end);
    }
}

/* Whether an event has memory, within the address space */
static int has_memory(const ucs_rcache_pred_event_t *event)
{
    return (event->length > 0) && (event->length <= MAX_ADDRESS) &&
           (event->address <= MAX_ADDRESS - event->length);
}

static void add_map(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;

    /* No kernel maps memory beyond the address space. If a damaged trace has such an
     * event, the event is left out, as if the recorder had lost it */
    if (has_memory(event)) {
        timeline->maps[timeline->num_maps++] = (predreg_map_t){
            time_of(builder, event), event->address,
            event->address + event->length
        };
    }
}

/* Add a registration, which the use that began last may have made */
static void add_reg(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    predreg_timeline_t *timeline = builder->timeline;
    predreg_use_t *use           = &timeline->uses[timeline->num_uses - 1];
    int is_first                 = (predreg_first_uses_begin(&builder->seen, 0, event->address,
                                                             event->length, 0) !=
                                    PREDREG_FIRST_NOT);

    predreg_points_add(is_first ? &builder->measured.first_reg : &builder->measured.reg,
                       event->address, event->length, event->duration);
    if (is_first && (event->by == UCS_RCACHE_PRED_BY_USE) && (timeline->num_uses > 0) &&
        (use->address == event->address) && (use->length == event->length)) {
        use->fresh = event->duration;
    }
}

static void add_event(builder_t *builder, const ucs_rcache_pred_event_t *event)
{
    switch (event->type) {
    case UCS_RCACHE_PRED_EVENT_USE_BEGIN:
        add_use(builder, event);
        break;
    case UCS_RCACHE_PRED_EVENT_USE_END:
        end_use(builder, event);
        break;
    case UCS_RCACHE_PRED_EVENT_REG:
        if (!(event->result & UCS_RCACHE_PRED_RESULT_FAILED)) {
            add_reg(builder, event);
        }
        break;
    case UCS_RCACHE_PRED_EVENT_DEREG:
        if (!(event->result & UCS_RCACHE_PRED_RESULT_FAILED)) {
            predreg_points_add(&builder->measured.dereg, event->address, event->length,
                               event->duration);
        }
        break;
    case UCS_RCACHE_PRED_EVENT_UNMAP:
        add_unmap(builder, event);
        break;
    case UCS_RCACHE_PRED_EVENT_MAP:
        add_map(builder, event);
        break;
    default:
        break; /* All other events are decisions of the recorded policy */
    }
}

/*
 * Find the fault of an event that no program can have had. A replay relies on everything
 * that is checked here. The memory of unmaps and failed events is not checked, since a
 * program can ask the kernel for anything.
 *
 * @param [in] previous  Time of the event before, ns.
 * @return the fault, as a phrase without a subject, or NULL.
 */
static const char *event_fault(const ucs_rcache_pred_event_t *event,
                               uint64_t origin, uint64_t previous)
{
    int uses_memory = ((event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) ||
                       (event->type == UCS_RCACHE_PRED_EVENT_REG) ||
                       (event->type == UCS_RCACHE_PRED_EVENT_DEREG)) &&
                      !(event->result & UCS_RCACHE_PRED_RESULT_FAILED);

    if (event->time < previous) {
        return "is earlier than the one before it";
    } else if (event->time - origin > MAX_SPAN) {
        return "is more than 146 years after the first one";
    } else if (event->duration > MAX_SPAN - (event->time - origin)) {
        return "lasts beyond 146 years after the first one";
    } else if (uses_memory && (event->length == 0)) {
        return "is of no memory";
    } else if (uses_memory && !has_memory(event)) {
        return "is of memory beyond the end of the address space";
    } else if (event->kind >= UCS_RCACHE_PRED_USE_LAST) {
        return "is of a use of unknown kind";
    }

    return NULL;
}

/* If the recording has no time for all waits for partners, the rank has waited for them
 * elsewhere than after its own waits, or less: let a replay add as much as was removed. Else
 * the recorded policy would take longer in replay than in the recording */
static void limit_partners(builder_t *builder)
{
    if (builder->partners > 0) {
        builder->timeline->partners *= (double)builder->removed /
                                       (builder->removed + builder->partners);
    }
}

/* Let uses without an end last until the end of the timeline */
static void end_all_uses(predreg_timeline_t *timeline)
{
    predreg_use_t *use;

    predreg_for_each(use, timeline->uses, timeline->num_uses) {
        use->end = ucs_min(use->end, timeline->duration);
    }
}

static ucs_status_t add_events(builder_t *builder)
{
    const ucs_rcache_trace_t *trace = builder->trace;
    const ucs_rcache_pred_event_t *event;
    uint64_t previous;
    const char *fault;

    if (trace->num_events == 0) {
        return UCS_OK;
    }

    previous = builder->origin = builder->until = trace->events[0].time;
    predreg_for_each(event, trace->events, trace->num_events) {
        fault = event_fault(event, builder->origin, previous);
        if (fault != NULL) {
            ucs_error("%s: event %zu, at %lu ns, %s", trace->path,
                      event - trace->events + 1, event->time, fault);
            return UCS_ERR_INVALID_PARAM;
        }

        add_event(builder, event);
        previous = event->time;
    }

    builder->timeline->duration = time_of(builder, event - 1);
    end_all_uses(builder->timeline);
    limit_partners(builder);
    return UCS_OK;
}

static void alloc_arrays(builder_t *builder)
{
    const ucs_rcache_trace_t *trace = builder->trace;
    predreg_timeline_t *timeline    = builder->timeline;
    size_t count[UINT8_MAX + 1]     = {0}; /* Number of events of each type */
    size_t i;

    for (i = 0; i < trace->num_events; ++i) {
        ++count[trace->events[i].type];
    }

    timeline->uses     = predreg_alloc(count[UCS_RCACHE_PRED_EVENT_USE_BEGIN],
                                       sizeof(*timeline->uses));
    timeline->recorded = predreg_alloc(count[UCS_RCACHE_PRED_EVENT_USE_BEGIN],
                                       sizeof(*timeline->recorded));
    timeline->unmaps   = predreg_alloc(count[UCS_RCACHE_PRED_EVENT_UNMAP],
                                       sizeof(*timeline->unmaps));
    timeline->maps     = predreg_alloc(count[UCS_RCACHE_PRED_EVENT_MAP],
                                       sizeof(*timeline->maps));
    builder->next    = predreg_alloc(count[UCS_RCACHE_PRED_EVENT_USE_BEGIN],
                                     sizeof(*builder->next));
}

/* Warn if the pages of the recorded machine do not have the size that replays take. Only
 * the first such trace makes a warning, since all ranks have the same size. */
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

ucs_status_t predreg_timeline_create(const ucs_rcache_trace_t *trace, double partners,
                                     predreg_timeline_t **timeline_p)
{
    builder_t builder = { .trace = trace };
    ucs_status_t status;

    check_page_size(trace);
    builder.timeline              = predreg_alloc(1, sizeof(*builder.timeline));
    builder.timeline->partners    = partners;
    builder.timeline->num_domains = ucs_max(trace->num_domains, 1u);
    alloc_arrays(&builder);
    status = add_events(&builder);
    if (status == UCS_OK) {
        predreg_timeline_fit(builder.timeline, trace, &builder.measured,
                             &builder.first_uses.points);
        *timeline_p = builder.timeline;
    } else {
        predreg_timeline_destroy(builder.timeline);
    }

    predreg_first_uses_cleanup(&builder.first_uses);
    predreg_first_uses_cleanup(&builder.seen);
    predreg_points_cleanup(&builder.measured.reg);
    predreg_points_cleanup(&builder.measured.first_reg);
    predreg_points_cleanup(&builder.measured.dereg);
    kh_destroy_inplace(open_uses, &builder.open);
    free(builder.next);
    return status;
}

void predreg_timeline_destroy(predreg_timeline_t *timeline)
{
    predreg_points_cleanup(&timeline->first_uses);
    free(timeline->reg_spread.factors);
    free(timeline->dereg_spread.factors);
    free(timeline->maps);
    free(timeline->unmaps);
    free(timeline->recorded);
    free(timeline->uses);
    free(timeline);
}
