/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Many buffers, of which a bound holds a part: two ranks exchange them one after
 * the other, at random, or all of them in a burst, and compute in between.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>

#include <stdlib.h>
#include <string.h>


typedef struct {
    int    buffers;
    size_t size;
    int    uses;
    int    compute_us; /* between two exchanges; of a burst all of them after it */
    int    at_random;
    int    burst;
} bounded_opts_t;

typedef struct {
    double   total; /* seconds */
    double   comm;  /* of these in exchanges */
    uint64_t wrong; /* bytes */
} bounded_result_t;


static void bounded_usage(void)
{
    printf("usage: bounded [OPTIONS], by two ranks\n"
           "  --buffers N   buffers that are sent (64)\n"
           "  --size N      bytes of each (1m)\n"
           "  --uses N      exchanges (2400)\n"
           "  --compute US  computation after each, microseconds (1000)\n"
           "  --random      buffers at random, not in turns\n"
           "  --burst       all buffers at once, then the computation of all\n");
}

static void bounded_parse(int argc, char **argv, bounded_opts_t *opts)
{
    const app_option_t options[] = {
        {"buffers", .count = &opts->buffers},
        {"size", .size = &opts->size},
        {"uses", .count = &opts->uses},
        {"compute", .count = &opts->compute_us},
        {"random", .flag = &opts->at_random},
        {"burst", .flag = &opts->burst},
        {NULL}
    };

    app_parse(argc, argv, "bounded", options, bounded_usage);
    if ((opts->buffers < 1) || (opts->size < 1) || (opts->size > INT32_MAX)) {
        app_fatal("bounded: %d buffers of %zu bytes: accepted are 1 or more of 1 "
                  "to %d bytes", opts->buffers, opts->size, INT32_MAX);
    }
}

static char *bounded_alloc(size_t size)
{
    void *buffer;

    if (posix_memalign(&buffer, 4096, size) != 0) {
        app_fatal("bounded: out of memory");
    }

    return memset(buffer, 0, size);
}

/* Keeps the processor busy for so long */
static void bounded_compute(double seconds)
{
    double end = app_time() + seconds;

    while (app_time() < end) {
    }
}

/* What a rank writes into a buffer before it is sent */
static char bounded_mark(int use, int rank)
{
    return (char)app_mix(2 * (uint64_t)use + rank);
}

static void bounded_exchange(const bounded_opts_t *opts, char *sent,
                             char *received, int use, int rank,
                             bounded_result_t *result)
{
    size_t place = use % opts->size;
    double begin;

    sent[place] = bounded_mark(use, rank);
    begin       = app_time();
    MPI_Sendrecv(sent, opts->size, MPI_BYTE, !rank, 0, received, opts->size,
                 MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    result->comm  += app_time() - begin;
    result->wrong += (received[place] != bounded_mark(use, !rank));
}

static void bounded_run(const bounded_opts_t *opts, int rank,
                        bounded_result_t *result)
{
    char **buffers  = malloc(opts->buffers * sizeof(*buffers));
    char *received  = bounded_alloc(opts->size);
    uint64_t random = 1; /* of both ranks */
    double begin;
    int i, use;

    if (buffers == NULL) {
        app_fatal("bounded: out of memory");
    }

    for (i = 0; i < opts->buffers; ++i) {
        buffers[i] = bounded_alloc(opts->size);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    begin = app_time();
    for (use = 0; (use < opts->uses); ++use) {
        i = opts->at_random ? (int)app_random_below(&random, opts->buffers) :
                              (use % opts->buffers);
        bounded_exchange(opts, buffers[i], received, use, rank, result);
        if (!opts->burst) {
            bounded_compute(opts->compute_us * 1e-6);
        } else if (i == opts->buffers - 1) {
            bounded_compute(opts->compute_us * 1e-6 * opts->buffers);
        }
    }
    result->total = app_time() - begin;

    for (i = 0; (i < opts->buffers); ++i) {
        free(buffers[i]);
    }
    free(received);
    free(buffers);
}

int main(int argc, char **argv)
{
    bounded_opts_t opts = {
        .buffers    = 64,
        .size       = 1 << 20,
        .uses       = 2400,
        .compute_us = 1000
    };
    bounded_result_t result = {0};
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bounded_parse(argc, argv, &opts);
    if (ranks != 2) {
        app_fatal("bounded: %d ranks; accepted: 2", ranks);
    }

    bounded_run(&opts, rank, &result);
    printf("bounded: rank %d, loop %.4f s, in exchanges %.4f s, wrong %lu\n", rank,
           result.total, result.comm, (unsigned long)result.wrong);
    MPI_Finalize();
    return result.wrong > 0;
}
