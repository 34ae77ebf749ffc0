/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Threads that send small messages to themselves over UCP, and compare every
 * byte that arrives, while memory comes and goes: from buffers of their own, on
 * the stack, that are mapped anew, moved, given back to the kernel or grown;
 * and from buffers that all threads send at a time. Endpoints are closed and
 * workers destroyed with sends in flight, and the process forks. Prints a line
 * of JSON. sendstorm_usage() tells the options.
 */

#ifndef _GNU_SOURCE
#  define _GNU_SOURCE /* mremap() */
#endif

#include "options.h"

#include <ucp/api/ucp.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(_cond) \
    do { \
        if (!(_cond)) { \
            fprintf(stderr, "sendstorm.c:%d: not so: " #_cond "\n", __LINE__); \
            _exit(1); \
        } \
    } while (0)

#define MAX_THREADS  16
#define NUM_OWN      8
#define NUM_SHARED   16
#define SHARED_SEED  0x5eed
#define MAX_LENGTH   8000
#define SLOT_SIZE    16384 /* From one buffer to the next */
#define LARGE_LENGTH (1024 * 1024)
#define MAX_FLYING   8

static struct {
    int      threads;
    int      shared;   /* One worker for all threads, instead of one each */
    uint64_t sends;    /* Of each thread */
    int      rounds;   /* Contexts, one after the other */
    int      forks;
    int      abort;    /* How endpoints are closed: with sends in flight */
    int      destroy;  /* Workers are destroyed with sends in flight */
    int      large;    /* Now and then a large message */
    int      distinct; /* Buffers of a thread; more than become hot */
} opts = {
    .threads = 4,
    .sends   = 20000,
    .rounds  = 1
};

/* A worker and the endpoint to itself */
typedef struct peer {
    ucp_worker_h worker;
    ucp_ep_h     ep;
} peer_t;

typedef struct sender {
    peer_t    *peer;
    unsigned  id;
    uint64_t  random;
    char      *memory;   /* NUM_OWN buffers */
    char      *many;     /* opts.distinct buffers of a page */
    char      *large;
    char      *arrived;
    pthread_t thread;
} sender_t;

static ucp_context_h context;
static peer_t peers[MAX_THREADS];
static char *shared_memory;
static _Atomic uint64_t wrong;
static _Atomic uint64_t called;
static _Atomic uint64_t expected_calls;
static _Atomic int stop;


static void sendstorm_usage(void)
{
    printf("usage: sendstorm [--threads N] [--shared] [--sends N] [--rounds N]\n"
           "                 [--forks N] [--abort] [--destroy] [--large]\n"
           "                 [--distinct N]\n");
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fill(char *buffer, size_t length, uint64_t seed)
{
    uint64_t word = (seed + 1) * 0x9e3779b97f4a7c15ul;
    size_t i;

    for (i = 0; i < length; ++i) {
        buffer[i] = (char)(word >> (8 * (i % 7))) + (char)(i >> 3);
    }
}

static void compare(const char *data, size_t length, uint64_t seed)
{
    uint64_t word = (seed + 1) * 0x9e3779b97f4a7c15ul;
    size_t i;

    for (i = 0; i < length; ++i) {
        if (data[i] != (char)((char)(word >> (8 * (i % 7))) + (char)(i >> 3))) {
            ++wrong;
            return;
        }
    }
}

static void start_peer(peer_t *peer)
{
    ucp_worker_params_t worker_params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = opts.shared ? UCS_THREAD_MODE_MULTI :
                                     UCS_THREAD_MODE_SERIALIZED
    };
    ucp_ep_params_t ep_params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
        .err_mode   = opts.abort ? UCP_ERR_HANDLING_MODE_PEER :
                                   UCP_ERR_HANDLING_MODE_NONE
    };
    ucp_address_t *address;
    size_t length;

    CHECK(ucp_worker_create(context, &worker_params, &peer->worker) == UCS_OK);
    CHECK(ucp_worker_get_address(peer->worker, &address, &length) == UCS_OK);
    ep_params.address = address;
    CHECK(ucp_ep_create(peer->worker, &ep_params, &peer->ep) == UCS_OK);
    ucp_worker_release_address(peer->worker, address);
}

static void wait_for(peer_t *peer, ucs_status_ptr_t request)
{
    CHECK(!UCS_PTR_IS_ERR(request));
    if (request == NULL) {
        return;
    }

    while (ucp_request_check_status(request) == UCS_INPROGRESS) {
        ucp_worker_progress(peer->worker);
    }
    ucp_request_free(request);
}

static char *map(size_t size)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

static void on_called(void *request, ucs_status_t status, void *user_data)
{
    CHECK(user_data == &called);
    ++called;
}

static ucs_status_ptr_t
post(sender_t *self, uint64_t tag, const char *buffer, size_t length)
{
    uint64_t kind             = next_random(&self->random) % 4;
    ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t request;

    if (kind == 0) {
        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                             UCP_OP_ATTR_FIELD_USER_DATA;
        param.cb.send      = on_called;
        param.user_data    = &called;
    } else if (kind == 1) {
        param.op_attr_mask = UCP_OP_ATTR_FLAG_FAST_CMPL;
    }

    request = ucp_tag_send_nbx(self->peer->ep, buffer, length, tag, &param);
    if ((kind == 0) && (request != NULL)) {
        ++expected_calls;
    }
    return request;
}

