/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What a use of registered memory costs: begin + end of the predictive cache
 * beside get + put of UCX's own, and what a registration costs that either of
 * them saves. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_pred.h"
#include "bench_stock.h"
#include "bench_util.h"
#include "uring_reg.h"

#include <ucs/sys/math.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define HIT_MAX_THREADS 2
#define HIT_MAX_REGIONS 4096
#define HIT_SEQUENCE    16384  /* Length of the order of access */
#define HIT_BATCH       512    /* Uses timed at a time, by each thread */
#define HIT_OVERLAP     0.8    /* Part of a batch in which all run */
/* So many batches are started for one that counts, at most */
#define HIT_MAX_TRIES   8
#define HIT_PIN_PROBE   (16ul << 20)
#define HIT_MARK_NSEC   50.0
#define HIT_MARK_RATIO  0.5

typedef enum {
    HIT_SEQUENTIAL,
    HIT_RANDOM
} hit_order_t;

typedef enum {
    HIT_SAME_REGIONS,  /* All threads use all regions */
    HIT_OWN_REGIONS    /* Each thread has its share of them */
} hit_sharing_t;

typedef enum {
    HIT_PRED,
    HIT_STOCK,
    HIT_LOOP,          /* Neither cache: only the order of access is walked */
    HIT_QUIT
} hit_subject_t;

typedef struct hit_thread {
    pthread_t thread;
    uint16_t  order[HIT_SEQUENCE];
    /* Position in the order of access, kept from batch to batch */
    unsigned  position;
    uint64_t  start;      /* Of the last batch, ns */
    uint64_t  end;
    /* The regions that it holds between batches: if each thread has its own, then
     * these, so that no thread uses those of another one */
    unsigned  first;
    unsigned  count;
} UCS_V_ALIGNED(128) hit_thread_t;

static struct {
    /* Options */
    unsigned       rounds;
    unsigned       uses;        /* Per thread and round */
    size_t         size;        /* Of a region */

    bench_region_t regions[HIT_MAX_REGIONS];
    bench_pred_t   pred;
    ucs_rcache_t   *rcache;
    hit_thread_t   threads[HIT_MAX_THREADS];
    unsigned       num_threads;

    hit_subject_t  subject;     /* What the present batch measures */
    /* Threads that have come to the barrier, in all */
    atomic_uint    arrived;
    bench_sample_t batches;     /* Samples of the present round */

    unsigned       rows;
    unsigned       rows_fast;
    unsigned       rows_half;
} hit = {
    .rounds = 21,
    .uses   = 16384,
    .size   = 16384
};


static UCS_F_ALWAYS_INLINE bench_region_t *hit_next(hit_thread_t *self)
{
    return &hit.regions[self->order[self->position++ % HIT_SEQUENCE]];
}

static UCS_F_NOINLINE void hit_batch_pred(hit_thread_t *self)
{
    bench_region_t *region;
    void *memh;
    unsigned i;

    for (i = 0; i < HIT_BATCH; ++i) {
        region = hit_next(self);
        BENCH_CHECK(ucs_rcache_pred_begin(hit.pred.domain, region->address,
                                          region->length, 0,
                                          &hit.pred.context, &memh));
        BENCH_CHECK(ucs_rcache_pred_end(hit.pred.domain, memh));
    }
}

static UCS_F_NOINLINE void hit_batch_stock(hit_thread_t *self)
{
    ucs_rcache_region_t *rcache_region;
    bench_region_t *region;
    unsigned i;

    for (i = 0; i < HIT_BATCH; ++i) {
        region = hit_next(self);
        BENCH_CHECK(bench_stock_get(hit.rcache, region->address,
                                    region->length, &rcache_region));
        ucs_rcache_region_put(hit.rcache, rcache_region);
    }
}

static UCS_F_NOINLINE void hit_batch_loop(hit_thread_t *self)
{
    bench_region_t *region;
    unsigned i;

    for (i = 0; i < HIT_BATCH; ++i) {
        region = hit_next(self);
        asm volatile("" :: "r"(region->address), "r"(region->length));
    }
}

