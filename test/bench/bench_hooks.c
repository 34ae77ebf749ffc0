/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What the predictive cache adds to the critical path of a message while the
 * helper is off, against the time of that message. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_peer.h"
#include "bench_pred.h"
#include "bench_stock.h"
#include "bench_util.h"
#include "uring_reg.h"

#include <ucs/host/unwind.h>
#include <uct/ib/predreg/core/comm.h>

#include <string.h>
#include <unistd.h>

#define HOOKS_WINDOW     2       /* The paper's context window */
#define HOOKS_LOOP       1000    /* Uses between two rounds of the helper */
#define HOOKS_LINK_GBITS 100.0
#define HOOKS_LINK_LAT   1000.0  /* Nanoseconds */

typedef enum {
    HOOKS_OFF,       /* The message only */
    HOOKS_ON,        /* The message with its hooks */
    HOOKS_STOCK,     /* The message with get and put of UCX's own cache, which
                        the hooks replace where there is one */
    HOOKS_COMPARED,
    HOOKS_TIMED      /* As on, and the clock is read around each hook */
} hooks_mode_t;

typedef struct hooks_case {
    const char *name;
    size_t     length;
    unsigned   messages;  /* Messages of a round, each way and in each mode */
    double     paper;     /* Overhead in the paper, per cent */
    double     mark;      /* Ours */
} hooks_case_t;

static const hooks_case_t hooks_cases[] = {
    {"17 KB", 17 << 10, 200, 14.02, 1.0},
    {"1 MB", 1 << 20, 100, 4.58, 0.3},
    {"4 MB", 4 << 20, 50, 1.22, 0.1}
};

#define HOOKS_NUM_CASES   ucs_static_array_size(hooks_cases)
#define HOOKS_NUM_REGIONS (2 * HOOKS_NUM_CASES)

typedef struct hooks_result {
    /* One value a round */
    bench_sample_t message;                /* One way without hooks, ns */
    bench_sample_t added[HOOKS_COMPARED];  /* What each mode adds to it, on
                                              both sides together, ns */
    bench_sample_t in_place;               /* All hooks of one use, timed, ns */
} hooks_result_t;

static struct {
    unsigned         rounds;
    bench_peer_t     peer;
    bench_pred_t     pred;
    ucs_rcache_t     *rcache;
    bench_region_t   regions[HOOKS_NUM_REGIONS];
    hooks_result_t   results[HOOKS_NUM_CASES];
    ucs_callpath_table_t *paths;
    bench_sample_t   record_loop;
    bench_sample_t   depth_loop;  /* The same by the depth of the stack */
    bench_sample_t   use_loop;

    /* Of the present round, of single messages: a process that loses its
     * processor for a while delays few of them, but those for long. */
    bench_sample_t   off;                /* One way without hooks, ns */
    bench_sample_t   differences[HOOKS_COMPARED]; /* Of neighbours to it, ns */
    bench_sample_t   uses;               /* Time of the hooks of one use, ns */

    /* Time between two readings of the clock in a row */
    double           clock_cost;
} hooks = {
    .rounds = 21
};

/* It belongs to the thread and is found without a call, as in the library */
static __thread uct_predreg_issuer_t hooks_issuer
        __attribute__((tls_model("initial-exec")));


/* At the entry point of UCP, as the core of libuct_predreg does it: make the
 * context, and keep it by buffer for the registration that may come later.
 * @param [in] paths  NULL: the depth of the stack stands for the path. */
static UCS_F_ALWAYS_INLINE void
hooks_comm(const bench_region_t *region, ucs_rcache_pred_comm_t comm,
           ucs_callpath_table_t *paths)
{
    const void *caller = __builtin_return_address(0);
    const void *stack  = __builtin_frame_address(0);
    ucs_rcache_pred_context_t context;
    uint64_t path;

    path = (paths == NULL) ? (uintptr_t)stack :
           ucs_callpath_find(paths, &hooks_issuer.path, caller, stack);
    ucs_rcache_pred_context_add(&hooks_issuer.window, HOOKS_WINDOW, comm,
                                region->address, caller, path, &context);
    uct_predreg_posted_put(region->address, &context);
}

/* What is done before a message starts: the above, and the begin of the use at
 * its registration */
