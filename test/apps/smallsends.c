/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Sends small messages to itself over UCP, from buffers that it uses again and
 * again, and compares every byte that arrives. Prints a line of JSON. The
 * smallsends_usage() below tells the options.
 */

#include "options.h"

#include <ucp/api/ucp.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define CHECK(_cond) \
    do { \
        if (!(_cond)) { \
            fprintf(stderr, "smallsends.c:%d: not so: " #_cond "\n", \
                    __LINE__); \
            exit(1); \
        } \
    } while (0)

#define AM_ID     1
#define MAX_FLYING 64

enum {
    OP_TAG,
    OP_AM,
    OP_STREAM
};

static struct {
    unsigned op;
    size_t   size;
    size_t   buffers;
    size_t   distance; /* From one buffer to the next; 0: back to back */
    uint64_t sends;
    int      flying;   /* How many sends at a time */
    int      fast;     /* With UCP_OP_ATTR_FLAG_FAST_CMPL */
    int      callback; /* With a callback */
    int      remap;    /* Every so many sends the buffers are mapped anew; 0:
                          never */
    int      blind;    /* Nothing is written or compared, for timing */
    int      discard;  /* Transports drop the messages, see bench/discard.c */
    int      mixed;    /* Sends of the other half of the buffers are half as
                          long */
} opts = {
    .size    = 4096,
    .buffers = 4,
    .sends   = 10000,
    .flying  = 1
};

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h ep;
static char *memory;
static char *arrived; /* The last message that has arrived */
static uint64_t num_arrived;
static uint64_t num_called;
static uint64_t wrong;


static void smallsends_usage(void)
{
    printf("usage: smallsends [--op tag|am|stream] [--size N] [--buffers N]\n"
           "                  [--distance N] [--sends N] [--flying N] [--fast]\n"
           "                  [--callback] [--remap N] [--mixed] [--blind]\n"
           "                  [--discard]\n");
}

static void set_op(const char *value)
{
    if (!strcmp(value, "tag")) {
        opts.op = OP_TAG;
    } else if (!strcmp(value, "am")) {
        opts.op = OP_AM;
    } else if (!strcmp(value, "stream")) {
        opts.op = OP_STREAM;
    } else {
        fprintf(stderr, "smallsends: --op %s: accepted: tag, am, stream\n",
                value);
        exit(2);
    }
}

/* What message number n consists of */
static void fill(char *buffer, size_t length, uint64_t n)
{
    uint64_t word = n * 0x9e3779b97f4a7c15ul;
    size_t i;

    for (i = 0; i < length; ++i) {
        buffer[i] = (char)(word >> (8 * (i % 7))) + (char)i;
    }
}

static void compare(const char *data, size_t length, uint64_t n)
{
    static char expected[65536];

    fill(expected, length, n);
    if (memcmp(data, expected, length)) {
        ++wrong;
    }
}

static size_t length_of(uint64_t n)
{
    return (opts.mixed && ((n % opts.buffers) & 1)) ? (opts.size / 2) :
                                                        opts.size;
}

static ucs_status_t am_arrived(void *arg, const void *header,
                               size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    CHECK(!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV));
    if (!opts.blind) {
        CHECK(length == length_of(num_arrived));
        compare(data, length, num_arrived);
    }
    ++num_arrived;
    return UCS_OK;
}

static void start_ucp(void)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM
    };
    ucp_worker_params_t worker_params = {.field_mask = 0};
    ucp_ep_params_t ep_params         = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    ucp_am_handler_param_t am = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id         = AM_ID,
        .cb         = am_arrived
    };
    ucp_address_t *address;
    size_t length;

    CHECK(ucp_init(&params, NULL, &context) == UCS_OK);
    CHECK(ucp_worker_create(context, &worker_params, &worker) == UCS_OK);
    CHECK(ucp_worker_get_address(worker, &address, &length) == UCS_OK);
    ep_params.address = address;
    CHECK(ucp_ep_create(worker, &ep_params, &ep) == UCS_OK);
    ucp_worker_release_address(worker, address);
    CHECK(ucp_worker_set_am_recv_handler(worker, &am) == UCS_OK);
}

static void wait_for(ucs_status_ptr_t request)
{
    CHECK(!UCS_PTR_IS_ERR(request));
    if (request == NULL) {
        return;
    }

    while (ucp_request_check_status(request) == UCS_INPROGRESS) {
        ucp_worker_progress(worker);
    }
    CHECK(ucp_request_check_status(request) == UCS_OK);
    ucp_request_free(request);
}

static void stop_ucp(void)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};

    wait_for(ucp_ep_close_nbx(ep, &param));
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
}

static size_t memory_size(void)
{
    return (opts.distance ? opts.distance : opts.size) * opts.buffers +
           opts.size;
}

