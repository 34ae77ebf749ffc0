/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Endpoints that are closed while operations on a window are under way. The call that
 * closes one may not wait for the peer, the peer's memory has what was put before, and
 * what the library had for the endpoint is there for others again. Then, a context that
 * ends while another one still accesses the window of a second process. It needs no MPI:
 * it tells the library itself that it is a job of two, whose buckets are pages, of which
 * each gets 16 firehoses of the other one.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE    4096ul
#define PAGES   64
#define THREADS 2
#define MAX_KEY 1024 /* Bytes of a packed key, and of an address */
#define LATE    200  /* Endpoints that are closed while a context ends */
#define SECONDS 60 /* How long all of it may take */

/* UCX itself keeps some 620 bytes for two endpoints that were connected by messages,
 * until their workers are destroyed. The library has more than 200 for one of them */
#define LEFT_BEHIND 750ul

/* A side that puts: its worker, and what leads to the window */
typedef struct {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
    ucp_rkey_h    rkey;
} way_t;

/* What the second process tells, in memory that both have */
typedef struct {
    atomic_int is_ready;
    atomic_int is_over;
    char       *window;
    size_t     address_length;
    char       address[MAX_KEY];
    char       packed[MAX_KEY];
} peer_t;

typedef struct {
    ucp_context_h context;
    ucp_worker_h  target;  /* Of another thread; carries out what UCX emulates */
    ucp_address_t *address;
    size_t        address_length;
    atomic_int    may_progress;
    atomic_int    is_over;
    pthread_t     thread;
    ucp_mem_h     memh;
    void          *packed;
    char          *window;
    int           pages;   /* Firehoses */
    int           cycles;
    int           has_force; /* Whether UCX can close with force here */
    peer_t        *peer;
    pid_t         pid;     /* Of the second process */
    ucs_status_ptr_t closing; /* What a callback has begun */
    way_t         *way;    /* Whose endpoint it closes */
    int           calls;
    int           errors;
} close_t;

static const ucp_request_param_t no_param;


static void check(close_t *c, int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "windowclose: %s\n", what);
        ++c->errors;
    }
}

static void check_status(ucs_status_t status, const char *what)
{
    if (UCS_STATUS_IS_ERR(status)) {
        app_fatal("windowclose: %s: %s", what, ucs_status_string(status));
    }
}

/* @return the status of a request that was waited for */
static ucs_status_t finish(way_t *way, ucs_status_ptr_t request)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_request_check_status(request)) ==
               UCS_INPROGRESS) {
            ucp_worker_progress(way->worker);
        }
        ucp_request_free(request);
    }
    return status;
}

static void flush(way_t *way)
{
    check_status(finish(way, ucp_ep_flush_nbx(way->ep, &no_param)), "a flush");
}

static ucs_status_t put(const close_t *c, way_t *way, size_t page, char value)
{
    static char buffer[PAGE]; /* What was begun is complete when the value changes */

    memset(buffer, value, sizeof(buffer));
    return ucp_put_nbi(way->ep, buffer, sizeof(buffer),
                       (uintptr_t)c->window + page * PAGE, way->rkey);
}

static void put_pages(close_t *c, way_t *way, int first, int num, char value)
{
    int i;

    for (i = first; i < first + num; ++i) {
        check_status(put(c, way, i, value), "ucp_put_nbi");
    }
}

static void
expect_pages(close_t *c, int first, int num, char value, const char *what)
{
    int i;

    for (i = first; i < first + num; ++i) {
        check(c, c->window[i * PAGE] == value, what);
    }
}

static void connect_way(const close_t *c, way_t *way, int has_errors)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
        .address    = c->address,
        .err_mode   = has_errors ? UCP_ERR_HANDLING_MODE_PEER :
                                   UCP_ERR_HANDLING_MODE_NONE
    };

    check_status(ucp_ep_create(way->worker, &params, &way->ep),
                 "ucp_ep_create");
    check_status(ucp_ep_rkey_unpack(way->ep, c->packed, &way->rkey),
                 "ucp_ep_rkey_unpack");
}

