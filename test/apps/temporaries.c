/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Operations whose buffers are new each time: collectives that allocate
 * temporaries in every call, and messages from buffers that the program has
 * allocated for them. Figure 3b of Gerofi et al. (EuroMPI 2016) is that of
 * allreduce. Every result is checked; rank 0 prints a line of JSON with the median
 * time of an operation. temporaries_usage() tells the options.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>

typedef void (*pattern_func_t)(void);

static struct {
    const char *pattern;
    size_t     size;
    int        iters;
} opts = {
    .pattern = "allreduce",
    .size    = 2ul << 20,
    .iters   = 60
};

static int rank, size;
static uint64_t wrong;
static uint64_t round_num;
static double *in, *out;
static size_t num; /* Elements of a buffer, a multiple of the ranks */


static void temporaries_usage(void)
{
    printf("usage: temporaries [--pattern allreduce|reduce|scatter|exchange]\n"
           "                   [--size N] [--iters N]\n");
}

/* What a rank has in an element: small numbers, whose sums are exact */
static double value(int of, size_t i)
{
    return ((i + round_num) % 7) + of;
}

static double sum(size_t i)
{
    return (size * value(0, i)) + (size * (size - 1) / 2);
}

static void fill(double *buffer, int of)
{
    size_t i;

    for (i = 0; i < num; ++i) {
        buffer[i] = value(of, i);
    }
}

static void check(const double *buffer, size_t first, size_t count)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        wrong += (buffer[i] != sum(first + i));
    }
}

static void do_allreduce(void)
{
    MPI_Allreduce(in, out, num, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void do_reduce(void)
{
    MPI_Reduce(in, out, num, MPI_DOUBLE, MPI_SUM, round_num % size,
               MPI_COMM_WORLD);
}

static void do_scatter(void)
{
    MPI_Reduce_scatter_block(in, out, num / size, MPI_DOUBLE, MPI_SUM,
                             MPI_COMM_WORLD);
}

/* The ranks send each other what they have allocated just now, in a ring */
static void do_exchange(void)
{
    double *to   = malloc(num * sizeof(*to));
    double *from = malloc(num * sizeof(*from));

    memcpy(to, in, num * sizeof(*to));
    MPI_Sendrecv(to, num, MPI_DOUBLE, (rank + 1) % size, 0, from, num,
                 MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    memcpy(out, from, num * sizeof(*out));
    free(from);
    free(to);
}

static void check_allreduce(void)
{
    check(out, 0, num);
}

static void check_reduce(void)
{
    if (rank == (int)(round_num % size)) {
        check(out, 0, num);
    }
}

static void check_scatter(void)
{
    check(out, rank * (num / size), num / size);
}

static void check_exchange(void)
{
    size_t i;

    for (i = 0; i < num; ++i) {
        wrong += (out[i] != value((rank + size - 1) % size, i));
    }
}

static const struct {
    const char     *name;
    pattern_func_t operation;
    pattern_func_t check;
} patterns[] = {
    {"allreduce", do_allreduce, check_allreduce},
    {"reduce", do_reduce, check_reduce},
    {"scatter", do_scatter, check_scatter},
    {"exchange", do_exchange, check_exchange},
    {NULL}
};

static void set_pattern(const char *name)
{
    opts.pattern = name;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double*)a, y = *(const double*)b;

    return (x > y) - (x < y);
}

/* @return the median time of an operation, seconds */
static double run(pattern_func_t operation, pattern_func_t check_result)
{
    double *times = calloc(opts.iters, sizeof(*times));
    double median;
    int i;

    for (i = 0; i < opts.iters; ++i, ++round_num) {
        fill(in, rank);
        memset(out, 0, num * sizeof(*out));
        MPI_Barrier(MPI_COMM_WORLD);
        times[i] = app_time();
        operation();
        times[i] = app_time() - times[i];
        check_result();
    }

    qsort(times, opts.iters, sizeof(*times), compare);
    median = times[opts.iters / 2];
    free(times);
    return median;
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"pattern", .function = set_pattern},
        {"size", .size = &opts.size},
        {"iters", .count = &opts.iters},
        {NULL}
    };
    uint64_t all_wrong;
    double median;
    int i;

    app_parse(argc, argv, "temporaries", options, temporaries_usage);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; (patterns[i].name != NULL) &&
                strcmp(patterns[i].name, opts.pattern); ++i) {
    }
    num = opts.size / sizeof(double) / size * size;
    if ((patterns[i].name == NULL) || (num == 0) || (opts.iters == 0)) {
        app_fatal("temporaries: --pattern %s --size %zu --iters %d: not "
                  "accepted", opts.pattern, opts.size, opts.iters);
    }

    in     = malloc(num * sizeof(*in));
    out    = malloc(num * sizeof(*out));
    median = run(patterns[i].operation, patterns[i].check);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_UINT64_T, MPI_SUM, 0,
               MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"program\":\"temporaries\",\"pattern\":\"%s\",\"bytes\":%zu,"
               "\"usec\":%.1f,\"wrong\":%lu}\n", opts.pattern,
               num * sizeof(double), median * 1e6, all_wrong);
    }
    MPI_Finalize();
    return (rank == 0) && (all_wrong > 0);
}
