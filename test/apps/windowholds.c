/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What a program leaves to the library between its accesses to a window of this process:
 * firehoses that operations have used stay with the endpoint, for the next ones. They
 * must not pile up, nor keep others waiting. It needs no MPI; the environment tells that
 * it is a job of one, whose buckets are pages, of which it gets 16 firehoses and more.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define PAGE    4096ul
#define SIZE    (4096 * PAGE + (1ul << 20)) /* Two pages that are 4096 apart */
#define LONG    4                           /* Pages of a long put */
#define TURNS   8
#define SECONDS 20                          /* How long anything may take */

typedef struct {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_worker_h  busy;   /* Another one of this thread, with messages to itself. Its
                             progress carries out what UCX emulates as well */
    ucp_ep_h      ep;     /* From the one to the other */
    ucp_ep_h      loop;   /* From that to itself */
    ucp_mem_h     memh;
    ucp_rkey_h    rkey;
    char          *window;
    int           pages;  /* Firehoses */
    int           is_called;
    atomic_int    is_unmapped;
    int           errors;
} holds_t;

static const ucp_request_param_t no_param;


static void check(holds_t *h, int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "windowholds: %s\n", what);
        ++h->errors;
    }
}

static void check_status(ucs_status_t status, const char *what)
{
    if (UCS_STATUS_IS_ERR(status)) {
        app_fatal("windowholds: %s: %s", what, ucs_status_string(status));
    }
}

static void wait(holds_t *h, ucs_status_ptr_t request, const char *what)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_request_check_status(request)) ==
               UCS_INPROGRESS) {
            ucp_worker_progress(h->worker);
            ucp_worker_progress(h->busy);
        }
        ucp_request_free(request);
    }
    check_status(status, what);
}

static void flush(holds_t *h)
{
    wait(h, ucp_ep_flush_nbx(h->ep, &no_param), "a flush");
}

static void put(holds_t *h, size_t page, size_t length)
{
    static char buffer[LONG * PAGE];

    check_status(ucp_put_nbi(h->ep, buffer, length,
                             (uintptr_t)h->window + page * PAGE, h->rkey),
                 "ucp_put_nbi");
}

static void make_window(holds_t *h)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length     = SIZE
    };
    size_t length;
    void *packed;

    h->window      = aligned_alloc(PAGE, SIZE);
    params.address = h->window;
    check_status(ucp_mem_map(h->context, &params, &h->memh), "ucp_mem_map");
    check_status(ucp_rkey_pack(h->context, h->memh, &packed, &length),
                 "ucp_rkey_pack");
    check_status(ucp_ep_rkey_unpack(h->ep, packed, &h->rkey),
                 "ucp_ep_rkey_unpack");
    ucp_rkey_buffer_release(packed);
}

static void *unmap(void *arg)
{
    holds_t *h = arg;

    check_status(ucp_mem_unmap(h->context, h->memh), "ucp_mem_unmap");
    atomic_store(&h->is_unmapped, 1);
    return NULL;
}

/* The window is unmapped */
static void destroy_window(holds_t *h)
{
    ucp_rkey_destroy(h->rkey);
    free(h->window);
}

/* Two buckets whose numbers differ by a large power of two, in turn: what the
 * library keeps does not grow with that */
static void alternate(holds_t *h)
{
    size_t before = 0;
    int i;

    for (i = 0; i < 20000; ++i) {
        if (i == 4000) {
            before = mallinfo2().uordblks;
        }
        put(h, (i % 2) * 4096, 8);
        flush(h);
    }
    check(h, mallinfo2().uordblks < before + 100000,
          "16000 puts have left memory behind");
}

static void call_back(void *request, ucs_status_t status, void *user_data)
{
    holds_t *h = user_data;

    put(h, 2 * h->pages, 8);
    h->is_called = 1;
}

/* Long puts to as many buckets as there are firehoses, and then a short one to each:
 * these need no more than a fourth of them, so that a callback finds others */
