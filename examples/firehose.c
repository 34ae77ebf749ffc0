/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A whole program with Firehose. Each process exposes a heap, puts to the heap
 * of the next process, and gets from it. The processes are children of one
 * parent and exchange addresses through sockets of that parent: a job launcher
 * and PMIx or MPI would take the place of spawn() and exchange().
 *
 *     cc -o firehose firehose.c $(pkg-config --cflags --libs ucp-firehose)
 *     ./firehose 4
 *     UCX_WARN_UNUSED_ENV_VARS=n UCX_RCACHE_PRED_FIREHOSE_M=2m ./firehose 4
 *     ./firehose 4 8 1
 *
 * The arguments are the number of processes, and M and MAXVICTIM in MiB, see
 * ucp_fh_init(3). Without the last two, the environment says them.
 */

#include <ucp/firehose/firehose.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCS   64
#define MAX_ADDRESS 16384
#define HEAP        (16 << 20)         /* Exposed bytes of a process */
#define BLOCK       65536              /* Bytes of a put or get */
#define NUM_BLOCKS  32                 /* Of a process */
#define STRIDE      (HEAP / NUM_BLOCKS)
#define NUM_UPDATES 1000
#define PLACE       "FIREHOSE_PLACE"   /* Tells a child its index and socket */

/* What a process tells all others before they can access its heap */
typedef struct {
    uint64_t heap;
    size_t   length;
    char     address[MAX_ADDRESS];
} contact_t;

typedef struct {
    int             index;
    int             num_procs;
    int             parent;     /* Socket to the parent */
    contact_t       mine;
    contact_t       contacts[MAX_PROCS];
    ucp_context_h   context;
    ucp_fh_h        fh;
    ucp_fh_mem_h    mem;
    ucp_worker_h    ucp_worker;
    ucp_fh_worker_h worker;
    char            *heap;
    char            *blocks;    /* What is put, and what was got */
} process_t;

static const ucp_request_param_t no_param = {.op_attr_mask = 0};


/* End this process; its parent then ends the others. The library's thread may
 * still be at work, and exit() would free what the thread uses */
static void __attribute__((noreturn))
fail(const process_t *p, const char *what, const char *why)
{
    fprintf(stderr, "process %d: %s: %s\n", p->index, what, why);
    _exit(1);
}

static void check(const process_t *p, ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fail(p, what, ucs_status_string(status));
    }
}

static int write_all(int fd, const void *buffer, size_t length)
{
    const char *next = buffer;
    ssize_t n;

    for (; length > 0; length -= n, next += n) {
        n = write(fd, next, length);
        if (n <= 0) {
            return -1;
        }
    }
    return 0;
}

static int read_all(int fd, void *buffer, size_t length)
{
    char *next = buffer;
    ssize_t n;

    for (; length > 0; length -= n, next += n) {
        n = read(fd, next, length);
        if (n <= 0) {
            return -1;
        }
    }
    return 0;
}

/* Give all processes what this one has to tell, and get what they have told. No
 * process returns before all have called */
static void exchange(process_t *p)
{
    if ((write_all(p->parent, &p->mine, sizeof(p->mine)) != 0) ||
        (read_all(p->parent, p->contacts,
                  p->num_procs * sizeof(contact_t)) != 0)) {
        fail(p, "exchange", "another process has ended");
    }
}

/* UCX's own caches would keep memory pinned that Firehose has unpinned. Beside
 * libuct_predreg.so they are off. UCX warns of a setting for adapters where
 * there are none */
static void switch_caches_off(void)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    if ((major > 1) || (minor >= 16)) {
        setenv("UCX_RCACHE_ENABLE", "n", 0);
    } else if (access("/sys/class/infiniband", F_OK) == 0) {
        setenv("UCX_IB_REG_METHODS", "direct", 0);
    }
}

static void start(process_t *p, const char *m, const char *max_victim)
{
    ucp_params_t params            = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                             UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };
    ucp_fh_init_params_t fh_params = {
        .num_procs = p->num_procs,
        .index     = p->index
    };

    switch_caches_off();
    check(p, ucp_init(&params, NULL, &p->context), "ucp_init");
    fh_params.context = p->context;
    if (m != NULL) {
        fh_params.field_mask |= UCP_FH_PARAM_FIELD_M;
        fh_params.m           = strtoull(m, NULL, 0) << 20;
    }
    if (max_victim != NULL) {
        fh_params.field_mask |= UCP_FH_PARAM_FIELD_MAXVICTIM;
        fh_params.max_victim  = strtoull(max_victim, NULL, 0) << 20;
    }
    check(p, ucp_fh_init(&fh_params, &p->fh), "ucp_fh_init");
}

static void expose(process_t *p)
{
    p->heap   = calloc(1, HEAP);
    p->blocks = malloc(2 * NUM_BLOCKS * BLOCK);
    if ((p->heap == NULL) || (p->blocks == NULL)) {
        fail(p, "malloc", "no memory");
    }
    check(p, ucp_fh_expose(p->fh, p->heap, HEAP, &p->mem), "ucp_fh_expose");
}