static void hit_batch(hit_thread_t *self)
{
    self->start = bench_now();
    switch (hit.subject) {
    case HIT_PRED:
        hit_batch_pred(self);
        break;
    case HIT_STOCK:
        hit_batch_stock(self);
        break;
    default:
        hit_batch_loop(self);
        break;
    }

    self->end = bench_now();
}

/* Spin, so that all threads start at the same time. To yield at once would let
 * the others start late on a busy machine; never to yield would take too long
 * with more threads than processors. */
static void hit_barrier(void)
{
    unsigned ticket = atomic_fetch_add(&hit.arrived, 1);
    unsigned target = (ticket / hit.num_threads + 1) * hit.num_threads;
    unsigned spins  = 0;

    while ((int)(atomic_load(&hit.arrived) - target) < 0) {
        if (++spins > 1000000) {
            sched_yield();
        }
    }
}

/* Empty the queue of the predictive cache between batches. All threads come
 * here */
static void hit_drain(hit_thread_t *self)
{
    if (hit.subject != HIT_PRED) {
        return;
    }

    bench_pred_hold(&hit.pred, self->first, self->count);
    hit_barrier();
    if (self == hit.threads) {
        bench_pred_poll(&hit.pred);
    }
    hit_barrier();
    bench_pred_release(&hit.pred, self->first, self->count);
}

static void *hit_thread_func(void *arg)
{
    hit_thread_t *self = arg;

    bench_pin(self - hit.threads);
    for (;;) {
        hit_barrier();
        if (hit.subject == HIT_QUIT) {
            return NULL;
        }
        hit_batch(self);
        hit_barrier();
        hit_drain(self);
    }
}

/* The time of all threads together, or 0 if they did not run at the same time:
 * on a busy machine one may wait for a processor while the other one works. */
static uint64_t hit_batch_time(void)
{
    uint64_t start = 0, end = UINT64_MAX, longest = 0, sum = 0;
    uint64_t elapsed;
    unsigned i;

    for (i = 0; i < hit.num_threads; ++i) {
        elapsed = hit.threads[i].end - hit.threads[i].start;
        start   = ucs_max(start, hit.threads[i].start);
        end     = ucs_min(end, hit.threads[i].end);
        longest = ucs_max(longest, elapsed);
        sum    += elapsed;
    }
    return ((end > start) && ((end - start) >= (HIT_OVERLAP * longest))) ? sum :
                                                                           0;
}

/* One round: nanoseconds per use, as a thread sees it, of its median batch.
 * No sample if the threads never ran at the same time. */
static void hit_round(hit_subject_t subject, bench_sample_t *sample)
{
    unsigned num_batches = hit.batches.max;
    unsigned tries;
    uint64_t time;

    hit.subject       = subject;
    hit.batches.count = 0;
    for (tries = 0; (tries < (HIT_MAX_TRIES * num_batches)) &&
                    (hit.batches.count < num_batches); ++tries) {
        hit_barrier();
        hit_batch(&hit.threads[0]);
        hit_barrier();
        time = hit_batch_time();
        if (time > 0) {
            bench_sample_add(&hit.batches,
                             (double)time / (HIT_BATCH * hit.num_threads));
        }
        hit_drain(&hit.threads[0]);
    }

    if (hit.batches.count > 0) {
        bench_sample_add(sample, bench_sample_median(&hit.batches));
    }
}

static void hit_fill_order(hit_thread_t *self, unsigned first, unsigned count,
                           hit_order_t order)
{
    unsigned seed = first + 1;
    unsigned i;

    self->position = 0;
    for (i = 0; i < HIT_SEQUENCE; ++i) {
        self->order[i] = first + (((order == HIT_RANDOM) ? rand_r(&seed) : i) %
                                  count);
    }
}

