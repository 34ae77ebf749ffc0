/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "recorder.h"
#include "ring.h"
#include "sites.h"
#include "writer.h"

#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/debug/log_def.h>
#include <ucs/host/own_fd.h>
#include <ucs/host/thread.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The file is written at least once in this time: a process that is killed
 * loses at most this much of its trace. Each turn takes about 5 us of the
 * processor, 1/20000 of the period. */
#define PERIOD_NSEC   100000000l

/* The recorder waits for the end of its thread however long a write takes, ns */
#define PATIENCE      (UINT64_MAX / 4)

/*
 * Events in the ring: 3.3 MB. A ring that becomes half full wakes the thread,
 * which has to run before the other half is full. Where the thread shares the
 * processor with a thread of the program that spins, waking may take some
 * scheduler ticks of 4 ms. A use makes three to five events; even messages of
 * 64 KB back to back at 12 GB/s, 190000 a second, fill half of the ring in no less
 * than 17 ms.
 */
#define RING_SIZE     32768

/* Most recorded call stacks: 1 MB. A place in the program counts once for
 * each thread. MPI programs were seen to have a tenth of this number */
#define MAX_SITES     4096


struct ucs_rcache_recorder {
    ucs_rcache_record_ring_t    *ring;
    ucs_rcache_record_sites_t   *sites;

    /* Whether events are recorded. Set by start, cleared by stop, or by a thread whose
     * write fails. Relaxed: the ring exists all the time, so an event that happens
     * during start or stop may be recorded or not */
    _Atomic(int)                recording;

    ucs_rcache_pred_thread_t    *thread; /* Constant */
    int                         running; /* Whether the thread was started and not
                                            stopped. Written by start and stop */

    /* The file. The lock protects all of the following fields, and is held
     * while events are packed and written. Threads that communicate do not take
     * the lock */
    ucs_mutex_t                 lock;
    ucs_rcache_record_modules_t *modules;
    ucs_rcache_trace_writer_t   *writer; /* NULL: the file is not open.
                                            Written by start and finish,
                                            which may also read the field
                                            without the lock */
    ucs_rcache_pred_own_fd_t    fd;
    char                        *path;   /* Valid while the file is open */
    int                         failed;  /* A write has failed: nothing more is
                                            written */
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

    status = ucs_rcache_record_modules_create(&recorder->modules);
    if (status != UCS_OK) {
        goto err_destroy_sites;
    }

    status = ucs_rcache_pred_thread_create(&recorder->thread);
    if (status != UCS_OK) {
        goto err_destroy_modules;
    }

    ucs_mutex_init(&recorder->lock, UCS_RANK_TRACE, 0);
    *recorder_p = recorder;
    return UCS_OK;

err_destroy_modules:
    ucs_rcache_record_modules_destroy(recorder->modules);
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
    ucs_rcache_pred_thread_destroy(recorder->thread);
    ucs_mutex_destroy(&recorder->lock);
    ucs_rcache_record_modules_destroy(recorder->modules);
    ucs_rcache_record_sites_destroy(recorder->sites);
    ucs_rcache_record_ring_destroy(recorder->ring);
    free(recorder);
}

static int is_recording(ucs_rcache_recorder_t *recorder)
{
    return ucs_relaxed_load(&recorder->recording);
}

void ucs_rcache_recorder_event(void *arg, const ucs_rcache_pred_event_t *event)
{
    ucs_rcache_recorder_t *recorder = arg;

    if (ucs_likely(is_recording(recorder)) &&
        ucs_unlikely(ucs_rcache_record_ring_push(recorder->ring, event))) {
        ucs_rcache_pred_thread_wake(recorder->thread);
    }
}

void ucs_rcache_recorder_site(ucs_rcache_recorder_t *recorder,
                              const ucs_rcache_pred_context_t *context)
{
    /* Wake the thread for a new site: it has to find the libraries on the stack
     * before they are unloaded, as the plug-ins of MPI are at the end, and a
     * program may end within a period */
    if (is_recording(recorder) &&
        ucs_rcache_record_sites_note(recorder->sites, context)) {
        ucs_rcache_pred_thread_wake(recorder->thread);
    }
}

/* Called under the lock, while the file is open. If @a status is an error,
 * warn, and stop recording: no event could be written any more */
