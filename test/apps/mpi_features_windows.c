/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * One-sided communication: windows whose memory MPI or the program has allocated,
 * or attached later.
 */

#include "mpi_features.h"


/* Put into the next rank's window and get from the previous one's, with the two
 * ways to wait that need no lock */
static void features_put_get(features_t *f, MPI_Win window, MPI_Comm comm,
                             char *base, int round)
{
    int next     = (f->rank + 1) % f->size;
    int previous = (f->rank + f->size - 1) % f->size;
    char *out    = features_alloc(f->bytes);
    char *in     = features_alloc(f->bytes);
    MPI_Group all, access, exposure;

    app_pattern_fill(out, f->bytes, features_key(round, f->rank, next), 0);
    app_pattern_fill(base + f->bytes, f->bytes, features_key(round, f->rank, 99),
                     0);
    MPI_Win_fence(0, window);
    MPI_Put(out, f->bytes, MPI_BYTE, next, 0, f->bytes, MPI_BYTE, window);
    MPI_Get(in, f->bytes, MPI_BYTE, previous, f->bytes, f->bytes, MPI_BYTE,
            window);
    MPI_Win_fence(0, window);
    features_check(f, base, f->bytes, features_key(round, previous, f->rank),
                   0);
    features_check(f, in, f->bytes, features_key(round, previous, 99), 0);

    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &next, &access);
    MPI_Group_incl(all, 1, &previous, &exposure);
    app_pattern_fill(out, f->bytes, features_key(round, f->rank, 98), 0);
    MPI_Barrier(comm);
    MPI_Win_post(exposure, 0, window);
    MPI_Win_start(access, 0, window);
    MPI_Put(out, f->bytes, MPI_BYTE, next, 0, f->bytes, MPI_BYTE, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    features_check(f, base, f->bytes, features_key(round, previous, 98), 0);
    MPI_Group_free(&exposure);
    MPI_Group_free(&access);
    MPI_Group_free(&all);
    features_free(in, f->bytes);
    features_free(out, f->bytes);
}

void features_windows(features_t *f)
{
    size_t size = 2 * f->bytes;
    MPI_Win window;
    char *base;
    int round;

    for (round = 0; round < f->rounds; ++round) {
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                         &window);
        features_put_get(f, window, MPI_COMM_WORLD, base, round);
        MPI_Win_free(&window);

        base = features_alloc(size);
        MPI_Win_create(base, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        features_put_get(f, window, MPI_COMM_WORLD, base, round);
        MPI_Win_free(&window);
        features_free(base, size);
    }
}

/* Memory is attached to a window, used, detached and unmapped */
void features_dynamic(features_t *f)
{
    int next     = (f->rank + 1) % f->size;
    int previous = (f->rank + f->size - 1) % f->size;
    MPI_Aint mine, theirs;
    MPI_Request request;
    MPI_Win window;
    char *out, *base;
    int round;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (round = 0; round < f->rounds; ++round) {
        out  = features_alloc(f->bytes);
        base = features_alloc(f->bytes);
        MPI_Win_attach(window, base, f->bytes);
        MPI_Get_address(base, &mine);
        MPI_Sendrecv(&mine, 1, MPI_AINT, previous, 0, &theirs, 1, MPI_AINT,
                     next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        app_pattern_fill(out, f->bytes, features_key(round, f->rank, next), 0);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
        MPI_Put(out, f->bytes, MPI_BYTE, next, theirs, f->bytes, MPI_BYTE,
                window);
        /* Open MPI 4 looks for more than the memory here */
        MPI_Rput(out, 1, MPI_BYTE, next, theirs, 1, MPI_BYTE, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_unlock(next, window);
        MPI_Barrier(MPI_COMM_WORLD);
        features_check(f, base, f->bytes,
                       features_key(round, previous, f->rank), 0);
        MPI_Win_detach(window, base);
        features_free(base, f->bytes);
        features_free(out, f->bytes);
    }
    MPI_Win_free(&window);
}

/* Numbers of rank 0 that all add to at a time, and tickets that nobody gets
 * twice */
void features_atomics(features_t *f)
{
    int count       = f->bytes / sizeof(uint64_t);
    uint64_t *ones  = features_alloc(f->bytes);
    uint64_t one    = 1;
    uint64_t total  = (uint64_t)f->rounds * f->size;
    uint64_t ticket, last, highest;
    MPI_Win window;
    uint64_t *base;
    int round, i;

    for (i = 0; i < count; ++i) {
        ones[i] = i;
    }
    MPI_Win_allocate(f->bytes, sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &window);
    memset(base, 0, f->bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    last = 0;
    MPI_Win_lock_all(0, window);
    for (round = 0; round < f->rounds; ++round) {
        MPI_Accumulate(&ones[1], count - 1, MPI_UINT64_T, 0, 1, count - 1,
                       MPI_UINT64_T, MPI_SUM, window);
        MPI_Fetch_and_op(&one, &ticket, MPI_UINT64_T, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        if ((ticket >= total) || ((round > 0) && (ticket <= last))) {
            features_wrong(f, "ticket", ticket, last + 1);
        }
        last = ticket;
    }
    MPI_Win_unlock_all(window);
    MPI_Allreduce(&last, &highest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (highest != (total - 1)) {
        features_wrong(f, "last ticket", highest, total - 1);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 1; (f->rank == 0) && (i < count); ++i) {
        if (base[i] != (i * total)) {
            features_wrong(f, "sum", base[i], i * total);
            break;
        }
    }
    MPI_Win_free(&window);
    features_free(ones, f->bytes);
}
