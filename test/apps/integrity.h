/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#ifndef TEST_APPS_INTEGRITY_H_
#define TEST_APPS_INTEGRITY_H_

#include "apps.h"
#include "churn.h"

#include <mpi.h>

/* Operations outstanding at once, over all ranks. */
#define INTEGRITY_MAX_BATCH 8
#define INTEGRITY_NUM_SLOTS 16


typedef struct {
    uint64_t seed;
    uint64_t ops;
    uint64_t max; /* bytes of a message */
    int      threads;
    int      flush_each; /* target, as UCX's flush of a worker may end too early */
    int      json;
} integrity_opts_t;

typedef struct {
    uint64_t messages; /* of these three each rank counts those it sent */
    uint64_t puts;
    uint64_t gets;
    uint64_t bytes; /* received and checked */
    uint64_t errors;
    uint64_t churn[CHURN_LAST];
} integrity_stats_t;

typedef struct {
    MPI_Win      win;
    churn_slot_t slot;
    char         *base;
    size_t       size;
    int          exists;
} integrity_win_t;

/* One sequence of operations, run by one thread of each rank. */
typedef struct {
    const integrity_opts_t *opts;
    MPI_Comm               comm;
    int                    rank;
    int                    size;
    int                    thread;
    uint64_t               op;         /* the current operation */
    uint64_t               shared_rng; /* in the same state on all ranks */
    uint64_t               local_rng;
    churn_slot_t           slots[INTEGRITY_NUM_SLOTS];
    integrity_win_t        win;
    integrity_stats_t      stats;
} integrity_ctx_t;

/* A size of a message, as a function of the shared sequence. */
size_t integrity_random_size(integrity_ctx_t *ctx);

/* The contents of item "index" of the current operation. */
uint64_t integrity_key(const integrity_ctx_t *ctx, int index);

/* Choose a slot that nobody uses, and allocate memory in it. It is marked as
 * used. */
churn_slot_t *integrity_take_slot(integrity_ctx_t *ctx, size_t size,
                                  void **ptr_p);

/* Check what was received, and report and count wrong bytes. */
void integrity_check(integrity_ctx_t *ctx, const char *what, int index,
                     const void *ptr, size_t size, uint64_t key,
                     uint64_t offset);
void integrity_check_guard(integrity_ctx_t *ctx, const char *what, int index,
                           const void *ptr, size_t size);

/* One message. Collective. */
void integrity_blocking(integrity_ctx_t *ctx);

/* Several messages at a time, in an order that differs from rank to rank.
 * Collective. */
void integrity_batch(integrity_ctx_t *ctx);

/* One epoch of puts and gets. Collective. */
void integrity_rma(integrity_ctx_t *ctx);
void integrity_rma_cleanup(integrity_ctx_t *ctx);

#endif
