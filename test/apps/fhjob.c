/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "fhjob.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE   120 /* Seconds until an operation is taken to hang */
#define BUCKET_ALIGN (1 << 20) /* No bucket that the library chooses is more */


void fhjob_check(const fhjob_t *job, ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        app_fatal("%s: rank %d: %s: %s", job->name, job->rank, what,
                  ucs_status_string(status));
    }
}

void fhjob_barrier(fhjob_t *job)
{
    pthread_barrier_wait(&job->shared->barrier);
}

void fhjob_errors(fhjob_t *job, const char *what, uint64_t number)
{
    if (number > 0) {
        fprintf(stderr, "%s: rank %d: %s: %llu wrong\n", job->name, job->rank,
                what, (unsigned long long)number);
        __atomic_fetch_add(&job->shared->errors, number, __ATOMIC_SEQ_CST);
    }
}

void fhjob_worker_open(fhjob_t *job, int library, fhjob_worker_t *w)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED
    };

    fhjob_check(job, ucp_worker_create(job->context, &params, &w->ucp_worker),
                "ucp_worker_create");
    fhjob_check(job, ucp_fh_worker_create(job->fhs[library], w->ucp_worker,
                                          &w->fh_worker),
                "ucp_fh_worker_create");
}

void fhjob_worker_close(fhjob_worker_t *w)
{
    ucp_fh_worker_destroy(w->fh_worker);
    ucp_worker_destroy(w->ucp_worker);
}

void fhjob_wait(fhjob_t *job, fhjob_worker_t *w, ucs_status_ptr_t request)
{
    ucs_status_t status = UCS_PTR_STATUS(request);
    double end          = 0;

    while (UCS_PTR_IS_PTR(request) &&
           ((status = ucp_fh_request_check_status(request)) ==
            UCS_INPROGRESS)) {
        if (ucp_fh_worker_progress(w->fh_worker) > 0) {
            continue;
        }

        /* There may be more threads than processors */
        sched_yield();
        if (end == 0) {
            end = app_time() + PATIENCE;
        } else if (app_time() > end) {
            app_fatal("%s: rank %d: an operation does not end", job->name,
                      job->rank);
        }
    }

    if (UCS_PTR_IS_PTR(request)) {
        ucp_fh_request_free(request);
    }
    fhjob_check(job, status, "an operation");
}

void fhjob_flush(fhjob_t *job, fhjob_worker_t *w)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    fhjob_wait(job, w, ucp_fh_flush_nbx(w->fh_worker, &param));
}

static void add_stats(ucp_fh_stats_t *sum, const ucp_fh_stats_t *stats)
{
    sum->requests    += stats->requests;
    sum->hits        += stats->hits;
    sum->moves       += stats->moves;
    sum->moved       += stats->moved;
    sum->bytes       += stats->bytes;
    sum->bytes_peak  += stats->bytes_peak;
    sum->bytes_limit += stats->bytes_limit;
    sum->answered    += stats->answered;
    sum->damaged     += stats->damaged;
}

void fhjob_query(const fhjob_t *job, ucp_fh_stats_t *stats)
{
    ucp_fh_stats_t one;
    int i;

    memset(stats, 0, sizeof(*stats));
    for (i = 0; i < job->libraries; ++i) {
        ucp_fh_query(job->fhs[i], &one);
        add_stats(stats, &one);
    }
}

void fhjob_count(fhjob_t *job)
{
    ucp_fh_stats_t *stats = &job->shared->stats[job->rank];

    fhjob_query(job, stats);
    if (stats->bytes_peak > stats->bytes_limit) {
        fhjob_errors(job, "bytes pinned beyond the bound",
                     stats->bytes_peak - stats->bytes_limit);
    }
    fhjob_errors(job, "messages", stats->damaged);
    fhjob_barrier(job);
}