static UCS_F_NOINLINE void *
hooks_begin(const bench_region_t *region, ucs_rcache_pred_comm_t comm)
{
    ucs_rcache_pred_context_t context;
    void *memh;

    hooks_comm(region, comm, hooks.paths);
    uct_predreg_posted_get(region->address, &context);
    BENCH_CHECK(ucs_rcache_pred_begin(hooks.pred.domain, region->address,
                                      region->length, 0, &context, &memh));
    return memh;
}

/* What is done when the message is complete */
static UCS_F_NOINLINE void hooks_end(void *memh)
{
    BENCH_CHECK(ucs_rcache_pred_end(hooks.pred.domain, memh));
}

static void hooks_transfer(bench_region_t *region, ucs_rcache_pred_comm_t comm)
{
    if (comm == UCS_RCACHE_PRED_COMM_SEND) {
        bench_peer_send(&hooks.peer, region->address, region->length);
    } else {
        bench_peer_recv(&hooks.peer, region->address, region->length);
    }
}

static void hooks_message(bench_region_t *region, ucs_rcache_pred_comm_t comm,
                          hooks_mode_t mode)
{
    ucs_rcache_region_t *rcache_region;
    uint64_t start, time;
    void *memh;

    switch (mode) {
    case HOOKS_OFF:
        hooks_transfer(region, comm);
        break;
    case HOOKS_ON:
        memh = hooks_begin(region, comm);
        hooks_transfer(region, comm);
        hooks_end(memh);
        break;
    case HOOKS_STOCK:
        BENCH_CHECK(bench_stock_get(hooks.rcache, region->address,
                                    region->length, &rcache_region));
        hooks_transfer(region, comm);
        ucs_rcache_region_put(hooks.rcache, rcache_region);
        break;
    default:
        start = bench_now();
        memh  = hooks_begin(region, comm);
        time  = bench_now() - start;
        hooks_transfer(region, comm);
        start = bench_now();
        hooks_end(memh);
        time += bench_now() - start;
        bench_sample_add(&hooks.uses, time - (2 * hooks.clock_cost));
        break;
    }
}

/* @return nanoseconds one way; only the client's is one */
static double hooks_round_trip(unsigned index, hooks_mode_t mode)
{
    bench_region_t *sent     = &hooks.regions[2 * index];
    bench_region_t *received = sent + 1;
    uint64_t start           = bench_now();

    if (hooks.peer.is_server) {
        hooks_message(received, UCS_RCACHE_PRED_COMM_RECV, mode);
        hooks_message(sent, UCS_RCACHE_PRED_COMM_SEND, mode);
    } else {
        hooks_message(sent, UCS_RCACHE_PRED_COMM_SEND, mode);
        hooks_message(received, UCS_RCACHE_PRED_COMM_RECV, mode);
    }
    return (bench_now() - start - hooks.clock_cost) / 2;
}

/* The modes take turns, so that whatever makes messages slower or faster for a
 * while does so to all of them */
static void hooks_compare(unsigned index)
{
    double time[HOOKS_COMPARED];
    unsigned i, k, mode;

    hooks.off.count = 0;
    for (mode = 0; mode < HOOKS_COMPARED; ++mode) {
        hooks.differences[mode].count = 0;
    }

    for (i = 0; i < hooks_cases[index].messages; ++i) {
        for (k = 0; k < HOOKS_COMPARED; ++k) {
            mode       = (i + k) % HOOKS_COMPARED;
            time[mode] = hooks_round_trip(index, mode);
        }

        bench_sample_add(&hooks.off, time[HOOKS_OFF]);
        for (mode = 0; mode < HOOKS_COMPARED; ++mode) {
            bench_sample_add(&hooks.differences[mode],
                             time[mode] - time[HOOKS_OFF]);
        }
    }
    bench_pred_drain(&hooks.pred);
}

static void hooks_time(unsigned index)
{
    unsigned i;

    hooks.uses.count = 0;
    for (i = 0; i < hooks_cases[index].messages; ++i) {
        hooks_round_trip(index, HOOKS_TIMED);
    }
    bench_pred_drain(&hooks.pred);
}

static void hooks_round(unsigned index)
{
    hooks_result_t *result = &hooks.results[index];
    unsigned mode;

    hooks_compare(index);
    bench_sample_add(&result->message, bench_sample_midmean(&hooks.off));
    for (mode = 0; mode < HOOKS_COMPARED; ++mode) {
        bench_sample_add(&result->added[mode],
                         bench_sample_midmean(&hooks.differences[mode]));
    }

    hooks_time(index);
    bench_sample_add(&result->in_place, bench_sample_midmean(&hooks.uses));
}

