/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Two processes that wait for each other in calls which UCP itself ends at once. Each puts
 * to the other one's window by two threads with workers of their own; one of them sleeps
 * until the other one is done, and as long as they put, nobody but the library progresses
 * the worker that carries out what the peer has put. Or both unmap their windows, while
 * what they have put is not flushed. It needs no MPI: it tells the library itself that it
 * is a job of two, whose buckets are pages, of which each has 8 of the other one's.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE    4096ul
#define SIZE    (4ul << 20)
#define PUTS    16   /* Of each thread, to a page each */
#define MAX_KEY 1024 /* Bytes of a packed key, and of an address */
#define SECONDS 60   /* How long all of it may take */

/* What a process tells the other one, in memory that both have */
typedef struct {
    atomic_int step; /* How far it is, see meet() */
    char       *window;
    char       packed[MAX_KEY];
    char       address[MAX_KEY];
} side_t;

typedef struct {
    int           index;
    int           unmaps; /* Whether one thread does all, and unmaps the window */
    side_t        *mine;
    side_t        *theirs;
    ucp_context_h context;
    ucp_worker_h  target; /* Where the peer's endpoints lead to */
    ucp_mem_h     memh;
    sem_t         has_put;
    sem_t         may_flush;
} pair_t;

typedef struct {
    ucp_worker_h worker;
    ucp_ep_h     ep;
    ucp_rkey_h   rkey;
} way_t;


static void check_status(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        app_fatal("windowpair: %s: %s", what, ucs_status_string(status));
    }
}

/* Wait until the other process is as far. UCP is not called meanwhile, unless there is a
 * worker */
static void meet(pair_t *pair, ucp_worker_h worker)
{
    int step = atomic_fetch_add(&pair->mine->step, 1) + 1;

    while (atomic_load(&pair->theirs->step) < step) {
        if (worker != NULL) {
            ucp_worker_progress(worker);
        }
        usleep(100);
    }
}

static ucp_worker_h make_worker(pair_t *pair, ucs_thread_mode_t mode)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = mode
    };
    ucp_worker_h worker;

    check_status(ucp_worker_create(pair->context, &params, &worker),
                 "ucp_worker_create");
    return worker;
}

static void make(pair_t *pair)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_RMA,
        .mt_workers_shared = !pair->unmaps
    };
    ucp_mem_map_params_t map_params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length     = SIZE
    };
    ucp_address_t *address;
    size_t length;
    void *packed;

    check_status(ucp_init(&params, NULL, &pair->context), "ucp_init");
    pair->target       = make_worker(pair, pair->unmaps ? UCS_THREAD_MODE_SINGLE :
                                                          UCS_THREAD_MODE_MULTI);
    pair->mine->window = aligned_alloc(SIZE, SIZE);
    memset(pair->mine->window, 0, SIZE);
    map_params.address = pair->mine->window;
    check_status(ucp_mem_map(pair->context, &map_params, &pair->memh),
                 "ucp_mem_map");
    check_status(ucp_rkey_pack(pair->context, pair->memh, &packed, &length),
                 "ucp_rkey_pack");
    memcpy(pair->mine->packed, packed, length);
    ucp_rkey_buffer_release(packed);
    check_status(ucp_worker_get_address(pair->target, &address, &length),
                 "ucp_worker_get_address");
    memcpy(pair->mine->address, address, length);
    ucp_worker_release_address(pair->target, address);
}

static way_t way_make(pair_t *pair, ucp_worker_h worker)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = (ucp_address_t*)pair->theirs->address
    };
    way_t way = {.worker = worker};

    check_status(ucp_ep_create(worker, &params, &way.ep), "ucp_ep_create");
    check_status(ucp_ep_rkey_unpack(way.ep, pair->theirs->packed, &way.rkey),
                 "ucp_ep_rkey_unpack");
    return way;
}

static void put(pair_t *pair, way_t *way, int page, char value)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    static char buffers[4][PAGE];
    uint64_t start = (uintptr_t)pair->theirs->window + (page * PAGE);
    void *request;

    memset(buffers[(int)value], value, PAGE);
    request = ucp_put_nbx(way->ep, buffers[(int)value], PAGE, start, way->rkey,
                          &param);
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    } else {
        check_status(UCS_PTR_STATUS(request), "ucp_put_nbx");
    }
}