static void hit_threads_start(unsigned num_threads, unsigned num_regions,
                              hit_order_t order, hit_sharing_t sharing)
{
    unsigned share = (sharing == HIT_OWN_REGIONS) ? (num_regions / num_threads)
                                                  : num_regions;
    unsigned first, i;

    hit.num_threads = num_threads;
    atomic_store(&hit.arrived, 0);
    for (i = 0; i < num_threads; ++i) {
        first = (sharing == HIT_OWN_REGIONS) ? (i * share) : 0;
        hit_fill_order(&hit.threads[i], first, share, order);
        hit.threads[i].first = first;
        hit.threads[i].count = ((sharing == HIT_OWN_REGIONS) || (i == 0)) ?
                               share : 0;
    }

    for (i = 1; i < num_threads; ++i) {
        BENCH_ASSERT(pthread_create(&hit.threads[i].thread, NULL,
                                    hit_thread_func, &hit.threads[i]) == 0,
                     "cannot start a thread");
    }
}

static void hit_threads_stop(void)
{
    unsigned i;

    hit.subject = HIT_QUIT;
    hit_barrier();
    for (i = 1; i < hit.num_threads; ++i) {
        pthread_join(hit.threads[i].thread, NULL);
    }
}

static void hit_print_row(unsigned num_regions, hit_order_t order,
                          hit_sharing_t sharing, bench_sample_t *samples)
{
    double pred  = bench_sample_median(&samples[HIT_PRED]);
    double stock = bench_sample_median(&samples[HIT_STOCK]);

    printf("%7u  %-10s  %u %-5s  %6.1f %6.1f   %6.1f %6.1f   %5.2f  %5.1f\n",
           num_regions, (order == HIT_RANDOM) ? "random" : "sequential",
           hit.num_threads,
           (hit.num_threads == 1)        ? "" :
           (sharing == HIT_OWN_REGIONS) ? "own" : "same",
           pred, bench_sample_min(&samples[HIT_PRED]), stock,
           bench_sample_min(&samples[HIT_STOCK]), pred / stock,
           bench_sample_median(&samples[HIT_LOOP]));
    fflush(stdout);

    ++hit.rows;
    hit.rows_fast += (pred <= HIT_MARK_NSEC);
    hit.rows_half += ((pred / stock) <= HIT_MARK_RATIO);
}

/* Register everything in both caches, so that all later uses are hits */
static void hit_prepare(unsigned num_regions, unsigned num_threads)
{
    ucs_rcache_region_t *region;
    unsigned i;

    bench_pred_init(&hit.pred, hit.regions, num_regions,
                    num_threads * HIT_BATCH, NULL);
    hit.rcache = bench_stock_create();
    for (i = 0; i < num_regions; ++i) {
        BENCH_CHECK(bench_stock_get(hit.rcache, hit.regions[i].address,
                                    hit.regions[i].length, &region));
        ucs_rcache_region_put(hit.rcache, region);
    }
}

static void hit_row(unsigned num_regions, hit_order_t order,
                    unsigned num_threads, hit_sharing_t sharing)
{
    bench_sample_t samples[HIT_QUIT];
    unsigned num_regs, round, i;

    for (i = 0; i < HIT_QUIT; ++i) {
        bench_sample_init(&samples[i], hit.rounds);
    }

    hit_prepare(num_regions, num_threads);
    num_regs = bench_stock_num_regs();
    hit_threads_start(num_threads, num_regions, order, sharing);

    for (round = 0; round < hit.rounds; ++round) {
        for (i = 0; i < HIT_QUIT; ++i) {
            /* Another subject comes first each time, so that none always meets
             * a warm cache of the processor */
            unsigned subject = (i + round) % HIT_QUIT;
            hit_round(subject, &samples[subject]);
        }
    }

    hit_threads_stop();
    BENCH_ASSERT(bench_stock_num_regs() == num_regs,
                 "not a benchmark of hits: UCX's cache registered memory");
    hit_print_row(num_regions, order, sharing, samples);
    bench_pred_cleanup(&hit.pred);
    ucs_rcache_destroy(hit.rcache);
    for (i = 0; i < HIT_QUIT; ++i) {
        bench_sample_cleanup(&samples[i]);
    }
}

