/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Firehose between processes of this machine, of which any call of the library may
 * fail, since memory is short: test/native/fault.c sees to that. What fails is
 * counted, and the program goes on with what there is. Nothing may hang or crash,
 * and memory has what was put there: what of it a put that failed has reached is
 * not known, so that either is right, until another one succeeds. Without failures
 * (--strict) each call has to succeed.
 *
 * Each process has a part of each other's memory that it alone writes, in pages
 * that tell where they belong, and which operation has written them.
 */

#include "apps.h"
#include "options.h"

#include <ucp/firehose/api/firehose.h>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCS   MOST
#define MAX_ADDRESS 8192
#define PAGE        4096
#define PAGES       64  /* Of a process in the memory of each, so that they are
                           more than it has firehoses */
#define MOST        8   /* Pages of an operation, and processes at most */
#define EXTRA       8   /* Pages that come and go */
#define ATTEMPTS    3   /* To do what the program cannot do without */


/* What processes share. Each writes what is its own, and others read it after a
 * barrier */
typedef struct {
    pthread_barrier_t barrier;
    uint64_t          bases[MAX_PROCS];  /* Of exposed memory, 0: none */
    uint64_t          extras[MAX_PROCS]; /* Likewise */
    size_t            address_lengths[MAX_PROCS]; /* 0: no library */
    char              addresses[MAX_PROCS][MAX_ADDRESS];
    int               is_connected[MAX_PROCS][MAX_PROCS]; /* By who is, to whom */
    uint64_t          ops[MAX_PROCS];    /* Of all that it has begun, the last */
    /* By process, and the process in whose memory they are: the operation that
     * has written a page for sure, if it is not said that none has */
    uint64_t          written[MAX_PROCS][MAX_PROCS][PAGES];
    uint8_t           is_sure[MAX_PROCS][MAX_PROCS][PAGES];
    uint64_t          failed;            /* Calls. Added atomically */
    uint64_t          errors;            /* Likewise */
} shared_t;


typedef struct {
    int             procs;
    int             rounds;
    int             ops;
    int             is_multi;
    int             is_strict;
    int             rank;
    ucp_context_h   context;
    ucp_fh_h        fh;    /* NULL: the library could not be started */
    ucp_worker_h    ucp_worker;
    ucp_fh_worker_h worker;
    ucp_fh_mem_h    mem;   /* NULL: nothing is exposed */
    uint8_t         *memory;
    uint64_t        random;
    shared_t        *shared;
} app_t;


static void usage(void)
{
    printf("usage: fhfault [options]\n"
           "  --procs N     processes, 2 to %d (2)\n"
           "  --rounds N    in each, memory is exposed anew (3)\n"
           "  --ops N       of a process in a round (30)\n"
           "  --multi       workers that any thread may use\n"
           "  --strict      no call may fail\n",
           MAX_PROCS);
}

static void wrong(app_t *app, const char *what, uint64_t value)
{
    fprintf(stderr, "fhfault: rank %d: %s: %llu\n", app->rank, what,
            (unsigned long long)value);
    __atomic_fetch_add(&app->shared->errors, 1, __ATOMIC_SEQ_CST);
}

/* @return whether a call has succeeded */
static int is_ok(app_t *app, ucs_status_t status)
{
    if (status == UCS_OK) {
        return 1;
    }

    __atomic_fetch_add(&app->shared->failed, 1, __ATOMIC_SEQ_CST);
    if (app->is_strict) {
        wrong(app, ucs_status_string(status), 1);
    }
    return 0;
}

static void barrier(app_t *app)
{
    pthread_barrier_wait(&app->shared->barrier);
}

static ucs_status_t wait_for(app_t *app, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    while ((status = ucp_fh_request_check_status(request)) == UCS_INPROGRESS) {
        if (ucp_fh_worker_progress(app->worker) == 0) {
            sched_yield();
        }
    }
    ucp_fh_request_free(request);
    return status;
}

static int flush(app_t *app)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return is_ok(app, wait_for(app, ucp_fh_flush_nbx(app->worker, &param)));
}

/* A word that tells all about a page: by whom, whose, which, and when. The number
 * of the operation is below 2^32 */
static uint64_t stamp(int from, int to, int page, uint64_t op)
{
    return ((uint64_t)from << 56) | ((uint64_t)to << 48) |
           ((uint64_t)page << 32) | op;
}

static void fill(uint64_t *words, uint64_t value)
{
    int i;

    for (i = 0; i < PAGE / 8; ++i) {
        words[i] = value;
    }
}

