/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Collective operations. The buffers of most are new in each round, and of some
 * they stay.
 */

#include "mpi_features.h"

/* Each rank's message has its own length in the operations with a "v" */
typedef struct {
    int    *counts;
    int    *offsets;
    size_t total;
} features_lengths_t;


/* The message of rank i is shorter by 100 * i bytes, and a gap follows it */
static void features_lengths_init(features_t *f, features_lengths_t *lengths)
{
    int i;

    lengths->counts  = calloc(f->size, sizeof(int));
    lengths->offsets = calloc(f->size, sizeof(int));
    if ((lengths->counts == NULL) || (lengths->offsets == NULL)) {
        app_fatal("mpi_features: out of memory");
    }

    for (i = 0; i < f->size; ++i) {
        lengths->counts[i]  = f->bytes - ((100 * i) % f->bytes);
        lengths->offsets[i] = i * (f->bytes + 64);
    }
    lengths->total = f->size * (f->bytes + 64);
}

static void features_lengths_free(features_lengths_t *lengths)
{
    free(lengths->counts);
    free(lengths->offsets);
}

/* A root that goes round: broadcast, gather, scatter */
void features_rooted(features_t *f)
{
    features_lengths_t v;
    int round, root, i;
    char *one, *many;

    features_lengths_init(f, &v);
    one = features_alloc(f->bytes);
    for (round = 0; round < (2 * f->rounds); ++round) {
        root = round % f->size;
        many = features_alloc(v.total);
        if (f->rank == root) {
            app_pattern_fill(one, f->bytes, features_key(round, root, 0), 0);
        }
        MPI_Bcast(one, f->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        features_check(f, one, f->bytes, features_key(round, root, 0), 0);

        app_pattern_fill(one, f->bytes, features_key(round, f->rank, 1), 0);
        MPI_Gatherv(one, v.counts[f->rank], MPI_BYTE, many, v.counts, v.offsets,
                    MPI_BYTE, root, MPI_COMM_WORLD);
        for (i = 0; (f->rank == root) && (i < f->size); ++i) {
            features_check(f, many + v.offsets[i], v.counts[i],
                           features_key(round, i, 1), 0);
            app_pattern_fill(many + v.offsets[i], v.counts[i],
                             features_key(round, root, 2 + i), 0);
        }
        MPI_Scatterv(many, v.counts, v.offsets, MPI_BYTE, one,
                     v.counts[f->rank], MPI_BYTE, root, MPI_COMM_WORLD);
        features_check(f, one, v.counts[f->rank],
                       features_key(round, root, 2 + f->rank), 0);
        features_free(many, v.total);
    }

    features_free(one, f->bytes);
    features_lengths_free(&v);
}

/* From all to all; what is gathered is in place */
void features_all(features_t *f)
{
    size_t size = f->size * f->bytes;
    features_lengths_t v;
    int round, i;
    char *out, *in;

    features_lengths_init(f, &v);
    for (round = 0; round < f->rounds; ++round) {
        out = features_alloc(size);
        in  = features_alloc(v.total);
        app_pattern_fill(in + v.offsets[f->rank], v.counts[f->rank],
                         features_key(round, f->rank, 1), 0);
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, v.counts,
                       v.offsets, MPI_BYTE, MPI_COMM_WORLD);
        for (i = 0; i < f->size; ++i) {
            features_check(f, in + v.offsets[i], v.counts[i],
                           features_key(round, i, 1), 0);
            features_check_untouched(f, in + v.offsets[i] + f->bytes, 64);
        }

        for (i = 0; i < f->size; ++i) {
            app_pattern_fill(out + (i * f->bytes), f->bytes,
                             features_key(round, f->rank, i), 0);
        }
        MPI_Alltoall(out, f->bytes, MPI_BYTE, in, f->bytes, MPI_BYTE,
                     MPI_COMM_WORLD);
        for (i = 0; i < f->size; ++i) {
            features_check(f, in + (i * f->bytes), f->bytes,
                           features_key(round, i, f->rank), 0);
        }

        features_free(in, v.total);
        features_free(out, size);
    }

    features_lengths_free(&v);
}