static void hit_table(void)
{
    static const unsigned num_regions[] = {1, 16, 256, HIT_MAX_REGIONS};
    unsigned i, order;

    bench_pin(0);

    printf("\nA use of registered memory, ns (regions of %zu bytes; median "
           "and minimum of %u rounds)\n\n", hit.size, hit.rounds);
    printf("                            begin + end      get + put     "
           "ratio   loop\n");
    printf("regions  order       threads    med    min      med    min"
           "             \n");

    for (i = 0; i < ucs_static_array_size(num_regions); ++i) {
        for (order = HIT_SEQUENTIAL; order <= HIT_RANDOM; ++order) {
            if ((num_regions[i] == 1) && (order == HIT_RANDOM)) {
                continue;
            }
            hit_row(num_regions[i], order, 1, HIT_SAME_REGIONS);
            hit_row(num_regions[i], order, 2, HIT_SAME_REGIONS);
            if (num_regions[i] > 1) {
                hit_row(num_regions[i], order, 2, HIT_OWN_REGIONS);
            }
        }
    }

    printf("\nmark: begin + end in %.0f ns: %u of %u rows; in %.2f of get + "
           "put: %u of %u rows\n", HIT_MARK_NSEC, hit.rows_fast, hit.rows,
           HIT_MARK_RATIO, hit.rows_half, hit.rows);
}

static double hit_clock_gettime(unsigned count)
{
    uint64_t start = bench_now();
    uint64_t sum   = 0;
    unsigned i;

    for (i = 0; i < count; ++i) {
        sum += bench_now();
    }
    asm volatile("" :: "r"(sum));
    return (double)(bench_now() - start) / count;
}

static double
hit_clock_library(unsigned count, ucs_rcache_pred_thread_t *thread)
{
    uint64_t start = bench_now();
    uint64_t sum   = 0;
    unsigned i;

    for (i = 0; i < count; ++i) {
        sum += ucs_rcache_pred_thread_now(thread);
    }
    asm volatile("" :: "r"(sum));
    return (double)(bench_now() - start) / count;
}

/* A use reads the clock */
static void hit_clock(void)
{
    ucs_rcache_pred_thread_t *thread;
    bench_sample_t system, library;
    unsigned round;

    BENCH_CHECK(ucs_rcache_pred_thread_create(&thread));
    bench_sample_init(&system, hit.rounds);
    bench_sample_init(&library, hit.rounds);
    for (round = 0; round < hit.rounds; ++round) {
        bench_sample_add(&system, hit_clock_gettime(hit.uses));
        bench_sample_add(&library, hit_clock_library(hit.uses, thread));
    }

    printf("clock alone: the library's %.1f ns (minimum %.1f ns), "
           "clock_gettime(CLOCK_MONOTONIC) %.1f ns (%.1f ns)\n",
           bench_sample_median(&library), bench_sample_min(&library),
           bench_sample_median(&system), bench_sample_min(&system));
    bench_sample_cleanup(&system);
    bench_sample_cleanup(&library);
    ucs_rcache_pred_thread_destroy(thread);
}

/* Check that the kernel counts what is registered: otherwise nothing would be
 * measured */
static void hit_check_pinning(void)
{
    const size_t length = HIT_PIN_PROBE;
    void *address       = bench_map(length);
    size_t before, during, after;
    void *memh;

    before = bench_vmpin();
    BENCH_CHECK(uring_reg(address, length, &memh));
    during = bench_vmpin();
    BENCH_CHECK(uring_dereg(memh));
    after = bench_vmpin();

    printf("VmPin: %zu kB, with %zu kB registered %zu kB, deregistered again "
           "%zu kB\n", before / 1024, length / 1024, during / 1024,
           after / 1024);
    BENCH_ASSERT(during - before == length, "VmPin does not show the memory");
    BENCH_ASSERT(after == before, "VmPin still shows the memory");
}

