/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "measure.h"

#include <ucs/base/align.h>
#include <ucs/base/clock.h>
#include <ucs/base/line.h>

#include <ucs/sys/compiler_def.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Registrations of 1 to MAX_PAGES pages. Each round registers each number of pages once */
#define MAX_PAGES    3
#define MAX_ROUNDS   21
#define ROUND_PAGES  (1 + 2 + 3)

/* Copies, and lookups. A batch of copies is timed as a whole, so that reading the clock
 * hardly matters. The least time of several batches counts, so that interruptions do not
 * matter. While sends are in flight, UCX uses the bounce buffers of a pool in turn: the
 * copies here go to places as far apart as bounce buffers of an adapter (8 KB and their
 * headers) */
#define BATCH        16
#define BATCHES      6
#define NUM_STEPS    17 /* Measured lengths */
#define RING         64
#define RING_STRIDE  (UCS_REUSE_MAX_LENGTH + 128)

/* The least number of batches of each length, made even if no time is left: some half a
 * millisecond of work. During a single batch another program may have had the
 * processor */
#define MIN_BATCHES  3

/* The least number of registrations of each length, made even if no time is left. The
 * first registrations may take much longer than later ones */
#define MIN_ROUNDS   2

/* Until MIN_ROUNDS rounds are done, measuring may take MIN_PART times the allowed time */
#define MIN_PART     4

/* With fewer registrations of a length, the costs are a guess */
#define GOOD_ROUNDS  5

/* Copies, and then lookups, are repeated until this part of the time has passed; the rest
 * is for registrations */
#define COPY_PART    0.3
#define LOOKUP_PART  0.4

/* Different buffers to look up */
#define LOOKUPS      64

typedef struct {
    const uct_predreg_measure_params_t *params;
    uint64_t                             start;
    char                                 *memory; /* Memory of all buffers */
    size_t                               size;    /* Bytes of the memory */
    char                                 *pages;  /* The next pages to be registered */
    size_t                               page_size;
    char                                 *source;
    char                                 *ring;
    unsigned                             place; /* Number of the next place in the ring */
    uint64_t                             clock; /* Time of asking the clock */
} measure_t;


static uint64_t now(const measure_t *measure)
{
    return (measure->params->now == NULL) ? ucs_monotonic_ns() :
           measure->params->now();
}

/* @return the time since @a begin, less the time of asking the clock */
static uint64_t since(const measure_t *measure, uint64_t begin)
{
    uint64_t time = now(measure) - begin;

    return (time > measure->clock) ? (time - measure->clock) : 0;
}

static void measure_clock(measure_t *measure)
{
    uint64_t best = UINT64_MAX;
    uint64_t time;
    unsigned i;

    for (i = 0; i < BATCH; ++i) {
        time = now(measure);
        time = now(measure) - time;
        best = (time < best) ? time : best;
    }

    measure->clock = best;
}

/* @return whether less than @a part of the allowed time has passed since measuring
 * began */
static int is_before(const measure_t *measure, double part)
{
    uint64_t max_nsec = measure->params->max_nsec;

    if (max_nsec == 0) {
        max_nsec = UCT_PREDREG_MEASURE_MAX_NSEC;
    }
    return now(measure) - measure->start < part * max_nsec;
}


static void copy_libc(void *dest, const void *src, size_t length)
{
    memcpy(dest, src, length);
}

/* @return the time of one copy, from a batch of copies, ns */
static double copy_batch(measure_t *measure, size_t length,
                         void (*copy)(void*, const void*, size_t))
{
    uint64_t begin = now(measure);
    unsigned i;

    for (i = 0; i < BATCH; ++i) {
        copy(measure->ring + (measure->place * RING_STRIDE), measure->source,
             length);
        measure->place = (measure->place + 1) % RING;
    }

    return (double)since(measure, begin) / BATCH;
}

/* The least times of copies of the measured lengths */
typedef struct copies {
    double libc[NUM_STEPS];
    double string[NUM_STEPS];
} copies_t;

/* In units of UCS_REUSE_STEP */
static const unsigned steps[] = {1, 2, 3, 4, 6, 8, 9, 12, 16, 20, 24, 28, 32, 40,
                                 48, 56, 64};

