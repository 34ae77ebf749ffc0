/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * A flush of UCP that ends before an operation which was begun before it. Two workers
 * of one process are connected by shared memory, over which UCP emulates gets. Messages
 * fill the queue of the target, which does nothing, so that the request of a get waits at
 * its origin. A flush of the endpoint waits for the get. A flush of the worker ends at
 * once: it counts requests that have left and are not answered, and there is none.
 *
 * Prints which flush ended before the get. Exit status: 0, 1 if that of the endpoint did
 * or a byte is wrong in the end, 2 if UCX failed.
 */

#include <ucp/api/ucp.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Far more messages than the queue of a transport holds */
#define MAX_MESSAGES 100000

#define CHECK(_expr) \
    do { \
        ucs_status_t _status = (_expr); \
        if (_status != UCS_OK) { \
            fprintf(stderr, "workerflush: " #_expr ": %s\n", \
                    ucs_status_string(_status)); \
            exit(2); \
        } \
    } while (0)

typedef struct side {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep; /* To the other side */
} side_t;

static const ucp_request_param_t no_param = {.op_attr_mask = 0};


static void side_init(side_t *side)
{
    const ucp_params_t params        = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG | UCP_FEATURE_RMA
    };
    const ucp_worker_params_t worker = {.field_mask = 0};

    CHECK(ucp_init(&params, NULL, &side->context));
    CHECK(ucp_worker_create(side->context, &worker, &side->worker));
}

static void side_connect(side_t *side, const side_t *peer)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t length;

    CHECK(ucp_worker_get_address(peer->worker, &address, &length));
    params.address = address;
    CHECK(ucp_ep_create(side->worker, &params, &side->ep));
    ucp_worker_release_address(peer->worker, address);
}

static int is_ended(ucs_status_ptr_t request)
{
    return !UCS_PTR_IS_PTR(request) ||
           (ucp_request_check_status(request) != UCS_INPROGRESS);
}

/* Let both sides communicate until a request has ended, and free the request */
static void finish(const side_t *origin, const side_t *target, ucs_status_ptr_t request)
{
    while (!is_ended(request)) {
        ucp_worker_progress(origin->worker);
        ucp_worker_progress(target->worker);
    }

    if (UCS_PTR_IS_PTR(request)) {
        CHECK(ucp_request_check_status(request));
        ucp_request_free(request);
    } else {
        CHECK(UCS_PTR_STATUS(request));
    }
}

/* Send until the target's queue is full. @return the message that waits for room */
static ucs_status_ptr_t fill_queue(const side_t *origin)
{
    static const char byte   = 0;
    ucs_status_ptr_t message = NULL;
    int i;

    for (i = 0; (i < MAX_MESSAGES) && !UCS_PTR_IS_PTR(message); ++i) {
        message = ucp_tag_send_nbx(origin->ep, &byte, 1, 0, &no_param);
    }
    if (!UCS_PTR_IS_PTR(message)) {
        fprintf(stderr, "workerflush: %d messages do not fill a queue\n", i);
        exit(2);
    }
    return message;
}

static ucp_rkey_h get_key(const side_t *origin, const side_t *target, uint64_t *memory)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = memory,
        .length     = sizeof(*memory)
    };
    ucp_mem_h memh;
    ucp_rkey_h rkey;
    size_t length;
    void *key;

    CHECK(ucp_mem_map(target->context, &params, &memh));
    CHECK(ucp_rkey_pack(target->context, memh, &key, &length));
    CHECK(ucp_ep_rkey_unpack(origin->ep, key, &rkey));
    ucp_rkey_buffer_release(key);
    return rkey;
}

int main(void)
{
    uint64_t memory = 1, got = 0;
    ucs_status_ptr_t message, get, ep_flush, worker_flush;
    int ep_is_early, worker_is_early;
    side_t origin, target;
    ucp_rkey_h rkey;

    side_init(&origin);
    side_init(&target);
    side_connect(&origin, &target);
    side_connect(&target, &origin);
    rkey = get_key(&origin, &target, &memory);

    /* Once, so that both sides are connected */
    get = ucp_get_nbx(origin.ep, &got, sizeof(got), (uintptr_t)&memory, rkey, &no_param);
    finish(&origin, &target, get);

    memory          = 2;
    message         = fill_queue(&origin);
    get             = ucp_get_nbx(origin.ep, &got, sizeof(got), (uintptr_t)&memory, rkey,
                                  &no_param);
    ep_flush        = ucp_ep_flush_nbx(origin.ep, &no_param);
    worker_flush    = ucp_worker_flush_nbx(origin.worker, &no_param);
    ep_is_early     = is_ended(ep_flush) && !is_ended(get);
    worker_is_early = is_ended(worker_flush) && !is_ended(get);
    printf("flush of the endpoint %s the get, flush of the worker %s the get\n",
           ep_is_early ? "ended before" : "waits for",
           worker_is_early ? "ended before" : "waits for");

    finish(&origin, &target, message);
    finish(&origin, &target, ep_flush);
    finish(&origin, &target, worker_flush);
    finish(&origin, &target, get);
    return ep_is_early || (got != 2);
}
