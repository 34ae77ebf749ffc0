/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The messages of integrity: contiguous or in blocks, some sent out of the
 * buffer of another, one by one or many at a time.
 */

#include "integrity.h"

/* Tags repeat after so many operations; ranks are never that far apart. */
#define INTEGRITY_TAG_OPS 2048

/* Blocks of a non-contiguous message: powers of 2 up to this. */
#define INTEGRITY_MAX_BLOCKS 64


typedef struct {
    int      src;
    int      dst;
    int      tag;
    size_t   size;
    uint64_t key;
    uint64_t offset;       /* in the contents named by the key */
    int      part_of;      /* sent out of the buffer of that message, or -1 */
    int      blocks[2];    /* 1 if contiguous, of the sender and receiver */
    int      gap[2];       /* between blocks */
    int      synchronous;
    int      any_source;
} integrity_msg_t;

/* One end of a message, at this rank. */
typedef struct {
    integrity_msg_t *msg;
    int             index;
    int             is_recv;
    churn_slot_t    *slot; /* NULL if the memory is that of another one */
    char            *ptr;
    int             guarded;
    MPI_Datatype    type;
} integrity_end_t;


/* Block "i" of the message as it lies in memory. */
static char *integrity_block(const integrity_end_t *end, int i, size_t *size_p)
{
    int side = end->is_recv;

    *size_p = end->msg->size / end->msg->blocks[side];
    return end->ptr + (i * (*size_p + end->msg->gap[side]));
}

static size_t integrity_extent(const integrity_msg_t *msg, int side)
{
    return msg->size + ((size_t)(msg->blocks[side] - 1) * msg->gap[side]);
}

static void integrity_fill(const integrity_end_t *end)
{
    size_t size;
    char *ptr;
    int i;

    for (i = 0; i < end->msg->blocks[end->is_recv]; ++i) {
        ptr = integrity_block(end, i, &size);
        app_pattern_fill(ptr, size, end->msg->key,
                         end->msg->offset + (i * size));
    }
}

static void integrity_verify(integrity_ctx_t *ctx, const integrity_end_t *end)
{
    size_t size;
    char *ptr;
    int i;

    for (i = 0; i < end->msg->blocks[end->is_recv]; ++i) {
        ptr = integrity_block(end, i, &size);
        integrity_check(ctx, "receive", end->index, ptr, size, end->msg->key,
                        end->msg->offset + (i * size));
    }

    if (end->guarded) {
        integrity_check_guard(ctx, "receive", end->index, end->ptr,
                              integrity_extent(end->msg, 1));
    }
}

static void integrity_plan_blocks(integrity_ctx_t *ctx, integrity_msg_t *msg)
{
    int side;

    msg->size = (msg->size + INTEGRITY_MAX_BLOCKS - 1) &
                ~(size_t)(INTEGRITY_MAX_BLOCKS - 1);
    for (side = 0; side < 2; ++side) {
        msg->blocks[side] = INTEGRITY_MAX_BLOCKS >>
                            app_random_below(&ctx->shared_rng, 7);
        msg->gap[side]    = 1 + app_random_below(&ctx->shared_rng, 100);
    }
}

static void integrity_plan_message(integrity_ctx_t *ctx, integrity_msg_t *msgs,
                                   int index)
{
    integrity_msg_t *msg = &msgs[index];
    integrity_msg_t *whole;

    msg->src         = app_random_below(&ctx->shared_rng, ctx->size);
    msg->dst         = (msg->src + 1 +
                        app_random_below(&ctx->shared_rng, ctx->size - 1)) %
                       ctx->size;
    msg->tag         = ((ctx->op % INTEGRITY_TAG_OPS) * INTEGRITY_MAX_BATCH) +
                       index;
    msg->size        = integrity_random_size(ctx);
    msg->key         = integrity_key(ctx, index);
    msg->offset      = 0;
    msg->part_of     = -1;
    msg->blocks[0]   = 1;
    msg->blocks[1]   = 1;
    msg->gap[0]      = 0;
    msg->gap[1]      = 0;
    msg->synchronous = app_random_below(&ctx->shared_rng, 4) == 0;
    msg->any_source  = app_random_below(&ctx->shared_rng, 4) == 0;

    if (app_random_below(&ctx->shared_rng, 6) == 0) {
        integrity_plan_blocks(ctx, msg);
        return;
    }

    /* Or send a part of what another message sends at the same time */
    if ((index > 0) && (app_random_below(&ctx->shared_rng, 3) == 0)) {
        whole = &msgs[app_random_below(&ctx->shared_rng, index)];
        if ((whole->src == msg->src) && (whole->part_of < 0) &&
            (whole->blocks[0] == 1)) {
            msg->part_of = whole - msgs;
            msg->key     = whole->key;
            msg->offset  = app_random_below(&ctx->shared_rng, whole->size);
            if (msg->size > (whole->size - msg->offset)) {
                msg->size = whole->size - msg->offset;
            }
        }
    }
}

