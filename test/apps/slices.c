/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Slices of arrays: one array of which many parts that touch each other are
 * sent, as programs do that pipeline a large message, exchange the faces of a
 * block, or pass on panels of a matrix.
 */

#include "kernel.h"
#include "apps.h"
#include "options.h"

#include <stdlib.h>

/* malloc() puts its own size before a large array, so that slices begin and end
 * within pages */
#define ARRAY_OFFSET 16


typedef struct {
    int         slices;    /* of an array */
    size_t      bytes;     /* of a slice */
    char        *sent;     /* arrays */
    char        *received;
    MPI_Request *requests; /* two of each slice */
} slices_t;

typedef struct {
    const char *name;
    int        slices; /* unless asked for */
    void       (*iterate)(kernel_t *k, slices_t *s);
} kind_t;


static char *slice(const slices_t *s, char *array, int index)
{
    return array + (index * s->bytes);
}

/* The rank so many ranks after this one, around the ring */
static int neighbour(const kernel_t *k, int distance)
{
    return (k->rank + distance + k->ranks) % k->ranks;
}

/* What a segment has in this iteration, whoever sends it */
static uint64_t segment_key(const kernel_t *k, int index)
{
    return app_mix(((uint64_t)k->iter << 32) + index);
}

static void segment_check(kernel_t *k, const slices_t *s, int index)
{
    size_t first = 0;
    size_t errors;

    errors = app_pattern_check(slice(s, s->received, index), s->bytes,
                               segment_key(k, index), 0, &first);
    if (errors > 0) {
        kernel_error(k, "%zu wrong bytes in segment %d, first at %zu", errors,
                     index, first);
    }
}

/* Rank 0 has an array for all. Each rank passes a segment on to the next one as
 * soon as it has it. */
static void segments_iterate(kernel_t *k, slices_t *s)
{
    char *array = (k->rank == 0) ? s->sent : s->received;
    int is_last = (k->rank + 1 == k->ranks);
    int i;

    for (i = 0; i < s->slices; ++i) {
        if (k->rank == 0) {
            app_pattern_fill(slice(s, array, i), s->bytes, segment_key(k, i),
                             0);
        } else {
            MPI_Irecv(slice(s, array, i), s->bytes, MPI_BYTE, k->rank - 1, i,
                      MPI_COMM_WORLD, &s->requests[i]);
        }
    }

    for (i = 0; i < s->slices; ++i) {
        if (k->rank > 0) {
            MPI_Wait(&s->requests[i], MPI_STATUS_IGNORE);
        }
        if (!is_last) {
            MPI_Isend(slice(s, array, i), s->bytes, MPI_BYTE, k->rank + 1, i,
                      MPI_COMM_WORLD, &s->requests[s->slices + i]);
        }
    }

    if (!is_last) {
        MPI_Waitall(s->slices, &s->requests[s->slices], MPI_STATUSES_IGNORE);
    }
    for (i = 0; (k->rank > 0) && (i < s->slices); ++i) {
        segment_check(k, s, i);
    }
    kernel_compute(k, k->compute_ms);
}

/* Exchange faces that are packed into one array, one behind the other: half of
 * them with the rank before, the others with the next one */
static void faces_iterate(kernel_t *k, slices_t *s)
{
    int i, to, from;

    for (i = 0; i < s->slices; ++i) {
        from = neighbour(k, (i % 2) ? 1 : -1);
        MPI_Irecv(slice(s, s->received, i), s->bytes, MPI_BYTE, from, i,
                  MPI_COMM_WORLD, &s->requests[i]);
    }

    for (i = 0; i < s->slices; ++i) {
        to = neighbour(k, (i % 2) ? -1 : 1);
        kernel_fill(k, slice(s, s->sent, i), s->bytes, i, to);
        MPI_Isend(slice(s, s->sent, i), s->bytes, MPI_BYTE, to, i,
                  MPI_COMM_WORLD, &s->requests[s->slices + i]);
    }

    MPI_Waitall(2 * s->slices, s->requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < s->slices; ++i) {
        from = neighbour(k, (i % 2) ? 1 : -1);
        kernel_check(k, slice(s, s->received, i), s->bytes, i, from);
    }
    kernel_compute(k, k->compute_ms);
}

/* Multiply a matrix, panel by panel: each one is sent around, and computed with
 * before the next one follows */
