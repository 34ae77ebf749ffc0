/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Firehose between processes of this machine, which it starts itself. Their threads
 * put, get and add at random in each other's memory; every byte is checked by
 * those who wrote it and by those whose it is. What is pinned has to stay within
 * M + MAXVICTIM. Memory is withdrawn, mapped anew, and exposed again between rounds.
 * On request a process is killed in mid-transfer.
 */

#include "apps.h"
#include "options.h"

#include <ucp/firehose/api/firehose.h>
#include <ucp/firehose/wire/wire.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCS    16
#define MAX_THREADS  16
#define MAX_ADDRESS  8192
#define NUM_COUNTERS 64
#define NUM_NONSENSE 4
#define BURST        16   /* Operations between two flushes */
#define PATIENCE     60   /* Seconds until a dead process is noticed */


/* What the processes share */
typedef struct {
    pthread_barrier_t barrier;
    pthread_barrier_t survivors; /* As many less the one that is killed */
    uint64_t          bases[MAX_PROCS];
    size_t            address_lengths[MAX_PROCS];
    char              addresses[MAX_PROCS][MAX_ADDRESS];
    uint64_t          added[MAX_PROCS][NUM_COUNTERS]; /* To whose counters */
    uint8_t           images[]; /* What has to be in each process's memory */
} shared_t;


typedef struct {
    int           procs;
    int           threads;
    int           rounds;
    int           ops;       /* Of a thread in a round */
    int           is_shared; /* One worker for all threads */
    int           kills;     /* The last process is killed in the first round */
    int           damages;   /* The last process sends nonsense to the first */
    int           is_lazy;   /* The kernel's count is not looked at */
    int           hits;      /* Time hits, and do nothing else */
    size_t        heap;      /* Bytes of a process */
    size_t        most;      /* Bytes of an operation at most */
    size_t        bound;
    size_t        m;
    size_t        max_victim;
    size_t        bucket;
    int           rank;
    ucp_context_h context;
    ucp_fh_h      fh;
    ucp_fh_mem_h  mem;
    uint8_t       *memory;
    shared_t      *shared;
    uint64_t      errors;
    size_t        pinned_before; /* Bytes that were pinned without the library */
    size_t        pinned_most;   /* By the kernel's count */
} app_t;


typedef struct {
    app_t           *app;
    int             index;
    int             round;
    ucp_worker_h    ucp_worker;
    ucp_fh_worker_h worker;
    uint64_t        random;
    uint64_t        errors;
    pthread_t       thread;
} worker_t;


/* A put or get under way */
typedef struct {
    int      target;
    size_t   offset;
    size_t   length;
    uint8_t  *buffer;
    void     *request;
} flight_t;


static void usage(void)
{
    printf("usage: firehose [options]\n"
           "  --procs N        processes, 2 to %d (2)\n"
           "  --threads N      of each, 1 to %d (2)\n"
           "  --rounds N       (3)\n"
           "  --ops N          puts of a thread in a round (500)\n"
           "  --shared         one worker for all threads of a process\n"
           "  --kill           kill the last process in the first round\n"
           "  --damage         send nonsense to the first process\n"
           "  --lazy           what is unpinned may stay registered in a cache\n"
           "  --bound BYTES    the kernel may count so much as pinned, with what\n"
           "                   the program sends from (M + MAXVICTIM)\n"
           "  --hits           time puts of 8 bytes to the process itself, all hits\n"
           "  --heap BYTES     exposed memory of a process (8m)\n"
           "  --most BYTES     of an operation at most (64k)\n"
           "  --m BYTES        M (1m)\n"
           "  --maxvictim BYTES (512k)\n"
           "  --bucket BYTES   (4k)\n",
           MAX_PROCS, MAX_THREADS);
}

/* End this process with an error. Its other threads are at work still, and UCX
 * ends with exit(), so that they would crash in it */
static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(2);
}

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fail("firehose: %s: %s", what, ucs_status_string(status));
    }
}

/* @return bytes that the kernel counts as pinned for this process */
static size_t get_pinned(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    size_t kib = 0;
    char line[256];

    if (file == NULL) {
        fail("firehose: no /proc/self/status");
    }

    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "VmPin: %zu kB", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return kib * 1024;
}

/* Look at what is pinned, again and again, until the process ends */
static void *sample_pinned(void *arg)
{
    app_t *app = arg;
    size_t pinned;

    for (;;) {
        pinned = get_pinned();
        if (pinned > __atomic_load_n(&app->pinned_most, __ATOMIC_RELAXED)) {
            __atomic_store_n(&app->pinned_most, pinned, __ATOMIC_RELAXED);
        }
        usleep(500);
    }
    return NULL;
}

static uint8_t *image_of(app_t *app, int rank)
{
    return app->shared->images + (rank * app->heap);
}

/* Whom the threads speak to now */
static int num_targets(const app_t *app, int round)
{
    return (app->kills && (round > 0)) ? app->procs - 1 : app->procs;
}