/* The context records alone, one after the other */
static UCS_F_NOINLINE void
hooks_loop_records(const bench_region_t *region, ucs_callpath_table_t *paths,
                   bench_sample_t *sample)
{
    uint64_t start = bench_now();
    unsigned i;

    for (i = 0; i < HOOKS_LOOP; ++i) {
        hooks_comm(region, UCS_RCACHE_PRED_COMM_SEND, paths);
        asm volatile("" ::: "memory");
    }
    bench_sample_add(sample, (double)(bench_now() - start) / HOOKS_LOOP);
}

/* The same hooks one after the other, with everything in the processor's
 * caches */
static void hooks_loop_round(void)
{
    bench_region_t *region = &hooks.regions[0];
    uint64_t start;
    unsigned i;

    hooks_loop_records(region, NULL, &hooks.depth_loop);
    hooks_loop_records(region, hooks.paths, &hooks.record_loop);

    start = bench_now();
    for (i = 0; i < HOOKS_LOOP; ++i) {
        hooks_end(hooks_begin(region, UCS_RCACHE_PRED_COMM_SEND));
    }
    bench_sample_add(&hooks.use_loop,
                     (double)(bench_now() - start) / HOOKS_LOOP);
    bench_pred_drain(&hooks.pred);
}

static void hooks_measure_clock(void)
{
    bench_sample_t sample;
    uint64_t start;
    unsigned i;

    bench_sample_init(&sample, HOOKS_LOOP);
    for (i = 0; i < HOOKS_LOOP; ++i) {
        start = bench_now();
        bench_sample_add(&sample, bench_now() - start);
    }
    hooks.clock_cost = bench_sample_midmean(&sample);
    bench_sample_cleanup(&sample);
}

static void hooks_init(void)
{
    unsigned i, mode;

    for (i = 0; i < HOOKS_NUM_REGIONS; ++i) {
        hooks.regions[i].length  = hooks_cases[i / 2].length;
        hooks.regions[i].address = bench_map(hooks.regions[i].length);
    }

    for (i = 0; i < HOOKS_NUM_CASES; ++i) {
        bench_sample_init(&hooks.results[i].message, hooks.rounds);
        bench_sample_init(&hooks.results[i].in_place, hooks.rounds);
        for (mode = 0; mode < HOOKS_COMPARED; ++mode) {
            bench_sample_init(&hooks.results[i].added[mode], hooks.rounds);
        }
    }

    for (mode = 0; mode < HOOKS_COMPARED; ++mode) {
        bench_sample_init(&hooks.differences[mode], HOOKS_LOOP);
    }
    bench_sample_init(&hooks.off, HOOKS_LOOP);
    bench_sample_init(&hooks.uses, HOOKS_LOOP);
    bench_sample_init(&hooks.record_loop, hooks.rounds);
    bench_sample_init(&hooks.depth_loop, hooks.rounds);
    bench_sample_init(&hooks.use_loop, hooks.rounds);
    bench_pred_init(&hooks.pred, hooks.regions, HOOKS_NUM_REGIONS, HOOKS_LOOP,
                    NULL);
    BENCH_CHECK(ucs_callpath_table_create(&ucs_host_callpath_ops,
                                          &hooks.paths));
    hooks.rcache = bench_stock_create();
    hooks_measure_clock();
}

static double hooks_added(unsigned index, hooks_mode_t mode, double quantile)
{
    return bench_sample_quantile(&hooks.results[index].added[mode], quantile);
}

static void hooks_print_measured(void)
{
    const hooks_case_t *self;
    double time, on, stock;
    unsigned i;

    printf("        message  added by hooks              by UCX's cache  "
           "    net   paper  mark\n"
           "             us       ns      %% (quartiles)       ns      %%  "
           "      %%       %%     %%\n");
    for (i = 0; i < HOOKS_NUM_CASES; ++i) {
        self  = &hooks_cases[i];
        time  = bench_sample_median(&hooks.results[i].message);
        on    = hooks_added(i, HOOKS_ON, 0.5);
        stock = hooks_added(i, HOOKS_STOCK, 0.5);
        printf("%-6s %8.2f  %7.1f %6.2f (%.2f .. %.2f)  %7.1f %6.2f  %6.2f  "
               "%6.2f %5.1f\n", self->name, time / BENCH_USEC, on,
               100 * on / time, 100 * hooks_added(i, HOOKS_ON, 0.25) / time,
               100 * hooks_added(i, HOOKS_ON, 0.75) / time, stock,
               100 * stock / time, 100 * (on - stock) / time, self->paper,
               self->mark);
    }

    printf("\nadded: a message with the hooks of its sender and its receiver "
           "less one without,\nin turns; UCX's cache: with ucs_rcache_get and "
           "put, which the hooks take the place\nof, instead; net: what the "
           "hooks add more than those\n");
}

