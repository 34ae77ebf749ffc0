/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What a hit takes: to request a bucket that there is a firehose on, and to
 * release it, in the remote table alone; beside the lookup of its entry, which
 * it cannot do without. Buckets are taken in random order, each after the one
 * before, as in a thread that waits for each; and without that, as in one that
 * has other work between them. No lock is taken.
 */

#include "bench_util.h"

#include <ucp/firehose/table/remote_int.h>
#include <ucp/firehose/table/remote.h>

#define ROUNDS    15
#define USES      200000
#define MAX_COUNT 100000
#define FIRST     0x7f0000001ul

static ucp_fh_remote_t table;
static unsigned order[USES];

/* What was found, so that the compiler keeps it */
static uint64_t found;


static void nothing(ucp_fh_comp_t *comp)
{
}

/* Have firehoses on all buckets of the first peer */
static void fill(unsigned count)
{
    static ucp_fh_answer_t answers[UCP_FH_MAX_MOVE];
    ucp_fh_remote_params_t params = {
        .num_peers = 1,
        .max_move  = UCP_FH_MAX_MOVE,
        .da_limit  = UCP_FH_DEF_DA_LIMIT
    };
    ucp_fh_run_t run         = {.first = FIRST, .num = count};
    ucp_fh_request_t request = {.comp.func = nothing};
    ucp_fh_move_t *move;
    unsigned i;

    BENCH_CHECK(ucp_fh_remote_init(&table, &params));
    table.peers[0].limit = count;
    for (i = 0; i < UCP_FH_MAX_MOVE; ++i) {
        answers[i].key = &answers[i];
    }

    BENCH_ASSERT(ucp_fh_remote_acquire(&table, &request, 0, &run) ==
                 UCS_INPROGRESS, "it should be a miss");
    while ((move = ucp_fh_remote_next_move(&table)) != NULL) {
        BENCH_CHECK(ucp_fh_remote_moved(&table, move, UCS_OK, answers));
    }
    BENCH_ASSERT(ucp_fh_comp_next(&table.ended) == &request.comp,
                 "it should be granted");
    ucp_fh_remote_release(&table, &request);

    srand(1);
    for (i = 0; i < USES; ++i) {
        order[i] = rand() % count;
    }
}

static void destroy(void *arg, void *key)
{
}

/* 0, which is known when the use of a bucket has ended, and not before */
static UCS_F_ALWAYS_INLINE uint64_t wait_for(const void *key)
{
    uint64_t zero = (uint64_t)key;

    asm volatile("" : "+r"(zero));
    return zero >> 63;
}

static double hits(int is_chained)
{
    ucp_fh_request_t request = {.comp.func = nothing};
    ucp_fh_run_t run         = {.num = 1};
    uint64_t begin           = bench_now();
    uint64_t last            = 0;
    unsigned i;

    for (i = 0; i < USES; ++i) {
        run.first = FIRST + order[i] + last;
        if (ucp_fh_remote_acquire(&table, &request, 0, &run) != UCS_OK) {
            BENCH_ASSERT(0, "it should be a hit");
        }
        last   = wait_for(ucp_fh_remote_key(&table, &request, 0));
        found += last;
        last   = is_chained ? last : 0;
        ucp_fh_remote_release(&table, &request);
    }
    return (double)(bench_now() - begin) / USES;
}

static double lookups(int is_chained)
{
    const ucp_fh_peer_t *peer = &table.peers[0];
    uint64_t begin            = bench_now();
    uint64_t last             = 0;
    unsigned i;

    for (i = 0; i < USES; ++i) {
        last   = wait_for(ucp_fh_entry_find(peer, FIRST + order[i] +
                                                          last)->key);
        found += last;
        last   = is_chained ? last : 0;
    }
    return (double)(bench_now() - begin) / USES;
}

static double median(double (*func)(int), int is_chained)
{
    bench_sample_t sample;
    double result;
    unsigned i;

    bench_sample_init(&sample, ROUNDS);
    for (i = 0; i < ROUNDS; ++i) {
        bench_sample_add(&sample, func(is_chained));
    }
    result = bench_sample_median(&sample);
    bench_sample_cleanup(&sample);
    return result;
}

int main(void)
{
    static const unsigned counts[] = {1000, 10000, MAX_COUNT};
    unsigned i;
    int is_chained;

    bench_print_machine();
    printf("Nanoseconds, median of %d rounds of %d uses\n", ROUNDS, USES);
    printf("firehoses  uses          hit, ns  lookup, ns\n");
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
        fill(counts[i]);
        for (is_chained = 1; is_chained >= 0; --is_chained) {
            printf("%9u  %-10s  %9.1f  %10.1f\n", counts[i],
                   is_chained ? "one by one" : "overlapped",
                   median(hits, is_chained), median(lookups, is_chained));
        }
        ucp_fh_remote_cleanup(&table, destroy, NULL);
    }

    return found != 0;
}