static void receive(sender_t *self, uint64_t tag, size_t length, uint64_t seed)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};

    wait_for(self->peer, ucp_tag_recv_nbx(self->peer->worker, self->arrived,
                                          LARGE_LENGTH, tag, -1, &param));
    compare(self->arrived, length, seed);
}

/* Send what is at a buffer, and receive it */
static void send_one(sender_t *self, uint64_t tag, const char *buffer,
                     size_t length, uint64_t seed)
{
    ucs_status_ptr_t request = post(self, tag, buffer, length);

    receive(self, tag, length, seed);
    wait_for(self->peer, request);
}

/* From the stack, so deep */
static __attribute__((noinline)) void
send_stack(sender_t *self, uint64_t tag, unsigned depth)
{
    char buffer[2000];

    fill(buffer, sizeof(buffer), tag);
    if (depth > 0) {
        send_stack(self, tag, depth - 1);
    }
    send_one(self, tag, buffer, sizeof(buffer), tag);
    buffer[0] = 0;
    __asm__ volatile("" : : "r"(buffer) : "memory");
}

/* The memory of the buffers of a thread becomes another one */
static void change_memory(sender_t *self)
{
    size_t size = NUM_OWN * SLOT_SIZE;
    char *moved;

    switch (next_random(&self->random) % 5) {
    case 0:
        munmap(self->memory, size);
        self->memory = map(size);
        break;
    case 1:
        CHECK(madvise(self->memory, size, MADV_DONTNEED) == 0);
        break;
    case 2: /* UCX 1.13 loses the address of MREMAP_FIXED */
        moved = mremap(self->memory, size, 4 * size, MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) {
            break; /* It is no longer one mapping, see below */
        }
        CHECK(mremap(moved, 4 * size, size, 0) == moved);
        self->memory = moved;
        break;
    case 3: /* Half of it */
        CHECK(mmap(self->memory + size / 2, size / 2, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
              self->memory + size / 2);
        break;
    default: /* The heap, whose end may go back to the kernel */
        free(malloc(100000));
        break;
    }
}

static char *own_buffer(sender_t *self, size_t *length_p)
{
    uint64_t random = next_random(&self->random);
    /* Some begin in the middle of others */
    char *buffer = self->memory + SLOT_SIZE * (random % NUM_OWN) +
                   1000 * ((random >> 8) % 3);

    *length_p = 300 + (random >> 16) % ((random & 0x80) ? 200 :
                                        (MAX_LENGTH - 300));
    return buffer;
}

static void *sender_main(void *arg)
{
    sender_t *self = arg;
    ucs_status_ptr_t requests[MAX_FLYING];
    char *buffers[MAX_FLYING];
    size_t lengths[MAX_FLYING];
    uint64_t n, tag, i, which;

    for (n = 1; n <= opts.sends; ++n) {
        tag   = ((uint64_t)self->id << 32) | n;
        which = next_random(&self->random) % 16;
        if (which < 4) {
            i = next_random(&self->random) % NUM_SHARED;
            send_one(self, tag, shared_memory + SLOT_SIZE * i, 4000,
                     SHARED_SEED + i);
        } else if (which == 4) {
            send_stack(self, tag, n % 3);
        } else if ((which == 5) && opts.large) {
            fill(self->large, LARGE_LENGTH, tag);
            send_one(self, tag, self->large, LARGE_LENGTH, tag);
        } else if ((which < 9) && (opts.distinct > 0)) {
            buffers[0] = self->many + 4096 * (n % opts.distinct);
            fill(buffers[0], 2048, tag);
            send_one(self, tag, buffers[0], 2048, tag);
        } else if (which == 9) {
            /* Several at a time, from buffers that do not overlap */
            for (i = 0; i < MAX_FLYING; ++i) {
                buffers[i] = self->memory + SLOT_SIZE * i;
                lengths[i] = 400 + 100 * i;
                fill(buffers[i], lengths[i], tag + i);
                requests[i] = post(self, tag | (i << 56), buffers[i],
                                   lengths[i]);
            }
            for (i = 0; i < MAX_FLYING; ++i) {
                receive(self, tag | (i << 56), lengths[i], tag + i);
            }
            for (i = 0; i < MAX_FLYING; ++i) {
                wait_for(self->peer, requests[i]);
            }
        } else {
            buffers[0] = own_buffer(self, &lengths[0]);
            fill(buffers[0], lengths[0], tag);
            send_one(self, tag, buffers[0], lengths[0], tag);
        }

        if (n % 97 == 0) {
            change_memory(self);
        }
    }
    return NULL;
}

/* Maps and unmaps memory that nobody sends, often where buffers have been */
static void *mapper_main(void *arg)
{
    uint64_t random = 99;
    char *memory;
    size_t size;

    while (!stop) {
        size   = 4096 * (1 + next_random(&random) % 64);
        memory = map(size);
        memset(memory, 0xee, size);
        munmap(memory, size);
    }
    return NULL;
}

/* The child has what it had, and writes to it */
static void fork_once(void)
{
    pid_t pid = fork();
    int status;

    CHECK(pid >= 0);
    if (pid == 0) {
        memset(shared_memory, 0xcc, NUM_SHARED * SLOT_SIZE);
        munmap(map(100000), 100000);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}

static void sender_init(sender_t *self, unsigned id)
{
    *self         = (sender_t){.peer = &peers[opts.shared ? 0 : id], .id = id};
    self->random  = 12345 + 7919 * (uint64_t)id;
    self->memory  = map(NUM_OWN * SLOT_SIZE);
    self->arrived = map(LARGE_LENGTH);
    self->large   = map(LARGE_LENGTH);
    if (opts.distinct > 0) {
        self->many = map(4096 * (size_t)opts.distinct);
    }
}

static void sender_free(sender_t *self)
{
    munmap(self->memory, NUM_OWN * SLOT_SIZE);
    munmap(self->arrived, LARGE_LENGTH);
    munmap(self->large, LARGE_LENGTH);
    if (opts.distinct > 0) {
        munmap(self->many, 4096 * (size_t)opts.distinct);
    }
}

/* Leave sends in flight that nobody receives */
static void leave_sends(sender_t *self, ucs_status_ptr_t *requests)
{
    unsigned i;

    for (i = 0; i < MAX_FLYING; ++i) {
        requests[i] = post(self, ((uint64_t)1 << 60) + i,
                           shared_memory + SLOT_SIZE * i, 4000);
        CHECK(!UCS_PTR_IS_ERR(requests[i]));
    }
}

static void stop_peer(sender_t *self)
{
    peer_t *peer              = self->peer;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = opts.abort ? UCP_EP_CLOSE_FLAG_FORCE : 0
    };
    ucs_status_ptr_t requests[MAX_FLYING];
    unsigned i;

    leave_sends(self, requests);
    if (!opts.destroy) {
        wait_for(peer, ucp_ep_close_nbx(peer->ep, &param));
        for (i = 0; i < MAX_FLYING; ++i) {
            wait_for(peer, requests[i]);
        }
    }
    ucp_worker_destroy(peer->worker);
}

static void run_round(void)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_TAG,
        .mt_workers_shared = 1
    };
    int num_peers = opts.shared ? 1 : opts.threads;
    static sender_t senders[MAX_THREADS];
    pthread_t mapper;
    int i;

    CHECK(ucp_init(&params, NULL, &context) == UCS_OK);
    for (i = 0; i < num_peers; ++i) {
        start_peer(&peers[i]);
    }

    stop = 0;
    CHECK(pthread_create(&mapper, NULL, mapper_main, NULL) == 0);
    for (i = 0; i < opts.threads; ++i) {
        sender_init(&senders[i], i);
        CHECK(pthread_create(&senders[i].thread, NULL, sender_main,
                             &senders[i]) == 0);
    }

    for (i = 0; i < opts.forks; ++i) {
        usleep(20000);
        fork_once();
    }

    for (i = 0; i < opts.threads; ++i) {
        CHECK(pthread_join(senders[i].thread, NULL) == 0);
    }
    stop = 1;
    CHECK(pthread_join(mapper, NULL) == 0);

    /* A destroyed worker does not call back */
    CHECK(called == expected_calls);
    for (i = 0; i < num_peers; ++i) {
        stop_peer(&senders[i]);
    }
    CHECK(opts.destroy || (called == expected_calls));
    called = expected_calls = 0;

    for (i = 0; i < opts.threads; ++i) {
        sender_free(&senders[i]);
    }
    ucp_cleanup(context);
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"threads", .count = &opts.threads},
        {"shared", .flag = &opts.shared},
        {"sends", .number = &opts.sends},
        {"rounds", .count = &opts.rounds},
        {"forks", .count = &opts.forks},
        {"abort", .flag = &opts.abort},
        {"destroy", .flag = &opts.destroy},
        {"large", .flag = &opts.large},
        {"distinct", .count = &opts.distinct},
        {NULL}
    };
    int i;

    app_parse(argc, argv, "sendstorm", options, sendstorm_usage);
    if ((opts.threads < 1) || (opts.threads > MAX_THREADS)) {
        fprintf(stderr, "sendstorm: --threads %d: accepted: 1 to %d\n",
                opts.threads, MAX_THREADS);
        return 2;
    }

    shared_memory = map(NUM_SHARED * SLOT_SIZE);
    for (i = 0; i < NUM_SHARED; ++i) {
        fill(shared_memory + SLOT_SIZE * i, 4000, SHARED_SEED + i);
    }

    for (i = 0; i < opts.rounds; ++i) {
        run_round();
    }

    printf("{\"sends\": %lu, \"wrong\": %lu}\n",
           (unsigned long)opts.sends * opts.threads * opts.rounds,
           (unsigned long)wrong);
    return wrong != 0;
}
