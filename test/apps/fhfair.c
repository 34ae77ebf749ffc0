/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Threads that compete for the firehoses of one peer, of which there are just
 * enough for one put: how much each gets done (Figure 8 of Bell and Nishtala).
 * All pages are checked.
 */

#include "fhjob.h"

#include <sched.h>


typedef struct {
    fhjob_t job;
    int     threads;
    int     ms;
    int     pins;  /* Each put is within a remote pin of all of its memory */
    size_t  size;  /* Bytes of a put */
    size_t  hold;  /* Bytes of the end of the peer's memory that stay pinned */
} fair_t;


typedef struct {
    fair_t            *fair;
    int               index;
    pthread_barrier_t *barrier;
    uint64_t          puts;
    double            begin, end;
    pthread_t         thread;
} fair_thread_t;


static fair_t fair_app = {
    .job     = {
        .name = "fhfair", .procs = 2, .libraries = 1, .heap = 64 << 20,
        .max_victim = 4096, .bucket = 4096
    },
    .threads = 4,
    .ms      = 1000,
    .size    = 32 << 10
};


static void usage(void)
{
    printf("usage: fhfair [options]\n"
           "  --threads N      that put, 1 to %d (4)\n"
           "  --ms N           they do so for so many milliseconds (1000)\n"
           "  --size BYTES     of a put, whole pages (32k); share is so much\n"
           "                   unless it is set\n"
           "  --pins           each put is within a remote pin of its own\n"
           "  --hold BYTES     at the end of the peer's memory stay pinned, and are not\n"
           "                   put to (0)\n"
           "  --heap BYTES     of the peer (64m)\n" FHJOB_HELP,
           FHJOB_MAX_THREADS);
}

static uint64_t *last_of(fair_t *fair, size_t offset)
{
    return &fair->job.shared->extra[offset / FHJOB_PAGE];
}

static void make_buffer(const fair_t *fair, uint8_t **buffer_p)
{
    size_t at;

    if (posix_memalign((void**)buffer_p, FHJOB_PAGE, fair->size) != 0) {
        app_fatal("fhfair: no memory");
    }

    for (at = 0; at < fair->size; at += FHJOB_PAGE) {
        fhjob_fill_page(*buffer_p + at);
    }
}

static void
put(fair_t *fair, fhjob_worker_t *worker, const uint8_t *buffer, size_t offset,
    const ucp_request_param_t *param)
{
    fhjob_t *job       = &fair->job;
    uint64_t remote    = job->shared->bases[1] + offset;
    ucp_fh_hold_h hold = NULL;

    if (fair->pins) {
        fhjob_check(job, ucp_fh_pin_remote(job->fhs[0], 1, remote, fair->size,
                                           NULL, NULL, &hold), "pin");
    }

    fhjob_wait(job, worker, ucp_fh_put_nbx(worker->fh_worker, 1, buffer,
                                           fair->size, remote, param));
    if (fair->pins) {
        fhjob_flush(job, worker);
        ucp_fh_release(hold);
    }
}

/* A thread has every so many'th place of the peer's memory for itself */
static void *run_thread(void *arg)
{
    fair_thread_t *self = arg;
    fair_t *fair        = self->fair;
    fhjob_t *job        = &fair->job;
    uint64_t random     = self->index + 1;
    size_t places       = (job->heap - fair->hold) / fair->size / fair->threads;
    uint64_t op         = 0;
    ucp_request_param_t param;
    fhjob_worker_t worker;
    uint8_t *buffer;
    ucp_mem_h memh;
    size_t offset, at;

    make_buffer(fair, &buffer);
    memh  = fhjob_map(job, buffer, fair->size);
    param = fhjob_param(memh);
    fhjob_worker_open(job, 0, &worker);
    do {
        ++op;
        offset = fair->size * ((app_random_below(&random, places) *
                                fair->threads) + self->index);
        for (at = 0; at < fair->size; at += FHJOB_PAGE) {
            fhjob_stamp_page(buffer + at, (offset + at) / FHJOB_PAGE, op);
            *last_of(fair, offset + at) = op;
        }
        put(fair, &worker, buffer, offset, &param);
        if (op == 1) {
            /* All have connected, and nobody has firehoses that are not free */
            fhjob_flush(job, &worker);
            pthread_barrier_wait(self->barrier);
            self->begin = app_time();
        }
        self->end = app_time();
    } while (self->end - self->begin < fair->ms * 1e-3);
    self->puts = op - 1;

    fhjob_flush(job, &worker);
    fhjob_worker_close(&worker);
    fhjob_check(job, ucp_mem_unmap(job->context, memh), "unmap");
    free(buffer);
    return NULL;
}

