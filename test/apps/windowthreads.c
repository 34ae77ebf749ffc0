/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A thread puts to a window, flushes nothing, and then waits for another thread
 * without calling UCP, whose puts and gets to the same peer must end
 * nevertheless. Each thread has a worker of its own. Then, workers that the first thread
 * makes and others use: nobody else may progress them. It needs no MPI; the environment
 * tells that it is a job of one.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define SIZE   (8ul << 20)
#define BUCKET (64ul << 10) /* Or less */
#define HANDED_ROUNDS 10

typedef struct {
    ucp_context_h context;
    ucp_address_t *address; /* Of a worker of a third thread, which progresses
                               it: UCX has to connect */
    atomic_int    is_target;
    atomic_int    is_over;
    pthread_t     thread;
    ucp_mem_h     memh;
    void          *packed;
    char          *window;
    int           mode;
    int           rounds;
    int           errors;
} threads_t;

/* A thread's way to the window */
typedef struct {
    ucp_worker_h worker;
    ucp_ep_h     ep;
    ucp_rkey_h   rkey;
    int          calls; /* Of callbacks that were not called yet */
    pthread_t    user;  /* The only thread that may call these */
} way_t;


static void check_status(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        app_fatal("windowthreads: %s: %s", what, ucs_status_string(status));
    }
}

static ucp_worker_h make_worker(threads_t *t)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = t->mode
    };
    ucp_worker_h worker;

    check_status(ucp_worker_create(t->context, &params, &worker),
                 "ucp_worker_create");
    return worker;
}

static void way_make(threads_t *t, way_t *way)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};

    way->calls     = 0;
    way->user      = pthread_self();
    way->worker    = make_worker(t);
    params.address = t->address;
    check_status(ucp_ep_create(way->worker, &params, &way->ep),
                 "ucp_ep_create");
    check_status(ucp_ep_rkey_unpack(way->ep, t->packed, &way->rkey),
                 "ucp_ep_rkey_unpack");
}

static void wait_for(way_t *way, void *request, const char *what)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        check_status(UCS_PTR_STATUS(request), what);
        return;
    }

    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(way->worker);
    }
    check_status(status, what);
    ucp_request_free(request);
}

static void flush(way_t *way)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    wait_for(way, ucp_worker_flush_nbx(way->worker, &param), "a flush");
    while (way->calls > 0) {
        ucp_worker_progress(way->worker);
    }
}

static void way_destroy(way_t *way)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    ucp_rkey_destroy(way->rkey);
    wait_for(way, ucp_ep_close_nbx(way->ep, &param), "ucp_ep_close_nbx");
    ucp_worker_destroy(way->worker);
}

/* Callbacks that a thread has called for another one's worker */
static atomic_int num_foreign;

static void done(void *request, ucs_status_t status, void *user_data)
{
    way_t *way = user_data;

    --way->calls;
    if (!pthread_equal(way->user, pthread_self())) {
        atomic_fetch_add(&num_foreign, 1);
    }
    ucp_request_free(request);
}

/* Begin something in many buckets, which another thread has nothing in */
static void begin(threads_t *t, way_t *way, int number, char *buffer)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = done,
        .user_data    = way
    };
    uint64_t start = (uintptr_t)t->window + (number * SIZE / 2);
    size_t length, i;
    void *request;

    for (i = 0; i < SIZE / 2 / BUCKET; ++i) {
        ++way->calls;
        length  = (i % 8 == 7) ? BUCKET : 1000;
        request = (i % 4 == 0) ?
                  ucp_get_nbx(way->ep, buffer + BUCKET, length,
                              start + i * BUCKET, way->rkey, &param) :
                  ucp_put_nbx(way->ep, buffer, length, start + i * BUCKET,
                              way->rkey, &param);
        if (!UCS_PTR_IS_PTR(request)) {
            --way->calls;
            check_status(UCS_PTR_STATUS(request), "a put or get");
        }
    }
}

static void *other_thread(void *arg)
{
    threads_t *t = arg;
    char *buffer = malloc(2 * BUCKET);
    way_t way;

    memset(buffer, 2, BUCKET);
    way_make(t, &way);
    begin(t, &way, 1, buffer);
    flush(&way);
    way_destroy(&way);
    free(buffer);
    return NULL;
}

static void check(threads_t *t, int number)
{
    const char *start = t->window + (number * SIZE / 2);
    size_t i;

    for (i = 1; i < SIZE / 2 / BUCKET; ++i) {
        if ((i % 4 != 0) && (start[i * BUCKET + 999] != number + 1)) {
            fprintf(stderr, "windowthreads: thread %d: bucket %zu is wrong\n",
                    number, i);
            ++t->errors;
        }
    }
}

