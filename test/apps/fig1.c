/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The program of Figure 1 of Li et al.: three buffers take turns in being sent,
 * with computation in between. Each is needed for a small part of the time, and
 * all are pinned for the whole of it if registrations are kept. A rank that is
 * alone exchanges messages with itself, so that it leaves the other processors
 * idle.
 */

#include "apps.h"
#include "compute.h"
#include "options.h"

#include <mpi.h>

#define FIG1_NUM_BUFFERS 3
#define FIG1_WARMUP      4


typedef struct {
    size_t   size;
    int      iters;
    int      compute_ms;
    int      huge;
    uint64_t work_per_ms; /* 0: to be found out */
    int      no_reuse;
    int      verify;
    int      json;
} fig1_opts_t;

typedef struct {
    double   loop_s;
    double   comm_s; /* sum over all communications of this rank, if it sends:
                        receivers wait for the sender to fill the buffer */
    uint64_t errors;
} fig1_result_t;


static void fig1_usage(void)
{
    printf("usage: fig1 [options], an even number of ranks, or 1 that\n"
           "                 sends three buffers to itself, into three others\n"
           "  --size BYTES     of each buffer (5242880)\n"
           "  --iters N        rounds of all three buffers (10)\n"
           "  --compute MS     computation before each communication (60)\n"
           "  --work-per-ms N  work that takes a millisecond (found out, and\n"
           "                   printed by --json)\n"
           "  --huge N         of each N buffers one is in huge pages (0: none)\n"
           "  --no-reuse       a new buffer for each communication\n"
           "  --verify         check every byte received\n"
           "  --json           print one line of JSON\n");
}

static void fig1_parse(int argc, char **argv, fig1_opts_t *opts)
{
    const app_option_t options[] = {
        {"size", .size = &opts->size},
        {"iters", .count = &opts->iters},
        {"compute", .count = &opts->compute_ms},
        {"huge", .count = &opts->huge},
        {"work-per-ms", .number = &opts->work_per_ms},
        {"no-reuse", .flag = &opts->no_reuse},
        {"verify", .flag = &opts->verify},
        {"json", .flag = &opts->json},
        {NULL}
    };

    app_parse(argc, argv, "fig1", options, fig1_usage);
    if ((opts->size == 0) || (opts->size > INT32_MAX)) {
        app_fatal("fig1: --size is %zu: accepted are 1 to %d", opts->size,
                  INT32_MAX);
    }
}

static uint64_t fig1_key(int iter, int index)
{
    return app_mix(((uint64_t)iter * FIG1_NUM_BUFFERS) + index + 1);
}

static uint64_t fig1_check(const void *buffer, size_t size, int iter, int index)
{
    size_t first = 0;
    size_t errors;

    errors = app_pattern_check(buffer, size, fig1_key(iter, index), 0, &first);
    if (errors > 0) {
        fprintf(stderr,
                "fig1: iteration %d buffer %d: %zu wrong bytes, first at %zu\n",
                iter, index, errors, first);
    }

    return errors;
}