static void run_threads(fair_t *fair, fair_thread_t *threads)
{
    pthread_barrier_t barrier;
    int i;

    pthread_barrier_init(&barrier, NULL, fair->threads);
    for (i = 0; i < fair->threads; ++i) {
        threads[i].fair    = fair;
        threads[i].index   = i;
        threads[i].barrier = &barrier;
        pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]);
    }
    for (i = 0; i < fair->threads; ++i) {
        pthread_join(threads[i].thread, NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static void check_memory(fair_t *fair)
{
    size_t errors = 0;
    size_t at;

    for (at = 0; at < fair->job.heap; at += FHJOB_PAGE) {
        errors += !fhjob_check_page(fair->job.memory + at, at / FHJOB_PAGE,
                                    *last_of(fair, at));
    }
    fhjob_errors(&fair->job, "pages", errors);
}

/* What the threads got done, beside the mean of them */
static void print(fair_t *fair, const fair_thread_t *threads)
{
    char list[FHJOB_MAX_THREADS * 24] = "";
    double slowest = 1e30, fastest = 0, sum = 0;
    size_t length  = 0;
    double mbps, mean;
    int i;

    for (i = 0; i < fair->threads; ++i) {
        mbps     = threads[i].puts * (double)fair->size * 1e-6 /
                   (threads[i].end - threads[i].begin);
        sum     += mbps;
        slowest  = (mbps < slowest) ? mbps : slowest;
        fastest  = (mbps > fastest) ? mbps : fastest;
        length  += snprintf(list + length, sizeof(list) - length, "%s%.1f",
                            (i > 0) ? "," : "", mbps);
    }

    mean = sum / fair->threads;
    fhjob_print(&fair->job, "\"threads\":%d,\"size\":%zu,\"pins\":%d,\"ms\":%d,"
                "\"mbps\":%.1f,\"slowest\":%.4f,\"fastest\":%.4f,"
                "\"each_mbps\":[%s]", fair->threads, fair->size, fair->pins,
                fair->ms, sum, slowest / mean, fastest / mean, list);
}

static void run(fhjob_t *job)
{
    fair_t *fair                             = &fair_app;
    fair_thread_t threads[FHJOB_MAX_THREADS] = {};
    ucp_fh_hold_h hold                       = NULL;

    if (job->rank == 0) {
        if (fair->hold > 0) {
            fhjob_check(job, ucp_fh_pin_remote(job->fhs[0], 1,
                                               job->shared->bases[1] +
                                               job->heap - fair->hold,
                                               fair->hold, NULL, NULL, &hold),
                        "pin");
        }
        run_threads(fair, threads);
        if (hold != NULL) {
            ucp_fh_release(hold);
        }
    }
    fhjob_barrier(job);
    if (job->rank == 1) {
        check_memory(fair);
    }
    fhjob_count(job);
    if (job->rank == 0) {
        print(fair, threads);
    }
}

int main(int argc, char **argv)
{
    fair_t *fair                 = &fair_app;
    const app_option_t options[] = {
        {"threads", .count = &fair->threads},
        {"ms", .count = &fair->ms},
        {"size", .size = &fair->size},
        {"hold", .size = &fair->hold},
        {"pins", .flag = &fair->pins},
        {"heap", .size = &fair->job.heap},
        FHJOB_OPTIONS(&fair->job),
        {NULL}
    };

    app_parse(argc, argv, "fhfair", options, usage);
    if ((fair->threads < 1) || (fair->threads > FHJOB_MAX_THREADS)) {
        app_fatal("--threads: accepted are 1 to %d", FHJOB_MAX_THREADS);
    }

    if ((fair->size == 0) || (fair->size % FHJOB_PAGE != 0) ||
        (fair->hold > fair->job.heap) ||
        (fair->job.heap - fair->hold < fair->size * fair->threads)) {
        app_fatal("--size: accepted are multiples of %d; --heap: room for a "
                  "put of each thread, besides --hold", FHJOB_PAGE);
    }

    if (fair->job.share == 0) {
        fair->job.share = fair->size;
    }
    fair->job.procs = 2;
    fair->job.run   = run;
    fair->job.extra = fair->job.heap / FHJOB_PAGE * sizeof(uint64_t);
    return fhjob_run(&fair->job);
}