static void synchronise(app_t *app, int round)
{
    pthread_barrier_wait((num_targets(app, round) < app->procs) ?
                                 &app->shared->survivors :
                                 &app->shared->barrier);
}

/* Wait until an operation has ended, without freeing its request */
static ucs_status_t wait_until_ended(worker_t *w, ucs_status_ptr_t request)
{
    double end = app_time() + PATIENCE;
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    while ((status = ucp_fh_request_check_status(request)) == UCS_INPROGRESS) {
        if (ucp_fh_worker_progress(w->worker) > 0) {
            continue;
        }

        /* There are more threads than processors */
        sched_yield();
        if (app_time() > end) {
            fail("firehose: rank %d: an operation does not end",
                 w->app->rank);
        }
    }
    return status;
}

static ucs_status_t wait_for(worker_t *w, ucs_status_ptr_t request)
{
    ucs_status_t status = wait_until_ended(w, request);

    if (UCS_PTR_IS_PTR(request)) {
        ucp_fh_request_free(request);
    }
    return status;
}

static ucs_status_t flush(worker_t *w)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return wait_for(w, ucp_fh_flush_nbx(w->worker, &param));
}

static void wrong(worker_t *w, const char *what, size_t errors)
{
    if (errors > 0) {
        fprintf(stderr, "firehose: rank %d thread %d: %s: %zu wrong\n",
                w->app->rank, w->index, what, errors);
        w->errors += errors;
    }
}

/* Each thread of each process has a part of each memory for itself, after the
 * counters; of its own process's as well */
static void choose(worker_t *w, flight_t *flight, int targets)
{
    app_t *app   = w->app;
    size_t first = NUM_COUNTERS * sizeof(uint64_t);
    size_t part  = (app->heap - first) / (app->procs * app->threads);
    size_t start = first + (part * ((app->rank * app->threads) + w->index));

    flight->target = app_random_below(&w->random, targets);
    flight->length = 1 + app_random_below(&w->random,
                                          (app->most < part) ? app->most : part);
    flight->offset = start +
                     app_random_below(&w->random, part - flight->length + 1);
}

static void put(worker_t *w, flight_t *flight)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    app_t *app                = w->app;

    app_pattern_fill(flight->buffer, flight->length, app_random(&w->random), 0);
    memcpy(image_of(app, flight->target) + flight->offset, flight->buffer,
           flight->length);
    flight->request = ucp_fh_put_nbx(w->worker, flight->target, flight->buffer,
                                     flight->length,
                                     app->shared->bases[flight->target] +
                                             flight->offset, &param);
}

static void get(worker_t *w, flight_t *flight)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    app_t *app                = w->app;

    memset(flight->buffer, 0xee, flight->length);
    flight->request = ucp_fh_get_nbx(w->worker, flight->target, flight->buffer,
                                     flight->length,
                                     app->shared->bases[flight->target] +
                                             flight->offset, &param);
}

static size_t differences(const uint8_t *a, const uint8_t *b, size_t length)
{
    size_t errors = 0;
    size_t i;

    for (i = 0; i < length; ++i) {
        errors += a[i] != b[i];
    }

    return errors;
}

/* Puts may overlap, so that each is complete before the next one is begun that has the
 * same bytes: it does not overlap with one under way */
static int overlaps(const flight_t *flights, int num)
{
    const flight_t *last = &flights[num];
    int i;

    for (i = 0; i < num; ++i) {
        if ((flights[i].target == last->target) &&
            (flights[i].offset < last->offset + last->length) &&
            (last->offset < flights[i].offset + flights[i].length)) {
            return 1;
        }
    }

    return 0;
}

static void burst(worker_t *w, flight_t *flights, int targets)
{
    app_t *app = w->app;
    ucs_status_t status;
    int i;

    for (i = 0; i < BURST; ++i) {
        do {
            choose(w, &flights[i], targets);
        } while (overlaps(flights, i));
        put(w, &flights[i]);
    }
    for (i = 0; i < BURST; ++i) {
        status = wait_for(w, flights[i].request);
        wrong(w, ucs_status_string(status), status != UCS_OK);
    }
    check(flush(w), "flush");

    for (i = 0; i < BURST; ++i) {
        get(w, &flights[i]);
    }
    for (i = 0; i < BURST; ++i) {
        status = wait_for(w, flights[i].request);
        wrong(w, ucs_status_string(status), status != UCS_OK);
        wrong(w, "bytes that were read",
              differences(flights[i].buffer,
                          image_of(app, flights[i].target) + flights[i].offset,
                          flights[i].length));
    }
}

