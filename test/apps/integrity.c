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


size_t integrity_random_size(integrity_ctx_t *ctx)
{
    uint64_t max  = ctx->opts->max;
    uint64_t low  = 1;
    uint64_t high = max;

    /* Most messages are so large that they go by rendezvous, which registers
     * their memory */
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

/* Run the sequence of operations of one thread. */
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
           "  --flush-each flush each target of puts and gets, and use no fences:\n"
           "               UCX's flush of a worker ends too early where UCX\n"
           "               emulates gets, see workerflush.c\n"
           "  --hidden     change memory past all memory hooks: proves that\n"
           "               wrong bytes are noticed, if there is a cache\n"
           "  --seen-moves move memory by mremap() as well, which memory hooks\n"
           "               of UCX 1.15 and later see; otherwise past them\n"
           "  --no-moves   do not move memory to an address\n"
           "  --json       print one line of JSON\n");
}

static void integrity_parse(int argc, char **argv, integrity_opts_t *opts)
{
    const app_option_t options[] = {
        {"seed", .number = &opts->seed},
        {"ops", .number = &opts->ops},
        {"max", .number = &opts->max},
        {"threads", .count = &opts->threads},
        {"flush-each", .flag = &opts->flush_each},
        {"hidden", .flag = &churn_hidden},
        {"seen-moves", .flag = &churn_seen_moves},
        {"no-moves", .flag = &churn_no_moves},
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
    integrity_opts_t opts   = {.seed = 1, .ops = 100, .max = 2 * 1024 * 1024};
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
