/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What it takes to find a buffer that was sent before, in the table of reused
 * buffers and in a balanced tree: Figure 3 of Rashti and Afsahi (2011). The
 * tree is that of libc (tfind()), a red-black tree. Buffers are looked up in
 * random order, each lookup with the result of the one before, so that the
 * processor cannot work at several of them at a time; and without that, as a
 * program's sends are, which have other work between them.
 */

#include "bench_util.h"

#include <ucs/reuse/buffers.h>

#include <search.h>

#define ROUNDS     15
#define LOOKUPS    200000
#define DISTANCE   4096    /* From one buffer to the next, as in the paper's
                              worst case: each on a page of its own */
#define FIRST      0x7f0000001040ul
#define MAX_COUNT  100000

static ucs_reuse_table_t table;
static void *tree;
static unsigned order[LOOKUPS];
static uintptr_t keys[MAX_COUNT];


static int compare(const void *a, const void *b)
{
    uintptr_t first = *(const uintptr_t*)a, second = *(const uintptr_t*)b;

    return (first > second) - (first < second);
}

static void fill(unsigned count)
{
    unsigned i;

    BENCH_CHECK(ucs_reuse_table_init(&table, UCS_REUSE_TABLE_BITS, 0));
    tree = NULL;
    for (i = 0; i < count; ++i) {
        keys[i] = FIRST + (uintptr_t)i * DISTANCE;
        BENCH_ASSERT(ucs_reuse_table_add(&table, (void*)keys[i]) != NULL,
                     "no room in the table");
        BENCH_ASSERT(tsearch(&keys[i], &tree, compare) != NULL, "no memory");
    }

    srand(1);
    for (i = 0; i < LOOKUPS; ++i) {
        order[i] = rand() % count;
    }
}

static void nothing(void *node)
{
}

/* What the lookups have found, so that the compiler keeps them; 0 */
static uint64_t found;

static double in_table(int is_chained)
{
    const ucs_reuse_buffer_t *buffer;
    uint64_t begin = bench_now();
    uint64_t last  = 0;
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        buffer = ucs_reuse_table_find(&table, (void*)(keys[order[i]] + last));
        last   = is_chained ? ucs_reuse_buffer_handle(buffer) :
                              (found += ucs_reuse_buffer_handle(buffer), 0);
    }
    found += last;
    return (double)(bench_now() - begin) / LOOKUPS;
}

/* Inlined for both cases: what one waits for must not be in the way of the
 * other, and the compiler must not know what a count can be */
static UCS_F_ALWAYS_INLINE double count_all(int is_chained)
{
    ucs_reuse_buffer_t *buffer;
    uint64_t begin = bench_now();
    uint64_t last  = 0;
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        buffer = ucs_reuse_table_find(&table, (void*)(keys[order[i]] + last));
        found += ucs_reuse_buffer_handle(buffer);
        last   = ucs_reuse_buffer_count(buffer);
        asm volatile("" : "+r"(last));
        last   = is_chained ? (last >> 31) : 0;
    }
    return (double)(bench_now() - begin) / LOOKUPS;
}

static double counted(int is_chained)
{
    return is_chained ? count_all(1) : count_all(0);
}

static double in_tree(int is_chained)
{
    uint64_t begin = bench_now();
    uint64_t last  = 0;
    uintptr_t key, **node;
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        key    = keys[order[i]] + last;
        node   = tfind(&key, &tree, compare);
        last   = is_chained ? (**node >> 63) : 0;
        found += **node >> 63;
    }
    return (double)(bench_now() - begin) / LOOKUPS;
}

/* The loop without a lookup */
static double loop(int is_chained)
{
    uint64_t begin = bench_now();
    uint64_t last  = 0;
    unsigned i;

    for (i = 0; i < LOOKUPS; ++i) {
        last = is_chained ? ((keys[order[i]] + last) >> 63) : 0;
        asm volatile("" : "+r"(last));
    }
    found += last;
    return (double)(bench_now() - begin) / LOOKUPS;
}

/* The median of the rounds, in turn with the loop's */
static double measure(double (*func)(int), int is_chained)
{
    bench_sample_t sample, base;
    double result;
    unsigned i;

    bench_sample_init(&sample, ROUNDS);
    bench_sample_init(&base, ROUNDS);
    for (i = 0; i < ROUNDS; ++i) {
        bench_sample_add(&sample, func(is_chained));
        bench_sample_add(&base, loop(is_chained));
    }
    result = bench_sample_median(&sample) - bench_sample_median(&base);
    bench_sample_cleanup(&sample);
    bench_sample_cleanup(&base);
    return result;
}

static void row(unsigned count, int is_chained)
{
    double hit  = measure(in_table, is_chained);
    double use  = measure(counted, is_chained);
    double node = measure(in_tree, is_chained);

    printf("%8u  %-10s  %10.1f  %12.1f  %10.1f  %8.1f\n", count,
           is_chained ? "one by one" : "overlapped", hit, use, node,
           node / hit);
}

int main(void)
{
    static const unsigned counts[] = {10, 100, 1000, 10000, 100000};
    unsigned i;

    bench_print_machine();
    printf("Nanoseconds a lookup, median of %d rounds of %d lookups, less the "
           "loop\n", ROUNDS, LOOKUPS);
    printf(" buffers  lookups      found, ns   counted, ns    tree, ns  "
           "tree/hot\n");
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
        fill(counts[i]);
        row(counts[i], 1);
        row(counts[i], 0);
        tdestroy(tree, nothing);
        ucs_reuse_table_cleanup(&table);
    }

    return found != 0;
}