/* The numbers that rank "rank" has in a round */
static void features_numbers(uint64_t *numbers, size_t count, int round,
                             int rank)
{
    app_pattern_fill(numbers, count * sizeof(*numbers),
                     features_key(round, rank, 3), 0);
}

/* Compare numbers, of which "first" is the index of the first, with the sums over
 * ranks 0 to last */
static void features_check_sums(features_t *f, const char *what,
                                const uint64_t *numbers, size_t first,
                                size_t count, int round, int last)
{
    uint64_t sum;
    size_t i;
    int rank;

    for (i = 0; i < count; ++i) {
        sum = 0;
        for (rank = 0; rank <= last; ++rank) {
            sum += app_pattern_word(features_key(round, rank, 3), first + i);
        }
        if (numbers[i] != sum) {
            features_wrong(f, what, numbers[i], sum);
            return;
        }
    }
}

/* Sums of all, at a root, of a part each, and up to a rank */
void features_reductions(features_t *f)
{
    int part       = f->bytes / sizeof(uint64_t);
    int count      = part * f->size;
    size_t size    = count * sizeof(uint64_t);
    uint64_t *mine = features_alloc(size);
    uint64_t *sums = features_alloc(size);
    int round;

    for (round = 0; round < f->rounds; ++round) {
        features_numbers(mine, count, round, f->rank);
        memcpy(sums, mine, size);
        MPI_Allreduce(MPI_IN_PLACE, sums, count, MPI_UINT64_T, MPI_SUM,
                      MPI_COMM_WORLD);
        features_check_sums(f, "allreduce", sums, 0, count, round,
                            f->size - 1);
        MPI_Reduce_scatter_block(mine, sums, part, MPI_UINT64_T, MPI_SUM,
                                 MPI_COMM_WORLD);
        features_check_sums(f, "reduce_scatter", sums,
                            (size_t)part * f->rank, part, round, f->size - 1);
        MPI_Scan(mine, sums, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        features_check_sums(f, "scan", sums, 0, count, round, f->rank);
        MPI_Reduce(mine, sums, count, MPI_UINT64_T, MPI_SUM, round % f->size,
                   MPI_COMM_WORLD);
        if (f->rank == (round % f->size)) {
            features_check_sums(f, "reduce", sums, 0, count, round,
                                f->size - 1);
        }
    }

    features_free(sums, size);
    features_free(mine, size);
}

/* Three collectives under way at a time, and a message */
void features_overlapped(features_t *f)
{
    int count       = f->bytes / sizeof(uint64_t);
    size_t size     = f->size * f->bytes;
    char *bcast     = features_alloc(f->bytes);
    uint64_t *sums  = features_alloc(f->bytes);
    uint64_t *mine  = features_alloc(f->bytes);
    MPI_Request requests[3];
    char *out, *in;
    int round, root, i;

    for (round = 0; round < f->rounds; ++round) {
        root = round % f->size;
        out  = features_alloc(size);
        in   = features_alloc(size);
        for (i = 0; i < f->size; ++i) {
            app_pattern_fill(out + (i * f->bytes), f->bytes,
                             features_key(round, f->rank, i), 0);
        }
        if (f->rank == root) {
            app_pattern_fill(bcast, f->bytes, features_key(round, root, 1), 0);
        }
        features_numbers(mine, count, round, f->rank);

        MPI_Ialltoall(out, f->bytes, MPI_BYTE, in, f->bytes, MPI_BYTE,
                      MPI_COMM_WORLD, &requests[0]);
        MPI_Iallreduce(mine, sums, count, MPI_UINT64_T, MPI_SUM,
                       MPI_COMM_WORLD, &requests[1]);
        MPI_Ibcast(bcast, f->bytes, MPI_BYTE, root, MPI_COMM_WORLD,
                   &requests[2]);
        features_ring(f, MPI_COMM_WORLD, round);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < f->size; ++i) {
            features_check(f, in + (i * f->bytes), f->bytes,
                           features_key(round, i, f->rank), 0);
        }
        features_check_sums(f, "iallreduce", sums, 0, count, round,
                            f->size - 1);
        features_check(f, bcast, f->bytes, features_key(round, root, 1), 0);
        features_free(in, size);
        features_free(out, size);
    }

    features_free(mine, f->bytes);
    features_free(sums, f->bytes);
    features_free(bcast, f->bytes);
}
