/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What a registration and its deregistration with a memory domain take, of memory
 * that was mapped just now, touched before that or not: figure 3a of Gerofi et
 * al. (EuroMPI 2016). Without the library this is what the transport takes, as
 * ibv_reg_mr() and ibv_dereg_mr() for the component ib, whose cache is switched
 * off here. Prints the medians, one line a length.
 *
 * usage: regtime [COMPONENT]
 */

#include "domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MIN_LENGTH   4096ul
#define MAX_LENGTH   (64ul << 20)
#define ROUNDS       15
#define MAX_BUFFERS  256             /* Timed in one round */
#define ROUND_LENGTH (16ul << 20)    /* Bytes of these, if one is not longer */
#define WARM_LENGTH  (64ul << 10)    /* Bytes of a buffer that warms the caches */
#define FLAGS        (UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS)


static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double*)a, y = *(const double*)b;

    return (x > y) - (x < y);
}

static void *map(size_t length)
{
    void *buffer = mmap(NULL, length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(buffer != MAP_FAILED);
    return buffer;
}

static void use(uct_md_h md, void *buffer, size_t length)
{
    uct_mem_h memh;

    CHECK(uct_md_mem_reg(md, buffer, length, FLAGS, &memh) == UCS_OK);
    CHECK(uct_md_mem_dereg(md, memh) == UCS_OK);
}

/* @return nanoseconds for one buffer of those of a round */
static double round_time(uct_md_h md, size_t length, unsigned num, int touched)
{
    void *warm = map(WARM_LENGTH);
    void *buffers[MAX_BUFFERS];
    double begin, end;
    unsigned i;

    for (i = 0; i < num; ++i) {
        buffers[i] = map(length);
        if (touched) {
            memset(buffers[i], 1, length);
        }
    }
    use(md, warm, WARM_LENGTH);

    begin = now();
    for (i = 0; i < num; ++i) {
        use(md, buffers[i], length);
    }
    end = now();

    for (i = 0; i < num; ++i) {
        munmap(buffers[i], length);
    }
    munmap(warm, WARM_LENGTH);
    return (end - begin) / num;
}

static double median_time(uct_md_h md, size_t length, int touched)
{
    unsigned num = ROUND_LENGTH / length;
    double times[ROUNDS];
    unsigned i;

    num = (num > MAX_BUFFERS) ? MAX_BUFFERS : (num ? num : 1);
    /* The helper of an arena opens slabs meanwhile, if there is one */
    for (i = 0; i < 3; ++i) {
        (void)round_time(md, length, num, touched);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    for (i = 0; i < ROUNDS; ++i) {
        times[i] = round_time(md, length, num, touched);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    qsort(times, ROUNDS, sizeof(*times), compare);
    return times[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    uct_md_h md = app_open_domain((argc > 1) ? argv[1] : "ib");
    size_t length;

    printf("%10s %16s %16s\n", "bytes", "untouched, ns", "touched, ns");
    for (length = MIN_LENGTH; length <= MAX_LENGTH; length *= 4) {
        printf("%10zu %16.1f %16.1f\n", length, median_time(md, length, 0),
               median_time(md, length, 1));
        fflush(stdout);
    }
    uct_md_close(md);
    return 0;
}