static ucs_status_ptr_t begin_close(way_t *way, int is_forced)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = is_forced ? UCP_EP_CLOSE_FLAG_FORCE : 0
    };

    ucp_rkey_destroy(way->rkey);
    return ucp_ep_close_nbx(way->ep, &param);
}

static void close_way(way_t *way, int is_forced)
{
    (void)finish(way, begin_close(way, is_forced));
}

static void
way_make(ucp_context_h context, way_t *way, ucs_thread_mode_t thread_mode)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = thread_mode
    };

    way->context = context;
    check_status(ucp_worker_create(context, &params, &way->worker),
                 "ucp_worker_create");
}

/* While the target does nothing, so that what UCX emulates is not complete. A thread
 * that leaves others less than half of the firehoses would wait for it */
static void close_before_target(close_t *c, way_t *way, int is_forced)
{
    int num = c->pages / 4;
    ucs_status_ptr_t request;

    connect_way(c, way, is_forced);
    put_pages(c, way, 0, num, 1);
    flush(way);
    atomic_store(&c->may_progress, 0);
    usleep(10000);
    put_pages(c, way, 0, num, 2);
    request = begin_close(way, is_forced);
    atomic_store(&c->may_progress, 1);
    (void)finish(way, request);
    if (!is_forced) {
        expect_pages(c, 0, num, 2, "what was put before an endpoint was closed");
    }

    /* The next one may have the address of the first one. It gets all firehoses, for
     * other pages: what was cut off may still arrive in those */
    connect_way(c, way, is_forced);
    put_pages(c, way, num, c->pages, 3);
    flush(way);
    expect_pages(c, num, c->pages, 3, "what was put through the next endpoint");
    close_way(way, is_forced);
}

static void got(void *request, ucs_status_t status, void *user_data)
{
    ++((close_t*)user_data)->calls;
    ucp_request_free(request);
}

/* What was begun with a callback has it called once */
static void close_before_got(close_t *c, way_t *way, int is_forced)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = got,
        .user_data    = c
    };
    static char buffer[2][PAGE];
    ucs_status_ptr_t request;
    int i, num = 0;

    connect_way(c, way, is_forced);
    c->calls = 0;
    for (i = 0; i < 2; ++i) {
        request = ucp_get_nbx(way->ep, buffer[i], PAGE,
                              (uintptr_t)c->window + i * PAGE, way->rkey, &param);
        num    += UCS_PTR_IS_PTR(request);
    }
    close_way(way, is_forced);
    for (i = 0; (i < 1000) && (c->calls < num); ++i) {
        ucp_worker_progress(way->worker);
        usleep(1000);
    }
    check(c, c->calls == num, "callbacks of gets were not called once");
}

static void close_here(void *request, ucs_status_t status, void *user_data)
{
    close_t *c = user_data;

    c->closing = begin_close(c->way, 0);
    ++c->calls;
    ucp_request_free(request);
}

/* A callback of UCP closes the endpoint, while puts are under way */
static void close_in_callback(close_t *c, way_t *way)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = close_here,
        .user_data    = c
    };
    static char buffer[PAGE];
    ucs_status_ptr_t request;

    connect_way(c, way, 0);
    c->calls = 0;
    c->way   = way;
    put_pages(c, way, 0, c->pages / 4, 7);
    request = ucp_get_nbx(way->ep, buffer, PAGE, (uintptr_t)c->window, way->rkey,
                          &param);
    if (UCS_PTR_IS_PTR(request)) {
        while (c->calls == 0) {
            ucp_worker_progress(way->worker);
        }
        (void)finish(way, c->closing);
    } else {
        close_way(way, 0);
    }
    expect_pages(c, 0, c->pages / 4, 7, "what was put before a callback closed");
}