/* Whether a word may be in a page: the one that is there for sure, or any that was
 * put there so far, or none */
static int is_right(app_t *app, uint64_t word, int from, int to, int page)
{
    shared_t *shared = app->shared;
    uint64_t op      = (uint32_t)word;

    if (shared->is_sure[from][to][page]) {
        return word == ((shared->written[from][to][page] == 0) ?
                                0 : stamp(from, to, page,
                                          shared->written[from][to][page]));
    }

    return (word == 0) || ((word == stamp(from, to, page, op)) &&
                           (op <= shared->ops[from]));
}

static void check_page(app_t *app, const char *what, const uint64_t *words,
                       int from, int to, int page)
{
    int i;

    for (i = 0; i < PAGE / 8; ++i) {
        if (!is_right(app, words[i], from, to, page)) {
            wrong(app, what, words[i]);
            return;
        }
    }
}

/* A put of some pages, and a get of them. Both may fail */
static void put_and_get(app_t *app, int peer, uint8_t *buffer)
{
    shared_t *shared          = app->shared;
    ucp_request_param_t param = {.op_attr_mask = 0};
    int num                   = 1 + app_random_below(&app->random, MOST);
    int first                 = app_random_below(&app->random, PAGES - num + 1);
    uint64_t remote           = shared->bases[peer] +
                                (((app->rank * PAGES) + first) * PAGE);
    uint64_t op               = ++shared->ops[app->rank];
    int i, has_put;

    for (i = 0; i < num; ++i) {
        fill((uint64_t*)(buffer + (i * PAGE)),
             stamp(app->rank, peer, first + i, op));
        shared->is_sure[app->rank][peer][first + i] = 0;
    }
    has_put  = is_ok(app, wait_for(app, ucp_fh_put_nbx(app->worker, peer, buffer,
                                                       num * PAGE, remote,
                                                       &param)));
    has_put &= flush(app); /* In any case */
    for (i = 0; has_put && (i < num); ++i) {
        shared->written[app->rank][peer][first + i] = op;
        shared->is_sure[app->rank][peer][first + i] = 1;
    }

    memset(buffer, 0xee, num * PAGE);
    if (!is_ok(app, wait_for(app, ucp_fh_get_nbx(app->worker, peer, buffer,
                                                 num * PAGE, remote,
                                                 &param)))) {
        return;
    }
    for (i = 0; i < num; ++i) {
        check_page(app, "a page that was read", (uint64_t*)(buffer + (i * PAGE)),
                   app->rank, peer, first + i);
    }
}

static void called_back(ucp_fh_hold_h hold, ucs_status_t status, void *arg)
{
    __atomic_store_n((int*)arg, status, __ATOMIC_SEQ_CST);
}

static void pin(app_t *app, int peer)
{
    uint64_t remote = app->shared->bases[peer] +
                      (app_random_below(&app->random, PAGES) * PAGE);
    int status      = UCS_INPROGRESS;
    ucp_fh_hold_h hold;
    ucs_status_t begun;

    if (is_ok(app, ucp_fh_pin_remote(app->fh, peer, remote, 2 * PAGE, NULL, NULL,
                                     &hold))) {
        ucp_fh_release(hold);
    }

    begun = ucp_fh_pin_local(app->fh, app->memory, 3 * PAGE, called_back, &status,
                             &hold);
    if (begun != UCS_INPROGRESS) {
        status = begun; /* Then it does not call back */
    }
    while (__atomic_load_n(&status, __ATOMIC_SEQ_CST) == UCS_INPROGRESS) {
        usleep(100);
    }
    if (is_ok(app, status)) {
        ucp_fh_release(hold);
    }
}

static void expose(app_t *app, void *memory, size_t length, ucp_fh_mem_h *mem_p,
                   uint64_t *base_p)
{
    int i;

    *base_p = 0;
    *mem_p  = NULL;
    for (i = 0; (app->fh != NULL) && (i < ATTEMPTS); ++i) {
        if (is_ok(app, ucp_fh_expose(app->fh, memory, length, mem_p))) {
            *base_p = (uintptr_t)memory;
            return;
        }
    }
    *mem_p = NULL;
}

static void *map(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        app_fatal("fhfault: no memory");
    }
    return memory;
}

/* Whether a peer has exposed memory, and is going to answer: both have to be connected
 * for that */
static int can_reach(app_t *app, int peer, const uint64_t *bases)
{
    return (app->worker != NULL) && (bases[peer] != 0) &&
           app->shared->is_connected[app->rank][peer] &&
           app->shared->is_connected[peer][app->rank];
}

