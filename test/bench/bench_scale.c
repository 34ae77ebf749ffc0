/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What the cache's own work costs with 1000 to a million regions: nothing is
 * registered here, and the cache's clock is a variable. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_util.h"

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/rcache_pred/table/region.h>

#include <ucs/sys/math.h>

#include <malloc.h>
#include <math.h>
#include <unistd.h>

#define SCALE_BASE     0x100000000000ul /* Nothing is mapped or touched there */
#define SCALE_STRIDE   0x20000ul
#define SCALE_LENGTH   0x10000ul
#define SCALE_HUGE     (1ul << 30)
#define SCALE_PERIOD   60000000000ul    /* ns, from one iteration to the next */
#define SCALE_INTERVAL 20000ul          /* ns, from one use to the next */
#define SCALE_REG      5000             /* ns that a registration takes */
#define SCALE_DEREG    1000             /* ns */
#define SCALE_SAMPLES  20000            /* Operations timed, at most */
#define SCALE_REFUSED  200              /* Each may wait for others */
#define SCALE_CONTEXTS 20000
#define SCALE_ITERATIONS 3              /* Of which the last is timed */
#define SCALE_LOADS    200000
#define SCALE_FIRST    3                /* The first row has 10^3 regions */

/* The columns */
enum {
    COLUMN_LOAD,
    COLUMN_USE,
    COLUMN_NEW,
    COLUMN_REFUSED,
    COLUMN_EVICT,
    COLUMN_UNMAP,
    COLUMN_CLEARED,
    COLUMN_HELPER,
    COLUMN_BYTES,
    NUM_COLUMNS
};

typedef double scale_row_t[NUM_COLUMNS];

static struct {
    uint64_t                 now;   /* The cache's clock, ns */
    uintptr_t                memh;  /* The last handle */
    unsigned                 num;   /* Regions */
    unsigned                 *order;
    void                     **memhs;
    ucs_rcache_pred_t        *pred;
    ucs_rcache_pred_domain_t *domain;
} scale;


static ucs_rcache_pred_time_t scale_now(void *arg)
{
    return scale.now;
}

static void scale_wake(void *arg)
{
}

static ucs_status_t scale_mem_reg(void *domain_arg, void *address,
                                  size_t length, unsigned flags, void **memh_p)
{
    scale.now += SCALE_REG;
    *memh_p    = (void*)(scale.memh += 64);
    return UCS_OK;
}

static ucs_status_t scale_mem_dereg(void *domain_arg, void *memh)
{
    scale.now += SCALE_DEREG;
    return UCS_OK;
}

static const ucs_rcache_pred_ops_t scale_ops = {
    .now       = scale_now,
    .wake      = scale_wake,
    .mem_reg   = scale_mem_reg,
    .mem_dereg = scale_mem_dereg
};

/* The next power of 2 */
static unsigned scale_pow2(unsigned value)
{
    unsigned pow2 = 1;

    while (pow2 < value) {
        pow2 *= 2;
    }
    return pow2;
}

static void scale_create(uint64_t max_regions)
{
    ucs_rcache_pred_params_t params = {
        .ops           = &scale_ops,
        .policy        = UCS_RCACHE_PRED_POLICY_PREDICT,
        .helper        = UCS_RCACHE_PRED_HELPER_AGGRESSIVE,
        .budget        = INFINITY,
        .history       = 8,
        .max_sites     = ucs_max(2 * scale.num, 16384u),
        .known_regions = ucs_max(4 * scale.num, 16u),
        .max_bytes     = UINT64_MAX,
        .max_regions   = max_regions,
        .dq_size       = scale_pow2(4 * scale.num)
    };

    scale.now = 1000000000;
    BENCH_CHECK(ucs_rcache_pred_create(&params, &scale.pred));
    BENCH_CHECK(ucs_rcache_pred_domain_create(scale.pred, "scale", NULL,
                                              &scale.domain));
}

static void scale_destroy(void)
{
    ucs_rcache_pred_domain_destroy(scale.domain);
    ucs_rcache_pred_destroy(scale.pred);
}

static void *scale_buffer(unsigned i)
{
    return (void*)(SCALE_BASE + (i * SCALE_STRIDE));
}

/* Draw another order of the first @a num buffers */
static void scale_shuffle(unsigned num)
{
    unsigned i, j, swap;

    for (i = 0; i < num; ++i) {
        scale.order[i] = i;
    }
    for (i = num - 1; i > 0; --i) {
        j              = rand() % (i + 1);
        swap           = scale.order[i];
        scale.order[i] = scale.order[j];
        scale.order[j] = swap;
    }
}

static ucs_status_t scale_begin(unsigned i, uint64_t window, void **memh_p)
{
    ucs_rcache_pred_context_t context = {
        .caller = 1,
        .stack  = 0x7fff0000,
        .window = window
    };

    scale.now += SCALE_INTERVAL;
    return ucs_rcache_pred_begin(scale.domain, scale_buffer(i), SCALE_LENGTH, 0,
                                 &context, memh_p);
}

