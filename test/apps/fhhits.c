/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The cost of a hit: puts of 8 bytes to a peer, always to the same bucket, by
 * Firehose and by UCP with a key that is there, in turns; and a remote pin
 * that is a hit with its release. What was put is checked.
 */

#include "fhplain.h"

#define MAX_ROUNDS 101


typedef struct {
    fhjob_t        job;
    int            ops;    /* Of a round */
    int            rounds;
    fhplain_t      plain;
    fhjob_worker_t worker;
    uint64_t       value;  /* What was put last */
} hits_t;


static hits_t hits_app = {
    .job    = {
        .name = "fhhits", .procs = 2, .libraries = 1, .heap = 64 << 10,
        .share = 64 << 10, .max_victim = 64 << 10, .bucket = 4096
    },
    .ops    = 2000,
    .rounds = 51
};


static void usage(void)
{
    printf("usage: fhhits [options]\n"
           "  --ops N          of a kind in a round, before a flush (2000)\n"
           "  --rounds N       1 to %d (51)\n" FHJOB_HELP, MAX_ROUNDS);
}

/* Where they put: Firehose the first word, UCP the second one */
static uint64_t address_of(const hits_t *hits, int word)
{
    return hits->job.shared->bases[1] + (word * sizeof(uint64_t));
}

static double put_by_firehose(hits_t *hits)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t address          = address_of(hits, 0);
    double begin              = app_time();
    int i;

    for (i = 0; i < hits->ops; ++i) {
        ++hits->value;
        fhjob_wait(&hits->job, &hits->worker,
                   ucp_fh_put_nbx(hits->worker.fh_worker, 1,
                                  &hits->value, sizeof(hits->value), address,
                                  &param));
    }
    fhjob_flush(&hits->job, &hits->worker);
    return (app_time() - begin) / hits->ops * 1e9;
}

static double put_by_ucp(hits_t *hits)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t address          = address_of(hits, 1);
    double begin              = app_time();
    int i;

    for (i = 0; i < hits->ops; ++i) {
        ++hits->value;
        fhplain_wait(&hits->plain,
                     ucp_put_nbx(hits->plain.ep, &hits->value,
                                 sizeof(hits->value), address,
                                 hits->plain.rkey, &param));
    }
    fhplain_flush(&hits->plain);
    return (app_time() - begin) / hits->ops * 1e9;
}

static double pin(hits_t *hits)
{
    uint64_t address = address_of(hits, 0);
    double begin     = app_time();
    ucp_fh_hold_h hold;
    int i;

    for (i = 0; i < hits->ops; ++i) {
        fhjob_check(&hits->job,
                    ucp_fh_try_pin_remote(hits->job.fhs[0], 1,
                                          address, sizeof(uint64_t), &hold),
                    "ucp_fh_try_pin_remote");
        ucp_fh_release(hold);
    }
    return (app_time() - begin) / hits->ops * 1e9;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double*)a, right = *(const double*)b;

    return (left > right) - (left < right);
}

static double median(double *values, int num)
{
    qsort(values, num, sizeof(*values), compare);
    return values[num / 2];
}

/* All that is measured, by the first process. @a medians are those of puts by
 * Firehose and by UCP, and of pins */
static void run_rounds(hits_t *hits, double medians[3])
{
    double (*const functions[])(hits_t*) = {put_by_firehose, put_by_ucp, pin};
    double times[3][MAX_ROUNDS];
    int i, j;

    for (i = 0; i < 3; ++i) {
        functions[i](hits);
    }
    for (j = 0; j < hits->rounds; ++j) {
        for (i = 0; i < 3; ++i) {
            times[i][j] = functions[i](hits);
        }
    }
    for (i = 0; i < 3; ++i) {
        medians[i] = median(times[i], hits->rounds);
    }

    /* A round of Firehose has come before that of UCP, and nothing later */
    hits->job.shared->extra[0] = hits->value - hits->ops;
    hits->job.shared->extra[1] = hits->value;
}

static void check_memory(hits_t *hits)
{
    const uint64_t *words = (const uint64_t*)hits->job.memory;
    int i;

    for (i = 0; i < 2; ++i) {
        fhjob_errors(&hits->job, "words",
                     words[i] != hits->job.shared->extra[i]);
    }
}

static void run(fhjob_t *job)
{
    hits_t *hits      = &hits_app;
    double medians[3] = {};

    fhplain_open(&hits->plain, job, 1 - job->rank);
    if (job->rank == 1) {
        fhplain_pin(&hits->plain);
    }
    fhjob_barrier(job);
    if (job->rank == 0) {
        fhplain_unpack(&hits->plain, 1);
        fhjob_worker_open(job, 0, &hits->worker);
        run_rounds(hits, medians);
        fhplain_end_service(&hits->plain);
    } else {
        fhplain_serve(&hits->plain, NULL, NULL);
    }

    fhjob_barrier(job);
    if (job->rank == 1) {
        check_memory(hits);
    }
    fhjob_count(job);
    fhjob_print(job, "\"ops\":%d,\"rounds\":%d,\"put_ns\":%.1f,"
                "\"ucp_put_ns\":%.1f,\"pin_ns\":%.1f", hits->ops,
                hits->rounds, medians[0], medians[1], medians[2]);
    if (job->rank == 0) {
        fhjob_worker_close(&hits->worker);
    }
    fhplain_close(&hits->plain);
}

int main(int argc, char **argv)
{
    hits_t *hits                 = &hits_app;
    const app_option_t options[] = {
        {"ops", .count = &hits->ops},
        {"rounds", .count = &hits->rounds},
        FHJOB_OPTIONS(&hits->job),
        {NULL}
    };

    app_parse(argc, argv, "fhhits", options, usage);
    if ((hits->rounds < 1) || (hits->rounds > MAX_ROUNDS) || (hits->ops < 1)) {
        app_fatal("fhhits: --rounds: accepted are 1 to %d; --ops: 1 and more",
                  MAX_ROUNDS);
    }

    hits->job.procs = 2;
    hits->job.extra = 2 * sizeof(uint64_t);
    hits->job.run   = run;
    return fhjob_run(&hits->job);
}