/* Memory of each that peers have firehoses on is unmapped, and withdrawn */
static void come_and_go(app_t *app, uint8_t *buffer)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    void *extra               = map(EXTRA * PAGE);
    ucp_fh_mem_h mem;
    int peer;

    expose(app, extra, EXTRA * PAGE, &mem, &app->shared->extras[app->rank]);
    barrier(app);
    for (peer = 0; peer < app->procs; ++peer) {
        if (can_reach(app, peer, app->shared->extras)) {
            (void)is_ok(app, wait_for(app, ucp_fh_put_nbx(
                    app->worker, peer, buffer, PAGE,
                    app->shared->extras[peer] + (app->rank * PAGE), &param)));
            (void)flush(app);
        }
    }
    barrier(app);
    munmap(extra, EXTRA * PAGE);
    if (mem != NULL) {
        (void)is_ok(app, ucp_fh_unexpose(mem));
    }
}

/* Leave something to whoever destroys the worker: puts that the program does not wait
 * for, nor flushes */
static void leave_puts(app_t *app, uint8_t *buffer)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    shared_t *shared          = app->shared;
    uint64_t op               = ++shared->ops[app->rank];
    ucs_status_ptr_t request;
    int peer;

    for (peer = 0; peer < app->procs; ++peer) {
        if (!can_reach(app, peer, shared->bases)) {
            continue;
        }

        shared->is_sure[app->rank][peer][0] = 0;
        fill((uint64_t*)(buffer + (peer * PAGE)), stamp(app->rank, peer, 0, op));
        request = ucp_fh_put_nbx(app->worker, peer, buffer + (peer * PAGE), PAGE,
                                 shared->bases[peer] +
                                         (app->rank * PAGES * PAGE), &param);
        if (UCS_PTR_IS_PTR(request)) {
            ucp_fh_request_free(request);
        } else {
            (void)is_ok(app, UCS_PTR_STATUS(request));
        }
    }
}

static void open_worker(app_t *app)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = app->is_multi ? UCS_THREAD_MODE_MULTI :
                                       UCS_THREAD_MODE_SERIALIZED
    };

    app->worker = NULL;
    if (app->fh == NULL) {
        return;
    }

    if (ucp_worker_create(app->context, &params, &app->ucp_worker) != UCS_OK) {
        app_fatal("fhfault: no worker of UCP");
    }
    if (!is_ok(app, ucp_fh_worker_create(app->fh, app->ucp_worker,
                                         &app->worker))) {
        ucp_worker_destroy(app->ucp_worker);
        app->worker = NULL;
    }
}

static void close_worker(app_t *app)
{
    if (app->worker != NULL) {
        ucp_fh_worker_destroy(app->worker);
        ucp_worker_destroy(app->ucp_worker);
    }
}

/* What each has written in this process's memory */
static void check_memory(app_t *app)
{
    const uint8_t *memory = app->memory;
    int from, page;

    for (from = 0; from < app->procs; ++from) {
        for (page = 0; page < PAGES; ++page, memory += PAGE) {
            check_page(app, "a page of mine", (const uint64_t*)memory, from,
                       app->rank, page);
        }
    }
}

/* A round begins with memory that all have been told is zero */
static void renew(app_t *app)
{
    shared_t *shared = app->shared;
    int from;

    memset(app->memory, 0, app->procs * PAGES * PAGE);
    for (from = 0; from < app->procs; ++from) {
        memset(shared->written[from][app->rank], 0, PAGES * sizeof(uint64_t));
        memset(shared->is_sure[from][app->rank], 0, PAGES);
    }
    expose(app, app->memory, app->procs * PAGES * PAGE, &app->mem,
           &shared->bases[app->rank]);
}

static void run_round(app_t *app)
{
    uint8_t *buffer = calloc(MOST, PAGE);
    int i, peer;

    renew(app);
    barrier(app);
    open_worker(app);
    for (i = 0; i < app->ops; ++i) {
        peer = app_random_below(&app->random, app->procs);
        if (can_reach(app, peer, app->shared->bases)) {
            put_and_get(app, peer, buffer);
            if (i % 8 == 0) {
                pin(app, peer);
            }
        }
    }
    come_and_go(app, buffer);
    leave_puts(app, buffer);
    close_worker(app);
    barrier(app);
    if (app->mem != NULL) {
        (void)is_ok(app, ucp_fh_unexpose(app->mem));
    }
    check_memory(app);
    barrier(app);
    free(buffer);
}

