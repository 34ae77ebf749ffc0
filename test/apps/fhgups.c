/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Atomic additions to random words of the peers, by several threads of each
 * process, which share one library or have one each, with its part of the
 * memory that may be pinned (Figure 7 of Bell and Nishtala). Every word is
 * checked.
 */

#include "fhjob.h"

#define MAX_WINDOW 64


typedef struct {
    fhjob_t  job;
    int      threads;
    int      is_apart; /* A library for each thread */
    int      updates;  /* Of a thread */
    int      window;   /* Updates under way */
} gups_t;


typedef struct {
    gups_t    *gups;
    int       index;
    pthread_t thread;
} gups_thread_t;


/* An update under way */
typedef struct {
    uint64_t         value;
    ucs_status_ptr_t request;
} gups_slot_t;


static gups_t gups_app = {
    .job     = {
        .name = "fhgups", .procs = 2, .heap = 4 << 20, .share = 2 << 20,
        .max_victim = 256 << 10, .bucket = 4096
    },
    .threads = 2,
    .updates = 20000,
    .window  = 8
};


static void usage(void)
{
    printf("usage: fhgups [options]\n"
           "  --threads N      of a process, 1 to %d (2)\n"
           "  --apart          a library for each thread, with its part of\n"
           "                   share and maxvictim\n"
           "  --table BYTES    of a process (4m)\n"
           "  --updates N      of a thread (20000)\n"
           "  --window N       updates of a thread under way, 1 to %d (8)\n"
           FHJOB_HELP, FHJOB_MAX_THREADS, MAX_WINDOW);
}

/* The updates of a thread are the same for whoever asks */
static uint64_t first_random(int rank, int thread)
{
    return app_mix((rank * FHJOB_MAX_THREADS) + thread + 1);
}

/* The next update. @return whose memory it is of, one of the other processes */
static int
next_update(const gups_t *gups, int rank, uint64_t *random, uint64_t *word,
            uint64_t *value)
{
    int procs = gups->job.procs;

    *word  = app_random_below(random, gups->job.heap / sizeof(uint64_t));
    *value = app_random(random);
    return (rank + 1 + app_random_below(random, procs - 1)) % procs;
}

static void *run_thread(void *arg)
{
    gups_thread_t *self            = arg;
    gups_t *gups                   = self->gups;
    fhjob_t *job                   = &gups->job;
    uint64_t random                = first_random(job->rank, self->index);
    gups_slot_t slots[MAX_WINDOW]  = {};
    ucp_request_param_t param      = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
        .datatype     = ucp_dt_make_contig(sizeof(uint64_t))
    };
    gups_slot_t *slot;
    fhjob_worker_t worker;
    uint64_t word;
    int i, target;

    fhjob_worker_open(job, gups->is_apart ? self->index : 0, &worker);
    for (i = 0; i < gups->updates; ++i) {
        slot   = &slots[i % gups->window];
        fhjob_wait(job, &worker, slot->request);
        target = next_update(gups, job->rank, &random, &word, &slot->value);
        slot->request = ucp_fh_atomic_op_nbx(worker.fh_worker, target,
                                             UCP_ATOMIC_OP_ADD, &slot->value,
                                             job->shared->bases[target] +
                                                     (word * sizeof(word)),
                                             &param);
    }
    for (i = 0; i < gups->window; ++i) {
        fhjob_wait(job, &worker, slots[i].request);
    }
    fhjob_flush(job, &worker);
    fhjob_worker_close(&worker);
    return NULL;
}

/* Do again what all threads of all processes have done to this one */
static void check_memory(gups_t *gups)
{
    fhjob_t *job     = &gups->job;
    uint64_t *table  = calloc(1, job->heap);
    uint64_t *memory = (uint64_t*)job->memory;
    uint64_t errors  = 0;
    uint64_t random, word, value;
    int rank, thread, i;
    size_t at;

    if (table == NULL) {
        app_fatal("fhgups: no memory");
    }

    for (rank = 0; rank < job->procs; ++rank) {
        for (thread = 0; thread < gups->threads; ++thread) {
            random = first_random(rank, thread);
            for (i = 0; i < gups->updates; ++i) {
                if (next_update(gups, rank, &random, &word, &value) ==
                    job->rank) {
                    table[word] += value;
                }
            }
        }
    }

    for (at = 0; at < job->heap / sizeof(*table); ++at) {
        errors += memory[at] != table[at];
    }
    fhjob_errors(job, "words", errors);
    free(table);
}

static void run(fhjob_t *job)
{
    gups_t *gups = &gups_app;
    gups_thread_t threads[FHJOB_MAX_THREADS];
    double seconds = app_time();
    double updates;
    int i;

    for (i = 0; i < gups->threads; ++i) {
        threads[i].gups  = gups;
        threads[i].index = i;
        pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]);
    }
    for (i = 0; i < gups->threads; ++i) {
        pthread_join(threads[i].thread, NULL);
    }
    fhjob_barrier(job);
    seconds = app_time() - seconds;

    check_memory(gups);
    fhjob_count(job);
    updates = (double)gups->updates * gups->threads * job->procs;
    fhjob_print(job, "\"threads\":%d,\"updates\":%.0f,\"window\":%d,"
                "\"seconds\":%.6f,\"updates_per_s\":%.0f", gups->threads,
                updates, gups->window, seconds, updates / seconds);
}

int main(int argc, char **argv)
{
    gups_t *gups                 = &gups_app;
    const app_option_t options[] = {
        {"threads", .count = &gups->threads},
        {"apart", .flag = &gups->is_apart},
        {"table", .size = &gups->job.heap},
        {"updates", .count = &gups->updates},
        {"window", .count = &gups->window},
        FHJOB_OPTIONS(&gups->job),
        {NULL}
    };

    app_parse(argc, argv, "fhgups", options, usage);
    if ((gups->threads < 1) || (gups->threads > FHJOB_MAX_THREADS) ||
        (gups->window < 1) || (gups->window > MAX_WINDOW)) {
        app_fatal("fhgups: --threads: accepted are 1 to %d; --window: 1 to %d",
                  FHJOB_MAX_THREADS, MAX_WINDOW);
    }

    gups->job.libraries = gups->is_apart ? gups->threads : 1;
    gups->job.run       = run;
    return fhjob_run(&gups->job);
}