static void integrity_make_type(integrity_end_t *end)
{
    int side    = end->is_recv;
    size_t size = end->msg->size / end->msg->blocks[side];

    MPI_Type_vector(end->msg->blocks[side], size, size + end->msg->gap[side],
                    MPI_BYTE, &end->type);
    MPI_Type_commit(&end->type);
}

/* Messages are received side by side in one buffer, or each in its own. */
static void integrity_place_recvs(integrity_ctx_t *ctx, integrity_end_t *ends,
                                  int count)
{
    int together = app_random_below(&ctx->local_rng, 3) == 0;
    size_t total = 0;
    integrity_end_t *first = NULL;
    void *ptr;
    int i;

    for (i = 0; i < count; ++i) {
        if (ends[i].is_recv) {
            total += integrity_extent(ends[i].msg, 1);
        }
    }

    for (i = 0; i < count; ++i) {
        if (!ends[i].is_recv) {
            continue;
        }

        if (!together) {
            ends[i].slot = integrity_take_slot(ctx,
                                               integrity_extent(ends[i].msg, 1),
                                               &ptr);
            ends[i].ptr  = ptr;
            churn_guard(ptr, integrity_extent(ends[i].msg, 1));
            ends[i].guarded = 1;
            continue;
        }

        if (first == NULL) {
            first       = &ends[i];
            first->slot = integrity_take_slot(ctx, total, &ptr);
        }
        ends[i].ptr = ptr;
        ptr         = (char *)ptr + integrity_extent(ends[i].msg, 1);
    }
}

static void integrity_place_sends(integrity_ctx_t *ctx, integrity_end_t *ends,
                                  int count)
{
    void *ptr;
    int i, j;

    for (i = 0; i < count; ++i) {
        if (ends[i].is_recv) {
            continue;
        }

        if (ends[i].msg->part_of < 0) {
            ends[i].slot = integrity_take_slot(ctx,
                                               integrity_extent(ends[i].msg, 0),
                                               &ptr);
            ends[i].ptr  = ptr;
            integrity_fill(&ends[i]);
            continue;
        }

        /* The whole buffer comes before its parts */
        for (j = 0; ends[j].is_recv || (ends[j].index != ends[i].msg->part_of);
             ++j) {
        }
        ends[i].ptr = ends[j].ptr + ends[i].msg->offset;
    }
}

static void integrity_post(integrity_ctx_t *ctx, integrity_end_t *end,
                           MPI_Request *request)
{
    integrity_msg_t *msg = end->msg;

    if (end->is_recv) {
        MPI_Irecv(end->ptr, 1, end->type,
                  msg->any_source ? MPI_ANY_SOURCE : msg->src, msg->tag,
                  ctx->comm, request);
    } else if (msg->synchronous) {
        MPI_Issend(end->ptr, 1, end->type, msg->dst, msg->tag, ctx->comm,
                   request);
    } else {
        MPI_Isend(end->ptr, 1, end->type, msg->dst, msg->tag, ctx->comm,
                  request);
    }
}

/* A buffer whose operation is complete belongs to the program again: change it
 * at once, while others of the batch are still under way. */
static void integrity_complete(integrity_ctx_t *ctx, integrity_end_t *end,
                               int shared)
{
    if (end->is_recv) {
        integrity_verify(ctx, end);
    }

    if ((end->slot == NULL) || shared) {
        return;
    }

    switch (app_random_below(&ctx->local_rng, 4)) {
    case 0:
        churn_release(end->slot);
        break;
    case 1:
        memset(end->ptr, 0x5c, integrity_extent(end->msg, end->is_recv));
        break;
    }
}