void fhjob_print(const fhjob_t *job, const char *fmt, ...)
{
    ucp_fh_stats_t sum = {};
    uint64_t peak      = 0;
    va_list ap;
    int i;

    if (job->rank != 0) {
        return;
    }

    for (i = 0; i < job->procs; ++i) {
        add_stats(&sum, &job->shared->stats[i]);
        if (job->shared->stats[i].bytes_peak > peak) {
            peak = job->shared->stats[i].bytes_peak;
        }
    }

    printf("{\"app\":\"%s\",\"procs\":%d,\"libraries\":%d,\"heap\":%zu,"
           "\"share\":%zu,\"maxvictim\":%zu,\"bucket\":%zu,"
           "\"requests\":%llu,\"hits\":%llu,\"moves\":%llu,\"moved\":%llu,"
           "\"answered\":%llu,\"bytes_peak\":%llu,\"errors\":%llu,",
           job->name, job->procs, job->libraries, job->heap, job->share,
           job->max_victim, job->bucket,
           (unsigned long long)sum.requests, (unsigned long long)sum.hits,
           (unsigned long long)sum.moves, (unsigned long long)sum.moved,
           (unsigned long long)sum.answered, (unsigned long long)peak,
           (unsigned long long)job->shared->errors);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("}\n");
    fflush(stdout);
}

ucp_mem_h fhjob_map(fhjob_t *job, void *memory, size_t length)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = memory,
        .length     = length
    };
    ucp_mem_h memh;

    fhjob_check(job, ucp_mem_map(job->context, &params, &memh), "ucp_mem_map");
    return memh;
}

ucp_request_param_t fhjob_param(ucp_mem_h memh)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_MEMH,
        .memh         = memh
    };
}

static uint64_t stamp(uint64_t number, uint64_t op)
{
    return app_mix((number << 32) ^ op) | 1;
}

void fhjob_fill_page(void *page)
{
    app_pattern_fill(page, FHJOB_PAGE, 1, 0);
}

void fhjob_stamp_page(void *page, uint64_t number, uint64_t op)
{
    *(uint64_t*)page = stamp(number, op);
}

int fhjob_has_stamp(const void *page, uint64_t number, uint64_t op)
{
    return *(const uint64_t*)page == stamp(number, op);
}

static int is_zero(const void *page)
{
    const uint64_t *words = page;
    int i;

    for (i = 0; i < FHJOB_PAGE / 8; ++i) {
        if (words[i] != 0) {
            return 0;
        }
    }

    return 1;
}

int fhjob_check_page(const void *page, uint64_t number, uint64_t op)
{
    size_t first;

    if (fhjob_has_stamp(page, number, op)) {
        return app_pattern_check((const char*)page + 8, FHJOB_PAGE - 8, 1, 8,
                                 &first) == 0;
    }

    return (op == 0) && is_zero(page);
}

/* The library has the same share for each process of the job, this one as well */
static void start_library(fhjob_t *job, int index)
{
    ucp_fh_init_params_t params = {
        .field_mask = UCP_FH_PARAM_FIELD_M | UCP_FH_PARAM_FIELD_MAXVICTIM |
                      ((job->bucket == 0) ? 0 : UCP_FH_PARAM_FIELD_BUCKET),
        .context    = job->context,
        .num_procs  = job->procs,
        .index      = job->rank,
        .m          = job->share / job->libraries * job->procs,
        .max_victim = job->max_victim / job->libraries,
        .bucket     = job->bucket
    };
    ucp_fh_h fh;
    void *address;
    size_t length;

    fhjob_check(job, ucp_fh_init(&params, &fh), "ucp_fh_init");
    fhjob_check(job, ucp_fh_expose(fh, job->memory, job->heap,
                                   &job->mems[index]), "ucp_fh_expose");
    fhjob_check(job, ucp_fh_get_address(fh, &address, &length), "address");
    if (length > FHJOB_MAX_ADDRESS) {
        app_fatal("%s: an address of %zu bytes", job->name, length);
    }

    memcpy(job->shared->addresses[job->rank][index], address, length);
    job->shared->address_lengths[job->rank] = length;
    ucp_fh_release_address(fh, address);
    job->fhs[index] = fh;
}