/* UCX closes nothing with force that does not handle errors: it goes on */
static void close_in_vain(close_t *c, way_t *way)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = UCP_EP_CLOSE_FLAG_FORCE
    };

    connect_way(c, way, 0);
    put_pages(c, way, 0, c->pages / 4, 8);
    check(c, UCS_PTR_STATUS(ucp_ep_close_nbx(way->ep, &param)) ==
             UCS_ERR_INVALID_PARAM, "an endpoint was closed with force");
    put_pages(c, way, c->pages / 4, c->pages, 8);
    flush(way);
    expect_pages(c, 0, c->pages, 8, "what was put when it was not closed");
    close_way(way, 0);
}

/* A worker is destroyed, with an endpoint that is open and one that is being closed,
 * while the target does nothing: that waits for a second at most. The target cannot go on
 * afterwards: UCX ends a process that cannot acknowledge a put */
static void end_before_target(close_t *c)
{
    double begin;
    ucs_status_ptr_t request;
    way_t way, open;

    way_make(c->context, &way, UCS_THREAD_MODE_SINGLE);
    open = way;
    connect_way(c, &way, 0);
    connect_way(c, &open, 0);
    put_pages(c, &way, 0, 2, 9);
    flush(&way);
    put_pages(c, &open, 0, 2, 9);
    flush(&open);
    atomic_store(&c->may_progress, 0);
    usleep(10000);
    put_pages(c, &way, 0, 2, 9);
    put_pages(c, &open, 0, 2, 9);
    ucp_rkey_destroy(open.rkey);
    request = begin_close(&way, 0);
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    }
    begin = app_time();
    ucp_worker_destroy(way.worker);
    check(c, app_time() < begin + 10, "a worker waits for a target");
}

/* Endpoints that come and go leave nothing behind */
static void come_and_go(close_t *c, way_t *way, int is_forced)
{
    size_t before = 0;
    int i;

    for (i = 0; i < 2 * c->cycles; ++i) {
        if (i == c->cycles) {
            before = mallinfo2().uordblks;
        }
        connect_way(c, way, is_forced);
        check_status(put(c, way, i % c->pages, 4), "ucp_put_nbi");
        if (i % 2) {
            flush(way);
        }
        close_way(way, is_forced);
    }
    check(c, mallinfo2().uordblks < before + c->cycles * LEFT_BEHIND,
          "endpoints have left memory behind");
}

typedef struct {
    close_t   *c;
    way_t     way;
    pthread_t thread;
} closer_t;

static void *run_closer(void *arg)
{
    closer_t *closer = arg;
    int i;

    for (i = 0; i < closer->c->cycles; ++i) {
        connect_way(closer->c, &closer->way, 0);
        put_pages(closer->c, &closer->way, 0, 2, 4);
        close_way(&closer->way, 0);
    }
    return NULL;
}

/* Threads that share a worker close endpoints of it, and progress it meanwhile */
static void close_in_threads(close_t *c)
{
    closer_t closers[THREADS];
    int i;

    way_make(c->context, &closers[0].way, UCS_THREAD_MODE_MULTI);
    for (i = 0; i < THREADS; ++i) {
        closers[i].c          = c;
        closers[i].way.worker = closers[0].way.worker;
        if (pthread_create(&closers[i].thread, NULL, run_closer,
                           &closers[i]) != 0) {
            app_fatal("windowclose: no thread");
        }
    }
    for (i = 0; i < THREADS; ++i) {
        pthread_join(closers[i].thread, NULL);
    }
    ucp_worker_destroy(closers[0].way.worker);
}

