/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What a use of registered memory costs: begin + end of the predictive cache
 * beside get + put of UCX's own, with up to a million regions, and what a
 * registration costs that either of them saves. Hits register nothing, so that
 * only the latter registers. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_pred.h"
#include "bench_reg.h"
#include "bench_stock.h"
#include "bench_util.h"
#include "uring_reg.h"

#include <ucs/sys/math.h>

#include <pthread.h>
#include <sched.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HIT_MAX_THREADS 2
#define HIT_MAX_REGIONS (1u << 20)
#define HIT_SEQUENCE    (1u << 20) /* Length of the order of access */
#define HIT_BATCH       512    /* Uses timed at a time, by each thread */
/* So many uses are not timed before each batch, at most: they bring into the
 * processor's caches what the helper's round has displaced, whose work is no part
 * of a use. Up to so many regions it is one use of each, in whatever order those
 * are that are timed: as many at random would leave out a third of them. With
 * more regions than that, a use finds little in there anyway */
#define HIT_WARM_UP     4096
#define HIT_WARM_MAX    65536
/* The marks. One thread against UCX's cache: up to so many regions, and with
 * more */
#define HIT_MARK_REGIONS 4096
#define HIT_MARK_RATIO   1.0
#define HIT_MARK_MANY    2.0
/* Two threads with their own regions against one */
#define HIT_MARK_THREADS 1.5
#define HIT_OVERLAP     0.8    /* Part of a batch in which all run */
/* So many batches are started for one that counts, at most */
#define HIT_MAX_TRIES   8
#define HIT_PIN_PROBE   (16ul << 20)

typedef enum {
    HIT_SEQUENTIAL,
    HIT_RANDOM
} hit_order_t;

typedef enum {
    HIT_SAME_REGIONS,  /* All threads use all regions */
    HIT_OWN_REGIONS,   /* Each thread has its share of them */
    HIT_OWN_CACHES     /* And a cache of its own: threads have nothing in common
                          but the machine */
} hit_sharing_t;

typedef enum {
    HIT_PRED,
    HIT_STOCK,
    HIT_LOOP,          /* Neither cache: only the order of access is walked */
    HIT_QUIT
} hit_subject_t;

/* An order of access */
typedef struct hit_walk {
    const uint32_t *regions;
    unsigned       mask;      /* Length - 1 */
    unsigned       position;  /* Kept from batch to batch */
} hit_walk_t;

typedef struct hit_thread {
    pthread_t    thread;
    bench_pred_t *pred;     /* The cache that it uses */
    uint32_t     order[HIT_SEQUENCE];
    uint32_t     each[HIT_WARM_UP]; /* All regions, one after the other */
    hit_walk_t   timed;
    hit_walk_t   one_of_each;
    uint64_t     start;    /* Of the last batch, ns */
    uint64_t     end;
    hit_walk_t   *warm;    /* Uses before each batch that are not timed */
    unsigned     warm_up;  /* How many */
} UCS_V_ALIGNED(128) hit_thread_t;

static struct {
    /* Options */
    unsigned       rounds;
    unsigned       uses;        /* Per thread and round */
    size_t         size;        /* Of a region */
    unsigned       max_regions;

    /* Region i starts at base + i * stride */
    uintptr_t      base;
    size_t         stride;
    bench_pred_t   preds[HIT_MAX_THREADS]; /* The first one is for all threads,
                                              except with their own caches */
    unsigned       num_preds;
    ucs_rcache_t   *rcache;
    hit_thread_t   threads[HIT_MAX_THREADS];
    unsigned       num_threads;

    hit_subject_t  subject;     /* What the present batch measures */
    /* Threads that have come to the barrier, in all */
    atomic_uint    arrived;
    bench_sample_t batches;     /* Samples of the present round */

    /* Time of the present number of regions with one thread, in each order */
    double         one_thread[HIT_RANDOM + 1];
    unsigned       rows;        /* That have a mark */
    unsigned       rows_met;
} hit = {
    .rounds      = 21,
    .uses        = 16384,
    .size        = 16384,
    .max_regions = HIT_MAX_REGIONS
};