/* Add to a counter of a peer, with and without an answer */
static void add(worker_t *w, int targets)
{
    app_t *app  = w->app;
    int index   = app_random_below(&w->random, NUM_COUNTERS);
    uint64_t by = 1 + app_random_below(&w->random, 1000);
    uint64_t was;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
        .datatype     = ucp_dt_make_contig(sizeof(by))
    };
    int target = (app->rank + 1) % targets;

    if (app_random_below(&w->random, 2)) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.reply_buffer  = &was;
    }

    check(wait_for(w, ucp_fh_atomic_op_nbx(w->worker, target,
                                           UCP_ATOMIC_OP_ADD, &by,
                                           app->shared->bases[target] +
                                                   (index * sizeof(by)),
                                           &param)), "atomic");
    __atomic_fetch_add(&app->shared->added[target][index], by,
                       __ATOMIC_SEQ_CST);
}

/* What nobody has exposed is refused, and all goes on */
static void try_outside(worker_t *w, int targets)
{
    app_t *app                = w->app;
    ucp_request_param_t param = {.op_attr_mask = 0};
    int target                = (app->rank + 1) % targets;
    char byte                 = 0;
    uint64_t addresses[]      = {
        app->shared->bases[target] - 1,
        app->shared->bases[target] + app->heap, 4096
    };
    ucs_status_t status;
    int i;

    for (i = 0; i < 3; ++i) {
        status = wait_for(w, ucp_fh_put_nbx(w->worker, target, &byte, 1,
                                            addresses[i], &param));
        wrong(w, "put outside", status != UCS_ERR_INVALID_ADDR);
    }
}

static void *work(void *arg)
{
    worker_t *w = arg;
    app_t *app  = w->app;
    int targets = num_targets(app, w->round);
    flight_t flights[BURST];
    int i;

    for (i = 0; i < BURST; ++i) {
        flights[i].buffer = malloc(app->most);
    }
    for (i = 0; i < app->ops; i += BURST) {
        burst(w, flights, targets);
        /* Without UCX's emulation over TCP, on endpoints that notice dead peers */
        if (!app->kills) {
            add(w, targets);
        }
    }
    try_outside(w, targets);
    check(flush(w), "flush");
    for (i = 0; i < BURST; ++i) {
        free(flights[i].buffer);
    }
    return NULL;
}

static void open_worker(worker_t *w)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = w->app->is_shared ? UCS_THREAD_MODE_MULTI :
                                           UCS_THREAD_MODE_SERIALIZED
    };

    check(ucp_worker_create(w->app->context, &params, &w->ucp_worker),
          "ucp_worker_create");
    check(ucp_fh_worker_create(w->app->fh, w->ucp_worker, &w->worker),
          "ucp_fh_worker_create");
}

static void close_worker(worker_t *w)
{
    ucp_fh_worker_destroy(w->worker);
    ucp_worker_destroy(w->ucp_worker);
}

