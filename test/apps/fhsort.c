/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Bitonic sort, with a power of 2 of processes. Each has as many keys; in each
 * step a process puts its own into the memory of another one by Firehose, some
 * at a time, and both keep the smaller or the larger half of all. The result
 * is checked.
 */

#include "fhjob.h"

#define MAX_WINDOW 64


typedef struct {
    fhjob_t  job;
    int      keys;   /* Of a process */
    int      iters;  /* Sorts, each of other keys */
    size_t   chunk;  /* Bytes of a put */
    int      window; /* Puts under way */
    uint64_t *own;
    uint64_t *merged;
    double   seconds;
} sort_t;


/* What each process tells of its keys after a sort */
typedef struct {
    uint64_t first, last;
    uint64_t sum_before, sum_after; /* Of hashes of the keys, in any order */
} sort_report_t;


static sort_t sort_app = {
    .job    = {
        .name = "fhsort", .procs = 4, .libraries = 1, .share = 1 << 20,
        .max_victim = 256 << 10, .bucket = 4096
    },
    .keys   = 16384,
    .iters  = 4,
    .chunk  = 1024,
    .window = 16
};


static void usage(void)
{
    printf("usage: fhsort [options]\n"
           "  --keys N         of a process, 8 bytes each (16384)\n"
           "  --iters N        sorts (4)\n"
           "  --chunk BYTES    of a put (1k)\n"
           "  --window N       puts under way, 1 to %d (16)\n" FHJOB_HELP,
           MAX_WINDOW);
}

static sort_report_t *report_of(sort_t *sort, int rank)
{
    return (sort_report_t*)sort->job.shared->extra + rank;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t*)a, right = *(const uint64_t*)b;

    return (left > right) - (left < right);
}

static uint64_t sum_keys(const sort_t *sort)
{
    uint64_t sum = 0;
    int i;

    for (i = 0; i < sort->keys; ++i) {
        sum += app_mix(sort->own[i] + 1);
    }
    return sum;
}

/* Put all own keys into the memory of a process */
static void put_keys(sort_t *sort, fhjob_worker_t *worker, int peer)
{
    ucs_status_ptr_t requests[MAX_WINDOW] = {};
    ucp_request_param_t param             = {.op_attr_mask = 0};
    fhjob_t *job                          = &sort->job;
    size_t offset, length;
    int slot = 0;
    int i;

    for (offset = 0; offset < job->heap; offset += length) {
        length         = job->heap - offset;
        length         = (length < sort->chunk) ? length : sort->chunk;
        fhjob_wait(job, worker, requests[slot]);
        requests[slot] = ucp_fh_put_nbx(worker->fh_worker, peer,
                                        (char*)sort->own + offset, length,
                                        job->shared->bases[peer] + offset,
                                        &param);
        slot           = (slot + 1) % sort->window;
    }
    for (i = 0; i < sort->window; ++i) {
        fhjob_wait(job, worker, requests[i]);
    }
    fhjob_flush(job, worker);
}

/* Keep the smaller or the larger half of the own keys and those that have
 * come */
static void merge(sort_t *sort, int keeps_small)
{
    const uint64_t *other = (const uint64_t*)sort->job.memory;
    int step              = keeps_small ? 1 : -1;
    int at                = keeps_small ? 0 : sort->keys - 1;
    int i = at, j = at, k = at, n;
    uint64_t *own;

    for (n = 0; n < sort->keys; ++n, k += step) {
        if ((sort->own[i] < other[j]) == keeps_small) {
            sort->merged[k] = sort->own[i];
            i              += step;
        } else {
            sort->merged[k] = other[j];
            j              += step;
        }
    }
    own          = sort->own;
    sort->own    = sort->merged;
    sort->merged = own;
}

