/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Puts and gets of the integrity test.
 */

#include "integrity.h"

/* The MPI window is made anew, in other memory, about once in so many
 * epochs. */
#define INTEGRITY_WIN_LIFE 6

/* Bytes between regions of an MPI window, so few that regions meet within pages
 * and words. */
#define INTEGRITY_WIN_GAP  40


typedef enum {
    INTEGRITY_EPOCH_FENCE,
    INTEGRITY_EPOCH_LOCK,
    INTEGRITY_EPOCH_LOCK_ALL,
    INTEGRITY_EPOCH_LAST
} integrity_epoch_t;

typedef struct {
    int          is_put;
    int          origin;
    int          target;
    size_t       disp; /* Offset in the MPI window of the target */
    size_t       size;
    uint64_t     key;
    churn_slot_t *slot; /* at the origin */
    void         *ptr;
} integrity_rma_op_t;


void integrity_rma_cleanup(integrity_ctx_t *ctx)
{
    if (ctx->win.exists) {
        MPI_Win_free(&ctx->win.win);
        ctx->win.exists = 0;
    }
}

static void integrity_win_renew(integrity_ctx_t *ctx)
{
    integrity_win_t *win = &ctx->win;
    void *ptr;

    if ((app_random_below(&ctx->shared_rng, INTEGRITY_WIN_LIFE) != 0) &&
        win->exists) {
        return;
    }

    integrity_rma_cleanup(ctx);
    win->size = 2 * ctx->opts->max;
    ptr       = churn_get(&win->slot, win->size, &ctx->local_rng,
                          ctx->stats.churn);
    win->base = ptr;
    MPI_Win_create(win->base, win->size, 1, MPI_INFO_NULL, ctx->comm,
                   &win->win);
    win->exists = 1;
}

/* Choose what every rank is about to do. No two regions of an MPI window
 * overlap. */
static int integrity_rma_plan(integrity_ctx_t *ctx, integrity_rma_op_t *ops)
{
    int wanted = 1 + app_random_below(&ctx->shared_rng, INTEGRITY_MAX_BATCH);
    size_t *used;
    int i, count;

    used = calloc(ctx->size, sizeof(*used));
    if (used == NULL) {
        app_fatal("integrity: out of memory");
    }

    for (i = 0, count = 0; i < wanted; ++i) {
        ops[count].is_put = app_random_below(&ctx->shared_rng, 2);
        ops[count].origin = app_random_below(&ctx->shared_rng, ctx->size);
        ops[count].target = app_random_below(&ctx->shared_rng, ctx->size);
        ops[count].size   = integrity_random_size(ctx);
        ops[count].key    = integrity_key(ctx, i);
        ops[count].disp   = used[ops[count].target] +
                            app_random_below(&ctx->shared_rng,
                                             INTEGRITY_WIN_GAP);
        ops[count].slot   = NULL;
        if ((ops[count].disp + ops[count].size) <= ctx->win.size) {
            used[ops[count].target] = ops[count].disp + ops[count].size;
            ++count;
        }
    }

    free(used);
    return count;
}

/* Write what peers will get from this rank, and what it will put. */
static void integrity_rma_prepare(integrity_ctx_t *ctx, integrity_rma_op_t *ops,
                                  int count)
{
    int i;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ctx->rank, 0, ctx->win.win);
    for (i = 0; i < count; ++i) {
        if (!ops[i].is_put && (ops[i].target == ctx->rank)) {
            app_pattern_fill(ctx->win.base + ops[i].disp, ops[i].size,
                             ops[i].key, 0);
        }
    }
    MPI_Win_unlock(ctx->rank, ctx->win.win);

    for (i = 0; i < count; ++i) {
        if (ops[i].origin != ctx->rank) {
            continue;
        }

        ops[i].slot = integrity_take_slot(ctx, ops[i].size, &ops[i].ptr);
        if (ops[i].is_put) {
            app_pattern_fill(ops[i].ptr, ops[i].size, ops[i].key, 0);
        } else {
            churn_guard(ops[i].ptr, ops[i].size);
        }
    }
}