static void run_threads(app_t *app, int round)
{
    worker_t workers[MAX_THREADS] = {};
    int i;

    for (i = 0; i < app->threads; ++i) {
        workers[i].app    = app;
        workers[i].index  = i;
        workers[i].round  = round;
        workers[i].random = (round * 1000) + (app->rank * 100) + i;
        if (app->is_shared && (i > 0)) {
            workers[i].worker = workers[0].worker;
        } else {
            open_worker(&workers[i]);
        }
    }
    for (i = 0; i < app->threads; ++i) {
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (i = 0; i < app->threads; ++i) {
        pthread_join(workers[i].thread, NULL);
        app->errors += workers[i].errors;
    }
    for (i = 0; i < (app->is_shared ? 1 : app->threads); ++i) {
        close_worker(&workers[i]);
    }
}

/* The owner compares its memory with what was written there */
static void check_memory(app_t *app)
{
    const uint64_t *counters = (const uint64_t*)app->memory;
    size_t first             = NUM_COUNTERS * sizeof(*counters);
    size_t errors            = 0;
    ucp_fh_stats_t stats;
    size_t pinned;
    int i;

    for (i = 0; i < NUM_COUNTERS; ++i) {
        errors += counters[i] != app->shared->added[app->rank][i];
    }
    errors += differences(app->memory + first,
                          image_of(app, app->rank) + first, app->heap - first);
    ucp_fh_query(app->fh, &stats);
    pinned = __atomic_load_n(&app->pinned_most, __ATOMIC_RELAXED);
    pinned = (pinned > app->pinned_before) ? pinned - app->pinned_before : 0;
    if ((pinned > ((app->bound > 0) ? app->bound : stats.bytes_limit)) &&
        !app->is_lazy) {
        fprintf(stderr, "firehose: rank %d: the kernel counts %zu bytes\n",
                app->rank, pinned);
        ++app->errors;
    }
    if ((errors > 0) || (stats.bytes_peak > stats.bytes_limit) ||
        (stats.bytes_limit > app->m + app->max_victim) || (stats.damaged != ((app->damages && (app->rank == 0)) ? NUM_NONSENSE :
                                                            0))) {
        fprintf(stderr, "firehose: rank %d: %zu wrong; %lu pinned at most, %lu "
                "now; %lu damaged\n", app->rank, errors, stats.bytes_peak,
                stats.bytes, stats.damaged);
        ++app->errors;
    }
}

static void map_memory(app_t *app)
{
    app->memory = mmap(app->memory, app->heap, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS |
                       ((app->memory == NULL) ? 0 : MAP_FIXED), -1, 0);
    if (app->memory == MAP_FAILED) {
        fail("firehose: no memory");
    }

    app->shared->bases[app->rank] = (uintptr_t)app->memory;
    memset(image_of(app, app->rank), 0, app->heap);
    memset(app->shared->added[app->rank], 0,
           sizeof(app->shared->added[app->rank]));
    check(ucp_fh_expose(app->fh, app->memory, app->heap, &app->mem), "expose");
}

/* What peers have firehoses on is withdrawn, and new memory comes in its place */
static void remap(app_t *app)
{
    check(ucp_fh_unexpose(app->mem), "unexpose");
    munmap(app->memory, app->heap);
    map_memory(app);
}

static void expect(app_t *app, const char *what, ucs_status_t status,
                   ucs_status_t expected)
{
    if (status != expected) {
        fprintf(stderr, "firehose: rank %d: %s: %s\n", app->rank, what,
                ucs_status_string(status));
        ++app->errors;
    }
}

static void called_back(ucp_fh_hold_h hold, ucs_status_t status, void *arg)
{
    __atomic_store_n((int*)arg, status, __ATOMIC_SEQ_CST);
}

/* Pin all of a peer's memory: if it is more than M, the peer cannot have
 * promised as many firehoses */
static void try_pin_all(app_t *app, int peer, uint64_t base)
{
    ucp_fh_hold_h hold;
    ucs_status_t status;

    status = ucp_fh_pin_remote(app->fh, peer, base, app->heap, NULL, NULL,
                               &hold);
    if (status == UCS_OK) {
        ucp_fh_release(hold);
    }
    if ((app->heap > app->m) || (status != UCS_OK)) {
        expect(app, "pin too much", status, UCS_ERR_EXCEEDS_LIMIT);
    }
}

/* What goes on with a pin needs it: without, the process ends */
static void try_remote_pins(app_t *app)
{
    int peer      = (app->rank + 1) % app->procs;
    uint64_t base = app->shared->bases[peer];
    ucp_fh_hold_h hold, other;
    ucp_fh_hold_attr_t attr;

    expect(app, "try remote", ucp_fh_try_pin_remote(app->fh, peer, base, 1,
                                                    &hold),
           UCS_ERR_NO_RESOURCE);
    check(ucp_fh_pin_remote(app->fh, peer, base, 2 * app->bucket, NULL, NULL,
                            &hold), "pin remote");
    check(ucp_fh_try_pin_remote(app->fh, peer, base, 1, &other), "try remote");
    ucp_fh_release(other);
    check(ucp_fh_partial_pin_remote(app->fh, peer, base, app->heap, &other),
          "partial remote");
    ucp_fh_hold_query(other, &attr);
    expect(app, "length", (attr.address == base) &&
                                  (attr.length == 2 * app->bucket) ?
                                  UCS_OK : UCS_ERR_INVALID_PARAM, UCS_OK);
    ucp_fh_release(other);
    ucp_fh_release(hold);
    try_pin_all(app, peer, base);
    expect(app, "pin outside",
           ucp_fh_pin_remote(app->fh, peer, base + app->heap, 1, NULL, NULL,
                             &hold), UCS_ERR_INVALID_ADDR);
}

static void try_local_pins(app_t *app)
{
    int status = UCS_INPROGRESS;
    ucp_fh_hold_h hold, other;
    ucp_fh_hold_attr_t attr;
    ucs_status_t begun;

    begun = ucp_fh_pin_local(app->fh, app->memory, app->bucket, called_back,
                             &status, &hold);
    if (begun != UCS_INPROGRESS) {
        status = begun; /* Then it does not call back */
    }
    while (__atomic_load_n(&status, __ATOMIC_SEQ_CST) == UCS_INPROGRESS) {
        usleep(100);
    }
    check(status, "pin local");
    ucp_fh_hold_query(hold, &attr);
    expect(app, "memory handle", (attr.memh != NULL) ? UCS_OK : UCS_ERR_LAST,
           UCS_OK);
    check(ucp_fh_try_pin_local(app->fh, app->memory, 1, &other), "try local");
    ucp_fh_release(other);
    ucp_fh_release(hold);
}

/* Memory is exposed to the byte, also where two parts of it adjoin in a put, and
 * more of it than can be counted is none. What is put may be elements of a
 * datatype. A request may be freed after its worker */
static void try_edges(app_t *app)
{
    size_t edge               = 64;
    size_t part               = app->bucket - edge;
    worker_t w                = {.app = app};
    ucp_request_param_t bytes = {.op_attr_mask = 0};
    ucp_request_param_t edges = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
        .datatype     = ucp_dt_make_contig(edge)
    };
    ucp_request_param_t words = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
        .datatype     = ucp_dt_make_contig(sizeof(uint64_t))
    };
    uint8_t *memory, *buffer;
    ucp_fh_mem_h first, second;
    void *late;
    int i;

    memory = aligned_alloc(app->bucket, 2 * app->bucket);
    buffer = calloc(2, app->bucket);
    memset(memory, 1, 2 * app->bucket);
    open_worker(&w);
    check(ucp_fh_expose(app->fh, memory, part, &first), "expose");
    check(ucp_fh_expose(app->fh, memory + app->bucket, part, &second),
          "expose");

    /* It is a miss, so that there is a request, unless the library's thread
     * goes on with the operation before it is returned */
    late = ucp_fh_put_nbx(w.worker, app->rank, buffer, app->bucket + part,
                          (uintptr_t)memory, &bytes);
    expect(app, "put across", wait_until_ended(&w, late), UCS_ERR_INVALID_ADDR);
    expect(app, "request", (app->is_shared || UCS_PTR_IS_PTR(late)) ?
                                   UCS_OK : UCS_ERR_LAST, UCS_OK);
    expect(app, "put too much",
           wait_for(&w, ucp_fh_put_nbx(w.worker, app->rank, buffer,
                                       (SIZE_MAX / edge) + 2,
                                       (uintptr_t)memory, &edges)),
           UCS_ERR_INVALID_ADDR);
    expect(app, "swap without a reply",
           wait_for(&w, ucp_fh_atomic_op_nbx(w.worker, app->rank,
                                             UCP_ATOMIC_OP_CSWAP, buffer,
                                             (uintptr_t)memory, &words)),
           UCS_ERR_INVALID_PARAM);
    expect(app, "put",
           wait_for(&w, ucp_fh_put_nbx(w.worker, app->rank, buffer, part,
                                       (uintptr_t)memory, &bytes)), UCS_OK);
    expect(app, "flush", flush(&w), UCS_OK);
    expect(app, "edge", (memory[part - 1] == 0) && (memory[part] == 1) ?
                                UCS_OK : UCS_ERR_IO_ERROR, UCS_OK);

    /* The second one is a hit on what the first one has written */
    memset(buffer, 2, part);
    for (i = 0; i < 2; ++i) {
        expect(app, "put of elements",
               wait_for(&w, ucp_fh_put_nbx(w.worker, app->rank, buffer,
                                           part / edge, (uintptr_t)memory,
                                           &edges)), UCS_OK);
        memset(buffer, 3, part);
    }
    expect(app, "flush", flush(&w), UCS_OK);
    expect(app, "elements", (memory[0] == 3) && (memory[part - 1] == 3) ?
                                    UCS_OK : UCS_ERR_IO_ERROR, UCS_OK);

    check(ucp_fh_unexpose(first), "unexpose");
    check(ucp_fh_unexpose(second), "unexpose");
    close_worker(&w);
    if (UCS_PTR_IS_PTR(late)) {
        ucp_fh_request_free(late);
    }
    free(buffer);
    free(memory);
}

