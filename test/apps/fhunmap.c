/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Exposed memory that is unmapped without having been withdrawn, while a peer
 * has firehoses on it: as a whole, in part, replaced by something else, and
 * over and over by several threads. Nothing else may be written to, and
 * nothing may crash.
 */

#include "fhpages.h"
#include "fhunmap_cases.h"

#include <unistd.h>

#define MAX_OWNER 8 /* Threads that expose memory */
#define FILL      0x5a


typedef struct {
    fhjob_t job;
    int     threads; /* Of each process */
    int     rounds;  /* Of each thread that exposes memory */
} unmap_t;


static unmap_t unmap_app = {
    .job     = {
        .name = "fhunmap", .procs = 2, .libraries = 2, .heap = 1 << 20,
        .share = 1 << 20, .max_victim = 256 << 10, .bucket = 4096
    },
    .threads = 2,
    .rounds  = 200
};


static void usage(void)
{
    printf("usage: fhunmap [options]\n"
           "  --threads N      of each process, 1 to %d (2)\n"
           "  --rounds N       how often each of them unmaps memory (200)\n"
           FHJOB_HELP, MAX_OWNER);
}

static int is_filled(const uint8_t *memory, size_t length)
{
    return (memory[0] == FILL) && (memcmp(memory, memory + 1, length - 1) == 0);
}

/* Over and over: a thread maps other memory at once, mostly in the same place,
 * to which nobody may write */
static void *storm_owner(void *arg)
{
    unmap_t *app = &unmap_app;
    fhjob_t *job = &app->job;
    int number   = (int)(intptr_t)arg;
    uint64_t base, other;
    ucp_fh_mem_h mem;
    int i;

    for (i = 0; i < app->rounds; ++i) {
        base = fhpages_map_anonymous(job);
        mem  = fhpages_expose(job, base);
        __atomic_store_n(&job->shared->extra[number], base, __ATOMIC_RELEASE);
        usleep(i % 3 * 500);
        fhpages_unmap(job, base, (i % 2) * 8, FHPAGES_NUM - ((i % 2) * 8));
        other = fhpages_map_anonymous(job);
        memset((void*)other, FILL, FHPAGES_NUM * FHJOB_PAGE);
        usleep(300);
        fhjob_errors(job, "bytes of other memory",
                     !is_filled((void*)other, FHPAGES_NUM * FHJOB_PAGE));
        fhpages_unexpose(job, mem);
        fhpages_unmap(job, other, 0, FHPAGES_NUM);
        if (i % 2 != 0) {
            fhpages_unmap(job, base, 0, 8);
        }
    }
    return NULL;
}

static void *storm_peer(void *arg)
{
    unmap_t *app    = &unmap_app;
    fhjob_t *job    = &app->job;
    uint64_t random = (uintptr_t)arg + 1;
    fhjob_worker_t worker;
    ucs_status_t status;
    uint64_t base;

    fhjob_worker_open(job, 0, &worker);
    while (!__atomic_load_n(&job->shared->is_over, __ATOMIC_ACQUIRE)) {
        base = __atomic_load_n(&job->shared->extra[
                                       app_random_below(&random, app->threads)],
                               __ATOMIC_ACQUIRE);
        if (base == 0) {
            continue;
        }

        status = fhpages_try_put(&worker, base,
                                 app_random_below(&random, FHPAGES_NUM), 1);
        fhjob_errors(job, "puts", (status != UCS_OK) &&
                                  (status != UCS_ERR_INVALID_ADDR));
    }
    fhjob_flush(job, &worker);
    fhjob_worker_close(&worker);
    return NULL;
}

static void storm(unmap_t *app)
{
    fhjob_t *job = &app->job;
    pthread_t threads[MAX_OWNER];
    int i;

    for (i = 0; i < app->threads; ++i) {
        job->shared->extra[i] = 0;
    }
    fhjob_barrier(job);
    for (i = 0; i < app->threads; ++i) {
        if (pthread_create(&threads[i], NULL,
                           (job->rank == 0) ? storm_owner : storm_peer,
                           (void*)(intptr_t)i) != 0) {
            app_fatal("%s: pthread_create", job->name);
        }
    }
    for (i = 0; i < app->threads; ++i) {
        pthread_join(threads[i], NULL);
        if ((job->rank == 0) && (i == app->threads - 1)) {
            __atomic_store_n(&job->shared->is_over, 1, __ATOMIC_RELEASE);
        }
    }
}

static void run(fhjob_t *job)
{
    unmap_t *app = &unmap_app;

    fhunmap_cases(job);
    storm(app);

    fhjob_count(job);
    fhjob_print(job, "\"threads\":%d,\"rounds\":%d", app->threads,
                app->rounds);
}

int main(int argc, char **argv)
{
    unmap_t *app                 = &unmap_app;
    const app_option_t options[] = {
        {"threads", .count = &app->threads},
        {"rounds", .count = &app->rounds},
        FHJOB_OPTIONS(&app->job),
        {NULL}
    };

    app_parse(argc, argv, "fhunmap", options, usage);
    if ((app->threads < 1) || (app->threads > MAX_OWNER)) {
        app_fatal("fhunmap: --threads %d: accepted are 1 to %d", app->threads,
                  MAX_OWNER);
    }
    if (app->job.procs != 2) {
        app_fatal("fhunmap: --procs %d: accepted are 2", app->job.procs);
    }

    app->job.extra = MAX_OWNER * sizeof(uint64_t);
    app->job.run   = run;
    return fhjob_run(&app->job);
}