static void map_memory(void)
{
    memory = mmap(NULL, memory_size(), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
}

static char *buffer_of(uint64_t n)
{
    return memory + (n % opts.buffers) *
           (opts.distance ? opts.distance : opts.size);
}

static void called(void *request, ucs_status_t status, void *user_data)
{
    CHECK(status == UCS_OK);
    CHECK(user_data == &num_called);
    ++num_called;
}

static ucs_status_ptr_t post_send(uint64_t n)
{
    ucp_request_param_t param = {
        .op_attr_mask = (opts.fast ? UCP_OP_ATTR_FLAG_FAST_CMPL : 0) |
                        (opts.callback ? (UCP_OP_ATTR_FIELD_CALLBACK |
                                          UCP_OP_ATTR_FIELD_USER_DATA |
                                          UCP_OP_ATTR_FLAG_NO_IMM_CMPL) : 0),
        .cb.send      = called,
        .user_data    = &num_called
    };
    size_t length = length_of(n);

    switch (opts.op) {
    case OP_TAG:
        return ucp_tag_send_nbx(ep, buffer_of(n), length, n, &param);
    case OP_AM:
        return ucp_am_send_nbx(ep, AM_ID, &n, sizeof(n), buffer_of(n), length,
                               &param);
    default:
        return ucp_stream_send_nbx(ep, buffer_of(n), length, &param);
    }
}

/* Wait until message n has arrived */
static void receive(uint64_t n)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    size_t length             = length_of(n);
    ucs_status_ptr_t request;
    size_t received;

    if (opts.op == OP_AM) {
        while (num_arrived <= n) {
            ucp_worker_progress(worker);
        }
        return;
    }

    if (opts.op == OP_TAG) {
        request = ucp_tag_recv_nbx(worker, arrived, length, n, -1, &param);
    } else {
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags        = UCP_STREAM_RECV_FLAG_WAITALL;
        request = ucp_stream_recv_nbx(ep, arrived, length, &received, &param);
    }

    wait_for(request);
    if (!opts.blind) {
        compare(arrived, length, n);
    }
}

/* Messages first to end - 1, at a time */
static void send_some(uint64_t first, uint64_t end)
{
    ucs_status_ptr_t requests[MAX_FLYING];
    uint64_t n;

    for (n = first; n < end; ++n) {
        if (!opts.blind) {
            fill(buffer_of(n), length_of(n), n);
        }
        requests[n - first] = post_send(n);
    }

    for (n = first; (n < end) && !opts.discard; ++n) {
        receive(n);
    }

    for (n = first; n < end; ++n) {
        wait_for(requests[n - first]);
    }
}

/* Connect, and have transports drop all messages from now on */
static void discard(void)
{
    int *is_on = dlsym(RTLD_DEFAULT, "discard_is_on");

    CHECK(is_on != NULL);
    opts.discard = 0;
    send_some(0, 1);
    opts.discard = 1;
    opts.blind   = 1;
    *is_on       = 1;
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + 1e-9 * ts.tv_nsec;
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"op", .function = set_op},
        {"size", .size = &opts.size},
        {"buffers", .size = &opts.buffers},
        {"distance", .size = &opts.distance},
        {"sends", .number = &opts.sends},
        {"flying", .count = &opts.flying},
        {"fast", .flag = &opts.fast},
        {"callback", .flag = &opts.callback},
        {"remap", .count = &opts.remap},
        {"mixed", .flag = &opts.mixed},
        {"blind", .flag = &opts.blind},
        {"discard", .flag = &opts.discard},
        {NULL}
    };
    double begin;
    uint64_t n;

    app_parse(argc, argv, "smallsends", options, smallsends_usage);
    if ((opts.flying < 1) || (opts.flying > MAX_FLYING) ||
        ((size_t)opts.flying > opts.buffers)) {
        fprintf(stderr, "smallsends: --flying %d: accepted: 1 to %d, and to "
                "the number of buffers\n", opts.flying, MAX_FLYING);
        return 2;
    }

    arrived = malloc(opts.size);
    CHECK(arrived != NULL);
    start_ucp();
    map_memory();

    if (opts.discard) {
        discard();
    }

    begin = now();
    for (n = 0; n < opts.sends; n += opts.flying) {
        if (opts.remap && (n % opts.remap == 0)) {
            munmap(memory, memory_size());
            map_memory();
        }
        send_some(n, n + opts.flying);
    }

    printf("{\"sends\": %lu, \"wrong\": %lu, \"callbacks\": %lu, "
           "\"ns_per_send\": %.1f}\n", (unsigned long)opts.sends,
           (unsigned long)wrong, (unsigned long)num_called,
           1e9 * (now() - begin) / opts.sends);
    stop_ucp();
    return wrong != 0;
}
