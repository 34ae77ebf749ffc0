/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What a whole message takes, between two ranks that do nothing else: the
 * buffers stay registered, so that the same times under stock UCX and under the
 * library differ by what the library does in the path of a message.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>

/* Messages in flight, as in OSU's bandwidth test */
#define WINDOW 64


typedef struct {
    size_t   size;    /* of a message, or 0: a list of sizes */
    int      buffers; /* in turns, for each direction */
    int      ms;      /* that each measurement takes, about */
    int      rank;
    char     **sent;
    char     **received;
    uint64_t count;   /* rounds so far */
} messages_t;

typedef struct {
    const char *name;
    int        messages; /* one after the other or at a time, in a round */
    void       (*round)(messages_t *m);
} pattern_t;


static char *turn(const messages_t *m, char **buffers, int i)
{
    return buffers[(m->count + i) % m->buffers];
}

/* One after the other, there and back */
static void pingpong(messages_t *m)
{
    if (m->rank == 0) {
        MPI_Send(turn(m, m->sent, 0), m->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(turn(m, m->received, 0), m->size, MPI_BYTE, !m->rank, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (m->rank == 1) {
        MPI_Send(turn(m, m->sent, 0), m->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

/* In both directions at a time */
static void exchange(messages_t *m)
{
    MPI_Sendrecv(turn(m, m->sent, 0), m->size, MPI_BYTE, !m->rank, 0,
                 turn(m, m->received, 0), m->size, MPI_BYTE, !m->rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Many in flight in one direction, and an answer */
static void window(messages_t *m)
{
    MPI_Request requests[WINDOW];
    char done = 0;
    int i;

    for (i = 0; i < WINDOW; ++i) {
        if (m->rank == 0) {
            MPI_Isend(turn(m, m->sent, i), m->size, MPI_BYTE, 1, 0,
                      MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(turn(m, m->received, i), m->size, MPI_BYTE, 0, 0,
                      MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);

    if (m->rank == 0) {
        MPI_Recv(&done, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&done, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static const pattern_t patterns[] = {
    {"pingpong", 2, pingpong},
    {"exchange", 1, exchange},
    {"window", WINDOW, window},
    {NULL}
};

static const pattern_t *pattern = &patterns[0];


static void usage(void)
{
    printf("usage: messages [options], 2 ranks\n"
           "  --pattern P  pingpong: one message after the other\n"
           "               exchange: one in each direction at a time\n"
           "               window: 64 in flight in one direction\n"
           "  --size BYTES of a message (16 KB, 64 KB, ... 4 MB)\n"
           "  --buffers N  that each rank uses in turns (4)\n"
           "  --ms N       how long to measure each size (200)\n"
           "prints a line for each size: bytes, and us a message\n");
}

static void choose_pattern(const char *name)
{
    for (pattern = patterns; pattern->name != NULL; ++pattern) {
        if (!strcmp(pattern->name, name)) {
            return;
        }
    }
    app_fatal("messages: --pattern is '%s': accepted are pingpong, exchange and "
              "window", name);
}

static char **allocate(int count, size_t size)
{
    char **buffers = calloc(count, sizeof(*buffers));
    int i;

    for (i = 0; (buffers != NULL) && (i < count); ++i) {
        buffers[i] = aligned_alloc(4096, size);
        if (buffers[i] == NULL) {
            app_fatal("messages: no memory");
        }
        memset(buffers[i], i, size);
    }
    return buffers;
}

/* Both ranks do as many rounds, and are through with them at the same time.
 * @return how long they took, s */
static double run_rounds(messages_t *m, uint64_t rounds)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    for (begin = app_time(); rounds > 0; --rounds) {
        pattern->round(m);
        ++m->count;
    }
    return app_time() - begin;
}

/* How many rounds take as long as asked for */
static uint64_t enough_rounds(messages_t *m)
{
    uint64_t rounds = m->buffers;
    double s        = 0;

    while ((s < m->ms * 0.5e-3) && (rounds < 1u << 30)) {
        s = run_rounds(m, rounds);
        MPI_Bcast(&s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        rounds *= 2;
    }
    return rounds;
}

static void measure(messages_t *m, size_t size)
{
    uint64_t rounds;
    double s;
    int i;

    m->size     = size;
    m->sent     = allocate(m->buffers, size);
    m->received = allocate(m->buffers, size);
    rounds      = enough_rounds(m);
    s           = run_rounds(m, rounds);
    if (m->rank == 0) {
        printf("%zu %.4f\n", size, s * 1e6 / rounds / pattern->messages);
        fflush(stdout);
    }

    for (i = 0; i < m->buffers; ++i) {
        free(m->sent[i]);
        free(m->received[i]);
    }
    free(m->sent);
    free(m->received);
}

int main(int argc, char **argv)
{
    messages_t m = {.buffers = 4, .ms = 200};
    size_t only  = 0;
    const app_option_t options[] = {
        {"pattern", .function = choose_pattern},
        {"size", .size = &only},
        {"buffers", .count = &m.buffers},
        {"ms", .count = &m.ms},
        {NULL}
    };
    size_t size;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
    app_parse(argc, argv, "messages", options, usage);
    if ((ranks != 2) || (m.buffers == 0) || (only > INT32_MAX)) {
        app_fatal("messages: needs 2 ranks, a buffer, and at most %d bytes",
                  INT32_MAX);
    }

    if (only > 0) {
        measure(&m, only);
    } else {
        for (size = 16384; size <= (4u << 20); size *= 4) {
            measure(&m, size);
        }
    }

    MPI_Finalize();
    return 0;
}