static void scale_use(unsigned i, uint64_t window)
{
    void *memh;

    BENCH_CHECK(scale_begin(i, window, &memh));
    BENCH_CHECK(ucs_rcache_pred_end(scale.domain, memh));
}

static void scale_use_all(void)
{
    unsigned i;

    scale_shuffle(scale.num);
    for (i = 0; i < scale.num; ++i) {
        scale_use(scale.order[i], scale.order[i]);
    }
}

/* Rounds of the helper until a time of the cache's clock */
static void scale_help(uint64_t until)
{
    ucs_rcache_pred_time_t next;

    while (scale.now < until) {
        next      = ucs_rcache_pred_poll(scale.pred);
        scale.now = ucs_max(scale.now + 1, ucs_min(next, until));
    }
}

/* The processor time of this program, ns: there is one thread, and others may
 * be running */
static uint64_t scale_clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (ts.tv_sec * 1000000000ul) + ts.tv_nsec;
}

static double scale_mean(uint64_t start, unsigned count)
{
    return (double)(scale_clock() - start) / count;
}

static size_t scale_allocated(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* What this machine takes for one load from as much memory as the regions have,
 * if each load has to wait for the one before */
static void scale_loads(scale_row_t row)
{
    size_t stride = sizeof(ucs_rcache_pred_region_t);
    char *memory  = malloc(scale.num * stride);
    uint64_t start;
    void **link;
    unsigned i;

    BENCH_ASSERT(memory != NULL, "no memory");
    scale_shuffle(scale.num);
    for (i = 0; i < scale.num; ++i) {
        link  = (void**)(memory + (scale.order[i] * stride));
        *link = memory + (scale.order[(i + 1) % scale.num] * stride);
    }

    start = scale_clock();
    for (i = 0, link = (void**)memory; i < SCALE_LOADS; ++i) {
        link = *link;
    }
    row[COLUMN_LOAD] = scale_mean(start, SCALE_LOADS);
    BENCH_ASSERT(link != NULL, "the loads were left out");
    free(memory);
}

/* New regions, of which the last tenth is timed; then uses of them. The cache
 * is left to scale_unmaps(). */
static void scale_hits(scale_row_t row)
{
    unsigned num_timed = scale.num / 10;
    unsigned i, count;
    uint64_t start;
    size_t before;

    scale_create(UINT64_MAX);
    scale_shuffle(scale.num);
    before = scale_allocated();
    for (i = 0; i < scale.num - num_timed; ++i) {
        scale_use(scale.order[i], i);
    }
    start = scale_clock();
    for (; i < scale.num; ++i) {
        scale_use(scale.order[i], i);
    }
    row[COLUMN_NEW] = scale_mean(start, num_timed);
    row[COLUMN_BYTES] = (double)(scale_allocated() - before) / scale.num;

    count = ucs_min(scale.num, SCALE_SAMPLES);
    for (i = 0; i < count; ++i) {
        scale_use(scale.order[i], i); /* Warm, as far as there is room */
    }
    start = scale_clock();
    for (i = 0; i < count; ++i) {
        scale_use(scale.order[i], i);
    }
    row[COLUMN_USE] = scale_mean(start, count);
}

/* Unmaps between the regions after one huge buffer was used, and unmaps of
 * regions one by one, with a round of the helper that clears each away */
static void scale_unmaps(scale_row_t row)
{
    unsigned count = ucs_min(scale.num, SCALE_SAMPLES) / 20;
    ucs_rcache_pred_context_t context = {.caller = 2};
    uint64_t start;
    uintptr_t address;
    unsigned i;
    void *memh;

    BENCH_CHECK(ucs_rcache_pred_begin(scale.domain,
                                      (void*)(SCALE_BASE - (2 * SCALE_HUGE)),
                                      SCALE_HUGE, 0, &context, &memh));
    BENCH_CHECK(ucs_rcache_pred_end(scale.domain, memh));
    scale_help(scale.now + SCALE_PERIOD);
    scale_shuffle(scale.num);

    start = scale_clock();
    for (i = 0; i < count; ++i) {
        address = (uintptr_t)scale_buffer(scale.order[i]);
        ucs_rcache_pred_unmapped(scale.pred, address + SCALE_LENGTH,
                                 address + SCALE_STRIDE);
    }
    row[COLUMN_UNMAP] = scale_mean(start, count);

    start = scale_clock();
    for (i = 0; i < count; ++i) {
        address = (uintptr_t)scale_buffer(scale.order[i]);
        ucs_rcache_pred_unmapped(scale.pred, address, address + SCALE_LENGTH);
        ucs_rcache_pred_poll(scale.pred);
    }
    row[COLUMN_CLEARED] = scale_mean(start, count);
    scale_destroy();
}

/* New buffers at the bound, while all others are idle or in use */
static void scale_bound(scale_row_t row)
{
    unsigned count = ucs_min(scale.num, SCALE_SAMPLES);
    uint64_t start;
    unsigned i;
    void *memh;

    scale_create(scale.num + 1);
    scale_use_all();
    /* The first eviction finds out what has happened since the beginning */
    scale_use(scale.num, 0);
    start = scale_clock();
    for (i = 0; i < count; ++i) {
        scale_use(scale.num + 1 + i, i);
    }
    row[COLUMN_EVICT] = scale_mean(start, count);

    scale_shuffle(scale.num);
    for (i = 0; i < scale.num; ++i) {
        BENCH_CHECK(scale_begin(scale.order[i], 0, &scale.memhs[i]));
    }
    BENCH_ASSERT(scale_begin(scale.num, 0, &memh) == UCS_ERR_EXCEEDS_LIMIT,
                 "a use was not refused");
    start = scale_clock();
    for (i = 0; i < SCALE_REFUSED; ++i) {
        BENCH_ASSERT(scale_begin(scale.num, 0, &memh) == UCS_ERR_EXCEEDS_LIMIT,
                     "a use was not refused");
    }
    row[COLUMN_REFUSED] = scale_mean(start, SCALE_REFUSED);
    for (i = 0; i < scale.num; ++i) {
        BENCH_CHECK(ucs_rcache_pred_end(scale.domain, scale.memhs[i]));
    }
    scale_destroy();
}

/* All that the helper does about a use: all buffers are used once in each
 * iteration, in another order, deregistered, and registered before the next */
static void scale_iterations(scale_row_t row)
{
    uint64_t start, sum = 0;
    unsigned iteration;

    scale_create(UINT64_MAX);
    for (iteration = 1; iteration <= SCALE_ITERATIONS; ++iteration) {
        start = scale_clock();
        scale_help(iteration * SCALE_PERIOD);
        sum = scale_clock() - start;
        scale_use_all();
        start = scale_clock();
        scale_help(scale.now + SCALE_INTERVAL);
        sum += scale_clock() - start;
    }
    row[COLUMN_HELPER] = (double)sum / scale.num;
    scale_destroy();
}

/* The helper's work for a use of one buffer that has ever new contexts */
static void scale_contexts(void)
{
    uint64_t start = 0;
    unsigned i;

    scale.num = 1;
    scale_create(UINT64_MAX);
    for (i = 0; i < 2 * SCALE_CONTEXTS; ++i) {
        if (i == SCALE_CONTEXTS) {
            start = scale_clock();
        }
        scale_use(0, rand());
        scale.now += 1000000 + (rand() % 3000000);
        ucs_rcache_pred_poll(scale.pred);
    }
    printf("\none buffer with %u different contexts: %.0f ns a use and its "
           "round of the helper\n", 2 * SCALE_CONTEXTS,
           scale_mean(start, SCALE_CONTEXTS));
    scale_destroy();
}

/* Print the row of 10^power regions and, but for the first one, how many times
 * the previous row it is */
static void scale_print_row(unsigned power, const scale_row_t row,
                            const scale_row_t previous)
{
    unsigned i;

    printf("%8u ", scale.num);
    for (i = 0; i < NUM_COLUMNS; ++i) {
        printf((i == COLUMN_USE) ? "%8.1f" : "%8.0f", row[i]);
    }

    if (power > SCALE_FIRST) {
        printf("\n   x%4.2f ", (double)power / (power - 1));
        for (i = 0; i < NUM_COLUMNS; ++i) {
            printf("   x%4.2f", row[i] / previous[i]);
        }
    }
    printf("\n");
    fflush(stdout);
}

static void scale_measure(unsigned num, scale_row_t row)
{
    scale.num   = num;
    scale.order = malloc(num * sizeof(*scale.order));
    scale.memhs = malloc(num * sizeof(*scale.memhs));
    BENCH_ASSERT((scale.order != NULL) && (scale.memhs != NULL), "no memory");
    scale_loads(row);
    scale_hits(row);
    scale_unmaps(row);
    scale_bound(row);
    scale_iterations(row);
    free(scale.memhs);
    free(scale.order);
}

int main(int argc, char **argv)
{
    unsigned max   = 1000000;
    unsigned power = SCALE_FIRST;
    scale_row_t rows[2];
    unsigned num;
    int c;

    while ((c = getopt(argc, argv, "n:h")) != -1) {
        if (c != 'n') {
            printf("Usage: %s [-n REGIONS]\n\n"
                   "  -n REGIONS  largest number of regions (%u)\n", argv[0],
                   max);
            return (c == 'h') ? 0 : 2;
        }
        max = bench_parse_count("-n", optarg);
    }

    bench_print_machine();
    bench_pin(0);
    printf("\nns an operation; the last column is bytes a region. Below each "
           "row: how many\ntimes that of the row before it is, first of all "
           "the logarithm of the number\n\n"
           " regions     load     use     new refused   evict   unmap cleared"
           "  helper  memory\n");
    for (num = 1000; num <= max; num *= 10) {
        scale_measure(num, rows[power % 2]);
        scale_print_row(power, rows[power % 2], rows[(power + 1) % 2]);
        ++power;
    }
    scale_contexts();
    return 0;
}