static void integrity_rma_issue(integrity_ctx_t *ctx, integrity_rma_op_t *op)
{
    if (op->is_put) {
        MPI_Put(op->ptr, op->size, MPI_BYTE, op->target, op->disp, op->size,
                MPI_BYTE, ctx->win.win);
        ++ctx->stats.puts;
    } else {
        MPI_Get(op->ptr, op->size, MPI_BYTE, op->target, op->disp, op->size,
                MPI_BYTE, ctx->win.win);
        ++ctx->stats.gets;
    }
}

/* Open MPI flushes the endpoint of a target here, but the worker in a fence and where it
 * unlocks all targets */
static void integrity_flush_each(integrity_ctx_t *ctx)
{
    int i;

    for (i = 0; ctx->opts->flush_each && (i < ctx->size); ++i) {
        MPI_Win_flush(i, ctx->win.win);
    }
}

static void integrity_rma_epoch(integrity_ctx_t *ctx, integrity_rma_op_t *ops,
                                int count)
{
    integrity_epoch_t epoch = app_random_below(&ctx->shared_rng,
                                               INTEGRITY_EPOCH_LAST);
    int i;

    if (ctx->opts->flush_each && (epoch == INTEGRITY_EPOCH_FENCE)) {
        epoch = INTEGRITY_EPOCH_LOCK_ALL;
    }

    if (epoch == INTEGRITY_EPOCH_FENCE) {
        MPI_Win_fence(0, ctx->win.win);
    } else {
        MPI_Barrier(ctx->comm);
    }

    if (epoch == INTEGRITY_EPOCH_LOCK_ALL) {
        MPI_Win_lock_all(0, ctx->win.win);
    }

    for (i = 0; i < count; ++i) {
        if (ops[i].origin != ctx->rank) {
            continue;
        }

        if (epoch == INTEGRITY_EPOCH_LOCK) {
            MPI_Win_lock((i % 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE,
                         ops[i].target, 0, ctx->win.win);
        }

        integrity_rma_issue(ctx, &ops[i]);

        if (epoch == INTEGRITY_EPOCH_LOCK) {
            MPI_Win_unlock(ops[i].target, ctx->win.win);
        } else if ((epoch == INTEGRITY_EPOCH_LOCK_ALL) && ((i % 3) == 0)) {
            MPI_Win_flush(ops[i].target, ctx->win.win);
        }
    }

    if (epoch == INTEGRITY_EPOCH_LOCK_ALL) {
        integrity_flush_each(ctx);
        MPI_Win_unlock_all(ctx->win.win);
    }

    if (epoch == INTEGRITY_EPOCH_FENCE) {
        MPI_Win_fence(0, ctx->win.win);
    } else {
        MPI_Barrier(ctx->comm);
    }
}

static void integrity_rma_verify(integrity_ctx_t *ctx, integrity_rma_op_t *ops,
                                 int count)
{
    int i;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ctx->rank, 0, ctx->win.win);
    for (i = 0; i < count; ++i) {
        if (ops[i].is_put && (ops[i].target == ctx->rank)) {
            integrity_check(ctx, "put", i, ctx->win.base + ops[i].disp,
                            ops[i].size, ops[i].key, 0);
        }
    }
    MPI_Win_unlock(ctx->rank, ctx->win.win);

    for (i = 0; i < count; ++i) {
        if (ops[i].slot == NULL) {
            continue;
        }

        if (!ops[i].is_put) {
            integrity_check(ctx, "get", i, ops[i].ptr, ops[i].size, ops[i].key,
                            0);
            integrity_check_guard(ctx, "get", i, ops[i].ptr, ops[i].size);
        }
        ops[i].slot->in_use = 0;
    }
}

void integrity_rma(integrity_ctx_t *ctx)
{
    integrity_rma_op_t ops[INTEGRITY_MAX_BATCH];
    int count;

    integrity_win_renew(ctx);
    count = integrity_rma_plan(ctx, ops);
    integrity_rma_prepare(ctx, ops, count);
    integrity_rma_epoch(ctx, ops, count);
    integrity_rma_verify(ctx, ops, count);
}
