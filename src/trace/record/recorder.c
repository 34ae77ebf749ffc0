/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "recorder.h"
#include "file.h"
#include "ring.h"
#include "sites.h"

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>


/* The file is written at least once in this time, which is what a process that
 * dies loses of its trace. Each time takes about 5 us of the processor, 1/20000
 * of the period. */
#define PERIOD_NSEC   100000000l

/*
 * Events in the ring: 3.3 MB. When it is half full the thread is woken, and has
 * to be there before the other half is. Where it shares the processor with a
 * rank that spins, that may take some scheduler ticks of 4 ms. A use makes
 * three to five events; even messages of 64 KB back to back at 12 GB/s, 190000
 * a second, take 17 ms for half of the ring.
 */
#define RING_SIZE     32768

/* How many call stacks are recorded at most. A place in the program counts once
 * for each thread that calls from there. MPI programs were seen to have a tenth
 * of this number; if all are used, they take 1 MB */
#define MAX_SITES     4096


struct ucs_rcache_recorder {
    ucs_rcache_record_ring_t  *ring;
    ucs_rcache_record_sites_t *sites;

    /* Set by start, cleared by stop, or by the thread when writing fails.
     * Relaxed: it does not matter whether an event at either end is recorded,
     * since the ring exists all the time; and when stop wakes the thread, the
     * semaphore orders it */
    _Atomic(int)               recording;

    sem_t                     wakeups;
    pthread_t                 thread;
    int                       running;    /* Written by start and stop */
    ucs_rcache_record_file_t  file;
};


ucs_status_t ucs_rcache_recorder_create(ucs_rcache_recorder_t **recorder_p)
{
    ucs_rcache_recorder_t *recorder;
    ucs_status_t status = UCS_ERR_NO_MEMORY;

    recorder = calloc(1, sizeof(*recorder));
    if (recorder == NULL) {
        goto err;
    }

    status = ucs_rcache_record_ring_create(RING_SIZE, &recorder->ring);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = ucs_rcache_record_sites_create(MAX_SITES, &recorder->sites);
    if (status != UCS_OK) {
        goto err_destroy_ring;
    }

    status = ucs_rcache_record_file_init(&recorder->file);
    if (status != UCS_OK) {
        goto err_destroy_sites;
    }

    sem_init(&recorder->wakeups, 0, 0);
    *recorder_p = recorder;
    return UCS_OK;

err_destroy_sites:
    ucs_rcache_record_sites_destroy(recorder->sites);
err_destroy_ring:
    ucs_rcache_record_ring_destroy(recorder->ring);
err_free:
    free(recorder);
err:
    return status;
}

void ucs_rcache_recorder_destroy(ucs_rcache_recorder_t *recorder)
{
    sem_destroy(&recorder->wakeups);
    ucs_rcache_record_file_cleanup(&recorder->file);
    ucs_rcache_record_sites_destroy(recorder->sites);
    ucs_rcache_record_ring_destroy(recorder->ring);
    free(recorder);
}

static int is_recording(ucs_rcache_recorder_t *recorder)
{
    return atomic_load_explicit(&recorder->recording, memory_order_relaxed);
}

void ucs_rcache_recorder_event(void *arg, const ucs_rcache_pred_event_t *event)
{
    ucs_rcache_recorder_t *recorder = arg;

    if (ucs_likely(is_recording(recorder)) &&
        ucs_unlikely(ucs_rcache_record_ring_push(recorder->ring, event))) {
        sem_post(&recorder->wakeups);
    }
}

void ucs_rcache_recorder_site(ucs_rcache_recorder_t *recorder,
                              const ucs_rcache_pred_context_t *context)
{
    /* The libraries on the stack have to be found before they are unloaded, as plug-ins of
     * MPI are at the end: a program may be over within a period */
    if (is_recording(recorder) &&
        ucs_rcache_record_sites_note(recorder->sites, context)) {
        sem_post(&recorder->wakeups);
    }
}

/* After a failure, record no events that could not be written */
static void check_file(ucs_rcache_recorder_t *recorder, ucs_status_t status)
{
    if (status != UCS_OK) {
        atomic_store_explicit(&recorder->recording, 0, memory_order_relaxed);
    }
}

/* Write what there is to the file. @return whether there may be more events */
static int recorder_drain(ucs_rcache_recorder_t *recorder)
{
    unsigned count;

    check_file(recorder,
               ucs_rcache_record_file_take(&recorder->file, recorder->ring,
                                           recorder->sites, RING_SIZE,
                                           &count));
    return count == RING_SIZE;
}