static void make_context(app_t *app)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                             UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };

    /* UCX's own caches would keep pinned what is unpinned */
    setenv("UCX_IB_REG_METHODS", "direct", 0);
    setenv("UCX_CMA_REG_METHODS", "direct", 0);
    setenv("UCX_RCACHE_ENABLE", "n", 0);
    if (ucp_init(&params, NULL, &app->context) != UCS_OK) {
        app_fatal("fhfault: no context of UCP");
    }
}

static void start_library(app_t *app)
{
    shared_t *shared            = app->shared;
    ucp_fh_init_params_t params = {
        .field_mask = UCP_FH_PARAM_FIELD_M | UCP_FH_PARAM_FIELD_MAXVICTIM |
                      UCP_FH_PARAM_FIELD_BUCKET,
        .context    = app->context,
        .num_procs  = app->procs,
        .index      = app->rank,
        .m          = app->procs * (PAGES / 4) * PAGE,
        .max_victim = 8 * PAGE,
        .bucket     = PAGE
    };
    size_t length;
    void *address;

    if (!is_ok(app, ucp_fh_init(&params, &app->fh))) {
        app->fh = NULL;
        return;
    }

    if (!is_ok(app, ucp_fh_get_address(app->fh, &address, &length))) {
        return; /* Nobody gets to know it */
    }
    if (length > MAX_ADDRESS) {
        app_fatal("fhfault: an address of %zu bytes", length);
    }

    memcpy(shared->addresses[app->rank], address, length);
    shared->address_lengths[app->rank] = length;
    ucp_fh_release_address(app->fh, address);
}

static void connect_library(app_t *app)
{
    int peer;

    for (peer = 0; peer < app->procs; ++peer) {
        app->shared->is_connected[app->rank][peer] =
                (app->fh != NULL) && (app->shared->address_lengths[peer] > 0) &&
                is_ok(app, ucp_fh_connect(app->fh, peer,
                                          app->shared->addresses[peer],
                                          app->shared->address_lengths[peer]));
    }
}

static void run(app_t *app)
{
    int i;

    alarm(60); /* What hangs is ended by that signal */
    app->random = app->rank;
    make_context(app);
    app->memory = map(app->procs * PAGES * PAGE);
    start_library(app);
    barrier(app);
    connect_library(app);
    barrier(app);
    for (i = 0; i < app->rounds; ++i) {
        run_round(app);
    }
    if (app->fh != NULL) {
        ucp_fh_finalize(app->fh);
    }
    barrier(app);
    ucp_cleanup(app->context);
}

static shared_t *make_shared(int procs)
{
    shared_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;

    if (shared == MAP_FAILED) {
        app_fatal("fhfault: no memory");
    }

    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attr, procs);
    return shared;
}

/* @return whether a process ended in another way than it should. The first that
 *         does ends the others */
static int wait_for_all(const app_t *app, const pid_t *pids)
{
    int has_failed = 0;
    int status, i, j;

    for (i = 0; i < app->procs; ++i) {
        (void)wait(&status);
        if ((status == 0) || has_failed) {
            continue;
        }

        fprintf(stderr, "fhfault: a process ends with status 0x%x\n", status);
        has_failed = 1;
        for (j = 0; j < app->procs; ++j) {
            kill(pids[j], SIGKILL);
        }
    }

    return has_failed;
}

int main(int argc, char **argv)
{
    app_t app = {.procs = 2, .rounds = 3, .ops = 30};
    const app_option_t options[] = {
        {"procs", .count = &app.procs},
        {"rounds", .count = &app.rounds},
        {"ops", .count = &app.ops},
        {"multi", .flag = &app.is_multi},
        {"strict", .flag = &app.is_strict},
        {NULL}
    };
    pid_t pids[MAX_PROCS];
    int has_failed;

    app_parse(argc, argv, "fhfault", options, usage);
    if ((app.procs < 2) || (app.procs > MAX_PROCS)) {
        app_fatal("fhfault: %d processes: accepted are 2 to %d", app.procs,
                  MAX_PROCS);
    }

    app.shared = make_shared(app.procs);
    for (app.rank = 0; app.rank < app.procs; ++app.rank) {
        pids[app.rank] = fork();
        if (pids[app.rank] == 0) {
            run(&app);
            exit(0);
        }
    }

    has_failed = wait_for_all(&app, pids);
    printf("fhfault: %llu calls failed, %llu errors\n",
           (unsigned long long)app.shared->failed,
           (unsigned long long)app.shared->errors);
    return has_failed || (app.shared->errors > 0);
}