static UCS_F_ALWAYS_INLINE void *hit_next(hit_walk_t *walk)
{
    return (void*)(hit.base + (walk->regions[walk->position++ & walk->mask] *
                               hit.stride));
}

static UCS_F_NOINLINE void
hit_uses_pred(bench_pred_t *pred, hit_walk_t *walk, unsigned count)
{
    void *memh;
    unsigned i;

    for (i = 0; i < count; ++i) {
        BENCH_CHECK(ucs_rcache_pred_begin(pred->domain, hit_next(walk), hit.size,
                                          0, &pred->context, &memh));
        BENCH_CHECK(ucs_rcache_pred_end(pred->domain, memh));
    }
}

static UCS_F_NOINLINE void hit_uses_stock(hit_walk_t *walk, unsigned count)
{
    ucs_rcache_region_t *rcache_region;
    unsigned i;

    for (i = 0; i < count; ++i) {
        BENCH_CHECK(bench_stock_get(hit.rcache, hit_next(walk), hit.size,
                                    &rcache_region));
        ucs_rcache_region_put(hit.rcache, rcache_region);
    }
}

static UCS_F_NOINLINE void hit_uses_loop(hit_walk_t *walk, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        asm volatile("" :: "r"(hit_next(walk)), "r"(hit.size));
    }
}

