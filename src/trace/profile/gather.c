/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "gather.h"
#include "names.h"

#include <ucs/base/hash.h>
#include <ucs/datastruct/khash.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/* So many intervals of a place and length are kept. Further ones replace earlier ones, so
 * that what is kept is of the whole run */
#define MAX_SAMPLES 512

/* So many slices are joined at a time. Of more, the latest ones are kept */
#define MAX_PARTS 64


/* Two numbers that are looked up together */
typedef struct {
    uint64_t first;
    uint64_t second;
} pair_t;

/* The intervals after uses at a place */
typedef struct {
    uint64_t               uses; /* How many there were */
    ucs_rcache_pred_time_t samples[MAX_SAMPLES];
} samples_t;

/* A part of a region, and when its last use began and where it came from */
typedef struct {
    uint64_t start;
    uint64_t end;
    uint64_t time;
    pair_t   place; /* Name, length */
} part_t;

/* The parts of a region. Most have one: a region that stands for slices which were joined
 * has several, each of which is used by itself */
typedef struct {
    part_t   *parts;
    unsigned num;
    unsigned next; /* The one to look at first: slices are used in turns. Where there are
                      too many, it is the one that a new one replaces */
} parts_t;

static inline khint_t pair_hash(pair_t pair)
{
    return ucs_rcache_pred_hash_pair(pair.first, pair.second);
}

static inline int pair_is_equal(pair_t a, pair_t b)
{
    return (a.first == b.first) && (a.second == b.second);
}

KHASH_INIT(places, pair_t, samples_t*, 1, pair_hash, pair_is_equal)
KHASH_INIT(regions, pair_t, parts_t, 1, pair_hash, pair_is_equal)

struct ucs_rcache_profile_gather {
    khash_t(places) places; /* By name and length */
};

/* What is needed for a trace */
typedef struct {
    ucs_rcache_profile_names_t *names;
    khash_t(regions)           regions; /* By domain and number */
} context_t;


ucs_rcache_profile_gather_t *ucs_rcache_profile_gather_create(void)
{
    ucs_rcache_profile_gather_t *gather = malloc(sizeof(*gather));

    if (gather != NULL) {
        kh_init_inplace(places, &gather->places);
    }
    return gather;
}

void ucs_rcache_profile_gather_destroy(ucs_rcache_profile_gather_t *gather)
{
    samples_t *samples;

    kh_foreach_value(&gather->places, samples, free(samples));
    kh_destroy_inplace(places, &gather->places);
    free(gather);
}

static ucs_status_t add_interval(ucs_rcache_profile_gather_t *gather,
                                 pair_t place, ucs_rcache_pred_time_t interval)
{
    samples_t *samples;
    khiter_t iter;
    int result;

    iter = kh_put(places, &gather->places, place, &result);
    if (result == UCS_KH_PUT_FAILED) {
        return UCS_ERR_NO_MEMORY;
    }

    if (result != UCS_KH_PUT_KEY_PRESENT) {
        samples = calloc(1, sizeof(*samples));
        if (samples == NULL) {
            kh_del(places, &gather->places, iter);
            return UCS_ERR_NO_MEMORY;
        }
        kh_value(&gather->places, iter) = samples;
    }

    samples = kh_value(&gather->places, iter);
    samples->samples[(samples->uses < MAX_SAMPLES) ?
                     samples->uses :
                     ucs_rcache_pred_hash_bits(samples->uses, 32) %
                             MAX_SAMPLES] = interval;
    ++samples->uses;
    return UCS_OK;
}

static int is_left_out(const ucs_rcache_pred_event_t *event)
{
    return (event->type != UCS_RCACHE_PRED_EVENT_USE_BEGIN) ||
           (event->result & (UCS_RCACHE_PRED_RESULT_FAILED |
                             UCS_RCACHE_PRED_RESULT_KEPT));
}

/* Whether a use is one of a part: they have half of the longer one in common, which makes
 * two uses those of one region where slices are not joined */
static int is_of_part(const part_t *part, const ucs_rcache_pred_event_t *event)
{
    uint64_t end    = event->address + event->length;
    uint64_t first  = ucs_max(part->start, event->address);
    uint64_t last   = ucs_min(part->end, end);
    uint64_t longer = ucs_max(part->end - part->start, event->length);

    return (last > first) && (last - first >= longer - (last - first));
}

/* @return the part of a region that is used; NULL: it was not used before. */
static part_t *find_part(parts_t *parts, const ucs_rcache_pred_event_t *event)
{
    unsigned i, index;

    for (i = 0; i < parts->num; ++i) {
        index = (parts->next + i) % parts->num;
        if (is_of_part(&parts->parts[index], event)) {
            parts->next = index + 1;
            return &parts->parts[index];
        }
    }

    return NULL;
}