static void *run_target(void *arg)
{
    close_t *c                 = arg;
    ucp_worker_params_t params = {};

    check_status(ucp_worker_create(c->context, &params, &c->target),
                 "ucp_worker_create");
    check_status(ucp_worker_get_address(c->target, &c->address,
                                        &c->address_length),
                 "ucp_worker_get_address");
    atomic_store(&c->may_progress, 1);
    while (!atomic_load(&c->is_over)) {
        if (atomic_load(&c->may_progress)) {
            ucp_worker_progress(c->target);
        }
    }
    ucp_worker_release_address(c->target, c->address);
    ucp_worker_destroy(c->target);
    return NULL;
}

static ucp_context_h make_context(void)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_RMA,
        .mt_workers_shared = 1
    };
    ucp_context_h context;

    check_status(ucp_init(&params, NULL, &context), "ucp_init");
    return context;
}

static size_t make_window(close_t *c)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length     = PAGES * PAGE + (1ul << 20)
    };
    size_t length;

    c->window      = aligned_alloc(PAGE, params.length);
    params.address = c->window;
    check_status(ucp_mem_map(c->context, &params, &c->memh), "ucp_mem_map");
    check_status(ucp_rkey_pack(c->context, c->memh, &c->packed, &length),
                 "ucp_rkey_pack");
    return length;
}

static void destroy(close_t *c)
{
    ucp_rkey_buffer_release(c->packed);
    check_status(ucp_mem_unmap(c->context, c->memh), "ucp_mem_unmap");
    atomic_store(&c->is_over, 1);
    pthread_join(c->thread, NULL);
    ucp_cleanup(c->context);
    free(c->window);
}

static size_t make(close_t *c)
{
    c->context = make_context();
    if (pthread_create(&c->thread, NULL, run_target, c) != 0) {
        app_fatal("windowclose: no thread");
    }
    while (!atomic_load(&c->may_progress)) {
    }
    return make_window(c);
}

/* The second process has a window, and that is all */
static void run_peer(close_t *c)
{
    peer_t *peer = c->peer;
    size_t length;

    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    length = make(c);
    if ((length > MAX_KEY) || (c->address_length > MAX_KEY)) {
        app_fatal("windowclose: a key of %zu bytes", length);
    }

    memcpy(peer->packed, c->packed, length);
    memcpy(peer->address, c->address, c->address_length);
    peer->window = c->window;
    atomic_store(&peer->is_ready, 1);
    while (!atomic_load(&peer->is_over)) {
        usleep(1000);
    }
    destroy(c);
}

static void start_peer(close_t *c)
{
    c->peer = mmap(NULL, sizeof(*c->peer), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->peer == MAP_FAILED) {
        app_fatal("windowclose: no memory");
    }

    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    c->pid = fork();
    if (c->pid == 0) {
        alarm(SECONDS);
        run_peer(c);
        _exit(0); /* The library's summary is that of the first process */
    }
}

static void end_peer(close_t *c)
{
    int status;

    atomic_store(&c->peer->is_over, 1);
    check(c, (waitpid(c->pid, &status, 0) == c->pid) && (status == 0),
          "the second process has failed");
}

static void *run_late(void *arg)
{
    way_t *ways = arg;
    int i;

    for (i = 0; i < LATE; ++i) {
        usleep(200);
        close_way(&ways[i], 0);
    }
    return NULL;
}

/* Endpoints of another context, which a thread closes from now on */
static void start_late(close_t *peer, way_t *other, way_t *ways, pthread_t *thread)
{
    int i;

    for (i = 0; i < LATE; ++i) {
        ways[i] = *other;
        connect_way(peer, &ways[i], 0);
        check_status(put(peer, &ways[i], i % peer->pages, 6), "ucp_put_nbi");
        flush(&ways[i]);
    }
    if (pthread_create(thread, NULL, run_late, ways) != 0) {
        app_fatal("windowclose: no thread");
    }
}

typedef struct {
    const close_t *peer;
    way_t         way;
    pthread_t     thread;
    ucs_status_t  status; /* With which puts have ended */
} putter_t;