static void count_call(void *request, ucs_status_t status, void *user_data)
{
    ++*(int*)user_data;
}

/* No callback is called for a request that is freed before it ends. An operation that
 * is a miss has not ended, unless the library's thread goes on with it */
static void try_freed(app_t *app)
{
    int num_calls             = 0;
    worker_t w                = {.app = app};
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = count_call,
        .user_data    = &num_calls
    };
    ucp_fh_mem_h mem;
    uint8_t *memory;
    void *request;
    int i;

    if (app->is_shared) {
        return;
    }

    memory = aligned_alloc(app->bucket, app->bucket);
    open_worker(&w);
    for (i = 0; i < 2; ++i) {
        check(ucp_fh_expose(app->fh, memory, app->bucket, &mem), "expose");
        request = ucp_fh_put_nbx(w.worker, app->rank, &i, sizeof(i),
                                 (uintptr_t)memory, &param);
        expect(app, "miss", UCS_PTR_IS_PTR(request) ? UCS_OK : UCS_ERR_LAST,
               UCS_OK);
        if (i == 0) {
            ucp_fh_request_free(request);
        } else {
            expect(app, "put", wait_for(&w, request), UCS_OK);
        }
        expect(app, "flush", flush(&w), UCS_OK);
        expect(app, "calls", (num_calls == i) ? UCS_OK : UCS_ERR_LAST, UCS_OK);
        check(ucp_fh_unexpose(mem), "unexpose");
    }
    close_worker(&w);
    free(memory);
}

/* Beside what is exposed, and what is pinned for this process, nothing is mapped
 * in the same buckets */
