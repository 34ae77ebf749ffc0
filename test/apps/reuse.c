/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Small messages from buffers that are used again: the benchmarks of Rashti and
 * Afsahi (2011), section 5.1, with every message compared. Rank 0 prints a line
 * of JSON with the time of an operation. reuse_usage() tells the options.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>

typedef enum {
    PATTERN_PINGPONG, /* Send and receive in turn, from one buffer */
    PATTERN_SPECTRUM, /* The same, buffer i is used i times */
    PATTERN_FRESH,    /* The same, each buffer once */
    PATTERN_STREAM,   /* Rank 0 sends, the other ranks receive */
    PATTERN_BCAST,
    PATTERN_SCATTER
} pattern_t;

static const char *const pattern_names[] = {
    "pingpong", "spectrum", "fresh", "stream", "bcast", "scatter", NULL
};

static struct {
    int    pattern;
    size_t size;
    size_t buffers;
    size_t distance; /* From one buffer to the next, bytes; 0: back to back */
    int    iters;
    int    isend;    /* Sends that need not be waited for at once */
} opts = {
    .size    = 4096,
    .buffers = 100,
    .iters   = 1000
};

static int rank, size;
static uint64_t wrong;
static char *received;


static void reuse_usage(void)
{
    printf("usage: reuse [--pattern pingpong|spectrum|fresh|stream|bcast|scatter]\n"
           "             [--size N] [--buffers N] [--distance N] [--iters N]\n"
           "             [--isend]\n");
}

static void set_pattern(const char *value)
{
    int i;

    for (i = 0; pattern_names[i] != NULL; ++i) {
        if (!strcmp(value, pattern_names[i])) {
            opts.pattern = i;
            return;
        }
    }
    app_fatal("reuse: --pattern %s: unknown", value);
}

/* Message number n begins and ends with words that depend on it */
static void fill(char *buffer, uint64_t n)
{
    uint64_t words[2] = {app_mix(n), app_mix(~n)};

    memcpy(buffer, &words[0], sizeof(words[0]));
    memcpy(buffer + opts.size - sizeof(words[1]), &words[1], sizeof(words[1]));
}

static void check(const char *buffer, uint64_t n)
{
    uint64_t words[2] = {app_mix(n), app_mix(~n)};

    if (memcmp(buffer, &words[0], sizeof(words[0])) ||
        memcmp(buffer + opts.size - sizeof(words[1]), &words[1],
               sizeof(words[1]))) {
        ++wrong;
    }
}

static void send(char *buffer, int to)
{
    MPI_Request request;

    if (opts.isend) {
        MPI_Isend(buffer, opts.size, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(buffer, opts.size, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    }
}

static void receive(int from, uint64_t n)
{
    MPI_Recv(received, opts.size, MPI_BYTE, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    check(received, n);
}

/* One operation, number n, from this buffer */
static void operation(char *buffer, uint64_t n)
{
    int i;

    switch (opts.pattern) {
    case PATTERN_BCAST:
        if (rank == 0) {
            fill(buffer, n);
        }
        MPI_Bcast(buffer, opts.size, MPI_BYTE, 0, MPI_COMM_WORLD);
        check(buffer, n);
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case PATTERN_SCATTER:
        for (i = 0; (i < size) && (rank == 0); ++i) {
            fill(buffer + i * opts.size, n + i);
        }
        MPI_Scatter(buffer, opts.size, MPI_BYTE, received, opts.size, MPI_BYTE,
                    0, MPI_COMM_WORLD);
        check(received, n + rank);
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case PATTERN_STREAM:
        for (i = 1; (i < size) && (rank == 0); ++i) {
            fill(buffer, n);
            send(buffer, i);
        }
        if (rank != 0) {
            receive(0, n);
        }
        break;
    default:
        if (rank == 0) {
            fill(buffer, n);
            send(buffer, 1);
            receive(1, ~n);
        } else if (rank == 1) {
            receive(0, n);
            fill(buffer, ~n);
            send(buffer, 0);
        }
    }
}

/* @return how many operations there were */
static uint64_t run(char *memory, size_t distance)
{
    uint64_t n = 0;
    size_t i, k, uses;

    if ((opts.pattern != PATTERN_SPECTRUM) && (opts.pattern != PATTERN_FRESH)) {
        for (; n < (uint64_t)opts.iters; ++n) {
            operation(memory, n);
        }
        return n;
    }

    for (i = 0; i < opts.buffers; ++i) {
        uses = (opts.pattern == PATTERN_SPECTRUM) ? (i + 1) : 1;
        for (k = 0; k < uses; ++k) {
            operation(memory + i * distance, n++);
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"pattern", .function = set_pattern},
        {"size", .size = &opts.size},
        {"buffers", .size = &opts.buffers},
        {"distance", .size = &opts.distance},
        {"iters", .count = &opts.iters},
        {"isend", .flag = &opts.isend},
        {NULL}
    };
    uint64_t count, all_wrong;
    size_t distance;
    double begin;
    char *memory;

    app_parse(argc, argv, "reuse", options, reuse_usage);
    if (opts.size < 16) {
        app_fatal("reuse: --size %zu: accepted: 16 and more", opts.size);
    }

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    distance = opts.distance ? opts.distance : opts.size;
    memory   = calloc(opts.buffers + size, ((distance > opts.size) ? distance :
                                            opts.size));
    received = malloc(opts.size);
    if ((memory == NULL) || (received == NULL)) {
        app_fatal("reuse: no memory");
    }

    MPI_Barrier(MPI_COMM_WORLD);
    begin = app_time();
    count = run(memory, distance);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = app_time() - begin;

    MPI_Reduce(&wrong, &all_wrong, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"pattern\": \"%s\", \"size\": %zu, \"operations\": %lu, "
               "\"wrong\": %lu, \"us\": %.3f}\n", pattern_names[opts.pattern],
               opts.size, (unsigned long)count, (unsigned long)all_wrong,
               1e6 * begin / count);
    }
    MPI_Finalize();
    return 0;
}