/* All steps of bitonic sort among processes, whose keys are sorted each */
static void run_steps(sort_t *sort, fhjob_worker_t *worker)
{
    int rank = sort->job.rank;
    int length, distance, rises;

    for (length = 2; length <= sort->job.procs; length *= 2) {
        rises = (rank & length) == 0;
        for (distance = length / 2; distance > 0; distance /= 2) {
            put_keys(sort, worker, rank ^ distance);
            fhjob_barrier(&sort->job);
            merge(sort, rises == ((rank & distance) == 0));
            fhjob_barrier(&sort->job);
        }
    }
}

static void check(sort_t *sort)
{
    fhjob_t *job          = &sort->job;
    sort_report_t *report = report_of(sort, job->rank);
    uint64_t errors       = 0;
    uint64_t before       = 0;
    uint64_t after        = 0;
    int i;

    for (i = 1; i < sort->keys; ++i) {
        errors += sort->own[i - 1] > sort->own[i];
    }
    report->first     = sort->own[0];
    report->last      = sort->own[sort->keys - 1];
    report->sum_after = sum_keys(sort);
    fhjob_barrier(job);

    if (job->rank == 0) {
        for (i = 0; i < job->procs; ++i) {
            before += report_of(sort, i)->sum_before;
            after  += report_of(sort, i)->sum_after;
            errors += (i > 0) && (report_of(sort, i - 1)->last >
                                  report_of(sort, i)->first);
        }
        errors += before != after;
    }
    fhjob_errors(job, "places in the order", errors);
    fhjob_barrier(job);
}

static void run_once(sort_t *sort, fhjob_worker_t *worker, int iter)
{
    uint64_t random = app_mix((iter * FHJOB_MAX_PROCS) + sort->job.rank + 1);
    double begin;
    int i;

    for (i = 0; i < sort->keys; ++i) {
        sort->own[i] = app_random(&random);
    }
    report_of(sort, sort->job.rank)->sum_before = sum_keys(sort);
    fhjob_barrier(&sort->job);
    begin = app_time();
    qsort(sort->own, sort->keys, sizeof(*sort->own), compare);
    run_steps(sort, worker);
    sort->seconds += app_time() - begin;
    check(sort);
}

static void run(fhjob_t *job)
{
    sort_t *sort = &sort_app;
    fhjob_worker_t worker;
    int i;

    sort->own    = calloc(sort->keys, sizeof(*sort->own));
    sort->merged = calloc(sort->keys, sizeof(*sort->own));
    if ((sort->own == NULL) || (sort->merged == NULL)) {
        app_fatal("fhsort: no memory");
    }

    fhjob_worker_open(job, 0, &worker);
    for (i = 0; i < sort->iters; ++i) {
        run_once(sort, &worker, i);
    }
    fhjob_count(job);
    fhjob_print(job, "\"keys\":%d,\"iters\":%d,\"chunk\":%zu,\"window\":%d,"
                "\"seconds\":%.6f", sort->keys, sort->iters, sort->chunk,
                sort->window, sort->seconds);
    fhjob_worker_close(&worker);
    free(sort->own);
    free(sort->merged);
}

int main(int argc, char **argv)
{
    sort_t *sort                 = &sort_app;
    const app_option_t options[] = {
        {"keys", .count = &sort->keys},
        {"iters", .count = &sort->iters},
        {"chunk", .size = &sort->chunk},
        {"window", .count = &sort->window},
        FHJOB_OPTIONS(&sort->job),
        {NULL}
    };
    int procs;

    app_parse(argc, argv, "fhsort", options, usage);
    procs = sort->job.procs;
    if ((procs < 2) || ((procs & (procs - 1)) != 0) || (sort->keys == 0) ||
        (sort->chunk == 0) || (sort->window < 1) ||
        (sort->window > MAX_WINDOW)) {
        app_fatal("fhsort: --procs: accepted are 2, 4, 8 and 16; --keys, "
                  "--chunk: 1 and more; --window: 1 to %d", MAX_WINDOW);
    }

    sort->job.heap  = sort->keys * sizeof(uint64_t);
    sort->job.extra = procs * sizeof(sort_report_t);
    sort->job.run   = run;
    return fhjob_run(&sort->job);
}
