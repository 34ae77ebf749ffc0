/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * One process with several Firehoses, whose threads pin memory at random, for
 * the process itself and for itself as a peer. Pins may be refused for lack of
 * room, and nothing else may go wrong. What the kernel counts as pinned has to
 * stay within a bound, also when the process forks, and at the end nothing is
 * pinned.
 */

#include "apps.h"
#include "options.h"

#include <ucp/firehose/api/firehose.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FHS     4
#define MAX_THREADS 16


typedef struct {
    int           fhs;
    int           threads;
    int           pins;    /* Of each thread */
    int           fits;    /* No pin may be refused */
    size_t        heap;    /* Bytes */
    size_t        most;    /* Of a pin, bytes */
    size_t        bound;   /* Of the kernel's count, bytes; 0: not looked at */
    ucp_context_h context;
    ucp_fh_h      fh[MAX_FHS];
    ucp_fh_mem_h  mem[MAX_FHS];
    char          *memory;
    _Atomic long  granted;
    _Atomic long  refused;
    _Atomic long  errors;
} app_t;


typedef struct {
    app_t     *app;
    uint64_t  random;
    pthread_t thread;
} worker_t;


static void usage(void)
{
    printf("usage: fhbound [options]\n"
           "  --fhs N        Firehoses of the process, 1 to %d (2)\n"
           "  --threads N    1 to %d (2)\n"
           "  --pins N       of each thread (500)\n"
           "  --heap BYTES   exposed memory, the same by each (8m)\n"
           "  --most BYTES   of a pin at most (64k)\n"
           "  --bound BYTES  the kernel may count so much as pinned\n"
           "  --fits         no pin may be refused\n"
           "M and MAXVICTIM are those of the environment.\n",
           MAX_FHS, MAX_THREADS);
}

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        app_fatal("fhbound: %s: %s", what, ucs_status_string(status));
    }
}

/* @return bytes that the kernel counts as pinned for this process */
static size_t get_pinned(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    size_t kib = 0;
    char line[256];

    while ((file != NULL) && (fgets(line, sizeof(line), file) != NULL) &&
           (sscanf(line, "VmPin: %zu kB", &kib) != 1)) {
    }
    if (file == NULL) {
        app_fatal("fhbound: no /proc/self/status");
    }
    fclose(file);
    return kib * 1024;
}

static void wrong(app_t *app, const char *what, size_t value)
{
    fprintf(stderr, "fhbound: %s: %zu\n", what, value);
    atomic_fetch_add(&app->errors, 1);
}

static void check_pinned(app_t *app)
{
    size_t pinned = get_pinned();

    if ((app->bound > 0) && (pinned > app->bound)) {
        wrong(app, "bytes pinned by the kernel's count", pinned);
    }
}

/* A child that only exits does not take away what its parent has pinned */
static void fork_child(app_t *app)
{
    size_t before = get_pinned();
    pid_t child;
    int status;

    fflush(NULL); /* Or the child would print it as well */
    child = fork();
    if (child == 0) {
        exit(0);
    }
    waitpid(child, &status, 0);
    if (status != 0) {
        wrong(app, "status of a child", status);
    }
    if (get_pinned() > before) {
        wrong(app, "bytes pinned after a fork", get_pinned());
    }
}

static void pin_one(worker_t *w, int is_remote)
{
    app_t *app    = w->app;
    ucp_fh_h fh   = app->fh[app_random_below(&w->random, app->fhs)];
    size_t length = 1 + app_random_below(&w->random, app->most);
    char *start   = app->memory +
                    app_random_below(&w->random, app->heap - length + 1);
    ucp_fh_hold_h hold;
    ucs_status_t status;

    status = is_remote ? ucp_fh_pin_remote(fh, 0, (uintptr_t)start, length,
                                           NULL, NULL, &hold) :
                         ucp_fh_pin_local(fh, start, length, NULL, NULL, &hold);
    switch (status) {
    case UCS_OK:
        atomic_fetch_add(&app->granted, 1);
        *start = 1;
        check_pinned(app);
        ucp_fh_release(hold);
        break;
    case UCS_ERR_EXCEEDS_LIMIT:
    case UCS_ERR_NO_MEMORY:
        atomic_fetch_add(&app->refused, 1);
        break;
    default:
        wrong(app, ucs_status_string(status), length);
    }
}

