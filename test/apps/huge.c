/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Messages of more bytes than an int can count: of a datatype of 1 MiB, and of
 * doubles. Every byte is checked. Memory is that of one message a rank.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>
#include <sys/mman.h>

#define HUGE_UNIT (1024 * 1024)


static void huge_usage(void)
{
    printf("usage: huge [options], 2 ranks\n"
           "  --size BYTES  of a message, a multiple of 1 MiB (2304m)\n"
           "  --iters N     messages each way (1)\n");
}

/* Let rank "from" send to the other one. @return the wrong bytes. */
static size_t huge_send(char *buffer, size_t size, MPI_Datatype type,
                        size_t bytes, int rank, int from, int iter)
{
    uint64_t key = app_mix((2 * iter) + from + 1);
    size_t first = 0;
    size_t errors;

    if (rank == from) {
        app_pattern_fill(buffer, size, key, 0);
        MPI_Send(buffer, size / bytes, type, !from, 0, MPI_COMM_WORLD);
        return 0;
    }

    memset(buffer, 0, size);
    MPI_Recv(buffer, size / bytes, type, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    errors = app_pattern_check(buffer, size, key, 0, &first);
    if (errors > 0) {
        fprintf(stderr, "huge: %zu of %zu bytes wrong, first at %zu\n", errors,
                size, first);
    }

    return errors;
}

int main(int argc, char **argv)
{
    size_t size                  = 2304ul * HUGE_UNIT;
    int iters                    = 1;
    const app_option_t options[] = {
        {"size", .size = &size},
        {"iters", .count = &iters},
        {NULL}
    };
    uint64_t errors = 0;
    uint64_t sum;
    MPI_Datatype unit;
    int rank, ranks, i;
    char *buffer;

    MPI_Init(&argc, &argv);
    app_parse(argc, argv, "huge", options, huge_usage);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if ((ranks != 2) || (size == 0) || ((size % HUGE_UNIT) != 0)) {
        app_fatal("huge: %d ranks, --size %zu; accepted: 2 ranks, and a "
                  "multiple of 1 MiB", ranks, size);
    }

    buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED) {
        app_fatal("huge: could not map %zu bytes: %s", size, strerror(errno));
    }

    MPI_Type_contiguous(HUGE_UNIT, MPI_BYTE, &unit);
    MPI_Type_commit(&unit);
    for (i = 0; i < iters; ++i) {
        errors += huge_send(buffer, size, unit, HUGE_UNIT, rank, 0, i);
        errors += huge_send(buffer, size, MPI_DOUBLE, sizeof(double), rank, 1,
                            i);
    }

    MPI_Type_free(&unit);
    MPI_Allreduce(&errors, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("huge: %d messages of %zu bytes each way, %llu errors\n", iters,
               size, (unsigned long long)sum);
    }

    MPI_Finalize();
    return sum ? 1 : 0;
}