/* @return room for another part of a region; NULL: there is no memory. */
static part_t *new_part(parts_t *parts)
{
    part_t *memory;

    if (parts->num == MAX_PARTS) {
        parts->next %= MAX_PARTS;
        return &parts->parts[parts->next++];
    }

    memory = realloc(parts->parts, (parts->num + 1) * sizeof(*memory));
    if (memory == NULL) {
        return NULL;
    }

    parts->parts = memory;
    parts->next  = parts->num + 1;
    return &memory[parts->num++];
}

/* @return the parts of a region; NULL: there is no memory. */
static parts_t *region_parts(context_t *context,
                             const ucs_rcache_pred_event_t *event)
{
    pair_t region = {event->domain, event->id};
    khiter_t iter;
    int result;

    iter = kh_put(regions, &context->regions, region, &result);
    if (result == UCS_KH_PUT_FAILED) {
        return NULL;
    }

    if (result != UCS_KH_PUT_KEY_PRESENT) {
        kh_value(&context->regions, iter) = (parts_t){.parts = NULL};
    }
    return &kh_value(&context->regions, iter);
}

static ucs_status_t add_use(ucs_rcache_profile_gather_t *gather,
                            context_t *context,
                            const ucs_rcache_pred_event_t *event,
                            uint64_t *left_out_p)
{
    parts_t *parts = region_parts(context, event);
    ucs_status_t status;
    uint64_t name;
    part_t *part;

    if (parts == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = ucs_rcache_profile_names_find(context->names, &event->context,
                                           &name);
    if (status != UCS_OK) {
        return status;
    }

    part = find_part(parts, event);
    if ((part != NULL) && (part->place.first != 0) &&
        (event->time > part->time)) {
        status = add_interval(gather, part->place, event->time - part->time);
    } else if (part == NULL) {
        part = new_part(parts);
        if (part == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }

    *left_out_p += (name == 0);
    *part        = (part_t){
        .start = event->address,
        .end   = event->address + event->length,
        .time  = event->time,
        .place = {name, event->length}
    };
    return status;
}

ucs_status_t
ucs_rcache_profile_gather_add(ucs_rcache_profile_gather_t *gather,
                              const ucs_rcache_trace_t *trace,
                              uint64_t *left_out_p)
{
    context_t context   = {.names = ucs_rcache_profile_names_create(trace)};
    ucs_status_t status = UCS_OK;
    parts_t parts;
    size_t i;

    if (context.names == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    kh_init_inplace(regions, &context.regions);
    for (i = 0; (i < trace->num_events) && (status == UCS_OK); ++i) {
        if (!is_left_out(&trace->events[i])) {
            status = add_use(gather, &context, &trace->events[i], left_out_p);
        }
    }
    kh_foreach_value(&context.regions, parts, free(parts.parts));
    kh_destroy_inplace(regions, &context.regions);
    ucs_rcache_profile_names_destroy(context.names);
    return status;
}

static int compare(const void *a, const void *b)
{
    const ucs_rcache_pred_time_t *interval = a;
    const ucs_rcache_pred_time_t *other    = b;

    return (*interval > *other) - (*interval < *other);
}

static void summarize(samples_t *samples, ucs_rcache_profile_row_t *row)
{
    size_t num = ucs_min(samples->uses, MAX_SAMPLES);

    qsort(samples->samples, num, sizeof(samples->samples[0]), compare);
    row->uses          = samples->uses;
    row->num_intervals = 0;
    if (num > 1) {
        row->intervals[row->num_intervals++] = samples->samples[num / 10];
        row->intervals[row->num_intervals++] = samples->samples[num * 9 / 10];
    }
    row->intervals[row->num_intervals++] = samples->samples[num / 2];
}

ucs_status_t
ucs_rcache_profile_gather_finish(ucs_rcache_profile_gather_t *gather,
                                 ucs_rcache_profile_t *profile)
{
    ucs_status_t status = UCS_OK;
    ucs_rcache_profile_row_t row;
    khiter_t iter;

    ucs_rcache_profile_init(profile);
    for (iter = kh_begin(&gather->places);
         (iter != kh_end(&gather->places)) && (status == UCS_OK); ++iter) {
        if (kh_exist(&gather->places, iter)) {
            row.name   = kh_key(&gather->places, iter).first;
            row.length = kh_key(&gather->places, iter).second;
            summarize(kh_value(&gather->places, iter), &row);
            status = ucs_rcache_profile_add(profile, &row);
        }
    }

    if (status == UCS_OK) {
        status = ucs_rcache_profile_sort(profile);
    }
    if (status != UCS_OK) {
        ucs_rcache_profile_free(profile);
    }
    return status;
}
