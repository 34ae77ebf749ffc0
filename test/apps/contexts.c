/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Several UCP contexts in one process, without MPI: each sends large messages
 * to itself over the network, contexts come and go while others go on, and are
 * closed with their regions still cached. Every byte is checked.
 *
 * usage: contexts [ROUNDS]
 */

#include <ucp/api/ucp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUM_CONTEXTS 3
#define LENGTH       (1024 * 1024)

typedef struct endpoint {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
    char          *out;
    char          *in;
} endpoint_t;


static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

static void open_endpoint(endpoint_t *e)
{
    ucp_params_t params               = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    ucp_worker_params_t worker_params = {.field_mask = 0};
    ucp_ep_params_t ep_params         = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    ucp_address_t *address;
    size_t length;

    /* Without a configuration of its own: UCP reads it by itself */
    check(ucp_init(&params, NULL, &e->context), "ucp_init");
    check(ucp_worker_create(e->context, &worker_params, &e->worker),
          "ucp_worker_create");
    check(ucp_worker_get_address(e->worker, &address, &length),
          "ucp_worker_get_address");
    ep_params.address = address;
    check(ucp_ep_create(e->worker, &ep_params, &e->ep), "ucp_ep_create");
    ucp_worker_release_address(e->worker, address);

    e->out = malloc(LENGTH);
    e->in  = malloc(LENGTH);
}

static void wait_for(endpoint_t *e, ucs_status_ptr_t request, const char *what)
{
    if (request == NULL) {
        return;
    }

    if (UCS_PTR_IS_ERR(request)) {
        check(UCS_PTR_STATUS(request), what);
    }

    while (ucp_request_check_status(request) == UCS_INPROGRESS) {
        ucp_worker_progress(e->worker);
    }
    check(ucp_request_check_status(request), what);
    ucp_request_free(request);
}

static void exchange(endpoint_t *e, int value)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t send, recv;

    memset(e->out, value, LENGTH);
    memset(e->in, ~value, LENGTH);
    recv = ucp_tag_recv_nbx(e->worker, e->in, LENGTH, 1, ~0ul, &param);
    send = ucp_tag_send_nbx(e->ep, e->out, LENGTH, 1, &param);
    wait_for(e, recv, "receive");
    wait_for(e, send, "send");
    if (memcmp(e->out, e->in, LENGTH)) {
        fprintf(stderr, "wrong data\n");
        exit(1);
    }
}

static void close_endpoint(endpoint_t *e)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    wait_for(e, ucp_ep_close_nbx(e->ep, &param), "close");
    ucp_worker_destroy(e->worker);
    ucp_cleanup(e->context);
    free(e->out);
    free(e->in);
}

int main(int argc, char **argv)
{
    int rounds = (argc > 1) ? atoi(argv[1]) : 6;
    endpoint_t endpoints[NUM_CONTEXTS];
    int i, round;

    for (i = 0; i < NUM_CONTEXTS; ++i) {
        open_endpoint(&endpoints[i]);
    }

    for (round = 0; round < rounds; ++round) {
        for (i = 0; i < NUM_CONTEXTS; ++i) {
            exchange(&endpoints[i], round * NUM_CONTEXTS + i);
            exchange(&endpoints[i], round * NUM_CONTEXTS + i + 1);
        }

        i = round % NUM_CONTEXTS;
        close_endpoint(&endpoints[i]);
        open_endpoint(&endpoints[i]);
    }

    for (i = 0; i < NUM_CONTEXTS; ++i) {
        close_endpoint(&endpoints[i]);
    }

    printf("%d contexts, %d rounds, all data correct\n", NUM_CONTEXTS, rounds);
    return 0;
}