static void integrity_wait(integrity_ctx_t *ctx, integrity_end_t *ends,
                           MPI_Request *requests, int count)
{
    int one_by_one = app_random_below(&ctx->local_rng, 2);
    int shared[2 * INTEGRITY_MAX_BATCH] = {0};
    int i, j, done;

    for (i = 0; i < count; ++i) {
        for (j = 0; j < count; ++j) {
            if ((ends[i].slot != NULL) && (j != i) && (ends[j].slot == NULL) &&
                (ends[j].is_recv == ends[i].is_recv) &&
                (ends[j].is_recv || (ends[j].msg->part_of == ends[i].index))) {
                shared[i] = 1;
            }
        }
    }

    if (!one_by_one) {
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }

    for (i = 0; i < count; ++i) {
        done = i;
        if (one_by_one) {
            MPI_Waitany(count, requests, &done, MPI_STATUS_IGNORE);
        }
        integrity_complete(ctx, &ends[done], shared[done]);
    }
}

static int integrity_ends(integrity_ctx_t *ctx, integrity_msg_t *msgs,
                          int num_msgs, integrity_end_t *ends)
{
    int count = 0;
    int i, is_recv;

    for (i = 0; i < num_msgs; ++i) {
        for (is_recv = 0; is_recv < 2; ++is_recv) {
            if (ctx->rank != (is_recv ? msgs[i].dst : msgs[i].src)) {
                continue;
            }

            memset(&ends[count], 0, sizeof(ends[count]));
            ends[count].msg     = &msgs[i];
            ends[count].index   = i;
            ends[count].is_recv = is_recv;
            integrity_make_type(&ends[count]);
            ctx->stats.messages += !is_recv;
            ++count;
        }
    }

    integrity_place_recvs(ctx, ends, count);
    integrity_place_sends(ctx, ends, count);
    return count;
}

static void integrity_release_ends(integrity_end_t *ends, int count)
{
    int i;

    for (i = 0; i < count; ++i) {
        MPI_Type_free(&ends[i].type);
        if (ends[i].slot != NULL) {
            ends[i].slot->in_use = 0;
        }
    }
}

void integrity_batch(integrity_ctx_t *ctx)
{
    int num_msgs = 1 + app_random_below(&ctx->shared_rng, INTEGRITY_MAX_BATCH);
    integrity_msg_t msgs[INTEGRITY_MAX_BATCH];
    integrity_end_t ends[2 * INTEGRITY_MAX_BATCH];
    MPI_Request requests[2 * INTEGRITY_MAX_BATCH];
    int order[2 * INTEGRITY_MAX_BATCH];
    int i, j, count;

    for (i = 0; i < num_msgs; ++i) {
        integrity_plan_message(ctx, msgs, i);
    }

    count = integrity_ends(ctx, msgs, num_msgs, ends);

    /* Operations start in any order: some messages find their receive posted,
     * some do not */
    for (i = 0; i < count; ++i) {
        j        = app_random_below(&ctx->local_rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (i = 0; i < count; ++i) {
        integrity_post(ctx, &ends[order[i]], &requests[order[i]]);
    }

    integrity_wait(ctx, ends, requests, count);
    integrity_release_ends(ends, count);
}

void integrity_blocking(integrity_ctx_t *ctx)
{
    integrity_msg_t msg;
    integrity_end_t end;

    integrity_plan_message(ctx, &msg, 0);
    if (integrity_ends(ctx, &msg, 1, &end) == 0) {
        return;
    }

    if (end.is_recv) {
        MPI_Recv(end.ptr, 1, end.type,
                 msg.any_source ? MPI_ANY_SOURCE : msg.src, msg.tag, ctx->comm,
                 MPI_STATUS_IGNORE);
    } else if (msg.synchronous) {
        MPI_Ssend(end.ptr, 1, end.type, msg.dst, msg.tag, ctx->comm);
    } else {
        MPI_Send(end.ptr, 1, end.type, msg.dst, msg.tag, ctx->comm);
    }

    integrity_complete(ctx, &end, 0);
    integrity_release_ends(&end, 1);
}