static void panels_iterate(kernel_t *k, slices_t *s)
{
    int i;

    for (i = 0; i < s->slices; ++i) {
        kernel_fill(k, slice(s, s->sent, i), s->bytes, i, neighbour(k, 1));
        MPI_Sendrecv(slice(s, s->sent, i), s->bytes, MPI_BYTE, neighbour(k, 1),
                     i, slice(s, s->received, i), s->bytes, MPI_BYTE,
                     neighbour(k, -1), i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        kernel_check(k, slice(s, s->received, i), s->bytes, i,
                     neighbour(k, -1));
        kernel_compute(k, (double)k->compute_ms / s->slices);
    }
}

/* Of a part of so many bytes, how many go in this iteration: half to all */
static int part_bytes(const kernel_t *k, const slices_t *s, int from, int to)
{
    uint64_t random = app_mix(((uint64_t)k->iter << 32) +
                              ((uint64_t)from * k->ranks) + to);
    size_t half     = s->bytes / 2;

    return s->bytes - (random % half);
}

/* Everyone has a part for everyone, one behind the other, and how large these
 * are changes each time */
static void parts_iterate(kernel_t *k, slices_t *s)
{
    int counts[2][k->ranks], starts[2][k->ranks];
    int sent = 0, received = 0;
    int p;

    for (p = 0; p < k->ranks; ++p) {
        counts[0][p] = part_bytes(k, s, k->rank, p);
        counts[1][p] = part_bytes(k, s, p, k->rank);
        starts[0][p] = sent;
        starts[1][p] = received;
        sent        += counts[0][p];
        received    += counts[1][p];
        kernel_fill(k, s->sent + starts[0][p], counts[0][p], 0, p);
    }

    MPI_Alltoallv(s->sent, counts[0], starts[0], MPI_BYTE, s->received,
                  counts[1], starts[1], MPI_BYTE, MPI_COMM_WORLD);
    for (p = 0; p < k->ranks; ++p) {
        kernel_check(k, s->received + starts[1][p], counts[1][p], 0, p);
    }
    kernel_compute(k, k->compute_ms);
}

static const kind_t kinds[] = {
    {"segments", 64, segments_iterate},
    {"faces", 6, faces_iterate},
    {"panels", 16, panels_iterate},
    {"parts", 0, parts_iterate}
};

static const kind_t *kind = &kinds[0];

/* How many slices were asked for; 0: as many as the kind says */
static int asked_slices;

static void set_kind(const char *value)
{
    size_t length = strcspn(value, ":");
    unsigned i;

    for (i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i) {
        if ((strlen(kinds[i].name) == length) &&
            (strncmp(value, kinds[i].name, length) == 0)) {
            kind = &kinds[i];
            if (value[length] == ':') {
                asked_slices = app_number("kind", &value[length + 1]);
            }
            return;
        }
    }

    app_fatal("slices: --kind is %s: accepted are segments, faces, panels and "
              "parts", value);
}

static void slices_init(const kernel_t *k, slices_t *s)
{
    s->slices = (kind->iterate == parts_iterate) ? k->ranks :
                (asked_slices > 0)               ? asked_slices :
                                                   kind->slices;
    s->bytes  = k->size / s->slices / sizeof(double) * sizeof(double);
    if (s->bytes < 2 * sizeof(double)) {
        kernel_fatal(k, "--size is %zu: it is too small for %d slices", k->size,
                     s->slices);
    }

    s->sent     = kernel_alloc(k, k->size + ARRAY_OFFSET) + ARRAY_OFFSET;
    s->received = kernel_alloc(k, k->size + ARRAY_OFFSET) + ARRAY_OFFSET;
    s->requests = calloc(2 * s->slices, sizeof(*s->requests));
    if (s->requests == NULL) {
        kernel_fatal(k, "out of memory");
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "slices",
        .what        = "Slices of an array that touch each other; 2 ranks or "
                       "more.",
        .size_help   = "of the array that a rank sends, and of the one that it "
                       "receives",
        .size        = 8 * 1024 * 1024,
        .iters       = 40,
        .compute_ms  = 20,
        .option      = "kind",
        .option_help = "  --kind KIND[:N]  N slices in an iteration:\n"
                       "                   segments: a pipelined broadcast (64)\n"
                       "                   faces: to both neighbours, at once (6)\n"
                       "                   panels: with computation after each "
                       "(16)\n"
                       "                   parts: all-to-all of parts whose sizes\n"
                       "                   change, one for each rank",
        .set_option  = set_kind
    };
    slices_t s;

    kernel_begin(&k, argc, argv);
    slices_init(&k, &s);
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        kind->iterate(&k, &s);
    }

    free(s.requests);
    return kernel_end(&k);
}
