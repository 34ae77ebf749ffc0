/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "kernel.h"
#include "apps.h"
#include "compute.h"
#include "options.h"

#include <limits.h>


/* The kernel that is told about by --help */
static const kernel_t *usage_of;


static void kernel_usage(void)
{
    const kernel_t *k = usage_of;

    printf("usage: %s [options]\n"
           "%s\n"
           "  --size BYTES     %s (%zu)\n"
           "  --strong         --size is of all ranks together\n"
           "  --iters N        iterations (%d)\n"
           "  --compute MS     computation in an iteration (%d)\n"
           "  --huge N         of each N buffers one is in huge pages (0: none)\n"
           "  --work-per-ms N  work that takes a millisecond (found out, and\n"
           "                   printed by --json)\n",
           k->name, k->what, k->size_help, k->size, k->iters, k->compute_ms);
    if (k->option != NULL) {
        printf("%s\n", k->option_help);
    }
    printf("  --json           print one line of JSON\n"
           "Every byte received is checked; 1 is the exit status if one was "
           "wrong.\n");
}

void kernel_fatal(const kernel_t *k, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    app_fatal("%s: %s", k->name, text);
}

static void kernel_parse(kernel_t *k, int argc, char **argv)
{
    /* Without an option of its own, the name of the last one is NULL */
    const app_option_t options[] = {
        {"size", .size = &k->size},
        {"strong", .flag = &k->strong},
        {"iters", .count = &k->iters},
        {"compute", .count = &k->compute_ms},
        {"huge", .count = &k->huge},
        {"work-per-ms", .number = &k->work_per_ms},
        {"json", .flag = &k->json},
        {k->option, .function = k->set_option},
        {NULL}
    };

    usage_of = k;
    app_parse(argc, argv, k->name, options, kernel_usage);
}

void kernel_begin(kernel_t *k, int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &k->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &k->ranks);
    kernel_parse(k, argc, argv);

    if ((k->ranks < 2) && !k->alone) {
        kernel_fatal(k, "1 rank: 2 or more are needed");
    }

    if (k->strong) {
        k->size /= k->ranks;
    }

    if ((k->size < (size_t)k->ranks * sizeof(uint64_t)) ||
        (k->size > INT_MAX)) {
        kernel_fatal(k, "--size is %zu for each rank: accepted are %zu to %d",
                     k->size, k->ranks * sizeof(uint64_t), INT_MAX);
    }

    if (k->work_per_ms == 0) {
        k->work_per_ms = app_work_per_ms();
    }
}

void *kernel_alloc(const kernel_t *k, size_t size)
{
    static int num; /* How many buffers there are */

    return app_map(k->name, size, (k->huge > 0) && ((num++ % k->huge) == 0));
}

void kernel_start(kernel_t *k)
{
    MPI_Barrier(MPI_COMM_WORLD);
    k->begin = app_time();
}

void kernel_compute(const kernel_t *k, double ms)
{
    app_compute(k->work_per_ms * ms);
}

static uint64_t kernel_key(const kernel_t *k, int step, int from, int to)
{
    return app_mix(((uint64_t)k->iter << 32) + step) +
           app_mix(((uint64_t)from << 32) + to + 1);
}

void kernel_fill(const kernel_t *k, void *buffer, size_t size, int step, int to)
{
    app_pattern_fill(buffer, size, kernel_key(k, step, k->rank, to), 0);
}

void kernel_error(kernel_t *k, const char *fmt, ...)
{
    va_list ap;

    if (k->errors++ >= APP_MAX_REPORTS) {
        return;
    }

    fprintf(stderr, "%s: rank %d iteration %d: ", k->name, k->rank, k->iter);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void kernel_check(kernel_t *k, const void *buffer, size_t size, int step,
                  int from)
{
    size_t first = 0;
    size_t errors;

    errors = app_pattern_check(buffer, size, kernel_key(k, step, from, k->rank),
                               0, &first);
    if (errors > 0) {
        kernel_error(k, "%zu wrong bytes of %zu from rank %d in step %d, first "
                     "at %zu", errors, size, from, step, first);
    }
}

void kernel_exchange(kernel_t *k, void *send, void *recv, size_t size, int step,
                     int peer)
{
    kernel_fill(k, send, size, step, peer);
    MPI_Sendrecv(send, size, MPI_BYTE, peer, step, recv, size, MPI_BYTE, peer,
                 step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    kernel_check(k, recv, size, step, peer);
}

static void kernel_print(const kernel_t *k, double loop_s, uint64_t errors)
{
    if (k->json) {
        printf("{\"app\":\"%s\",\"ranks\":%d,\"size\":%zu,\"strong\":%s,"
               "\"iters\":%d,\"compute_ms\":%d,\"work_per_ms\":%llu,"
               "\"loop_s\":%.6f,\"errors\":%llu}\n",
               k->name, k->ranks, k->size, k->strong ? "true" : "false",
               k->iters, k->compute_ms, (unsigned long long)k->work_per_ms,
               loop_s, (unsigned long long)errors);
    } else {
        printf("%s: %d ranks, %zu bytes each, %d iterations with %d ms of "
               "computation: %.3f s, %llu errors\n",
               k->name, k->ranks, k->size, k->iters, k->compute_ms, loop_s,
               (unsigned long long)errors);
    }
}

int kernel_end(kernel_t *k)
{
    uint64_t errors;
    double loop_s;

    MPI_Barrier(MPI_COMM_WORLD);
    loop_s = app_time() - k->begin;
    MPI_Allreduce(&k->errors, &errors, 1, MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    if (k->rank == 0) {
        kernel_print(k, loop_s, errors);
    }

    MPI_Finalize();
    return errors ? 1 : 0;
}