static void *work(void *arg)
{
    worker_t *w = arg;
    int i;

    for (i = 0; i < w->app->pins; ++i) {
        pin_one(w, i % 2);
    }
    return NULL;
}

static void run_threads(app_t *app)
{
    worker_t workers[MAX_THREADS];
    int i;

    for (i = 0; i < app->threads; ++i) {
        workers[i] = (worker_t){.app = app, .random = i};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (i = 0; i < app->threads; ++i) {
        pthread_join(workers[i].thread, NULL);
    }
}

static void open_fh(app_t *app, int i)
{
    ucp_fh_init_params_t params = {.context = app->context, .num_procs = 1};
    size_t length;
    void *address;

    check(ucp_fh_init(&params, &app->fh[i]), "ucp_fh_init");
    check(ucp_fh_expose(app->fh[i], app->memory, app->heap, &app->mem[i]),
          "ucp_fh_expose");
    check(ucp_fh_get_address(app->fh[i], &address, &length), "address");
    check(ucp_fh_connect(app->fh[i], 0, address, length), "connect");
    ucp_fh_release_address(app->fh[i], address);
}

/* What is pinned still is unpinned at the end */
static void close_fh(app_t *app, int i)
{
    ucp_fh_stats_t stats;

    ucp_fh_query(app->fh[i], &stats);
    printf("fhbound: %lu requests, %lu hits, %lu bytes pinned, %lu at most of "
           "%lu\n", stats.requests, stats.hits, stats.bytes, stats.bytes_peak,
           stats.bytes_limit);
    ucp_fh_finalize(app->fh[i]);
}

static void open_all(app_t *app)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                             UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };
    int i;

    check(ucp_init(&params, NULL, &app->context), "ucp_init");
    app->memory = mmap(NULL, app->heap, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (app->memory == MAP_FAILED) {
        app_fatal("fhbound: no memory");
    }
    for (i = 0; i < app->fhs; ++i) {
        open_fh(app, i);
    }
}

int main(int argc, char **argv)
{
    app_t app = {
        .fhs = 2, .threads = 2, .pins = 500, .heap = 8 << 20, .most = 64 << 10
    };
    const app_option_t options[] = {
        {"fhs", .count = &app.fhs},
        {"threads", .count = &app.threads},
        {"pins", .count = &app.pins},
        {"heap", .size = &app.heap},
        {"most", .size = &app.most},
        {"bound", .size = &app.bound},
        {"fits", .flag = &app.fits},
        {NULL}
    };
    size_t before = get_pinned();
    int i;

    app_parse(argc, argv, "fhbound", options, usage);
    if ((app.fhs < 1) || (app.fhs > MAX_FHS) || (app.threads < 1) ||
        (app.threads > MAX_THREADS) || (app.most == 0) ||
        (app.most > app.heap)) {
        app_fatal("fhbound: 1 to %d Firehoses, 1 to %d threads, and pins "
                  "within the heap", MAX_FHS, MAX_THREADS);
    }

    open_all(&app);
    run_threads(&app);
    fork_child(&app);
    run_threads(&app);
    printf("fhbound: %ld pins granted, %ld refused\n", app.granted,
           app.refused);
    if ((app.fits && (app.refused > 0)) || (app.granted == 0)) {
        wrong(&app, "pins refused", app.refused);
    }
    for (i = 0; i < app.fhs; ++i) {
        close_fh(&app, i);
    }
    if (get_pinned() > before) {
        wrong(&app, "bytes pinned at the end", get_pinned());
    }
    ucp_cleanup(app.context);
    return app.errors > 0;
}