static void hit_reg_row(void *address, size_t length)
{
    bench_sample_t reg, dereg;
    uint64_t start, middle;
    unsigned round;
    void *memh;

    bench_sample_init(&reg, hit.rounds * 10);
    bench_sample_init(&dereg, hit.rounds * 10);
    for (round = 0; round < hit.rounds * 10; ++round) {
        start = bench_now();
        BENCH_CHECK(uring_reg(address, length, &memh));
        middle = bench_now();
        BENCH_CHECK(uring_dereg(memh));
        bench_sample_add(&dereg, bench_now() - middle);
        bench_sample_add(&reg, middle - start);
    }

    printf("%7zu kB  %8.2f %8.2f   %8.2f %8.2f   %8.2f\n", length / 1024,
           bench_sample_median(&reg) / BENCH_USEC,
           bench_sample_min(&reg) / BENCH_USEC,
           bench_sample_median(&dereg) / BENCH_USEC,
           bench_sample_min(&dereg) / BENCH_USEC,
           (bench_sample_median(&reg) + bench_sample_median(&dereg)) /
                   BENCH_USEC);
    bench_sample_cleanup(&reg);
    bench_sample_cleanup(&dereg);
}

static void hit_reg_table(void)
{
    void *address = bench_map(HIT_PIN_PROBE);
    size_t length;

    printf("\nA registration, us (median and minimum of %u)\n\n",
           hit.rounds * 10);
    printf("                 register          deregister        both\n");
    printf("      size       med      min        med      min        med\n");
    for (length = 4096; length <= HIT_PIN_PROBE; length *= 4) {
        hit_reg_row(address, length);
    }
}

static void hit_map_regions(void)
{
    const size_t page = sysconf(_SC_PAGESIZE);
    unsigned i;
    char *base;

    /* There is a page between two regions, so that UCX's cache does not merge
     * them */
    base = bench_map(HIT_MAX_REGIONS * (hit.size + page));
    for (i = 0; i < HIT_MAX_REGIONS; ++i) {
        hit.regions[i].address = base + (i * (hit.size + page));
        hit.regions[i].length  = hit.size;
    }
}

static void hit_usage(const char *program)
{
    printf("Usage: %s [options]\n\n"
           "  -r ROUNDS  rounds of which median and minimum are printed (%u)\n"
           "  -n USES    uses per round and thread (%u)\n"
           "  -s BYTES   size of a region (%zu)\n", program, hit.rounds,
           hit.uses, hit.size);
}

static void hit_parse(int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "r:n:s:h")) != -1) {
        switch (c) {
        case 'r':
            hit.rounds = bench_parse_count("-r", optarg);
            break;
        case 'n':
            hit.uses = bench_parse_count("-n", optarg);
            break;
        case 's':
            hit.size = bench_parse_count("-s", optarg);
            break;
        case 'h':
            hit_usage(argv[0]);
            exit(0);
        default:
            hit_usage(argv[0]);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    hit_parse(argc, argv);
    /* Both caches register every region */
    bench_raise_memlock((2 * HIT_MAX_REGIONS * hit.size) + HIT_PIN_PROBE);
    if (uring_reg_init(URING_REG_MAX_SLOTS) != UCS_OK) {
        printf("SKIP: no registered buffers of io_uring here\n");
        return BENCH_SKIP;
    }

    bench_sample_init(&hit.batches, (hit.uses + HIT_BATCH - 1) / HIT_BATCH);
    bench_print_machine();
    hit_check_pinning();
    hit_clock();
    hit_reg_table();
    hit_map_regions();
    hit_table();
    bench_sample_cleanup(&hit.batches);
    uring_reg_cleanup();
    return 0;
}
