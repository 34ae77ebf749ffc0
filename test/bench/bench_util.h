/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_BENCH_UTIL_H_
#define TEST_BENCH_BENCH_UTIL_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** Exit code of a benchmark that cannot run here. */
#define BENCH_SKIP 77

#define BENCH_USEC 1e3 /* Nanoseconds */

/** End the program with a message if an operation failed. */
#define BENCH_CHECK(_status) \
    do { \
        ucs_status_t _s = (_status); \
        if (_s != UCS_OK) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #_status, \
                    ucs_status_string(_s)); \
            exit(1); \
        } \
    } while (0)

/** End the program with a message if a condition is not true. */
#define BENCH_ASSERT(_cond, _message) \
    do { \
        if (!(_cond)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, _message); \
            exit(1); \
        } \
    } while (0)


/** The clock of the benchmarks and of the library in them, nanoseconds. */
static UCS_F_ALWAYS_INLINE uint64_t bench_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (ts.tv_sec * 1000000000ul) + ts.tv_nsec;
}

/** What one quantity was in each round. */
typedef struct bench_sample {
    double   *value;
    unsigned count;
    unsigned max;
} bench_sample_t;

void bench_sample_init(bench_sample_t *sample, unsigned max);
void bench_sample_cleanup(bench_sample_t *sample);
void bench_sample_add(bench_sample_t *sample, double value);

/** Sort the sample; @return the given quantile, 0 is the minimum; NAN if there
 *  is no value. */
double bench_sample_quantile(bench_sample_t *sample, double quantile);

/** Sort the sample; @return the mean of its middle half: as little moved by
 *  outliers as the median, and not bound to the steps of the clock. */
double bench_sample_midmean(bench_sample_t *sample);

static inline double bench_sample_median(bench_sample_t *sample)
{
    return bench_sample_quantile(sample, 0.5);
}

static inline double bench_sample_min(bench_sample_t *sample)
{
    return bench_sample_quantile(sample, 0);
}

/** Anonymous memory that has pages. Ends the program if there is none. */
void *bench_map(size_t length);

/** Memory pinned by this process as the kernel counts it, bytes. */
size_t bench_vmpin(void);

/** Lift RLIMIT_MEMLOCK. Ends the program as skipped if that is not permitted
 *  and the limit is below what the program is going to pin. */
void bench_raise_memlock(size_t needed);

/** Give the calling thread a processor of its own, one for each index, as long
 *  as there are enough. First called before any other thread is started. */
void bench_pin(unsigned index);

/** A positive number from the command line, or the program ends. */
unsigned bench_parse_count(const char *name, const char *text);

/** What the figures depend on: kernel, processors, load, UCX. */
void bench_print_machine(void);

#endif