static void try_holes(app_t *app)
{
    size_t page               = sysconf(_SC_PAGESIZE);
    size_t length             = 4 * app->bucket;
    worker_t w                = {.app = app};
    ucp_request_param_t bytes = {.op_attr_mask = 0};
    uint8_t *start, *memory, *end, *buffer;
    ucp_fh_hold_attr_t attr;
    ucp_fh_hold_h hold;
    ucp_fh_mem_h mem;

    start = mmap(NULL, length, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        fail("firehose: no memory");
    }

    /* The last page of a bucket and the first one of the next */
    end    = start + length;
    memory = (uint8_t*)(((uintptr_t)start + (2 * app->bucket)) &
                        ~(app->bucket - 1)) - page;
    munmap(start, memory - start);
    munmap(memory + (2 * page), end - memory - (2 * page));
    memset(memory, 1, 2 * page);
    buffer = calloc(2, page);
    open_worker(&w);
    check(ucp_fh_pin_local(app->fh, memory + page, 1, NULL, NULL, &hold),
          "pin local beside a hole");
    ucp_fh_hold_query(hold, &attr);
    expect(app, "what is pinned",
           (attr.address == (uintptr_t)(memory + page)) &&
                   (attr.length == page) ? UCS_OK : UCS_ERR_LAST, UCS_OK);
    check(ucp_fh_expose(app->fh, memory, page, &mem), "expose");
    expect(app, "put beside a hole",
           wait_for(&w, ucp_fh_put_nbx(w.worker, app->rank, buffer, page,
                                       (uintptr_t)memory, &bytes)), UCS_OK);
    expect(app, "put into a hole",
           wait_for(&w, ucp_fh_put_nbx(w.worker, app->rank, buffer, page,
                                       (uintptr_t)memory - 1, &bytes)),
           UCS_ERR_INVALID_ADDR);
    expect(app, "flush", flush(&w), UCS_OK);
    expect(app, "bytes beside a hole",
           (memory[0] == 0) && (memory[page - 1] == 0) && (memory[page] == 1) ?
                   UCS_OK : UCS_ERR_IO_ERROR, UCS_OK);
    ucp_fh_release(hold);
    check(ucp_fh_unexpose(mem), "unexpose");
    close_worker(&w);
    munmap(memory, 2 * page);
    free(buffer);
}

static void connect_all(app_t *app)
{
    shared_t *shared = app->shared;
    size_t length;
    void *address;
    int i;

    check(ucp_fh_get_address(app->fh, &address, &length), "address");
    if (length > MAX_ADDRESS) {
        fail("firehose: an address of %zu bytes", length);
    }
    memcpy(shared->addresses[app->rank], address, length);
    shared->address_lengths[app->rank] = length;
    ucp_fh_release_address(app->fh, address);
    pthread_barrier_wait(&shared->barrier);
    for (i = 0; i < app->procs; ++i) {
        check(ucp_fh_connect(app->fh, i, shared->addresses[i],
                             shared->address_lengths[i]), "connect");
    }
}

static void start(app_t *app)
{
    pthread_t sampler;
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                             UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };
    ucp_fh_init_params_t fh_params = {
        .field_mask = UCP_FH_PARAM_FIELD_M | UCP_FH_PARAM_FIELD_MAXVICTIM |
                      UCP_FH_PARAM_FIELD_BUCKET,
        .num_procs  = app->procs,
        .index      = app->rank,
        .m          = app->m,
        .max_victim = app->max_victim,
        .bucket     = app->bucket
    };

    /* UCX's own caches would keep pinned what the library unpins, see
     * docs/firehose.md */
    setenv("UCX_IB_REG_METHODS", "direct", 0);
    setenv("UCX_CMA_REG_METHODS", "direct", 0);
    setenv("UCX_RCACHE_ENABLE", "n", 0);
    check(ucp_init(&params, NULL, &app->context), "ucp_init");
    fh_params.context = app->context;
    check(ucp_fh_init(&fh_params, &app->fh), "ucp_fh_init");
    app->pinned_before = get_pinned();
    pthread_create(&sampler, NULL, sample_pinned, app);
    map_memory(app);
    connect_all(app);
    pthread_barrier_wait(&app->shared->barrier);
}

/* Put to the process that is killed until it is known to be gone */
static void lose_peer(app_t *app)
{
    worker_t w = {.app = app, .random = app->rank};
    flight_t flight = {.buffer = malloc(app->most)};
    double end = app_time() + PATIENCE;
    ucs_status_t status;

    open_worker(&w);
    do {
        choose(&w, &flight, app->procs);
        flight.target = app->procs - 1;
        put(&w, &flight);
        status = wait_for(&w, flight.request);
        if (app_time() > end) {
            fail("firehose: rank %d does not notice that a process is gone",
                 app->rank);
        }
    } while (status == UCS_OK);
    printf("firehose: rank %d: %s\n", app->rank, ucs_status_string(status));
    close_worker(&w);
    free(flight.buffer);
}