static void hit_uses(const hit_thread_t *self, hit_walk_t *walk, unsigned count)
{
    switch (hit.subject) {
    case HIT_PRED:
        hit_uses_pred(self->pred, walk, count);
        break;
    case HIT_STOCK:
        hit_uses_stock(walk, count);
        break;
    default:
        hit_uses_loop(walk, count);
        break;
    }
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

/* All threads come here at the same time */
static void hit_batch(hit_thread_t *self)
{
    hit_barrier();
    hit_uses(self, self->warm, self->warm_up);

    hit_barrier();
    self->start = bench_now();
    hit_uses(self, &self->timed, HIT_BATCH);
    self->end   = bench_now();
    hit_barrier();
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
    unsigned tries, i;
    uint64_t time;

    hit.subject       = subject;
    hit.batches.count = 0;
    for (tries = 0; (tries < (HIT_MAX_TRIES * num_batches)) &&
                    (hit.batches.count < num_batches); ++tries) {
        hit_barrier();
        hit_batch(&hit.threads[0]);
        time = hit_batch_time();
        if (time > 0) {
            bench_sample_add(&hit.batches,
                             (double)time / (HIT_BATCH * hit.num_threads));
        }
        for (i = 0; (i < hit.num_preds) && (subject == HIT_PRED); ++i) {
            bench_pred_drain(&hit.preds[i]);
        }
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

    for (i = 0; i < HIT_SEQUENCE; ++i) {
        self->order[i] = first + (((order == HIT_RANDOM) ? rand_r(&seed) : i) %
                                  count);
    }
    for (i = 0; i < HIT_WARM_UP; ++i) {
        self->each[i] = first + (i % count);
    }

    self->timed       = (hit_walk_t){.regions = self->order,
                                     .mask    = HIT_SEQUENCE - 1};
    self->one_of_each = (hit_walk_t){.regions = self->each,
                                     .mask    = HIT_WARM_UP - 1};
    self->warm        = (count > HIT_WARM_UP) ? &self->timed :
                                                &self->one_of_each;
}

/* @return how many uses of so many regions come before each batch */
static unsigned hit_warm_up(unsigned num_regions)
{
    return (num_regions > HIT_WARM_MAX) ? 0 : ucs_min(num_regions, HIT_WARM_UP);
}

static void hit_threads_start(unsigned num_threads, unsigned num_regions,
                              hit_order_t order, hit_sharing_t sharing)
{
    unsigned share = (sharing == HIT_SAME_REGIONS) ? num_regions
                                                   : (num_regions / num_threads);
    unsigned first, i;

    hit.num_threads = num_threads;
    atomic_store(&hit.arrived, 0);
    for (i = 0; i < num_threads; ++i) {
        first = (sharing == HIT_SAME_REGIONS) ? 0 : (i * share);
        hit_fill_order(&hit.threads[i], first, share, order);
        hit.threads[i].warm_up = hit_warm_up(share);
        hit.threads[i].pred    = &hit.preds[(sharing == HIT_OWN_CACHES) ? i : 0];
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

/* Print a figure that has a mark, or that has none if that is INFINITY */
static void hit_print_ratio(double ratio, double mark)
{
    int is_met = (ratio <= mark);

    printf("  %6.2f%c", ratio, is_met ? ' ' : '*');
    hit.rows     += !isinf(mark);
    hit.rows_met += !isinf(mark) && is_met;
}

static void hit_print_row(unsigned num_regions, hit_order_t order,
                          hit_sharing_t sharing, bench_sample_t *samples)
{
    double pred  = bench_sample_median(&samples[HIT_PRED]);
    double stock = bench_sample_median(&samples[HIT_STOCK]);

    printf("%7u  %-10s  %u %-5s  %6.1f %6.1f   %6.1f %6.1f  %5.1f",
           num_regions, (order == HIT_RANDOM) ? "random" : "sequential",
           hit.num_threads,
           (hit.num_threads == 1)        ? "" :
           (sharing == HIT_OWN_CACHES)   ? "apart" :
           (sharing == HIT_OWN_REGIONS)  ? "own" : "same",
           pred, bench_sample_min(&samples[HIT_PRED]), stock,
           bench_sample_min(&samples[HIT_STOCK]),
           bench_sample_median(&samples[HIT_LOOP]));

    if (hit.num_threads == 1) {
        hit.one_thread[order] = pred;
        hit_print_ratio(pred / stock, (num_regions <= HIT_MARK_REGIONS) ?
                                      HIT_MARK_RATIO : HIT_MARK_MANY);
    } else {
        hit_print_ratio(pred / stock, INFINITY);
        hit_print_ratio(pred / hit.one_thread[order],
                        (sharing == HIT_OWN_REGIONS) ? HIT_MARK_THREADS :
                                                       INFINITY);
    }
    printf("\n");
    fflush(stdout);
}

/* Register everything in both caches, so that all later uses are hits */
static void hit_prepare(unsigned num_regions)
{
    bench_region_t *regions;
    ucs_rcache_region_t *region;
    unsigned i;

    regions = malloc(num_regions * sizeof(*regions));
    BENCH_ASSERT(regions != NULL, "out of memory");
    for (i = 0; i < num_regions; ++i) {
        regions[i].address = (void*)(hit.base + (i * hit.stride));
        regions[i].length  = hit.size;
    }

    hit.num_preds = (num_regions <= HIT_MARK_REGIONS) ? HIT_MAX_THREADS : 1;
    for (i = 0; i < hit.num_preds; ++i) {
        bench_pred_init(&hit.preds[i], regions, num_regions,
                        HIT_MAX_THREADS * (hit_warm_up(num_regions) + HIT_BATCH),
                        NULL);
    }
    hit.rcache = bench_stock_create();
    for (i = 0; i < num_regions; ++i) {
        BENCH_CHECK(bench_stock_get(hit.rcache, regions[i].address,
                                    regions[i].length, &region));
        ucs_rcache_region_put(hit.rcache, region);
    }
    free(regions);
}

static void hit_row(unsigned num_regions, hit_order_t order,
                    unsigned num_threads, hit_sharing_t sharing)
{
    bench_sample_t samples[HIT_QUIT];
    unsigned num_regs, round, i;

    for (i = 0; i < HIT_QUIT; ++i) {
        bench_sample_init(&samples[i], hit.rounds + 1);
    }

    num_regs = bench_stock_num_regs();
    hit_threads_start(num_threads, num_regions, order, sharing);

    /* The first round does not count: in it the kernel gives memory to the
     * queues of the predictive cache, and regions to the lanes of threads */
    for (round = 0; round <= hit.rounds; ++round) {
        for (i = 0; i < HIT_QUIT; ++i) {
            /* Another subject comes first each time, so that none always meets
             * a warm cache of the processor */
            unsigned subject = (i + round) % HIT_QUIT;
            hit_round(subject, &samples[subject]);
            if (round == 0) {
                samples[subject].count = 0;
            }
        }
    }

    hit_threads_stop();
    BENCH_ASSERT(bench_stock_num_regs() == num_regs,
                 "not a benchmark of hits: UCX's cache registered memory");
    hit_print_row(num_regions, order, sharing, samples);
    for (i = 0; i < HIT_QUIT; ++i) {
        bench_sample_cleanup(&samples[i]);
    }
}

/* One thread comes first: once two have used the cache, all have lanes */
static void hit_rows(unsigned num_regions)
{
    hit_order_t order, last = (num_regions == 1) ? HIT_SEQUENTIAL : HIT_RANDOM;
    unsigned i;

    hit_prepare(num_regions);
    for (order = HIT_SEQUENTIAL; order <= last; ++order) {
        hit_row(num_regions, order, 1, HIT_SAME_REGIONS);
    }
    for (order = HIT_SEQUENTIAL; order <= last; ++order) {
        if ((num_regions > 1) && (hit.num_preds > 1)) {
            hit_row(num_regions, order, 2, HIT_OWN_CACHES);
        }
        if (num_regions > 1) {
            hit_row(num_regions, order, 2, HIT_OWN_REGIONS);
        }
        hit_row(num_regions, order, 2, HIT_SAME_REGIONS);
    }
    for (i = 0; i < hit.num_preds; ++i) {
        bench_pred_cleanup(&hit.preds[i]);
    }
    ucs_rcache_destroy(hit.rcache);
}

static void hit_table(void)
{
    static const unsigned num_regions[] = {1, 16, 256, 4096, 65536,
                                           HIT_MAX_REGIONS};
    unsigned i;

    bench_pin(0);

    printf("\nA use of registered memory, ns (regions of %zu bytes; median "
           "and minimum of %u rounds)\n\n", hit.size, hit.rounds);
    printf("                            begin + end      get + put     loop"
           "  of UCX's  of one\n");
    printf("regions  order       threads    med    min      med    min"
           "           cache  thread\n");

    for (i = 0; (i < ucs_static_array_size(num_regions)) &&
                (num_regions[i] <= hit.max_regions); ++i) {
        hit_rows(num_regions[i]);
    }

    printf("\nmarks: of UCX's cache %.1f with one thread and up to %u regions, "
           "%.1f beyond;\nof one thread %.1f with own regions: %u of %u met, "
           "the others have a *\n(apart: with a cache each, which is what the "
           "machine makes of two threads)\n", HIT_MARK_RATIO, HIT_MARK_REGIONS,
           HIT_MARK_MANY, HIT_MARK_THREADS, hit.rows_met, hit.rows);
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

/* Regions need no memory here, only addresses that nobody else has */
static void hit_map_regions(void)
{
    void *base;

    /* There is a page between two regions, so that UCX's cache does not merge
     * them */
    hit.stride = hit.size + sysconf(_SC_PAGESIZE);
    base       = mmap(NULL, hit.max_regions * hit.stride, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    BENCH_ASSERT(base != MAP_FAILED, "no room for the regions");
    hit.base   = (uintptr_t)base;
}

static void hit_usage(const char *program)
{
    printf("Usage: %s [options]\n\n"
           "  -r ROUNDS  rounds of which median and minimum are printed (%u)\n"
           "  -n USES    uses per round and thread (%u)\n"
           "  -s BYTES   size of a region (%zu)\n"
           "  -m NUMBER  no more regions than that (%u)\n", program,
           hit.rounds, hit.uses, hit.size, hit.max_regions);
}

static void hit_parse(int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "r:n:s:m:h")) != -1) {
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
        case 'm':
            hit.max_regions = ucs_min(bench_parse_count("-m", optarg),
                                      HIT_MAX_REGIONS);
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
    bench_raise_memlock(2 * HIT_PIN_PROBE);
    if (uring_reg_init(URING_REG_MAX_SLOTS) != UCS_OK) {
        printf("SKIP: no registered buffers of io_uring here\n");
        return BENCH_SKIP;
    }

    bench_sample_init(&hit.batches, (hit.uses + HIT_BATCH - 1) / HIT_BATCH);
    bench_print_machine();
    hit_check_pinning();
    hit_clock();
    hit_reg_table();
    bench_reg_pretend();
    hit_map_regions();
    hit_table();
    bench_sample_cleanup(&hit.batches);
    uring_reg_cleanup();
    return 0;
}