/* Wait for the next period, or until the ring is half full or there is a new call stack */
static void recorder_sleep(ucs_rcache_recorder_t *recorder)
{
    struct timespec until;

    until = ucs_clock_timespec(ucs_monotonic_ns() + PERIOD_NSEC);
    sem_clockwait(&recorder->wakeups, CLOCK_MONOTONIC, &until);
}

static void *recorder_func(void *arg)
{
    ucs_rcache_recorder_t *recorder = arg;
    struct sched_param param        = { .sched_priority = 0 };

    /* A batch thread that wakes does not preempt the program, see
     * ucs/host/thread.c */
    sched_setscheduler(0, SCHED_BATCH, &param);
    while (is_recording(recorder)) {
        if (!recorder_drain(recorder)) {
            recorder_sleep(recorder);
        }
    }

    return NULL;
}

/* All signals are blocked in the thread, so that no handler of the program runs
 * there */
static ucs_status_t recorder_create_thread(ucs_rcache_recorder_t *recorder)
{
    sigset_t all, old;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&recorder->thread, NULL, recorder_func, recorder);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ret != 0) {
        ucs_error("cannot create the thread that writes the trace: %s",
                  strerror(ret));
        return UCS_ERR_NO_RESOURCE;
    }

    pthread_setname_np(recorder->thread, "predreg-trace");
    recorder->running = 1;
    return UCS_OK;
}

ucs_status_t ucs_rcache_recorder_start(ucs_rcache_recorder_t *recorder, int fd,
                                       const char *path)
{
    ucs_status_t status;

    status = ucs_rcache_record_file_open(&recorder->file, fd, path);
    if (status != UCS_OK) {
        return status;
    }

    atomic_store_explicit(&recorder->recording, 1, memory_order_relaxed);
    status = recorder_create_thread(recorder);
    if (status != UCS_OK) {
        goto err_discard_file;
    }

    return UCS_OK;

err_discard_file:
    atomic_store_explicit(&recorder->recording, 0, memory_order_relaxed);
    ucs_rcache_record_file_discard(&recorder->file);
    return status;
}

void ucs_rcache_recorder_stop(ucs_rcache_recorder_t *recorder)
{
    uint64_t lost;

    if (!recorder->running) {
        return;
    }

    atomic_store_explicit(&recorder->recording, 0, memory_order_relaxed);
    sem_post(&recorder->wakeups);
    pthread_join(recorder->thread, NULL);
    recorder->running = 0;

    while (recorder_drain(recorder));
    lost = ucs_rcache_record_ring_lost(recorder->ring);
    if (lost > 0) {
        ucs_rcache_record_file_put_lost(&recorder->file, lost);
    }
}

void ucs_rcache_recorder_finish(ucs_rcache_recorder_t *recorder)
{
    if (!ucs_rcache_record_file_is_open(&recorder->file)) {
        return;
    }

    if (ucs_rcache_record_sites_is_full(recorder->sites)) {
        ucs_diag("the trace %s has the stacks of the first %d call sites only",
                 recorder->file.path, MAX_SITES);
    }
    ucs_rcache_record_file_close(&recorder->file);
}

/* The child does not have the thread */
void ucs_rcache_recorder_abandon(ucs_rcache_recorder_t *recorder)
{
    ucs_rcache_record_file_abandon(&recorder->file);
}

void ucs_rcache_recorder_meta(ucs_rcache_recorder_t *recorder, const char *key,
                              const char *value)
{
    ucs_rcache_record_file_put_meta(&recorder->file, key, value);
}

void ucs_rcache_recorder_domain(ucs_rcache_recorder_t *recorder,
                                unsigned number, const char *name)
{
    ucs_rcache_record_file_put_domain(&recorder->file, number, name);
}

void ucs_rcache_recorder_counter(ucs_rcache_recorder_t *recorder,
                                 const char *name, uint64_t value)
{
    ucs_rcache_record_file_put_counter(&recorder->file, name, value);
}

void ucs_rcache_recorder_sends(ucs_rcache_recorder_t *recorder,
                               const ucs_reuse_sends_t *sends)
{
    ucs_rcache_record_file_put_sends(&recorder->file, sends);
}

void ucs_rcache_recorder_flush(ucs_rcache_recorder_t *recorder)
{
    check_file(recorder, ucs_rcache_record_file_flush(&recorder->file));
}