static void kill_last(app_t *app)
{
    if (app->rank == app->procs - 1) {
        worker_t w = {.app = app, .random = app->rank};
        flight_t flight = {.buffer = malloc(app->most)};
        int i;

        open_worker(&w);
        for (i = 0; i < app->ops; ++i) {
            choose(&w, &flight, app->procs);
            put(&w, &flight);
            if (i == app->ops / 2) {
                kill(getpid(), SIGKILL);
            }
            (void)wait_for(&w, flight.request);
        }
    }
    lose_peer(app);
}

/* Time a put of 8 bytes to the process itself, with which UCX is fast. @return ns */
static double time_puts(worker_t *w, uint64_t address, int num)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t value            = 1;
    double begin;
    int i;

    begin = app_time();
    for (i = 0; i < num; ++i) {
        check(wait_for(w, ucp_fh_put_nbx(w->worker, w->app->rank, &value,
                                         sizeof(value), address, &param)),
              "put");
    }
    return (app_time() - begin) / num * 1e9;
}

/* The same without the library */
static double time_ucp_puts(worker_t *w, uint64_t address, int num)
{
    ucp_request_param_t param    = {.op_attr_mask = 0};
    uint64_t value               = 1;
    ucp_mem_map_params_t map     = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = (void*)address,
        .length     = w->app->bucket
    };
    ucp_ep_params_t ep_params    = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    ucp_address_t *ucp_address;
    ucp_rkey_h rkey;
    ucp_mem_h memh;
    void *packed;
    size_t length;
    ucs_status_ptr_t request;
    double begin;
    ucp_ep_h ep;
    int i;

    check(ucp_mem_map(w->app->context, &map, &memh), "map");
    check(ucp_rkey_pack(w->app->context, memh, &packed, &length), "pack");
    check(ucp_worker_get_address(w->ucp_worker, &ucp_address, &length),
          "address");
    ep_params.address = ucp_address;
    check(ucp_ep_create(w->ucp_worker, &ep_params, &ep), "endpoint");
    check(ucp_ep_rkey_unpack(ep, packed, &rkey), "unpack");

    begin = app_time();
    for (i = 0; i < num; ++i) {
        request = ucp_put_nbx(ep, &value, sizeof(value), address, rkey, &param);
        while (UCS_PTR_IS_PTR(request) &&
               (ucp_request_check_status(request) == UCS_INPROGRESS)) {
            ucp_worker_progress(w->ucp_worker);
        }
        if (UCS_PTR_IS_PTR(request)) {
            ucp_request_free(request);
        }
    }
    begin = (app_time() - begin) / num * 1e9;
    ucp_rkey_destroy(rkey);
    ucp_rkey_buffer_release(packed);
    ucp_worker_release_address(w->ucp_worker, ucp_address);
    ucp_mem_unmap(w->app->context, memh);
    return begin;
}

/* Time getting a firehose that is there, and releasing it. @return ns */
static double time_pins(worker_t *w, uint64_t address, int num)
{
    double begin = app_time();
    ucp_fh_hold_h hold;
    int i;

    for (i = 0; i < num; ++i) {
        check(ucp_fh_try_pin_remote(w->app->fh, w->app->rank, address, 8, &hold),
              "try");
        ucp_fh_release(hold);
    }
    return (app_time() - begin) / num * 1e9;
}

static void time_hits(app_t *app)
{
    worker_t w       = {.app = app};
    uint64_t address = app->shared->bases[app->rank];
    int num          = 200000;
    int i;

    open_worker(&w);
    time_puts(&w, address, 100);
    for (i = 0; i < 3; ++i) {
        printf("firehose: rank %d: ns: put of 8 bytes %.0f, the same by UCP alone "
               "%.0f, hit and release %.0f\n", app->rank,
               time_puts(&w, address, num / 10),
               time_ucp_puts(&w, address, num / 10),
               time_pins(&w, address, num));
    }
    check(flush(&w), "flush");
    close_worker(&w);
}

static void report(app_t *app)
{
    ucp_fh_stats_t stats;

    ucp_fh_query(app->fh, &stats);
    printf("firehose: rank %d: %lu requests, %lu hits, %lu messages moved %lu "
           "firehoses, %lu bytes pinned at most of %lu, the kernel counts %zu and "
           "%zu before\n", app->rank, stats.requests, stats.hits, stats.moves,
           stats.moved, stats.bytes_peak, stats.bytes_limit,
           app->pinned_most, app->pinned_before);
}

/* Send messages that are none, and one in the name of another process, to the library's
 * worker of the first process */
