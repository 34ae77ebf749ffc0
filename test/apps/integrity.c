/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Random messages, puts and gets between buffers whose memory changes all the
 * time; every byte that arrives is checked. All ranks draw the same sequence of
 * operations from the seed, so nobody has to be told what to expect.
 */

#include "integrity.h"
#include "options.h"

#include <pthread.h>

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


size_t integrity_random_size(integrity_ctx_t *ctx)
{
    uint64_t max  = ctx->opts->max;
    uint64_t low  = 1;
    uint64_t high = max;

    /* mostly what is sent by rendezvous, with registration */
    switch (app_random_below(&ctx->shared_rng, 10)) {
    case 0:
        high = 256;
        break;
    case 1:
        high = 16 * 1024;
        break;
    case 2:
        break;
    default:
        low  = 16 * 1024;
        high = 512 * 1024;
        break;
    }

    if (high > max) {
        high = max;
    }
    if (low > high) {
        low = high;
    }

    return low + app_random_below(&ctx->shared_rng, high - low + 1);
}

uint64_t integrity_key(const integrity_ctx_t *ctx, int index)
{
    return app_mix(ctx->opts->seed + app_mix(((uint64_t)ctx->thread << 56) +
                                             (ctx->op << 8) + index + 1));
}

churn_slot_t *integrity_take_slot(integrity_ctx_t *ctx, size_t size,
                                  void **ptr_p)
{
    churn_slot_t *slot;

    do {
        slot = &ctx->slots[app_random_below(&ctx->local_rng,
                                            INTEGRITY_NUM_SLOTS)];
    } while (slot->in_use);

    slot->in_use = 1;
    *ptr_p       = churn_get(slot, size, &ctx->local_rng, ctx->stats.churn);
    return slot;
}

static void integrity_report(integrity_ctx_t *ctx, const char *what, int index,
                             const void *ptr, size_t size, size_t errors,
                             size_t first)
{
    static int num_reports = 0;

    ctx->stats.errors += errors;
    if (__atomic_fetch_add(&num_reports, 1, __ATOMIC_RELAXED) <
        APP_MAX_REPORTS) {
        fprintf(stderr,
                "integrity: rank %d thread %d operation %llu.%d: %s of %zu "
                "bytes at %p: %zu wrong, first at %zd\n",
                ctx->rank, ctx->thread, (unsigned long long)ctx->op, index,
                what, size, ptr, errors, (ssize_t)first);
    }
}

void integrity_check(integrity_ctx_t *ctx, const char *what, int index,
                     const void *ptr, size_t size, uint64_t key,
                     uint64_t offset)
{
    size_t first = 0;
    size_t errors;

    ctx->stats.bytes += size;
    errors            = app_pattern_check(ptr, size, key, offset, &first);
    if (errors > 0) {
        integrity_report(ctx, what, index, ptr, size, errors, first);
    }
}

void integrity_check_guard(integrity_ctx_t *ctx, const char *what, int index,
                           const void *ptr, size_t size)
{
    size_t errors = churn_check_guard(ptr, size);

    if (errors > 0) {
        fprintf(stderr, "integrity: written beside the buffer\n");
        integrity_report(ctx, what, index, ptr, size, errors, (size_t)-1);
    }
}

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

    /* or send a part of what another message sends at the same time */
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

/* Receives side by side in one buffer, or each in its own. */
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

        /* the whole comes before its parts */
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

/* A buffer whose operation is complete belongs to the program again: make use
 * of it at once, while others of the batch are still under way. */
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

static void integrity_batch(integrity_ctx_t *ctx)
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

    /* in any order: some messages find their receive posted, some do not */
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

static void integrity_blocking(integrity_ctx_t *ctx)
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

/* The sequence of one thread. */
static void *integrity_run(void *arg)
{
    integrity_ctx_t *ctx = arg;
    uint64_t choice;
    int i;

    for (ctx->op = 0; ctx->op < ctx->opts->ops; ++ctx->op) {
        choice = app_random_below(&ctx->shared_rng, 100);
        if (choice < 20) {
            integrity_blocking(ctx);
        } else if ((choice < 45) && (ctx->opts->threads == 0)) {
            integrity_rma(ctx);
        } else {
            integrity_batch(ctx);
        }
    }

    if (ctx->opts->threads == 0) {
        integrity_rma_cleanup(ctx);
        churn_release(&ctx->win.slot);
    }

    for (i = 0; i < INTEGRITY_NUM_SLOTS; ++i) {
        churn_release(&ctx->slots[i]);
    }

    return NULL;
}

static void integrity_init_ctx(integrity_ctx_t *ctx,
                               const integrity_opts_t *opts, int thread)
{
    memset(ctx, 0, sizeof(*ctx));
    ctx->opts   = opts;
    ctx->thread = thread;
    MPI_Comm_dup(MPI_COMM_WORLD, &ctx->comm);
    MPI_Comm_rank(ctx->comm, &ctx->rank);
    MPI_Comm_size(ctx->comm, &ctx->size);
    ctx->shared_rng = app_mix(opts->seed + (thread * 1000003ull));
    ctx->local_rng  = app_mix(ctx->shared_rng + ctx->rank + 1);
}

