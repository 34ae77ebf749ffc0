/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "evidence.h"

#include <ucs/datastruct/khash.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

#define NSEC_PER_SEC 1e9


/* A buffer, as the key of a table */
typedef struct buffer {
    uint64_t address;
    unsigned domain;
} buffer_t;

static inline khint_t buffer_hash(buffer_t buffer)
{
    return kh_int64_hash_func(buffer.address ^ buffer.domain);
}

static inline int buffer_is_equal(buffer_t a, buffer_t b)
{
    return (a.address == b.address) && (a.domain == b.domain);
}

/* A table that tells for each buffer when its last use so far began, ns */
KHASH_INIT(buffers, buffer_t, uint64_t, 1, buffer_hash, buffer_is_equal)

/* The time between the begins of two uses of a buffer, one after the other */
typedef struct interval {
    uint64_t length; /* ns */
    uint64_t begin;  /* ns */
    uint64_t bytes;
} interval_t;


static int interval_compare(const void *a, const void *b)
{
    const interval_t *left  = a;
    const interval_t *right = b;

    if (left->length != right->length) {
        return (left->length < right->length) ? -1 : 1;
    }

    return (left->begin < right->begin) ? -1 : (left->begin > right->begin);
}

/* Collect the time from each use to the next one of its buffer. Uses that begin
 * at the same time are one.
 * @return UCS_ERR_NO_MEMORY. */
static ucs_status_t find_intervals(const predreg_timeline_t *timeline,
                                   khash_t(buffers) *buffers,
                                   interval_t *intervals, size_t *count_p)
{
    const predreg_use_t *use;
    buffer_t buffer;
    khiter_t iter;
    int ret;

    *count_p = 0;
    for (use = timeline->uses; use < timeline->uses + timeline->num_uses;
         ++use) {
        buffer = (buffer_t){ .address = use->address, .domain = use->domain };
        iter   = kh_put(buffers, buffers, buffer, &ret);
        if (ret < 0) {
            return UCS_ERR_NO_MEMORY;
        }

        if ((ret == 0) && (use->begin > kh_val(buffers, iter))) {
            intervals[(*count_p)++] = (interval_t){
                .length = use->begin - kh_val(buffers, iter),
                .begin  = kh_val(buffers, iter),
                .bytes  = use->length
            };
        }
        kh_val(buffers, iter) = use->begin;
    }

    return UCS_OK;
}

/* Find the period: the median of the intervals, and where in the middle of the
 * program it is seen */
static void find_period(interval_t *intervals, size_t count, uint64_t duration,
                        predreg_evidence_t *evidence)
{
    uint64_t nearest = UINT64_MAX;
    double bytes     = 0, sum = 0;
    uint64_t distance;
    size_t i;

    if (count == 0) {
        return;
    }

    qsort(intervals, count, sizeof(*intervals), interval_compare);
    for (i = 0; i < count; ++i) {
        bytes += intervals[i].bytes;
    }
    for (i = 0; (i < count - 1) && (sum + intervals[i].bytes < bytes / 2);
         ++i) {
        sum += intervals[i].bytes;
    }

    evidence->period = intervals[i].length;
    for (i = 0; i < count; ++i) {
        distance = ucs_max(intervals[i].begin, duration / 2) -
                   ucs_min(intervals[i].begin, duration / 2);
        if ((intervals[i].length >= evidence->period - evidence->period / 8) &&
            (intervals[i].length <= evidence->period + evidence->period / 8) &&
            (distance < nearest)) {
            nearest                = distance;
            evidence->period_begin = intervals[i].begin;
        }
    }
}

static void add_uses(const predreg_timeline_t *timeline,
                     predreg_evidence_t *evidence)
{
    const predreg_use_t *use;
    double byte_seconds;

    for (use = timeline->uses; use < timeline->uses + timeline->num_uses;
         ++use) {
        byte_seconds         = use->length * ((use->end - use->begin) /
                                              NSEC_PER_SEC);
        evidence->use_bytes += use->length;
        evidence->in_use    += byte_seconds;
        if (use->end - use->begin > timeline->duration / 2) {
            evidence->in_long_use += byte_seconds;
        }
    }
}

ucs_status_t predreg_evidence_find(const predreg_timeline_t *timeline,
                                   predreg_evidence_t *evidence)
{
    khash_t(buffers) buffers;
    interval_t *intervals;
    ucs_status_t status;
    size_t count;

    *evidence = (predreg_evidence_t){ .buffers = 0 };
    intervals = malloc((timeline->num_uses + 1) * sizeof(*intervals));
    if (intervals == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    kh_init_inplace(buffers, &buffers);
    status = find_intervals(timeline, &buffers, intervals, &count);
    if (status == UCS_OK) {
        evidence->buffers = kh_size(&buffers);
        find_period(intervals, count, timeline->duration, evidence);
        add_uses(timeline, evidence);
    }

    kh_destroy_inplace(buffers, &buffers);
    free(intervals);
    return status;
}
