/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What the pre-registered arena takes: finding the registration of an address,
 * as Figure 3a of Gerofi, Takagi and Ishikawa (2016) has for their system call;
 * allocating and freeing, beside mmap() and munmap();
 * and how much of its memory can be used before a request is
 * refused. The helper runs between the rounds, in the same thread, so that only
 * what the program does is timed. Nothing is registered: a slab's pages are
 * touched, as pinning does.
 */

#include "bench_util.h"

#include <ucs/arena/arena.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE    4096ul
#define SLAB    (64ul << 20)
#define SLABS   16
#define SIZE    (SLABS * SLAB)
#define ROUNDS  15
#define LOOKUPS 200000
#define MSEC    1000000ul

static ucs_arena_t *arena;
static int is_real;             /* Whether there is memory, or only numbers */
static uint64_t now = 1;

static uintptr_t queries[LOOKUPS];
static uint64_t found;          /* So that the compiler keeps the lookups */


static ucs_status_t map(void *arg, void *start, size_t length)
{
    if (is_real) {
        BENCH_ASSERT(mprotect(start, length, PROT_READ | PROT_WRITE) == 0,
                     "cannot map a slab");
    }
    return UCS_OK;
}

static ucs_status_t unmap(void *arg, void *start, size_t length)
{
    if (is_real) {
        BENCH_ASSERT(mmap(start, length, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                                  MAP_FIXED,
                          -1, 0) == start,
                     "cannot unmap a slab");
    }
    return UCS_OK;
}

static ucs_status_t
protect(void *arg, void *start, size_t length, int is_accessible)
{
    if (is_real) {
        BENCH_ASSERT(mprotect(start, length,
                              is_accessible ? PROT_READ | PROT_WRITE :
                                              PROT_NONE) == 0,
                     "cannot protect");
    }
    return UCS_OK;
}

static void touch(void *start, size_t length)
{
    size_t i;

    for (i = 0; i < length; i += PAGE) {
        ((volatile char*)start)[i] = 1;
    }
}

static ucs_status_t reg(void *arg, void *start, size_t length, void **handle_p)
{
    if (is_real) {
        memset(start, 0, length);
    }
    *handle_p = start;
    return UCS_OK;
}

static ucs_status_t dereg(void *arg, void *handle)
{
    return UCS_OK;
}

static void zero(void *arg, void *start, size_t length)
{
    if (is_real) {
        memset(start, 0, length);
    }
}

static void wake(void *arg)
{
}

/* Call the helper until it has nothing to do */
static void tend(void)
{
    while (ucs_arena_tend(arena, now) <= now) {
    }
}

/* Let all slabs be registered, and nobody have any of them */
static void register_all(void)
{
    unsigned i;
    void *slab;

    for (i = 0; i < SLABS; ++i) {
        slab = ucs_arena_allocate(arena, SLAB);
        BENCH_ASSERT(slab != NULL, "no slab");
        (void)ucs_arena_want(arena, slab, SLAB);
        tend();
    }
    BENCH_CHECK(ucs_arena_free(arena, (void*)arena->params.start, SIZE, now));
    now += UCS_ARENA_DEF_LAZY;
    tend();
}

/* An arena of all slabs, which are kept open */
static void make(void)
{
    static const ucs_arena_ops_t ops = {
        .map     = map,
        .unmap   = unmap,
        .protect = protect,
        .inherit = protect,
        .discard = unmap,
        .reg     = reg,
        .dereg   = dereg,
        .zero    = zero,
        .wake    = wake
    };
    ucs_arena_params_t params = {};
    size_t length;
    char *range;

    range = mmap(NULL, SIZE + SLAB, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    BENCH_ASSERT(range != MAP_FAILED, "no addresses");

    params.start      = ((uintptr_t)range + SLAB - 1) & ~(SLAB - 1);
    params.size       = SIZE;
    params.page_size  = PAGE;
    params.slab_size  = SLAB;
    params.first_slab = SLAB;
    params.limit      = SIZE;
    params.lazy       = UCS_ARENA_DEF_LAZY;
    params.idle       = UCS_ARENA_MAX_TIME;
    params.retry      = UCS_ARENA_DEF_RETRY;
    length            = ucs_arena_memory_size(&params);
    arena = ucs_arena_init(&params, &ops,
                           mmap(NULL, length, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    BENCH_ASSERT(arena != NULL, "no arena");
    register_all();
}

static void unmake(void)
{
    BENCH_CHECK(ucs_arena_stop(arena));
    munmap((void*)arena->params.start, SIZE);
    ucs_arena_cleanup(arena);
}

static double per(uint64_t begin, unsigned count)
{
    return (double)(bench_now() - begin) / count;
}

/* Each lookup needs the result of the one before, or not */
static double find_one_by_one(void)
{
    uint64_t begin = bench_now();
    uintptr_t last = 0;
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        last = ucs_arena_find(arena, (void*)(queries[i] + last), PAGE) == NULL;
    }
    found += last;
    return per(begin, LOOKUPS);
}

static double find_overlapped(void)
{
    uint64_t begin = bench_now();
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        found += ucs_arena_find(arena, (void*)queries[i], PAGE) == NULL;
    }
    return per(begin, LOOKUPS);
}

static double find_handle(void)
{
    uint64_t begin = bench_now();
    uintptr_t last = 0;
    unsigned i;

    /* The handle is read, as to answer a registration */
    for (i = 0; i < LOOKUPS; ++i) {
        last = (uintptr_t)ucs_arena_find(arena, (void*)(queries[i] + last),
                                         PAGE)->handle & 1;
    }
    found += last;
    return per(begin, LOOKUPS);
}

static double find_and_use(void)
{
    uint64_t begin = bench_now();
    ucs_arena_slab_t *slab;
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        slab   = ucs_arena_find(arena, (void*)queries[i], PAGE);
        found += !ucs_arena_slab_acquire(slab);
        ucs_arena_slab_release(slab);
    }
    return per(begin, LOOKUPS);
}