/* Put to pages in turn, more than there are firehoses for, until that is refused */
static void *run_putter(void *arg)
{
    static char buffer[8];
    putter_t *putter = arg;
    way_t *way       = &putter->way;
    uint64_t i       = 0;

    do {
        putter->status = ucp_put_nbi(way->ep, buffer, sizeof(buffer),
                                     (uintptr_t)putter->peer->window +
                                     (i++ % PAGES) * PAGE, way->rkey);
        if (i % 8 == 0) {
            flush(way);
        }
    } while (!UCS_STATUS_IS_ERR(putter->status));
    return NULL;
}

static void start_putter(const close_t *peer, const way_t *other, putter_t *putter)
{
    putter->peer = peer;
    putter->way  = *other;
    connect_way(peer, &putter->way, 0);
    if (pthread_create(&putter->thread, NULL, run_putter, putter) != 0) {
        app_fatal("windowclose: no thread");
    }
}

/* The context of this process's window ends, while puts of another context to a second
 * process are under way. The worker is one that the library may not progress by itself */
static void end_first(close_t *c)
{
    close_t peer = *c;
    int num      = c->pages / 4;
    way_t other, ways[LATE];
    putter_t putter;
    pthread_t late;

    while (!atomic_load(&c->peer->is_ready)) {
        usleep(1000);
    }
    peer.address = (ucp_address_t*)c->peer->address;
    peer.packed  = c->peer->packed;
    peer.window  = c->peer->window;
    way_make(make_context(), &other, UCS_THREAD_MODE_MULTI);
    connect_way(&peer, &other, 0);
    put_pages(&peer, &other, 0, num, 5);
    flush(&other);
    start_late(&peer, &other, ways, &late);
    start_putter(&peer, &other, &putter);
    put_pages(&peer, &other, num / 2, num, 5);
    destroy(c);
    check(c, put(&peer, &other, 0, 5) == UCS_ERR_UNREACHABLE,
          "a put when the context of windows has ended");
    pthread_join(late, NULL);
    pthread_join(putter.thread, NULL);
    check(c, putter.status == UCS_ERR_UNREACHABLE,
          "puts while the context of windows ends");
    close_way(&putter.way, 0);
    close_way(&other, 0);
    ucp_worker_destroy(other.worker);
    ucp_cleanup(other.context);
}

static void usage(void)
{
    printf("usage: windowclose [options]\n"
           "  --pages N   firehoses that the settings give, up to 48 (16)\n"
           "  --cycles N  of endpoints that come and go (200)\n"
           "  --force     close with force as well\n"
           "  --abandon   only end a worker whose target does nothing\n");
}

int main(int argc, char **argv)
{
    int is_abandoned             = 0;
    close_t c                    = {.pages = 16, .cycles = 200};
    const app_option_t options[] = {{"pages", .count = &c.pages},
                                    {"cycles", .count = &c.cycles},
                                    {"force", .flag = &c.has_force},
                                    {"abandon", .flag = &is_abandoned},
                                    {NULL}};
    int is_forced;
    way_t way;

    app_parse(argc, argv, "windowclose", options, usage);
    alarm(SECONDS);
    start_peer(&c);
    (void)make(&c);
    if (is_abandoned) {
        end_before_target(&c);
        end_peer(&c);
        _exit(c.errors ? 1 : 0);
    }

    way_make(c.context, &way, UCS_THREAD_MODE_SINGLE);
    for (is_forced = 0; is_forced <= c.has_force; ++is_forced) {
        close_before_target(&c, &way, is_forced);
        close_before_got(&c, &way, is_forced);
        come_and_go(&c, &way, is_forced);
    }
    close_in_callback(&c, &way);
    close_in_vain(&c, &way);
    close_in_threads(&c);
    ucp_worker_destroy(way.worker);
    end_first(&c);
    end_peer(&c);
    printf("windowclose: %d errors\n", c.errors);
    return c.errors ? 1 : 0;
}