static void fig1_wire_up(int peer)
{
    char c = 0;
    int i;

    for (i = 0; i < FIG1_WARMUP; ++i) {
        MPI_Sendrecv_replace(&c, 1, MPI_CHAR, peer, 1, peer, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }

    MPI_Barrier(MPI_COMM_WORLD);
}

/* The buffer number slot, which is allocated when it is first needed */
static void *fig1_buffer(const fig1_opts_t *opts, void **buffers, int slot)
{
    if (buffers[slot] == NULL) {
        buffers[slot] = app_map("fig1", opts->size,
                                (opts->huge > 0) && ((slot % opts->huge) == 0));
    }

    return buffers[slot];
}

/* Sends what is in source to the peer, receives it from the peer into target,
 * or, if the peer is this rank, both. */
static void fig1_transfer(const fig1_opts_t *opts, int rank, int peer,
                          void *source, void *target)
{
    if (peer == rank) {
        MPI_Sendrecv(source, opts->size, MPI_BYTE, peer, 0, target, opts->size,
                     MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (source != NULL) {
        MPI_Send(source, opts->size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(target, opts->size, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
}

/* Sent and received have the same number of buffers, and are the same ones
 * unless this rank sends to itself. */
static void fig1_loop(const fig1_opts_t *opts, int rank, int peer, void **sent,
                      void **received, fig1_result_t *result)
{
    int is_sender   = (rank % 2) == 0;
    int is_receiver = !is_sender || (peer == rank);
    double start, comm_start;
    void *source, *target;
    int iter, i, slot;

    start = app_time();
    for (iter = 0; iter < opts->iters; ++iter) {
        for (i = 0; i < FIG1_NUM_BUFFERS; ++i) {
            slot   = opts->no_reuse ? ((iter * FIG1_NUM_BUFFERS) + i) : i;
            source = is_sender ? fig1_buffer(opts, sent, slot) : NULL;
            target = is_receiver ? fig1_buffer(opts, received, slot) : NULL;

            app_compute(opts->compute_ms * opts->work_per_ms);
            if (is_sender) {
                app_pattern_fill(source, opts->size, fig1_key(iter, i), 0);
            }

            comm_start = app_time();
            fig1_transfer(opts, rank, peer, source, target);
            if (is_sender) {
                result->comm_s += app_time() - comm_start;
            }

            if (is_receiver && opts->verify) {
                result->errors += fig1_check(target, opts->size, iter, i);
            }
        }
    }

    MPI_Barrier(MPI_COMM_WORLD);
    result->loop_s = app_time() - start;
}

static void fig1_print(const fig1_opts_t *opts, int size,
                       const fig1_result_t *result, double comm_avg)
{
    if (opts->json) {
        printf("{\"app\":\"fig1\",\"ranks\":%d,\"size\":%zu,\"iters\":%d,"
               "\"compute_ms\":%d,\"work_per_ms\":%llu,\"reuse\":%s,"
               "\"verify\":%s,\"loop_s\":%.6f,\"comm_avg_s\":%.6f,"
               "\"errors\":%llu}\n",
               size, opts->size, opts->iters, opts->compute_ms,
               (unsigned long long)opts->work_per_ms,
               opts->no_reuse ? "false" : "true",
               opts->verify ? "true" : "false",
               result->loop_s, comm_avg, (unsigned long long)result->errors);
    } else {
        printf("fig1: %d ranks, %d x %d communications of %zu bytes, %s: "
               "loop %.3f s, average send %.3f ms, %llu errors%s\n",
               size, opts->iters, FIG1_NUM_BUFFERS, opts->size,
               opts->no_reuse ? "not reused" : "reused", result->loop_s,
               comm_avg * 1e3, (unsigned long long)result->errors,
               opts->verify ? "" : " (not verified)");
    }
}

int main(int argc, char **argv)
{
    fig1_opts_t opts     = {.size       = 5 * 1024 * 1024,
                            .iters      = 10,
                            .compute_ms = 60};
    fig1_result_t result = {0}, sum = {0};
    int rank, peer, size, num_buffers, num_comms;
    void **buffers;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fig1_parse(argc, argv, &opts);
    if (((size % 2) != 0) && (size != 1)) {
        app_fatal("fig1: %d ranks; accepted: 1, or an even number of them",
                  size);
    }

    peer        = (size == 1) ? rank : (rank ^ 1);
    num_comms   = opts.iters * FIG1_NUM_BUFFERS;
    num_buffers = opts.no_reuse ? num_comms : FIG1_NUM_BUFFERS;
    buffers     = calloc((2 * num_buffers) + 1, sizeof(*buffers));
    if (buffers == NULL) {
        app_fatal("fig1: out of memory");
    }

    fig1_wire_up(peer);
    if ((opts.compute_ms > 0) && (opts.work_per_ms == 0)) {
        opts.work_per_ms = app_work_per_ms();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fig1_loop(&opts, rank, peer, buffers,
              (peer == rank) ? (buffers + num_buffers) : buffers, &result);

    sum.loop_s = result.loop_s;
    MPI_Allreduce(&result.comm_s, &sum.comm_s, 1, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(&result.errors, &sum.errors, 1, MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    if (rank == 0) {
        fig1_print(&opts, size, &sum,
                   (num_comms == 0) ? 0 : (sum.comm_s / num_comms / ((size + 1) / 2)));
    }

    /* The buffers are kept until the end, whether they are reused or not, and
     * the kernel frees them */
    free(buffers);
    MPI_Finalize();
    return sum.errors ? 1 : 0;
}