static void show(const char *what, double (*func)(void))
{
    bench_sample_t sample;
    unsigned i;

    bench_sample_init(&sample, ROUNDS);
    for (i = 0; i < ROUNDS; ++i) {
        bench_sample_add(&sample, func());
    }
    printf("%-44s %8.1f\n", what, bench_sample_median(&sample));
    bench_sample_cleanup(&sample);
}

static void bench_find(void)
{
    unsigned i;

    srand(1);
    for (i = 0; i < LOOKUPS; ++i) {
        queries[i] = arena->params.start +
                     ((uint64_t)rand() * PAGE) % SIZE;
    }

    printf("\nA registration, nanoseconds, median of %d rounds of %d\n", ROUNDS,
           LOOKUPS);
    show("find, one by one", find_one_by_one);
    show("find and read the handle, one by one", find_handle);
    show("find, overlapped", find_overlapped);
    show("find, begin and end of use", find_and_use);
}

/* What a program does with memory, a number of times */
static double
pairs(size_t length, unsigned count, int is_arena, int is_touched)
{
    uint64_t begin = bench_now();
    void *address;
    unsigned i;

    for (i = 0; i < count; ++i) {
        address = is_arena ? ucs_arena_allocate(arena, length) :
                             mmap(NULL, length, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        BENCH_ASSERT((address != NULL) && (address != MAP_FAILED),
                     "no memory");
        if (is_touched) {
            touch(address, length);
        }
        if (is_arena) {
            ucs_arena_free(arena, address, length, bench_now());
        } else {
            munmap(address, length);
        }
    }
    return per(begin, count) / BENCH_USEC;
}

/* With all muzzy at the beginning of a round, and never more freed than that */
static double bench_pairs(size_t length, int is_arena, int is_touched)
{
    unsigned count = ucs_min(1000, SIZE / 4 / length);
    bench_sample_t sample;
    double result;
    unsigned i;

    bench_sample_init(&sample, ROUNDS);
    for (i = 0; i < ROUNDS; ++i) {
        bench_sample_add(&sample, pairs(length, count, is_arena, is_touched));
        now = bench_now() + UCS_ARENA_DEF_LAZY;
        tend();
    }
    result = bench_sample_median(&sample);
    bench_sample_cleanup(&sample);
    return result;
}

/* A whole slab. Its pages may be of several states, so that the helper has to
 * make them one first */
static void *get_slab(void)
{
    void *address = ucs_arena_allocate(arena, SLAB);

    if (address == NULL) {
        tend();
        address = ucs_arena_allocate(arena, SLAB);
    }
    BENCH_ASSERT(address != NULL, "no memory");
    return address;
}

/* The whole arena is one program's that frees and allocates the same block: the
 * thread fills it with zeros each time */
static double bench_dirty(size_t length)
{
    bench_sample_t sample;
    double result;
    void *block;
    unsigned i;

    for (i = 0; i < SLABS; ++i) {
        block = get_slab();
    }
    ucs_arena_free(arena, block, length, bench_now());

    bench_sample_init(&sample, ROUNDS);
    for (i = 0; i < ROUNDS; ++i) {
        bench_sample_add(&sample,
                         pairs(length, ucs_min(1000, SIZE / 4 / length), 1, 1));
    }
    result = bench_sample_median(&sample);
    bench_sample_cleanup(&sample);

    ucs_arena_free(arena, (void*)arena->params.start, SIZE, bench_now());
    now = bench_now() + UCS_ARENA_DEF_LAZY;
    tend();
    return result;
}

static void bench_allocate(void)
{
    static const size_t lengths[] = {4ul << 10, 128ul << 10, 1ul << 20,
                                     8ul << 20, 64ul << 20};
    double muzzy, mapped, muzzy_touched, dirty_touched, mapped_touched;
    unsigned i;

    printf("\nAllocate and free, microseconds; touched: a byte in each page\n"
           "  length     muzzy   mmap   muzzy, touched  dirty, touched  "
           "mmap, touched\n");
    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
        muzzy          = bench_pairs(lengths[i], 1, 0);
        mapped         = bench_pairs(lengths[i], 0, 0);
        muzzy_touched  = bench_pairs(lengths[i], 1, 1);
        mapped_touched = bench_pairs(lengths[i], 0, 1);
        dirty_touched  = bench_dirty(lengths[i]);
        printf("%5zu KiB  %8.2f %6.2f  %14.1f  %14.1f  %13.1f\n",
               lengths[i] >> 10, muzzy, mapped, muzzy_touched, dirty_touched,
               mapped_touched);
    }
}