/* As Open MPI's OpenSHMEM does, for the peer meanwhile as well */
static void flush(pair_t *pair, way_t *way)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    void *request             = ucp_worker_flush_nbx(way->worker, &param);
    ucs_status_t status       = UCS_PTR_STATUS(request);

    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
            ucp_worker_progress(way->worker);
            ucp_worker_progress(pair->target);
        }
        ucp_request_free(request);
    }
    check_status(status, "ucp_worker_flush_nbx");
}

static void put_all(pair_t *pair, way_t *way, int first, char value)
{
    int i;

    for (i = 0; i < PUTS; ++i) {
        put(pair, way, first + i, value);
    }
}

static void *put_and_sleep(void *arg)
{
    pair_t *pair = arg;
    way_t way    = way_make(pair, make_worker(pair, UCS_THREAD_MODE_SINGLE));

    put_all(pair, &way, 0, 1);
    sem_post(&pair->has_put);
    sem_wait(&pair->may_flush);
    flush(pair, &way);
    return NULL;
}

static void *put_and_flush(void *arg)
{
    pair_t *pair = arg;
    way_t way    = way_make(pair, make_worker(pair, UCS_THREAD_MODE_SINGLE));

    sem_wait(&pair->has_put);
    put_all(pair, &way, PUTS, 2);
    flush(pair, &way);
    sem_post(&pair->may_flush);
    return NULL;
}

static void put_by_threads(pair_t *pair)
{
    pthread_t threads[2];
    int i;

    if ((pthread_create(&threads[0], NULL, put_and_sleep, pair) != 0) ||
        (pthread_create(&threads[1], NULL, put_and_flush, pair) != 0)) {
        app_fatal("windowpair: no thread");
    }
    for (i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
}

/* @return how many pages are not as they should be */
static int count_wrong(const pair_t *pair)
{
    int num = 0;
    int i;

    for (i = 0; i < 2 * PUTS; ++i) {
        num += (pair->mine->window[i * PAGE] != 1 + (i / PUTS)) ||
               (pair->mine->window[(i + 1) * PAGE - 1] != 1 + (i / PUTS));
    }
    return num;
}

static void unmap_unflushed(pair_t *pair)
{
    const volatile char *first = pair->mine->window;
    way_t way                  = way_make(pair, pair->target);

    put(pair, &way, 0, 1);
    while (*first != 1) {
        ucp_worker_progress(pair->target);
    }
    meet(pair, pair->target);
    check_status(ucp_mem_unmap(pair->context, pair->memh), "ucp_mem_unmap");
}

/* @return how many pages were wrong */
static int run(pair_t *pair)
{
    int num = 0;

    alarm(SECONDS);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", (pair->index == 0) ? "0" : "1", 1);
    sem_init(&pair->has_put, 0, 0);
    sem_init(&pair->may_flush, 0, 0);
    make(pair);
    meet(pair, NULL);
    if (pair->unmaps) {
        unmap_unflushed(pair);
    } else {
        put_by_threads(pair);
        meet(pair, pair->target);
        num = count_wrong(pair);
    }
    meet(pair, NULL);
    return num;
}

static void usage(void)
{
    printf("usage: windowpair [options]\n"
           "  --unmap  unmap what is not flushed, in place of threads that put\n");
}

int main(int argc, char **argv)
{
    pair_t pair                  = {};
    const app_option_t options[] = {{"unmap", .flag = &pair.unmaps}, {NULL}};
    int status                   = 0;
    side_t *sides;
    pid_t child;
    int num;

    app_parse(argc, argv, "windowpair", options, usage);
    sides = mmap(NULL, 2 * sizeof(*sides), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sides == MAP_FAILED) {
        app_fatal("windowpair: no memory");
    }

    child       = fork();
    pair.index  = (child == 0);
    pair.mine   = &sides[pair.index];
    pair.theirs = &sides[!pair.index];
    num         = run(&pair);
    if (child == 0) {
        _exit(num > 0);
    }

    waitpid(child, &status, 0);
    printf("windowpair: %d errors here, status %d there\n", num, status);
    return (num > 0) || (status != 0);
}