static void check_written(ucs_rcache_recorder_t *recorder, ucs_status_t status)
{
    if (status == UCS_OK) {
        return;
    }

    if (errno == EBADF) {
        ucs_warn("the program has closed the trace %s; recording ends",
                 recorder->path);
    } else {
        ucs_warn("cannot write the trace %s: %m; recording ends",
                 recorder->path);
    }
    recorder->failed = 1;
    ucs_relaxed_store(&recorder->recording, 0);
}

/* Called under the lock. Put the events of the ring, at most RING_SIZE.
 * @return the number of events */
static unsigned put_events(ucs_rcache_recorder_t *recorder)
{
    ucs_rcache_pred_event_t event;
    unsigned count;
    uint64_t lost;

    for (count = 0; (count < RING_SIZE) &&
         ucs_rcache_record_ring_pop(recorder->ring, &event, &lost); ++count) {
        if (lost > 0) {
            ucs_rcache_trace_put(recorder->writer, TRACE_RECORD_LOST, &lost);
        }
        ucs_rcache_trace_put_event(recorder->writer, &event);
    }

    return count;
}

/* Called under the lock. Put the new call stacks, and the modules with the code
 * of these stacks */
static void put_sites(ucs_rcache_recorder_t *recorder)
{
    const ucs_rcache_trace_site_t *site;
    int found = 0;

    while ((site = ucs_rcache_record_sites_next(recorder->sites)) != NULL) {
        ucs_rcache_trace_put(recorder->writer, TRACE_RECORD_SITE, site);
        found = 1;
    }

    if (found) {
        ucs_rcache_record_modules_put(recorder->modules, recorder->writer);
    }
}

/* Write new call stacks and events to the file, which is open. Does nothing
 * after a write has failed. @return whether there may be more events */
static int drain(ucs_rcache_recorder_t *recorder)
{
    unsigned count = 0;

    ucs_mutex_lock(&recorder->lock);
    if (!recorder->failed) {
        put_sites(recorder);
        count = put_events(recorder);
        check_written(recorder, ucs_rcache_trace_writer_flush(recorder->writer));
    }
    ucs_mutex_unlock(&recorder->lock);
    return count == RING_SIZE;
}

/* The work of the thread: write what was recorded. @return the time of the next
 * turn, unless a half full ring or a new call stack wakes the thread before */