/* Copy each length in each way once more */
static void measure_round(measure_t *measure, copies_t *copies)
{
    size_t length;
    unsigned i;

    for (i = 0; i < NUM_STEPS; ++i) {
        length          = steps[i] * UCS_REUSE_STEP;
        copies->libc[i] = fmin(copies->libc[i],
                               copy_batch(measure, length, copy_libc));
        if (length >= UCS_REUSE_COPY_STRING_MIN) {
            copies->string[i] = fmin(copies->string[i],
                                     copy_batch(measure, length,
                                                ucs_reuse_copy_string));
        }
    }
}

/* @return the lengths that the string instruction copies faster. A length between two
 * measured ones is treated as the longer of the two */
static ucs_reuse_copy_classes_t faster_by_string(const copies_t *copies)
{
    ucs_reuse_copy_classes_t classes = 0;
    unsigned i, k;

    for (i = 1; i < NUM_STEPS; ++i) {
        if (copies->string[i] < copies->libc[i]) {
            for (k = steps[i - 1]; k < steps[i]; ++k) {
                classes |= UCS_BIT(k);
            }
        }
    }
    return classes & UCS_REUSE_COPY_ALL_STRING;
}

/* Find the times of copies of all classes: some lengths are measured, and a line is drawn
 * between them. UCX may copy in either of two ways, memcpy() or the string instruction.
 * The faster way counts, with which a registration takes more sends to pay */
static ucs_reuse_copy_classes_t
measure_copies(measure_t *measure, double *copy)
{
    double times[NUM_STEPS];
    double before = 0;
    unsigned last = 0;
    copies_t copies;
    unsigned i, k;

    UCS_STATIC_ASSERT(sizeof(steps) / sizeof(steps[0]) == NUM_STEPS);
    for (i = 0; i < NUM_STEPS; ++i) {
        copies.libc[i] = copies.string[i] = INFINITY;
    }

    for (k = 0; (k < MIN_BATCHES) ||
                ((k < BATCHES) && is_before(measure, COPY_PART)); ++k) {
        measure_round(measure, &copies);
    }

    for (i = 0; i < NUM_STEPS; ++i) {
        times[i] = fmin(copies.libc[i], copies.string[i]);
    }

    /* If a longer copy took less time than a shorter copy, the shorter one cannot take
     * longer: disturbances only ever add time */
    for (i = NUM_STEPS - 1; i > 0; --i) {
        times[i - 1] = fmin(times[i - 1], times[i]);
    }

    for (i = 0; i < NUM_STEPS; ++i) {
        for (k = last + 1; k <= steps[i]; ++k) {
            copy[k - 1] = before + ((times[i] - before) * (k - last) /
                                    (steps[i] - last));
        }
        before = times[i];
        last   = steps[i];
    }
    return faster_by_string(&copies);
}


/* An address for the lookups, where there is no memory: nobody accesses it */
static const void *lookup_address(unsigned i)
{
    return (const void*)(uintptr_t)((1ul << 30) + (i * RING_STRIDE));
}

static double measure_lookup(const measure_t *measure)
{
    const uct_predreg_measure_params_t *params = measure->params;
    double best                                  = INFINITY;
    uint64_t begin;
    unsigned i, k;

    if (params->lookup == NULL) {
        return UCT_PREDREG_MEASURE_LOOKUP_NSEC + UCT_PREDREG_MEASURE_HOT_NSEC;
    }

    /* The first batch does not count: untouched memory of the table takes a page
     * fault for each lookup */
    for (i = 0; (i <= MIN_BATCHES) ||
                ((i <= BATCHES) && is_before(measure, LOOKUP_PART)); ++i) {
        begin = now(measure);
        for (k = 0; k < LOOKUPS; ++k) {
            params->lookup(params->lookup_arg, lookup_address(k));
        }
        if (i > 0) {
            best = fmin(best, since(measure, begin));
        }
    }

    return (best / LOOKUPS) + UCT_PREDREG_MEASURE_HOT_NSEC;
}


static int compare(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;

    return (*first > *second) - (*first < *second);
}

static double median(uint64_t *times, unsigned count)
{
    qsort(times, count, sizeof(*times), compare);
    return (count % 2) ? times[count / 2] :
                         ((times[count / 2 - 1] + times[count / 2]) / 2.);
}