static void connect_all(process_t *p)
{
    size_t length;
    void *address;
    int i;

    check(p, ucp_fh_get_address(p->fh, &address, &length),
          "ucp_fh_get_address");
    if (length > MAX_ADDRESS) {
        fail(p, "ucp_fh_get_address", "a longer address than expected");
    }
    p->mine.heap   = (uintptr_t)p->heap;
    p->mine.length = length;
    memcpy(p->mine.address, address, length);
    ucp_fh_release_address(p->fh, address);

    exchange(p);
    for (i = 0; i < p->num_procs; ++i) {
        check(p, ucp_fh_connect(p->fh, i, p->contacts[i].address,
                                p->contacts[i].length), "ucp_fh_connect");
    }
}

static void create_worker(process_t *p)
{
    ucp_worker_params_t params = {.field_mask = 0}; /* One thread uses it */

    check(p, ucp_worker_create(p->context, &params, &p->ucp_worker),
          "ucp_worker_create");
    check(p, ucp_fh_worker_create(p->fh, p->ucp_worker, &p->worker),
          "ucp_fh_worker_create");
}

/* Wait for what a put, get or flush has returned */
static ucs_status_t wait_for(process_t *p, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request); /* It is complete, or has failed */
    }

    while ((status = ucp_fh_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_fh_worker_progress(p->worker);
    }
    ucp_fh_request_free(request);
    return status;
}

static void flush(process_t *p)
{
    check(p, wait_for(p, ucp_fh_flush_nbx(p->worker, &no_param)), "flush");
}

/* All puts are under way together; then all gets */
static void put_and_get(process_t *p, int peer)
{
    uint64_t heap = p->contacts[peer].heap;
    char *got     = p->blocks + (NUM_BLOCKS * BLOCK);
    ucs_status_ptr_t requests[NUM_BLOCKS];
    int i;

    for (i = 0; i < NUM_BLOCKS; ++i) {
        memset(p->blocks + (i * BLOCK), 1 + p->index + i, BLOCK);
        requests[i] = ucp_fh_put_nbx(p->worker, peer, p->blocks + (i * BLOCK),
                                     BLOCK, heap + (i * STRIDE), &no_param);
    }
    for (i = 0; i < NUM_BLOCKS; ++i) {
        check(p, wait_for(p, requests[i]), "put");
    }
    flush(p); /* Now the blocks are in the heap of the peer */

    for (i = 0; i < NUM_BLOCKS; ++i) {
        requests[i] = ucp_fh_get_nbx(p->worker, peer, got + (i * BLOCK), BLOCK,
                                     heap + (i * STRIDE), &no_param);
    }
    for (i = 0; i < NUM_BLOCKS; ++i) {
        check(p, wait_for(p, requests[i]), "get");
    }
    if (memcmp(p->blocks, got, NUM_BLOCKS * BLOCK) != 0) {
        fail(p, "get", "other bytes than were put");
    }
}

/* Many small puts to one place: both ends stay pinned meanwhile */
static void put_often(process_t *p, int peer)
{
    uint64_t place            = p->contacts[peer].heap + BLOCK;
    uint64_t *value           = (uint64_t*)p->blocks;
    ucp_request_param_t param = no_param;
    ucp_fh_hold_attr_t attr;
    ucp_fh_hold_h here, there;

    check(p, ucp_fh_pin_local(p->fh, value, sizeof(*value), NULL, NULL, &here),
          "ucp_fh_pin_local");
    check(p, ucp_fh_pin_remote(p->fh, peer, place, sizeof(*value), NULL, NULL,
                               &there), "ucp_fh_pin_remote");
    ucp_fh_hold_query(here, &attr);
    if ((UCP_API_VERSION >= UCP_VERSION(1, 16)) && (attr.memh != NULL)) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        param.memh          = attr.memh;
    }

    for (*value = 1; *value < NUM_UPDATES; ++*value) {
        check(p, wait_for(p, ucp_fh_put_nbx(p->worker, peer, value,
                                            sizeof(*value), place, &param)),
              "put");
        flush(p); /* One put may overtake another */
    }
    ucp_fh_release(there);
    ucp_fh_release(here);
}

/* An operation that fails says so, and harms no other */
static void put_outside(process_t *p, int peer)
{
    ucs_status_t status;

    status = wait_for(p, ucp_fh_put_nbx(p->worker, peer, p->blocks, BLOCK,
                                        p->contacts[peer].heap + HEAP,
                                        &no_param));
    if (status != UCS_ERR_INVALID_ADDR) {
        fail(p, "put behind the heap", ucs_status_string(status));
    }
}

/* What the process before this one has put */
static void check_heap(process_t *p)
{
    int before = (p->index + p->num_procs - 1) % p->num_procs;
    int i;

    for (i = 0; i < NUM_BLOCKS; ++i) {
        if (p->heap[i * STRIDE] != (char)(1 + before + i)) {
            fail(p, "heap", "other bytes than the peer has put");
        }
    }
    if (*(uint64_t*)(p->heap + BLOCK) != NUM_UPDATES - 1) {
        fail(p, "heap", "not the last update of the peer");
    }
}