static ucs_rcache_pred_time_t write_trace(void *arg)
{
    ucs_rcache_recorder_t *recorder = arg;
    int has_more;

    if (!is_recording(recorder)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    /* The period begins after the writing, which may take longer on a shared file system */
    has_more = drain(recorder);
    return ucs_rcache_pred_thread_now(recorder->thread) + (has_more ? 0 : PERIOD_NSEC);
}

/* Open the trace: from now on any thread may put records into it */
static ucs_status_t
open_file(ucs_rcache_recorder_t *recorder, int fd, const char *path)
{
    ucs_rcache_trace_writer_t *writer;
    ucs_status_t status;

    if (ucs_rcache_pred_own_fd_init(&recorder->fd, fd) != 0) {
        ucs_error("the trace %s is no open file: %m", path);
        return UCS_ERR_IO_ERROR;
    }

    recorder->path = strdup(path);
    if (recorder->path == NULL) {
        ucs_error("out of memory for the trace %s", path);
        return UCS_ERR_NO_MEMORY;
    }

    status = ucs_rcache_trace_writer_create(fd, &writer);
    if (status != UCS_OK) {
        free(recorder->path);
        return status;
    }

    ucs_mutex_lock(&recorder->lock);
    recorder->writer = writer;
    ucs_mutex_unlock(&recorder->lock);
    return UCS_OK;
}

ucs_status_t ucs_rcache_recorder_start(ucs_rcache_recorder_t *recorder, int fd,
                                       const char *path)
{
    ucs_status_t status;

    status = open_file(recorder, fd, path);
    if (status != UCS_OK) {
        return status;
    }

    ucs_relaxed_store(&recorder->recording, 1);
    status = ucs_rcache_pred_thread_start(recorder->thread, "predreg-trace",
                                          write_trace, recorder);
    if (status != UCS_OK) {
        ucs_error("no thread writes the trace %s", path);
        goto err_destroy_writer;
    }

    recorder->running = 1;
    return UCS_OK;

err_destroy_writer:
    ucs_relaxed_store(&recorder->recording, 0);
    ucs_mutex_lock(&recorder->lock);
    ucs_rcache_trace_writer_destroy(recorder->writer);
    recorder->writer = NULL;
    free(recorder->path);
    ucs_mutex_unlock(&recorder->lock);
    return status;
}

/* Put a record, if the file is open and no write has failed. After a failure nothing
 * is put, since the writer might write in order to make room for the record */
static void put(ucs_rcache_recorder_t *recorder, unsigned type, const void *record)
{
    ucs_mutex_lock(&recorder->lock);
    if ((recorder->writer != NULL) && !recorder->failed) {
        ucs_rcache_trace_put(recorder->writer, type, record);
    }
    ucs_mutex_unlock(&recorder->lock);
}

void ucs_rcache_recorder_stop(ucs_rcache_recorder_t *recorder)
{
    uint64_t lost;

    if (!recorder->running) {
        return;
    }

    ucs_relaxed_store(&recorder->recording, 0);
    (void)ucs_rcache_pred_thread_stop(recorder->thread, PATIENCE);
    recorder->running = 0;

    while (drain(recorder)) {
    }
    lost = ucs_rcache_record_ring_lost(recorder->ring);
    if (lost > 0) {
        put(recorder, TRACE_RECORD_LOST, &lost);
    }
}

void ucs_rcache_recorder_finish(ucs_rcache_recorder_t *recorder)
{
    if (recorder->writer == NULL) {
        return;
    }

    if (ucs_rcache_record_sites_is_full(recorder->sites)) {
        ucs_diag("the trace %s has the stacks of the first %d call sites only",
                 recorder->path, MAX_SITES);
    }

    ucs_mutex_lock(&recorder->lock);
    if (!recorder->failed) {
        ucs_rcache_record_modules_put(recorder->modules, recorder->writer);
        check_written(recorder,
                      ucs_rcache_trace_writer_finish(recorder->writer));
    }

    ucs_rcache_trace_writer_destroy(recorder->writer);
    recorder->writer = NULL;
    if ((ucs_rcache_pred_own_fd_close(&recorder->fd) != 0) &&
        !recorder->failed) {
        ucs_warn("the end of the trace %s may be missing: %m", recorder->path);
    }
    free(recorder->path);
    ucs_mutex_unlock(&recorder->lock);
}

/* The child has no thread of the recorder. It takes no lock, which a thread of
 * the parent may have held at the fork, and does not destroy the writer, which
 * would write to the file of the parent */
void ucs_rcache_recorder_abandon(ucs_rcache_recorder_t *recorder)
{
    if (recorder->writer != NULL) {
        ucs_rcache_pred_own_fd_close(&recorder->fd);
    }
}

void ucs_rcache_recorder_meta(ucs_rcache_recorder_t *recorder, const char *key,
                              const char *value)
{
    put(recorder, TRACE_RECORD_META,
        &(ucs_rcache_trace_meta_t){(char*)key, (char*)value});
}

void ucs_rcache_recorder_domain(ucs_rcache_recorder_t *recorder,
                                unsigned number, const char *name)
{
    put(recorder, TRACE_RECORD_DOMAIN,
        &(ucs_rcache_trace_domain_t){number, (char*)name});
}

void ucs_rcache_recorder_counter(ucs_rcache_recorder_t *recorder,
                                 const char *name, uint64_t value)
{
    put(recorder, TRACE_RECORD_COUNTER,
        &(ucs_rcache_trace_counter_t){(char*)name, value});
}

void ucs_rcache_recorder_sends(ucs_rcache_recorder_t *recorder,
                               const ucs_reuse_sends_t *sends)
{
    put(recorder, TRACE_RECORD_SENDS, sends);
}

void ucs_rcache_recorder_flush(ucs_rcache_recorder_t *recorder)
{
    ucs_mutex_lock(&recorder->lock);
    if ((recorder->writer != NULL) && !recorder->failed) {
        check_written(recorder, ucs_rcache_trace_writer_flush(recorder->writer));
    }
    ucs_mutex_unlock(&recorder->lock);
}
