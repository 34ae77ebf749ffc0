/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* The kernel counts in KiB, and pools may change by a page or two: less user
 * memory than this, in bytes, is none */
#define TOLERANCE 10486


static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t*)a, y = *(const pid_t*)b;

    return (x > y) - (x < y);
}

/* Fills pids in ascending order. Returns the number of processes, of which only
 * the first max are filled in. */
static unsigned find_pids(const memory_sample_t *samples, size_t num_samples,
                          pid_t *pids, unsigned max)
{
    unsigned num = 0, i;
    size_t k;

    for (k = 0; k < num_samples; ++k) {
        for (i = 0; (i < num) && (pids[i] != samples[k].pid); ++i) {
        }
        if (i < num) {
            continue;
        }
        if (num == max) {
            return max + 1;
        }
        pids[num++] = samples[k].pid;
    }

    qsort(pids, num, sizeof(*pids), compare_pids);
    return num;
}

/* The user memory of a process over time, from its first registration to the
 * last sample at which it had all its pools. Sets *has_pools_p to whether there
 * is such a sample. Returns the number of steps, whose times begin at 0. */
static size_t find_curve(const memory_sample_t *samples, size_t num_samples,
                         pid_t pid, uint64_t pool, predreg_step_t *curve,
                         int *has_pools_p)
{
    size_t num = 0, num_with_pools = 0, k;
    int64_t begin = 0;
    uint64_t user;

    *has_pools_p = 0;
    for (k = 0; k < num_samples; ++k) {
        if (samples[k].pid != pid) {
            continue;
        }

        user = (samples[k].pinned > (pool + TOLERANCE)) ?
                       (samples[k].pinned - pool) : 0;
        if ((num > 0) || (user > 0)) {
            if (num == 0) {
                begin = samples[k].time;
            }
            curve[num].time  = samples[k].time - begin;
            curve[num].bytes = user;
            ++num;
        }

        if ((samples[k].pinned + TOLERANCE) >= pool) {
            *has_pools_p   = 1;
            num_with_pools = num;
        }
    }

    /* One sample lasts no time */
    return (num_with_pools > 1) ? num_with_pools : 0;
}

static double average_of(const predreg_step_t *curve, size_t num_steps)
{
    double sum = 0;
    size_t k;

    if (num_steps == 0) {
        return 0;
    }

    for (k = 0; k + 1 < num_steps; ++k) {
        sum += (double)curve[k].bytes * (curve[k + 1].time - curve[k].time);
    }

    return sum / curve[num_steps - 1].time;
}

static double peak_of(const predreg_step_t *curve, size_t num_steps)
{
    uint64_t peak = 0;
    size_t k;

    for (k = 0; k < num_steps; ++k) {
        peak = (curve[k].bytes > peak) ? curve[k].bytes : peak;
    }

    return peak;
}

/* Adds what one rank had; a curve of its own is kept of the first */
static const char *add_rank(const memory_sample_t *samples, size_t num_samples,
                            pid_t pid, uint64_t pool, unsigned num_ranks,
                            memory_t *memory)
{
    predreg_step_t *curve;
    int has_pools;
    double peak;
    size_t num;

    curve = malloc((num_samples + 1) * sizeof(*curve));
    if (curve == NULL) {
        return "out of memory";
    }

    num = find_curve(samples, num_samples, pid, pool, curve, &has_pools);
    if (!has_pools) {
        free(curve);
        return "a rank never had all its pools registered";
    }

    peak             = peak_of(curve, num);
    memory->average += average_of(curve, num) / num_ranks;
    memory->peak     = (peak > memory->peak) ? peak : memory->peak;
    if (memory->curve == NULL) {
        memory->curve     = curve;
        memory->num_steps = num;
        memory->duration  = (num == 0) ? 0 : curve[num - 1].time;
    } else {
        free(curve);
    }

    return NULL;
}

const char *memory_analyse(const memory_sample_t *samples, size_t num_samples,
                           const uint64_t *pools, unsigned num_ranks,
                           memory_t *memory)
{
    memory_t sum      = {0};
    const char *error = NULL;
    pid_t pids[num_ranks + 1];
    unsigned i;

    if ((num_ranks == 0) ||
        (find_pids(samples, num_samples, pids, num_ranks) != num_ranks)) {
        return "not as many processes were sampled as pools are known of";
    }

    for (i = 0; (i < num_ranks) && (error == NULL); ++i) {
        error = add_rank(samples, num_samples, pids[i], pools[i], num_ranks,
                         &sum);
    }

    if (error != NULL) {
        free(sum.curve);
        return error;
    }

    *memory = sum;
    return NULL;
}
