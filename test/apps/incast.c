/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * All ranks but the first send to the first one at a time, which is what UCX's
 * receive queues are long for. With 2 ranks: the rate of messages. Every byte is
 * checked after the time was taken. VmPin of each rank tells what UCX's own pools
 * pin, as long as the messages are too short to be registered.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>

#define MAX_ROUNDS 1000


typedef struct {
    size_t   size;   /* of a message */
    int      count;  /* messages of each sender in a round, all in flight */
    int      rounds; /* that are measured */
    int      rank;
    int      senders;
    uint8_t  *buffer;   /* rank 0: of all senders, one after the other */
    uint64_t errors;    /* wrong bytes */
    MPI_Request *requests;
} incast_t;


static void usage(void)
{
    printf("usage: incast [options], 2 ranks or more\n"
           "  --size BYTES of a message (8)\n"
           "  --count N    messages of each sender in a round, all at a time (1000)\n"
           "  --rounds N   that are measured, after one that is not (9)\n"
           "Prints the number of senders, the size, us a message at the first rank\n"
           "(the median round, and the slowest one), the most that a rank has\n"
           "pinned (KiB, VmPin) and the number of wrong bytes. Ends with status 1\n"
           "if there were any.\n");
}

/* Distinguishes the messages of all rounds and senders. */
static uint64_t key_of(int round, int sender)
{
    return app_mix(((uint64_t)round << 32) + sender);
}

static long vm_pin(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    long kib   = -1;
    char line[256];

    while ((file != NULL) && (fgets(line, sizeof(line), file) != NULL)) {
        if (sscanf(line, "VmPin: %ld", &kib) == 1) {
            break;
        }
    }

    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

static void receive_all(incast_t *incast)
{
    int num = incast->senders * incast->count;
    int i;

    for (i = 0; i < num; ++i) {
        MPI_Irecv(incast->buffer + (i * incast->size), incast->size, MPI_BYTE,
                  1 + (i / incast->count), 0, MPI_COMM_WORLD,
                  &incast->requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(num, incast->requests, MPI_STATUSES_IGNORE);
}

static void send_all(incast_t *incast)
{
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < incast->count; ++i) {
        MPI_Isend(incast->buffer + (i * incast->size), incast->size, MPI_BYTE,
                  0, 0, MPI_COMM_WORLD, &incast->requests[i]);
    }
    MPI_Waitall(incast->count, incast->requests, MPI_STATUSES_IGNORE);
}

static void check(incast_t *incast, int round)
{
    size_t length = incast->count * incast->size;
    size_t first, errors;
    int sender;

    for (sender = 0; sender < incast->senders; ++sender) {
        errors = app_pattern_check(incast->buffer + (sender * length), length,
                                   key_of(round, sender), 0, &first);
        if ((errors > 0) && (incast->errors < APP_MAX_REPORTS)) {
            fprintf(stderr, "incast: round %d: of sender %d %zu wrong bytes, "
                    "the first is %zu of message %zu\n", round, sender, errors,
                    first % incast->size, first / incast->size);
        }
        incast->errors += errors;
    }
}

/* @return how long the receives took, s; at a sender: nothing of interest */
static double run_round(incast_t *incast, int round)
{
    size_t length = incast->count * incast->size;
    double begin, s;

    if (incast->rank == 0) {
        memset(incast->buffer, 0, length * incast->senders);
        begin = app_time();
        receive_all(incast);
        s     = app_time() - begin;
        check(incast, round);
    } else {
        app_pattern_fill(incast->buffer, length,
                         key_of(round, incast->rank - 1), 0);
        begin = app_time();
        send_all(incast);
        s     = app_time() - begin;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double*)a, y = *(const double*)b;

    return (x > y) - (x < y);
}

static void run(incast_t *incast)
{
    double seconds[MAX_ROUNDS];
    long pinned, most;
    double us;
    int i;

    run_round(incast, 0);
    for (i = 0; i < incast->rounds; ++i) {
        seconds[i] = run_round(incast, i + 1);
    }

    pinned = vm_pin();
    MPI_Reduce(&pinned, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (incast->rank == 0) {
        qsort(seconds, incast->rounds, sizeof(*seconds), compare);
        us = 1e6 / incast->count / incast->senders;
        printf("%d %zu %.3f %.3f %ld %lu\n", incast->senders, incast->size,
               seconds[incast->rounds / 2] * us,
               seconds[incast->rounds - 1] * us, most, incast->errors);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    incast_t incast = {.size = 8, .count = 1000, .rounds = 9};
    const app_option_t options[] = {
        {"size", .size = &incast.size},
        {"count", .count = &incast.count},
        {"rounds", .count = &incast.rounds},
        {NULL}
    };
    int ranks;
    size_t num;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &incast.rank);
    app_parse(argc, argv, "incast", options, usage);
    if ((ranks < 2) || (incast.size == 0) || (incast.size > INT32_MAX) ||
        (incast.count == 0) || (incast.count > INT32_MAX / ranks) ||
        (incast.rounds == 0) || (incast.rounds > MAX_ROUNDS)) {
        app_fatal("incast: needs 2 ranks or more, messages of 1 byte to %d, "
                  "at least one of each sender, and 1 to %d rounds",
                  INT32_MAX, MAX_ROUNDS);
    }

    incast.senders  = ranks - 1;
    num             = (size_t)incast.count * ((incast.rank == 0) ?
                                              incast.senders : 1);
    incast.buffer   = malloc(num * incast.size);
    incast.requests = malloc(num * sizeof(*incast.requests));
    if ((incast.buffer == NULL) || (incast.requests == NULL)) {
        app_fatal("incast: no memory for %zu messages of %zu bytes", num,
                  incast.size);
    }

    run(&incast);
    free(incast.requests);
    free(incast.buffer);
    MPI_Finalize();
    return incast.errors != 0;
}