/* Two threads at a time, each with blocks of its own */
static double threads_result[2];

static void *run_thread(void *arg)
{
    threads_result[(uintptr_t)arg] = pairs(128ul << 10, 1000, 1, 0);
    return NULL;
}

static void bench_threads(void)
{
    bench_sample_t sample;
    pthread_t threads[2];
    uintptr_t i, j;

    bench_sample_init(&sample, ROUNDS);
    for (i = 0; i < ROUNDS; ++i) {
        for (j = 0; j < 2; ++j) {
            BENCH_ASSERT(pthread_create(&threads[j], NULL, run_thread,
                                        (void*)j) == 0, "no thread");
        }
        for (j = 0; j < 2; ++j) {
            pthread_join(threads[j], NULL);
        }
        bench_sample_add(&sample, (threads_result[0] + threads_result[1]) / 2);
        now = bench_now() + UCS_ARENA_DEF_LAZY;
        tend();
    }
    printf("two threads, 128 KiB, muzzy: %.2f each\n",
           bench_sample_median(&sample));
    bench_sample_cleanup(&sample);
}

/* Lengths of all magnitudes from 128 KiB to 16 MiB alike, as of programs whose
 * large blocks libc maps */
static size_t random_length(void)
{
    size_t least = 128ul << (10 + (rand() % 7));

    return least + (((size_t)rand() << 8) % least);
}

typedef struct {
    void   *address;
    size_t length;
} live_t;

/* Keep a part of all memory allocated, by a random program, and see what is
 * refused and how full it is then */
static void fragment(double part, double *refused_p, double *again_p,
                     double *live_p, double *waste_p, double *pow2_p)
{
    enum { STEPS = 200000, MAX_LIVE = 16384 };
    static live_t live[MAX_LIVE];
    unsigned num = 0, requests = 0, refused = 0, again = 0, i, pick;
    double sum_live = 0, asked = 0, given = 0, pow2 = 0;
    uint64_t bytes  = 0;
    size_t length, rounded;
    void *address;

    srand(1);
    for (i = 0; i < STEPS; ++i) {
        now    += 100 * BENCH_USEC;
        length  = random_length();
        rounded = (length + PAGE - 1) & ~(PAGE - 1);
        if (i % 16 == 0) {
            ucs_arena_tend(arena, now);
        }
        if ((num < MAX_LIVE) && (bytes + rounded <= part * SIZE)) {
            ++requests;
            asked += length;
            given += rounded;
            pow2  += 1ul << (64 - __builtin_clzl(length - 1));
            address = ucs_arena_allocate(arena, length);
            if (address == NULL) {
                ++refused;
                sum_live += bytes + rounded;
                now      += UCS_ARENA_DEF_RETRY * 64;
                ucs_arena_tend(arena, now);
                address = ucs_arena_allocate(arena, length);
                again  += (address == NULL);
            }
            if (address != NULL) {
                live[num++]  = (live_t){address, rounded};
                bytes       += rounded;
                continue;
            }
        }

        pick       = rand() % num;
        bytes     -= live[pick].length;
        BENCH_CHECK(ucs_arena_free(arena, live[pick].address,
                                   live[pick].length, now));
        live[pick] = live[--num];
    }

    *refused_p = 100.0 * refused / requests;
    *again_p   = 100.0 * again / requests;
    *live_p    = 100.0 * sum_live / ucs_max(refused, 1) / SIZE;
    *waste_p   = 100.0 * (given - asked) / given;
    *pow2_p    = 100.0 * (pow2 - asked) / pow2;
}

static void bench_fragmentation(void)
{
    static const double parts[] = {0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0};
    double refused, again, full, waste, pow2;
    unsigned i;

    printf("\nRandom allocations of 128 KiB to 16 MiB, of %lu MiB in slabs of "
           "%lu MiB\n"
           "live at most   refused  refused again  full when refused  lost in "
           "pages  (in powers of 2)\n", SIZE >> 20, SLAB >> 20);
    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) {
        make();
        fragment(parts[i], &refused, &again, &full, &waste, &pow2);
        printf("%11.0f %%  %6.2f %%  %11.2f %%  ", 100 * parts[i], refused,
               again);
        if (refused > 0) {
            printf("%15.1f %%", full);
        } else {
            printf("%17s", "-");
        }
        printf("  %11.2f %%  %14.1f %%\n", waste, pow2);
        unmake();
    }
}

int main(void)
{
    bench_print_machine();

    is_real = 1;
    make();
    bench_find();
    bench_allocate();
    bench_threads();
    unmake();

    is_real = 0;
    bench_fragmentation();
    return found != 0;
}
