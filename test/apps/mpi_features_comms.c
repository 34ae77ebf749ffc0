/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Communicators that come and go, between groups and to processes that are
 * started later, and memory that the ranks of a node share.
 */

#include "mpi_features.h"

#define FEATURES_NUM_SPAWNED 2


/* Communicators are freed, one of them while a receive on it is under way */
void features_comms(features_t *f)
{
    int next     = (f->rank + 1) % f->size;
    int previous = (f->rank + f->size - 1) % f->size;
    MPI_Comm duplicate, half;
    MPI_Request request;
    void *out, *in;
    int round;

    for (round = 0; round < f->rounds; ++round) {
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
        MPI_Comm_split(duplicate, f->rank % 2, -f->rank, &half);
        features_ring(f, half, round);
        MPI_Comm_free(&half);

        out = features_alloc(f->bytes);
        in  = features_alloc(f->bytes);
        app_pattern_fill(out, f->bytes, features_key(round, f->rank, next), 0);
        MPI_Irecv(in, f->bytes, MPI_BYTE, previous, 0, duplicate, &request);
        MPI_Send(out, f->bytes, MPI_BYTE, next, 0, duplicate);
        MPI_Comm_free(&duplicate);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        features_check(f, in, f->bytes, features_key(round, previous, f->rank),
                       0);
        features_free(in, f->bytes);
        features_free(out, f->bytes);
    }
}

/* Each rank of either side sends to and receives from each of the other, and root
 * 0 of one side to all of the other. Ids are unique over both sides. */
static void features_across(features_t *f, MPI_Comm inter, int is_first,
                            int id, int base, int round)
{
    void *out = features_alloc(f->bytes);
    void *in;
    MPI_Request *requests;
    int size, i;

    MPI_Comm_remote_size(inter, &size);
    in       = features_alloc(size * f->bytes);
    requests = malloc(2 * size * sizeof(*requests));
    if (requests == NULL) {
        app_fatal("mpi_features: out of memory");
    }

    app_pattern_fill(out, f->bytes, features_key(round, id, 0), 0);
    for (i = 0; i < size; ++i) {
        MPI_Irecv((char*)in + (i * f->bytes), f->bytes, MPI_BYTE, i, round,
                  inter, &requests[i]);
        MPI_Isend(out, f->bytes, MPI_BYTE, i, round, inter,
                  &requests[size + i]);
    }
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < size; ++i) {
        features_check(f, (char*)in + (i * f->bytes), f->bytes,
                       features_key(round, base + i, 0), 0);
    }

    MPI_Allgather(out, f->bytes, MPI_BYTE, in, f->bytes, MPI_BYTE, inter);
    for (i = 0; i < size; ++i) {
        features_check(f, (char*)in + (i * f->bytes), f->bytes,
                       features_key(round, base + i, 0), 0);
    }

    if (is_first) {
        MPI_Comm_rank(inter, &i);
        MPI_Bcast(out, f->bytes, MPI_BYTE, (i == 0) ? MPI_ROOT : MPI_PROC_NULL,
                  inter);
    } else {
        MPI_Bcast(in, f->bytes, MPI_BYTE, 0, inter);
        features_check(f, in, f->bytes, features_key(round, base, 0), 0);
    }

    free(requests);
    features_free(in, size * f->bytes);
    features_free(out, f->bytes);
}

void features_intercomm(features_t *f)
{
    int is_first = f->rank < (f->size / 2);
    MPI_Comm local, inter, merged;
    int round, rank;

    for (round = 0; round < f->rounds; ++round) {
        MPI_Comm_split(MPI_COMM_WORLD, is_first, f->rank, &local);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD,
                             is_first ? (f->size / 2) : 0, 7, &inter);
        features_across(f, inter, is_first, f->rank,
                        is_first ? (f->size / 2) : 0, round);
        MPI_Intercomm_merge(inter, !is_first, &merged);
        MPI_Comm_rank(merged, &rank);
        if (rank != f->rank) {
            features_wrong(f, "merged rank", rank, f->rank);
        }

        features_ring(f, merged, round);
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
}

/* What both sides of a spawn do. The rounds and the size are told first. */
static void features_with_spawned(features_t *f, MPI_Comm inter, int is_parent,
                                  int parents)
{
    int root       = is_parent ?
                     ((f->rank == 0) ? MPI_ROOT : MPI_PROC_NULL) : 0;
    uint64_t plan[3] = {f->bytes, f->rounds, parents};
    MPI_Comm merged;
    int round;

    MPI_Bcast(plan, 3, MPI_UINT64_T, root, inter);
    f->bytes  = plan[0];
    f->rounds = plan[1];
    parents   = plan[2];
    MPI_Intercomm_merge(inter, !is_parent, &merged);
    for (round = 0; round < f->rounds; ++round) {
        features_across(f, inter, is_parent,
                        is_parent ? f->rank : (parents + f->rank),
                        is_parent ? parents : 0, round);
        features_ring(f, merged, round);
    }

    MPI_Allreduce(MPI_IN_PLACE, &f->errors, 1, MPI_UINT64_T, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
}

void features_spawned(features_t *f, MPI_Comm parent)
{
    f->name = "spawned";
    features_with_spawned(f, parent, 0, 0);
}

/* The spawned processes run this program, see features_spawned() */
void features_spawn(features_t *f)
{
    MPI_Comm inter;

    MPI_Comm_spawn((char*)f->program, MPI_ARGV_NULL, FEATURES_NUM_SPAWNED,
                   MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    features_with_spawned(f, inter, 1, f->size);
}

/* Memory shared with the other ranks: each fills the next one's, sends from it
 * and receives into it */
void features_shared(features_t *f)
{
    MPI_Comm node;
    MPI_Win window;
    MPI_Aint length;
    int rank, size, next, previous, round, unit;
    char *mine, *others;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    next     = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    for (round = 0; round < f->rounds; ++round) {
        MPI_Win_allocate_shared(3 * f->bytes, 1, MPI_INFO_NULL, node, &mine,
                                &window);
        MPI_Win_shared_query(window, next, &length, &unit, &others);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
        app_pattern_fill(others, f->bytes, features_key(round, rank, next), 0);
        MPI_Win_sync(window);
        MPI_Barrier(node);
        MPI_Win_sync(window);
        features_check(f, mine, f->bytes, features_key(round, previous, rank),
                       0);

        app_pattern_fill(mine + f->bytes, f->bytes,
                         features_key(round, next, rank), 0);
        MPI_Sendrecv(mine + f->bytes, f->bytes, MPI_BYTE, next, round,
                     mine + (2 * f->bytes), f->bytes, MPI_BYTE, previous, round,
                     node, MPI_STATUS_IGNORE);
        MPI_Barrier(node);
        features_check(f, others + (2 * f->bytes), f->bytes,
                       features_key(round, next, rank), 0);
        MPI_Barrier(node);
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }

    MPI_Comm_free(&node);
}