static void print_counters(process_t *p)
{
    ucp_fh_stats_t stats;

    ucp_fh_query(p->fh, &stats);
    printf("process %d: %lu of %lu requests for firehoses were hits; of %d "
           "bytes at most %lu were pinned, the bound is %lu\n", p->index,
           (unsigned long)stats.hits, (unsigned long)stats.requests, HEAP,
           (unsigned long)stats.bytes_peak, (unsigned long)stats.bytes_limit);
    fflush(stdout);
}

static void finish(process_t *p)
{
    ucp_fh_worker_destroy(p->worker);
    ucp_worker_destroy(p->ucp_worker);
    check(p, ucp_fh_unexpose(p->mem), "ucp_fh_unexpose");
    exchange(p); /* Nobody needs this process any more */
    ucp_fh_finalize(p->fh);
    ucp_cleanup(p->context);
    free(p->blocks);
    free(p->heap);
}

static void run(process_t *p, const char *m, const char *max_victim)
{
    int peer = (p->index + 1) % p->num_procs;

    start(p, m, max_victim);
    expose(p);
    connect_all(p);
    create_worker(p);

    put_and_get(p, peer);
    put_often(p, peer);
    put_outside(p, peer);
    exchange(p); /* All have put, and flushed */
    check_heap(p);
    print_counters(p);
    finish(p);
}

/* What the parent knows of its children */
typedef struct {
    int           num;
    int           result;
    pid_t         pids[MAX_PROCS];
    struct pollfd sockets[MAX_PROCS]; /* Without a descriptor: it has ended */
    contact_t     contacts[MAX_PROCS];
} children_t;

/* Begin a process. It executes the program anew: UCX's libraries may have begun
 * threads in this process, and the locks of these would stay locked in a fork */
static void spawn(children_t *children, int index, char **argv)
{
    char place[32];
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        perror("socketpair");
        exit(1); /* The children see the end of their sockets */
    }

    fcntl(pair[1], F_SETFD, 0);
    snprintf(place, sizeof(place), "%d %d", index, pair[1]);
    setenv(PLACE, place, 1);
    pid = fork();
    if (pid == 0) {
        execv("/proc/self/exe", argv);
        _exit(1);
    } else if (pid < 0) {
        perror("fork");
        exit(1);
    }
    close(pair[1]);
    children->pids[index]           = pid;
    children->sockets[index].fd     = pair[0];
    children->sockets[index].events = POLLIN;
}

/* A process that fails ends the others, which may wait for it for ever */
static void reap(children_t *children, int index)
{
    int status = 1;
    int i;

    close(children->sockets[index].fd);
    children->sockets[index].fd = -1;
    waitpid(children->pids[index], &status, 0);
    if ((status == 0) || (children->result != 0)) {
        return;
    }

    children->result = 1;
    for (i = 0; i < children->num; ++i) {
        if (children->sockets[i].fd >= 0) {
            kill(children->pids[i], SIGKILL);
        }
    }
}

/* The other side of exchange() */
static void serve(children_t *children)
{
    int running = children->num;
    int told    = 0;
    int i;

    while (running > 0) {
        poll(children->sockets, children->num, -1);
        for (i = 0; i < children->num; ++i) {
            if ((children->sockets[i].fd < 0) ||
                (children->sockets[i].revents == 0)) {
                continue;
            }
            if (read_all(children->sockets[i].fd, &children->contacts[i],
                         sizeof(contact_t)) == 0) {
                ++told;
            } else {
                reap(children, i);
                --running;
            }
        }
        if (told < children->num) {
            continue;
        }
        told = 0;
        for (i = 0; i < children->num; ++i) {
            write_all(children->sockets[i].fd, children->contacts,
                      children->num * sizeof(contact_t));
        }
    }
}

int main(int argc, char **argv)
{
    static children_t children;
    static process_t p;
    const char *place = getenv(PLACE);
    int i;

    p.num_procs = (argc > 1) ? atoi(argv[1]) : 2;
    if ((p.num_procs < 1) || (p.num_procs > MAX_PROCS) || (argc > 4)) {
        fprintf(stderr, "usage: %s [PROCESSES [M [MAXVICTIM]]]\n"
                "  PROCESSES     1 to %d (2)\n"
                "  M, MAXVICTIM  in MiB\n", argv[0], MAX_PROCS);
        return 2;
    }

    if ((place != NULL) && (sscanf(place, "%d %d", &p.index, &p.parent) == 2)) {
        run(&p, (argc > 2) ? argv[2] : NULL, (argc > 3) ? argv[3] : NULL);
        return 0;
    }

    signal(SIGPIPE, SIG_IGN); /* A write to a child that has ended fails */
    children.num = p.num_procs;
    for (i = 0; i < children.num; ++i) {
        spawn(&children, i, argv);
    }
    serve(&children);
    return children.result;
}