static void integrity_run_threads(integrity_ctx_t *ctxs, int count)
{
    pthread_t *threads = calloc(count, sizeof(*threads));
    int i;

    if (threads == NULL) {
        app_fatal("integrity: out of memory");
    }

    for (i = 0; i < count; ++i) {
        if (pthread_create(&threads[i], NULL, integrity_run, &ctxs[i]) != 0) {
            app_fatal("integrity: could not start a thread");
        }
    }
    for (i = 0; i < count; ++i) {
        pthread_join(threads[i], NULL);
    }

    free(threads);
}

static void integrity_print(const integrity_opts_t *opts, int ranks,
                            const integrity_stats_t *total, double elapsed)
{
    int i;

    printf(opts->json ? "{\"app\":\"integrity\",\"ranks\":%d,\"seed\":%llu,"
                        "\"ops\":%llu,\"max\":%llu,\"threads\":%d,"
                        "\"messages\":%llu,\"puts\":%llu,\"gets\":%llu,"
                        "\"bytes\":%llu,\"seconds\":%.3f,\"errors\":%llu" :
                        "integrity: %d ranks, seed %llu, %llu operations up to "
                        "%llu bytes, %d threads: %llu messages, %llu puts, "
                        "%llu gets, %llu bytes checked in %.3f s, %llu errors\n"
                        "integrity: buffers",
           ranks, (unsigned long long)opts->seed, (unsigned long long)opts->ops,
           (unsigned long long)opts->max, opts->threads,
           (unsigned long long)total->messages, (unsigned long long)total->puts,
           (unsigned long long)total->gets, (unsigned long long)total->bytes,
           elapsed, (unsigned long long)total->errors);
    for (i = 0; i < CHURN_LAST; ++i) {
        printf(opts->json ? ",\"%s\":%llu" : " %s %llu", churn_names[i],
               (unsigned long long)total->churn[i]);
    }
    printf(opts->json ? "}\n" : "\n");
}

static void integrity_usage(void)
{
    printf("usage: integrity [options], 2 ranks or more\n"
           "  --seed S     other seeds, other operations (1)\n"
           "  --ops N      operations of each thread (100)\n"
           "  --max BYTES  largest message (2m)\n"
           "  --threads T  so many threads a rank, each with a sequence\n"
           "               of its own, without puts and gets (0: one thread)\n"
           "  --hidden     change memory past all memory hooks: proves that\n"
           "               wrong bytes are noticed, if there is a cache\n"
           "  --json       print one line of JSON\n");
}

static void integrity_parse(int argc, char **argv, integrity_opts_t *opts)
{
    const app_option_t options[] = {
        {"seed", .number = &opts->seed},
        {"ops", .number = &opts->ops},
        {"max", .number = &opts->max},
        {"threads", .count = &opts->threads},
        {"hidden", .flag = &churn_hidden},
        {"json", .flag = &opts->json},
        {NULL}
    };

    app_parse(argc, argv, "integrity", options, integrity_usage);
    if ((opts->max < 256) || (opts->max > (1ul << 30))) {
        app_fatal("integrity: --max is %llu: accepted are 256 to 1g",
                  (unsigned long long)opts->max);
    }
}

int main(int argc, char **argv)
{
    integrity_opts_t opts   = {1, 100, 2 * 1024 * 1024, 0, 0};
    integrity_stats_t sum   = {0}, total;
    int i, j, count, rank, size, provided;
    integrity_ctx_t *ctxs;
    double start;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    integrity_parse(argc, argv, &opts);
    if (size < 2) {
        app_fatal("integrity: 2 ranks are needed");
    }
    if ((opts.threads > 0) && (provided < MPI_THREAD_MULTIPLE)) {
        app_fatal("integrity: this MPI has no MPI_THREAD_MULTIPLE");
    }

    count = (opts.threads > 0) ? opts.threads : 1;
    ctxs  = calloc(count, sizeof(*ctxs));
    if (ctxs == NULL) {
        app_fatal("integrity: out of memory");
    }
    for (i = 0; i < count; ++i) {
        integrity_init_ctx(&ctxs[i], &opts, i);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    start = app_time();
    if (opts.threads > 0) {
        integrity_run_threads(ctxs, count);
    } else {
        integrity_run(&ctxs[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    for (i = 0; i < count; ++i) {
        for (j = 0; j < (int)(sizeof(sum) / sizeof(uint64_t)); ++j) {
            ((uint64_t *)&sum)[j] += ((uint64_t *)&ctxs[i].stats)[j];
        }
        MPI_Comm_free(&ctxs[i].comm);
    }
    MPI_Allreduce(&sum, &total, sizeof(sum) / sizeof(uint64_t), MPI_UINT64_T,
                  MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        integrity_print(&opts, size, &total, app_time() - start);
    }

    free(ctxs);
    MPI_Finalize();
    return total.errors ? 1 : 0;
}
