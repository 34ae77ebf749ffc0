/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A program that ends without MPI_Finalize, in one of several ways, after its
 * ranks have exchanged messages and while more of them are under way. Whoever
 * starts it looks at what it leaves behind. The ranks tell their process ids.
 */

#include "apps.h"

#include <mpi.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define ABRUPT_SIZE   (1024 * 1024)
#define ABRUPT_ROUNDS 10

/* A way to end, which does not return */
typedef struct {
    const char *name;
    void       (*function)(int status);
} abrupt_way_t;


static void abrupt_abort(int status)
{
    abort();
}

static void abrupt_kill(int status)
{
    kill(getpid(), SIGKILL);
}

static void abrupt_mpi(int status)
{
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static const abrupt_way_t abrupt_ways[] = {
    {"_exit", _exit},
    {"exit", exit},
    {"abort", abrupt_abort},
    {"kill", abrupt_kill},
    {"MPI_Abort", abrupt_mpi},
    {NULL}
};

static uint64_t abrupt_exchange(char *out, char *in, int rank, int size)
{
    int next        = (rank + 1) % size;
    int previous    = (rank + size - 1) % size;
    uint64_t errors = 0;
    size_t first;
    int i;

    for (i = 0; i < ABRUPT_ROUNDS; ++i) {
        app_pattern_fill(out, ABRUPT_SIZE, app_mix((i << 8) + rank), 0);
        MPI_Sendrecv(out, ABRUPT_SIZE, MPI_BYTE, next, i, in, ABRUPT_SIZE,
                     MPI_BYTE, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        errors += app_pattern_check(in, ABRUPT_SIZE, app_mix((i << 8) + previous),
                                    0, &first);
    }

    return errors;
}

int main(int argc, char **argv)
{
    const abrupt_way_t *way = abrupt_ways;
    MPI_Request requests[2];
    int rank, size;
    char *memory;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((way->name != NULL) && ((argc != 2) || strcmp(argv[1], way->name))) {
        ++way;
    }
    if (way->name == NULL) {
        app_fatal("usage: abrupt _exit|exit|abort|kill|MPI_Abort");
    }

    memory = mmap(NULL, 4 * ABRUPT_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        app_fatal("abrupt: could not map memory: %s", strerror(errno));
    }

    if (abrupt_exchange(memory, memory + ABRUPT_SIZE, rank, size) != 0) {
        app_fatal("abrupt: rank %d received wrong bytes", rank);
    }

    MPI_Irecv(memory + (2 * ABRUPT_SIZE), ABRUPT_SIZE, MPI_BYTE,
              (rank + size - 1) % size, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(memory + (3 * ABRUPT_SIZE), ABRUPT_SIZE, MPI_BYTE,
              (rank + 1) % size, 99, MPI_COMM_WORLD, &requests[1]);
    printf("abrupt: rank %d is process %d\n", rank, (int)getpid());
    fflush(stdout);
    /* With all ranks at the same place, so that each has what it is to leave */
    MPI_Barrier(MPI_COMM_WORLD);
    way->function(0);
    return 2;
}