static void hooks_print_computed(void)
{
    const hooks_case_t *self;
    double time, use;
    unsigned i;

    printf("        message  one use, timed     sender  both     paper  mark\n"
           "             us              ns          %%     %%         %%"
           "     %%\n");
    for (i = 0; i < HOOKS_NUM_CASES; ++i) {
        self = &hooks_cases[i];
        time = (self->length * 8 / HOOKS_LINK_GBITS) + HOOKS_LINK_LAT;
        use  = bench_sample_median(&hooks.results[i].in_place);
        printf("%-6s %8.2f         %7.1f     %6.2f %5.2f    %6.2f %5.1f\n",
               self->name, time / BENCH_USEC, use, 100 * use / time,
               200 * use / time, self->paper, self->mark);
    }

    printf("\none use, timed: context record, begin and end in a message "
           "measured above, between\nreadings of the clock\n");
}

static void hooks_print(void)
{
    printf("hooks back to back: context record %.1f ns (%.1f by the depth of "
           "the stack), context record + begin + end %.1f ns (minimum %.1f "
           "ns)\n", bench_sample_median(&hooks.record_loop),
           bench_sample_median(&hooks.depth_loop),
           bench_sample_median(&hooks.use_loop),
           bench_sample_min(&hooks.use_loop));

    printf("\nMeasured: UCP over UCX_TLS=%s between two processes of this "
           "machine, medians of %u\nrounds. Shared memory is no InfiniBand "
           "network: a message takes another time there.\n\n",
           getenv("UCX_TLS"), hooks.rounds);
    hooks_print_measured();

    printf("\nComputed, not measured: hooks as timed here against a message "
           "time of\nsize / %.0f Gb/s + %.0f us\n\n", HOOKS_LINK_GBITS,
           HOOKS_LINK_LAT / BENCH_USEC);
    hooks_print_computed();
}

static void hooks_parse(int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "r:h")) != -1) {
        if (c == 'r') {
            hooks.rounds = bench_parse_count("-r", optarg);
        } else {
            printf("Usage: %s [-r ROUNDS]\n\n"
                   "  -r ROUNDS  rounds of which medians are printed (%u)\n",
                   argv[0], hooks.rounds);
            exit((c == 'h') ? 0 : 2);
        }
    }
}

int main(int argc, char **argv)
{
    size_t pinned = 0;
    unsigned round, i;

    hooks_parse(argc, argv);
    setenv("UCX_TLS", "sm", 0);
    for (i = 0; i < HOOKS_NUM_CASES; ++i) {
        /* Each process has a buffer to send and one to receive */
        pinned += 4 * hooks_cases[i].length;
    }
    bench_raise_memlock(pinned);

    if (uring_reg_init(2 * HOOKS_NUM_REGIONS) != UCS_OK) {
        printf("SKIP: no registered buffers of io_uring here\n");
        return BENCH_SKIP;
    }

    /* Neither a ring nor anything of UCX may be shared by two processes: make
     * them after the fork */
    uring_reg_cleanup();
    bench_peer_fork(&hooks.peer);
    bench_pin(hooks.peer.is_server);
    BENCH_CHECK(uring_reg_init(2 * HOOKS_NUM_REGIONS));

    hooks_init();
    bench_peer_connect(&hooks.peer);
    for (i = 0; i < HOOKS_NUM_CASES; ++i) {
        /* The first messages connect, and touch the memory */
        hooks_compare(i);
    }

    for (round = 0; round < hooks.rounds; ++round) {
        hooks_loop_round();
        for (i = 0; i < HOOKS_NUM_CASES; ++i) {
            hooks_round(i);
        }
    }

    bench_peer_disconnect(&hooks.peer);
    bench_print_machine();
    hooks_print();
    bench_pred_cleanup(&hooks.pred);
    ucs_callpath_table_destroy(hooks.paths);
    uring_reg_cleanup();
    return 0;
}