static void send_nonsense(app_t *app)
{
    worker_t w                = {.app = app};
    ucp_request_param_t param = {.op_attr_mask = 0};
    ucp_fh_header_t headers[NUM_NONSENSE] = {
        {.magic = 1},
        {.magic = UCP_FH_MESSAGE_MAGIC, .version = 99},
        {.magic = UCP_FH_MESSAGE_MAGIC, .version = UCP_FH_MESSAGE_VERSION,
         .sender = UINT32_MAX},
        {.magic = UCP_FH_MESSAGE_MAGIC, .version = UCP_FH_MESSAGE_VERSION,
         .type = UCP_FH_MESSAGE_BYE, .sender = app->procs - 1, .cookie = 1}
    };
    ucp_ep_params_t ep_params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = (ucp_address_t*)(app->shared->addresses[0] +
                                       sizeof(ucp_fh_address_t))
    };
    ucs_status_ptr_t request;
    ucp_ep_h ep;
    int i;

    open_worker(&w);
    check(ucp_ep_create(w.ucp_worker, &ep_params, &ep), "endpoint");
    for (i = 0; i <= NUM_NONSENSE; ++i) {
        request = (i < NUM_NONSENSE) ?
                          ucp_am_send_nbx(ep, 0, NULL, 0, &headers[i],
                                          sizeof(headers[i]), &param) :
                          ucp_ep_flush_nbx(ep, &param);
        while (UCS_PTR_IS_PTR(request) &&
               (ucp_request_check_status(request) == UCS_INPROGRESS)) {
            ucp_worker_progress(w.ucp_worker);
        }
        if (UCS_PTR_IS_PTR(request)) {
            ucp_request_free(request);
        }
    }
    close_worker(&w);
}

/* A process of the job. @return its exit status */
static int run(app_t *app)
{
    int round = 0;

    start(app);
    if (app->hits) {
        time_hits(app);
    } else if (app->kills) {
        kill_last(app);
        round = 1;
        synchronise(app, round);
        remap(app);
    } else {
        try_remote_pins(app);
        try_local_pins(app);
        try_edges(app);
        try_freed(app);
        try_holes(app);
    }
    if (app->damages && (app->rank == app->procs - 1)) {
        send_nonsense(app);
    }

    synchronise(app, round);
    for (; !app->hits && (round < app->rounds); ++round) {
        run_threads(app, round);
        synchronise(app, round);
        check_memory(app);
        synchronise(app, round);
        remap(app);
        synchronise(app, round);
    }

    report(app);
    check(ucp_fh_unexpose(app->mem), "unexpose");
    synchronise(app, round);
    ucp_fh_finalize(app->fh);
    synchronise(app, round);
    ucp_cleanup(app->context);
    return app->errors > 0;
}

static shared_t *make_shared(const app_t *app)
{
    size_t size = sizeof(shared_t) + (app->procs * app->heap);
    pthread_barrierattr_t attr;
    shared_t *shared;

    shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        app_fatal("firehose: no memory");
    }

    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attr, app->procs);
    pthread_barrier_init(&shared->survivors, &attr, app->procs - 1);
    return shared;
}

/* @return whether all processes but the one that is killed ended well. The first that
 * fails ends the others */
static int wait_for_all(const app_t *app, const pid_t *pids)
{
    int failed = 0;
    int left   = app->procs;
    int status, i;
    pid_t pid;

    for (; left > 0; --left) {
        pid = wait(&status);
        if ((status != 0) &&
            !(app->kills && (pid == pids[app->procs - 1]) &&
              WIFSIGNALED(status))) {
            fprintf(stderr, "firehose: a process ends with status 0x%x\n",
                    status);
            for (i = 0; (i < app->procs) && !failed; ++i) {
                kill(pids[i], SIGTERM);
            }
            failed = 1;
        }
    }

    return failed;
}

int main(int argc, char **argv)
{
    app_t app = {
        .procs = 2, .threads = 2, .rounds = 3, .ops = 500, .heap = 8 << 20,
        .most = 64 << 10, .m = 1 << 20, .max_victim = 512 << 10,
        .bucket = 4096
    };
    const app_option_t options[] = {
        {"procs", .count = &app.procs},
        {"threads", .count = &app.threads},
        {"rounds", .count = &app.rounds},
        {"ops", .count = &app.ops},
        {"shared", .flag = &app.is_shared},
        {"kill", .flag = &app.kills},
        {"damage", .flag = &app.damages},
        {"lazy", .flag = &app.is_lazy},
        {"hits", .flag = &app.hits},
        {"bound", .size = &app.bound},
        {"heap", .size = &app.heap},
        {"most", .size = &app.most},
        {"m", .size = &app.m},
        {"maxvictim", .size = &app.max_victim},
        {"bucket", .size = &app.bucket},
        {NULL}
    };
    pid_t pids[MAX_PROCS];

    app_parse(argc, argv, "firehose", options, usage);
    if ((app.procs < 2) || (app.procs > MAX_PROCS) || (app.threads < 1) ||
        (app.threads > MAX_THREADS) || (app.kills && (app.procs < 3))) {
        app_fatal("firehose: 2 to %d processes, 3 if one is killed, and 1 to %d "
                  "threads", MAX_PROCS, MAX_THREADS);
    }

    app.shared = make_shared(&app);
    for (app.rank = 0; app.rank < app.procs; ++app.rank) {
        pids[app.rank] = fork();
        if (pids[app.rank] == 0) {
            exit(run(&app));
        }
    }
    return wait_for_all(&app, pids);
}