static void connect_libraries(fhjob_t *job)
{
    fhjob_shared_t *shared = job->shared;
    int i, peer;

    for (i = 0; i < job->libraries; ++i) {
        for (peer = 0; peer < job->procs; ++peer) {
            fhjob_check(job, ucp_fh_connect(job->fhs[i], peer,
                                            shared->addresses[peer][i],
                                            shared->address_lengths[peer]),
                        "ucp_fh_connect");
        }
    }
}

static void make_context(fhjob_t *job)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                             UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };

    /* UCX's own caches would keep pinned what is unpinned, see
     * docs/firehose.md */
    setenv("UCX_IB_REG_METHODS", "direct", 0);
    setenv("UCX_CMA_REG_METHODS", "direct", 0);
    setenv("UCX_RCACHE_ENABLE", "n", 0);
    fhjob_check(job, ucp_init(&params, NULL, &job->context), "ucp_init");
}

/* At the begin of a bucket */
static void make_memory(fhjob_t *job)
{
    size_t bucket = (job->bucket == 0) ? BUCKET_ALIGN : job->bucket;
    size_t length = ((job->heap / bucket) + 2) * bucket;
    char *memory  = mmap(NULL, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        app_fatal("%s: no memory", job->name);
    }

    /* Whoever pins memory first is not to be the one who waits for its pages */
    memset(memory, 0, length);
    job->memory = (uint8_t*)(((uintptr_t)memory + bucket - 1) & ~(bucket - 1));
}

static void start(fhjob_t *job)
{
    int i;

    make_context(job);
    make_memory(job);
    job->shared->bases[job->rank] = (uintptr_t)job->memory;
    for (i = 0; i < job->libraries; ++i) {
        start_library(job, i);
    }
    fhjob_barrier(job);
    connect_libraries(job);
    fhjob_barrier(job);
}

static void stop(fhjob_t *job)
{
    int i;

    fhjob_barrier(job);
    for (i = 0; i < job->libraries; ++i) {
        fhjob_check(job, ucp_fh_unexpose(job->mems[i]), "ucp_fh_unexpose");
    }
    fhjob_barrier(job);
    for (i = 0; i < job->libraries; ++i) {
        ucp_fh_finalize(job->fhs[i]);
    }
    fhjob_barrier(job);
    ucp_cleanup(job->context);
}

static fhjob_shared_t *make_shared(const fhjob_t *job)
{
    size_t size = sizeof(fhjob_shared_t) + job->extra;
    pthread_barrierattr_t attr;
    fhjob_shared_t *shared;

    shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        app_fatal("%s: no memory", job->name);
    }

    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attr, job->procs);
    return shared;
}

/* @return whether a process failed. The first that does ends the others */
static int wait_for_all(const fhjob_t *job, const pid_t *pids)
{
    int failed = 0;
    int status, i, j;

    for (i = 0; i < job->procs; ++i) {
        (void)wait(&status);
        if ((status == 0) || failed) {
            continue;
        }

        fprintf(stderr, "%s: a process ends with status 0x%x\n", job->name,
                status);
        failed = 1;
        for (j = 0; j < job->procs; ++j) {
            kill(pids[j], SIGTERM);
        }
    }

    return failed;
}

int fhjob_run(fhjob_t *job)
{
    pid_t pids[FHJOB_MAX_PROCS];

    if ((job->procs < 2) || (job->procs > FHJOB_MAX_PROCS)) {
        app_fatal("%s: %d processes: accepted are 2 to %d", job->name,
                  job->procs, FHJOB_MAX_PROCS);
    }

    if ((job->bucket & (job->bucket - 1)) != 0) {
        app_fatal("%s: buckets of %zu bytes: accepted are powers of 2",
                  job->name, job->bucket);
    }

    job->shared = make_shared(job);
    for (job->rank = 0; job->rank < job->procs; ++job->rank) {
        pids[job->rank] = fork();
        if (pids[job->rank] == 0) {
            start(job);
            job->run(job);
            stop(job);
            exit(0);
        }
    }

    return wait_for_all(job, pids) || (job->shared->errors > 0);
}