static void shorten(holds_t *h)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = call_back,
        .user_data    = h
    };
    uint64_t got;
    int i;

    for (i = 0; i < h->pages; i += LONG) {
        put(h, i, LONG * PAGE);
        flush(h);
    }
    for (i = 0; i < h->pages; i += LONG) {
        put(h, i, 8);
    }
    wait(h, ucp_get_nbx(h->ep, &got, 8, (uintptr_t)h->window, h->rkey, &param), "ucp_get_nbx");
    check(h, h->is_called, "a get was complete at once");
    flush(h);
}

static ucs_status_t received(void *arg, const void *header, size_t header_length,
                             void *data, size_t length,
                             const ucp_am_recv_param_t *param)
{
    return UCS_OK;
}

/* A put that is not flushed, by one of two workers that are progressed in turn, the
 * other of which has always something to do: whoever unmaps the window need not
 * wait for a flush of the program */
static void take_turns(holds_t *h)
{
    time_t end = time(NULL) + SECONDS;
    ucs_status_ptr_t request;
    pthread_t thread;

    make_window(h);
    put(h, 0, 8);
    atomic_store(&h->is_unmapped, 0);
    if (pthread_create(&thread, NULL, unmap, h) != 0) {
        app_fatal("windowholds: no thread");
    }

    while (!atomic_load(&h->is_unmapped) && (time(NULL) < end)) {
        ucp_worker_progress(h->worker);
        request = ucp_am_send_nbx(h->loop, 1, NULL, 0, h, 8, &no_param);
        if (UCS_PTR_IS_PTR(request)) {
            ucp_request_free(request);
        }
        ucp_worker_progress(h->busy);
    }
    check(h, atomic_load(&h->is_unmapped), "a put is not flushed");
    flush(h);
    pthread_join(thread, NULL);
    destroy_window(h);
}

static ucp_worker_h make_worker(holds_t *h)
{
    ucp_worker_params_t params = {};
    ucp_worker_h worker;

    check_status(ucp_worker_create(h->context, &params, &worker),
                 "ucp_worker_create");
    return worker;
}

static ucp_ep_h make_ep(holds_t *h, ucp_worker_h worker)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t length;
    ucp_ep_h ep;

    check_status(ucp_worker_get_address(h->busy, &address, &length),
                 "ucp_worker_get_address");
    params.address = address;
    check_status(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
    ucp_worker_release_address(h->busy, address);
    return ep;
}

static void make(holds_t *h)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_RMA | UCP_FEATURE_AM,
        .mt_workers_shared = 1
    };
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id         = 1,
        .cb         = received
    };

    check_status(ucp_init(&params, NULL, &h->context), "ucp_init");
    h->worker = make_worker(h);
    h->busy   = make_worker(h);
    check_status(ucp_worker_set_am_recv_handler(h->busy, &handler),
                 "ucp_worker_set_am_recv_handler");
    h->ep   = make_ep(h, h->worker);
    h->loop = make_ep(h, h->busy);
}

static void destroy(holds_t *h)
{
    wait(h, ucp_ep_close_nbx(h->ep, &no_param), "ucp_ep_close_nbx");
    wait(h, ucp_ep_close_nbx(h->loop, &no_param), "ucp_ep_close_nbx");
    ucp_worker_destroy(h->busy);
    ucp_worker_destroy(h->worker);
    ucp_cleanup(h->context);
}

static void usage(void)
{
    printf("usage: windowholds [options]\n"
           "  --pages N  firehoses that the settings give, a multiple of 4 (16)\n");
}

int main(int argc, char **argv)
{
    holds_t h                    = {.pages = 16};
    const app_option_t options[] = {{"pages", .count = &h.pages}, {NULL}};

    int i;

    app_parse(argc, argv, "windowholds", options, usage);
    make(&h);
    make_window(&h);
    alternate(&h);
    shorten(&h);
    (void)unmap(&h);
    destroy_window(&h);
    for (i = 0; (i < TURNS) && (h.errors == 0); ++i) {
        take_turns(&h);
        ucp_worker_progress(h.worker); /* If calls are counted, the others have
                                          their turn next time */
    }
    destroy(&h);
    printf("windowholds: %d errors\n", h.errors);
    return h.errors ? 1 : 0;
}