static pthread_t start(void *(*func)(void *arg), threads_t *t)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, func, t) != 0) {
        app_fatal("windowthreads: no thread");
    }
    return thread;
}

static void round_of_two(threads_t *t)
{
    char *buffer = malloc(2 * BUCKET);
    way_t way;

    memset(buffer, 1, BUCKET);
    memset(t->window, 0, SIZE);
    way_make(t, &way);
    begin(t, &way, 0, buffer);
    pthread_join(start(other_thread, t), NULL);
    flush(&way);
    check(t, 0);
    check(t, 1);
    way_destroy(&way);
    free(buffer);
}

/* One of two threads that use a worker each which the first of them has made */
typedef struct {
    threads_t *t;
    int       number;
    way_t     way;
} handed_t;

static void *use_handed(void *arg)
{
    handed_t *handed = arg;
    char *buffer     = malloc(2 * BUCKET);
    int i;

    memset(buffer, handed->number + 1, BUCKET);
    handed->way.user = pthread_self();
    for (i = 0; i < HANDED_ROUNDS; ++i) {
        begin(handed->t, &handed->way, handed->number, buffer);
        flush(&handed->way);
    }
    free(buffer);
    return NULL;
}

/* UCX 1.18 asserts, where it was built with assertions, that a worker of mode SINGLE is used
 * by the thread which has made it */
static int can_hand(const threads_t *t)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    return (t->mode != UCS_THREAD_MODE_SINGLE) || (minor < 18);
}

static void round_of_handed(threads_t *t)
{
    handed_t handed[2];
    pthread_t thread;
    int i;

    memset(t->window, 0, SIZE);
    for (i = 0; i < 2; ++i) {
        handed[i] = (handed_t){.t = t, .number = i};
        way_make(t, &handed[i].way);
    }
    if (pthread_create(&thread, NULL, use_handed, &handed[1]) != 0) {
        app_fatal("windowthreads: no thread");
    }
    (void)use_handed(&handed[0]);
    pthread_join(thread, NULL);
    check(t, 0);
    check(t, 1);
    for (i = 0; i < 2; ++i) {
        way_destroy(&handed[i].way);
    }
    if ((t->mode != UCS_THREAD_MODE_MULTI) && (num_foreign > 0)) {
        fprintf(stderr, "windowthreads: %d callbacks in a thread that may not use "
                "the worker\n", num_foreign);
        ++t->errors;
    }
}

static void *progress_target(void *arg)
{
    threads_t *t        = arg;
    ucp_worker_h worker = make_worker(t);
    size_t length;

    check_status(ucp_worker_get_address(worker, &t->address, &length),
                 "ucp_worker_get_address");
    atomic_store(&t->is_target, 1);
    while (!atomic_load(&t->is_over)) {
        ucp_worker_progress(worker);
        sched_yield();
    }
    ucp_worker_release_address(worker, t->address);
    ucp_worker_destroy(worker);
    return NULL;
}

static void make(threads_t *t)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_RMA,
        .mt_workers_shared = 1
    };
    ucp_mem_map_params_t map_params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length     = SIZE
    };
    size_t length;

    t->window          = malloc(SIZE);
    map_params.address = t->window;
    check_status(ucp_init(&params, NULL, &t->context), "ucp_init");
    t->thread = start(progress_target, t);
    while (!atomic_load(&t->is_target)) {
        sched_yield();
    }
    check_status(ucp_mem_map(t->context, &map_params, &t->memh), "ucp_mem_map");
    check_status(ucp_rkey_pack(t->context, t->memh, &t->packed, &length),
                 "ucp_rkey_pack");
}

static void destroy(threads_t *t)
{
    ucp_rkey_buffer_release(t->packed);
    check_status(ucp_mem_unmap(t->context, t->memh), "ucp_mem_unmap");
    atomic_store(&t->is_over, 1);
    pthread_join(t->thread, NULL);
    ucp_cleanup(t->context);
    free(t->window);
}

static void usage(void)
{
    printf("usage: windowthreads [options]\n"
           "  --mode N    thread mode of the workers: 0 SINGLE, 1 SERIALIZED,\n"
           "              2 MULTI (2)\n"
           "  --rounds N  (3)\n");
}

int main(int argc, char **argv)
{
    threads_t t                  = {.mode = UCS_THREAD_MODE_MULTI, .rounds = 3};
    const app_option_t options[] = {{"mode", .count = &t.mode},
                                    {"rounds", .count = &t.rounds},
                                    {NULL}};
    int i;

    app_parse(argc, argv, "windowthreads", options, usage);
    make(&t);
    for (i = 0; i < t.rounds; ++i) {
        round_of_two(&t);
        if (can_hand(&t)) {
            round_of_handed(&t);
        }
    }
    destroy(&t);
    printf("windowthreads: %d errors\n", t.errors);
    return t.errors ? 1 : 0;
}
