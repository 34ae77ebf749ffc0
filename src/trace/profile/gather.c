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

/* When the last use of a region began, and where it came from */
typedef struct {
    uint64_t time;
    pair_t   place; /* Name, length */
} last_t;

static inline khint_t pair_hash(pair_t pair)
{
    return ucs_rcache_pred_hash_pair(pair.first, pair.second);
}

static inline int pair_is_equal(pair_t a, pair_t b)
{
    return (a.first == b.first) && (a.second == b.second);
}

KHASH_INIT(places, pair_t, samples_t*, 1, pair_hash, pair_is_equal)
KHASH_INIT(regions, pair_t, last_t, 1, pair_hash, pair_is_equal)

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

static ucs_status_t add_use(ucs_rcache_profile_gather_t *gather,
                            context_t *context,
                            const ucs_rcache_pred_event_t *event,
                            uint64_t *left_out_p)
{
    pair_t region = {event->domain, event->id};
    ucs_status_t status;
    uint64_t name;
    khiter_t iter;
    last_t *last;
    int result;

    status = ucs_rcache_profile_names_find(context->names, &event->context,
                                           &name);
    if (status != UCS_OK) {
        return status;
    }

    iter = kh_put(regions, &context->regions, region, &result);
    if (result == UCS_KH_PUT_FAILED) {
        return UCS_ERR_NO_MEMORY;
    }

    last = &kh_value(&context->regions, iter);
    if ((result == UCS_KH_PUT_KEY_PRESENT) && (last->place.first != 0) &&
        (event->time > last->time)) {
        status = add_interval(gather, last->place, event->time - last->time);
    }

    *left_out_p += (name == 0);
    last->time   = event->time;
    last->place  = (pair_t){name, event->length};
    return status;
}

ucs_status_t
ucs_rcache_profile_gather_add(ucs_rcache_profile_gather_t *gather,
                              const ucs_rcache_trace_t *trace,
                              uint64_t *left_out_p)
{
    context_t context   = {.names = ucs_rcache_profile_names_create(trace)};
    ucs_status_t status = UCS_OK;
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
