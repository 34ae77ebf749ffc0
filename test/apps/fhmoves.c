/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * How many requests for firehoses a process answers: its peers read at random
 * what they have too few firehoses for, so that nearly all of it is a miss.
 * What is read is checked.
 */

#include "fhjob.h"

#define MAX_WINDOW 64


typedef struct {
    fhjob_t job;
    int     ms;
    int     window; /* Gets of a process under way */
} moves_t;


/* A get under way */
typedef struct {
    uint64_t         word;  /* What is read */
    uint64_t         value; /* What there is */
    ucs_status_ptr_t request;
} moves_slot_t;


static moves_t moves_app = {
    .job    = {
        .name = "fhmoves", .procs = 2, .libraries = 1, .heap = 64 << 20,
        .share = 128 << 10, .max_victim = 64 << 10, .bucket = 4096
    },
    .ms     = 1000,
    .window = 4
};


static void usage(void)
{
    printf("usage: fhmoves [options]\n"
           "  --ms N           peers ask for so many milliseconds (1000)\n"
           "  --heap BYTES     of the process that is asked (64m)\n"
           "  --window N       gets of a process under way, 1 to %d (4)\n"
           FHJOB_HELP, MAX_WINDOW);
}

static void finish(moves_t *moves, fhjob_worker_t *worker, moves_slot_t *slot)
{
    /* A slot that was not used yet has the same */
    fhjob_wait(&moves->job, worker, slot->request);
    fhjob_errors(&moves->job, "words that were read",
                 slot->value != slot->word);
    slot->request = NULL;
}

static void begin(moves_t *moves, fhjob_worker_t *worker, moves_slot_t *slot,
                  uint64_t *random)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    fhjob_t *job              = &moves->job;

    slot->value   = app_random_below(random, job->heap / sizeof(slot->value));
    slot->request = ucp_fh_get_nbx(worker->fh_worker, 0, &slot->word,
                                   sizeof(slot->word), job->shared->bases[0] +
                                           (slot->value * sizeof(slot->value)),
                                   &param);
}

/* A process asks until the time is over, from when all of them have asked once
 * and so have connected */
static void ask(moves_t *moves)
{
    moves_slot_t slots[MAX_WINDOW] = {};
    fhjob_t *job                   = &moves->job;
    uint64_t random                = job->rank;
    fhjob_worker_t worker;
    double end;
    unsigned i;

    fhjob_worker_open(job, 0, &worker);
    begin(moves, &worker, &slots[0], &random);
    finish(moves, &worker, &slots[0]);
    fhjob_barrier(job);
    end = app_time() + (moves->ms * 1e-3);
    for (i = 0; app_time() < end; ++i) {
        finish(moves, &worker, &slots[i % moves->window]);
        begin(moves, &worker, &slots[i % moves->window], &random);
    }
    for (i = 0; i < moves->window; ++i) {
        finish(moves, &worker, &slots[i]);
    }
    fhjob_barrier(job);
    fhjob_worker_close(&worker);
}

/* The process that is asked. @return how often it was, each second */
static double answer(moves_t *moves)
{
    ucp_fh_stats_t before, after;
    double seconds;

    fhjob_barrier(&moves->job);
    seconds = app_time();
    fhjob_query(&moves->job, &before);
    fhjob_barrier(&moves->job);
    fhjob_query(&moves->job, &after);
    return (after.answered - before.answered) / (app_time() - seconds);
}

static void fill_memory(moves_t *moves)
{
    uint64_t *words = (uint64_t*)moves->job.memory;
    size_t i;

    for (i = 0; i < moves->job.heap / sizeof(*words); ++i) {
        words[i] = i;
    }
}

static void run(fhjob_t *job)
{
    moves_t *moves    = &moves_app;
    double per_second = 0;

    if (job->rank == 0) {
        fill_memory(moves);
    }
    fhjob_barrier(job);
    if (job->rank == 0) {
        per_second = answer(moves);
    } else {
        ask(moves);
    }

    fhjob_count(job);
    fhjob_print(job, "\"window\":%d,\"ms\":%d,\"answers_per_s\":%.0f",
                moves->window, moves->ms, per_second);
}

int main(int argc, char **argv)
{
    moves_t *moves               = &moves_app;
    const app_option_t options[] = {
        {"ms", .count = &moves->ms},
        {"heap", .size = &moves->job.heap},
        {"window", .count = &moves->window},
        FHJOB_OPTIONS(&moves->job),
        {NULL}
    };

    app_parse(argc, argv, "fhmoves", options, usage);
    if ((moves->window < 1) || (moves->window > MAX_WINDOW)) {
        app_fatal("--window: accepted are 1 to %d", MAX_WINDOW);
    }

    moves->job.run = run;
    return fhjob_run(&moves->job);
}