static ucs_status_t
register_once(measure_t *measure, unsigned num_pages, uint64_t *time_p)
{
    const uct_predreg_measure_params_t *params = measure->params;
    char *address                                = measure->pages;
    uint64_t begin                               = now(measure);
    ucs_status_t status;
    void *handle;

    measure->pages += num_pages * measure->page_size;
    status          = params->map(params->arg, address,
                                  num_pages * measure->page_size, &handle);
    if (status != UCS_OK) {
        return status;
    }

    params->unmap(params->arg, handle);
    *time_p = since(measure, begin);
    return UCS_OK;
}

/* The first time of each length counts only if there is no later one: the first
 * registration may have to wake up UCX, the kernel or the adapter */
static ucs_status_t
measure_registration(measure_t *measure, ucs_reuse_costs_t *costs)
{
    uint64_t times[MAX_PAGES][MAX_ROUNDS];
    unsigned count[MAX_PAGES] = {0};
    ucs_line_t line           = {};
    ucs_status_t status;
    unsigned i, k;

    for (i = 0; i < MAX_ROUNDS * MAX_PAGES; ++i) {
        if ((i > 0) &&
            !is_before(measure, (i < MIN_ROUNDS * MAX_PAGES) ? MIN_PART : 1)) {
            break;
        }

        k      = i % MAX_PAGES;
        status = register_once(measure, k + 1, &times[k][count[k]]);
        if (status != UCS_OK) {
            return status;
        }
        ++count[k];
    }

    for (k = 0; (k < MAX_PAGES) && (count[k] > 0); ++k) {
        ucs_line_add(&line, k + 1, median(times[k] + (count[k] > 1),
                                          count[k] - (count[k] > 1)));
    }
    costs->reg_page = 0;
    (void)ucs_line_fit(&line, &costs->reg_page, &costs->reg_call);
    return (count[MAX_PAGES - 1] < GOOD_ROUNDS) ? UCS_INPROGRESS : UCS_OK;
}


/* Allocate the memory of a measurement, with @a pages_size bytes of pages to be
 * registered, and note the time of the start. @return 0 if there is no memory */
static int measure_begin(measure_t *measure, size_t pages_size)
{
    measure->start  = now(measure);
    measure->size   = pages_size + ((RING + 1) * RING_STRIDE);
    /* By a system call, which no hook sees: the memory is in no arena, nor in a trace */
    measure->memory = (void*)syscall(SYS_mmap, NULL, measure->size,
                                     PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0l);
    if (measure->memory == MAP_FAILED) {
        return 0;
    }

    /* Touch the memory, so that its pages exist, as the pages of a program's buffer do */
    memset(measure->memory, 1, measure->size);
    measure->pages  = measure->memory;
    measure->source = measure->memory + pages_size;
    measure->ring   = measure->source + RING_STRIDE;
    measure_clock(measure);
    return 1;
}

ucs_status_t uct_predreg_measure(const uct_predreg_measure_params_t *params,
                                 ucs_reuse_costs_t *costs)
{
    measure_t measure = {
        .params    = params,
        .page_size = ucs_page_size()
    };
    ucs_status_t status;

    if (!measure_begin(&measure,
                       MAX_ROUNDS * ROUND_PAGES * measure.page_size)) {
        return UCS_ERR_NO_MEMORY;
    }

    measure_copies(&measure, costs->copy);
    costs->lookup = measure_lookup(&measure);
    status        = measure_registration(&measure, costs);
    syscall(SYS_munmap, measure.memory, measure.size);
    return status;
}

size_t uct_predreg_measure_gain_from(uint64_t (*clock)(void),
                                     ucs_reuse_copy_classes_t *by_string_p)
{
    const uct_predreg_measure_params_t params = {
        .max_nsec = UCT_PREDREG_MEASURE_GAIN_MAX_NSEC,
        .now      = clock
    };
    measure_t measure = {.params = &params};
    double copy[UCS_REUSE_NUM_CLASSES];
    unsigned class;

    if (!measure_begin(&measure, 0)) {
        *by_string_p = UCS_REUSE_COPY_ALL_STRING;
        return 0;
    }

    *by_string_p = measure_copies(&measure, copy);
    syscall(SYS_munmap, measure.memory, measure.size);
    for (class = 0; class < UCS_REUSE_NUM_CLASSES; ++class) {
        if (copy[class] > UCT_PREDREG_MEASURE_HOT_NSEC) {
            return (class * UCS_REUSE_STEP) + 1;
        }
    }
    return 0;
}
