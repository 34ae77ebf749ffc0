/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "file.h"

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>


ucs_status_t ucs_rcache_record_file_init(ucs_rcache_record_file_t *file)
{
    ucs_status_t status;

    *file  = (ucs_rcache_record_file_t){ .writer = NULL };
    status = ucs_rcache_record_modules_create(&file->modules);
    if (status != UCS_OK) {
        return status;
    }

    ucs_mutex_init(&file->lock, UCS_RANK_TRACE, 0);
    return UCS_OK;
}

void ucs_rcache_record_file_cleanup(ucs_rcache_record_file_t *file)
{
    ucs_mutex_destroy(&file->lock);
    ucs_rcache_record_modules_destroy(file->modules);
}

ucs_status_t ucs_rcache_record_file_open(ucs_rcache_record_file_t *file, int fd,
                                         const char *path)
{
    ucs_rcache_trace_writer_t *writer;
    ucs_status_t status;

    if (ucs_rcache_pred_own_fd_init(&file->fd, fd) != 0) {
        ucs_error("the trace %s is no open file: %m", path);
        return UCS_ERR_IO_ERROR;
    }

    file->path = strdup(path);
    if (file->path == NULL) {
        ucs_error("out of memory for the trace %s", path);
        return UCS_ERR_NO_MEMORY;
    }

    status = ucs_rcache_trace_writer_create(fd, &writer);
    if (status != UCS_OK) {
        free(file->path);
        return status;
    }

    /* From now on any thread may put records */
    ucs_mutex_lock(&file->lock);
    file->writer = writer;
    ucs_mutex_unlock(&file->lock);
    return UCS_OK;
}

void ucs_rcache_record_file_discard(ucs_rcache_record_file_t *file)
{
    ucs_mutex_lock(&file->lock);
    ucs_rcache_trace_writer_destroy(file->writer);
    file->writer = NULL;
    free(file->path);
    ucs_mutex_unlock(&file->lock);
}

/* Say once if the file could not be written, as @a status says. Called under
 * the lock, while the file is open */
static void check_written(ucs_rcache_record_file_t *file, ucs_status_t status)
{
    if (status == UCS_OK) {
        return;
    }

    if (errno == EBADF) {
        ucs_warn("the program has closed the trace %s; recording ends",
                 file->path);
    } else {
        ucs_warn("cannot write the trace %s: %m; recording ends", file->path);
    }
    file->failed = 1;
}

/* Called under the lock */
static ucs_status_t status_of(const ucs_rcache_record_file_t *file)
{
    return file->failed ? UCS_ERR_IO_ERROR : UCS_OK;
}

void ucs_rcache_record_file_close(ucs_rcache_record_file_t *file)
{
    ucs_mutex_lock(&file->lock);
    if (!file->failed) {
        ucs_rcache_record_modules_put(file->modules, file->writer);
        check_written(file, ucs_rcache_trace_writer_finish(file->writer));
    }

    ucs_rcache_trace_writer_destroy(file->writer);
    if ((ucs_rcache_pred_own_fd_close(&file->fd) != 0) && !file->failed) {
        ucs_warn("the end of the trace %s may be missing: %m", file->path);
    }
    file->writer = NULL;
    free(file->path);
    ucs_mutex_unlock(&file->lock);
}

/* The parent will write what is in the writer. So it is not destroyed, which
 * would flush it */
void ucs_rcache_record_file_abandon(ucs_rcache_record_file_t *file)
{
    if (file->writer != NULL) {
        ucs_rcache_pred_own_fd_close(&file->fd);
    }
}

/* Put the events of the ring into the writer, at most as many as that. Called
 * under the lock.
 * @return how many there were */
static unsigned put_events(ucs_rcache_record_file_t *file,
                           ucs_rcache_record_ring_t *ring, unsigned max)
{
    ucs_rcache_pred_event_t event;
    unsigned count;
    uint64_t lost;

    for (count = 0; (count < max) &&
         ucs_rcache_record_ring_pop(ring, &event, &lost); ++count) {
        if (lost > 0) {
            ucs_rcache_trace_put_lost(file->writer, lost);
        }
        ucs_rcache_trace_put_event(file->writer, &event);
    }

    return count;
}

/* Put the new call stacks into the writer, and the modules whose code is in
 * them. Called under the lock */
static void put_sites(ucs_rcache_record_file_t *file,
                      ucs_rcache_record_sites_t *sites)
{
    const ucs_rcache_trace_site_t *site;
    int found = 0;

    while ((site = ucs_rcache_record_sites_next(sites)) != NULL) {
        ucs_rcache_trace_put_site(file->writer, site);
        found = 1;
    }

    if (found) {
        ucs_rcache_record_modules_put(file->modules, file->writer);
    }
}

ucs_status_t ucs_rcache_record_file_take(ucs_rcache_record_file_t *file,
                                         ucs_rcache_record_ring_t *ring,
                                         ucs_rcache_record_sites_t *sites,
                                         unsigned max, unsigned *count_p)
{
    ucs_status_t status;

    *count_p = 0;
    ucs_mutex_lock(&file->lock);
    if (!file->failed) {
        put_sites(file, sites);
        *count_p = put_events(file, ring, max);
        check_written(file, ucs_rcache_trace_writer_flush(file->writer));
    }
    status = status_of(file);
    ucs_mutex_unlock(&file->lock);
    return status;
}

/* Called under the lock. After a failure nothing may be put either, since the
 * writer may have to flush for it */
static int may_put(const ucs_rcache_record_file_t *file)
{
    return (file->writer != NULL) && !file->failed;
}

ucs_status_t ucs_rcache_record_file_flush(ucs_rcache_record_file_t *file)
{
    ucs_status_t status;

    ucs_mutex_lock(&file->lock);
    if (may_put(file)) {
        check_written(file, ucs_rcache_trace_writer_flush(file->writer));
    }
    status = status_of(file);
    ucs_mutex_unlock(&file->lock);
    return status;
}

void ucs_rcache_record_file_put_lost(ucs_rcache_record_file_t *file,
                                     uint64_t count)
{
    ucs_mutex_lock(&file->lock);
    if (may_put(file)) {
        ucs_rcache_trace_put_lost(file->writer, count);
    }
    ucs_mutex_unlock(&file->lock);
}

void ucs_rcache_record_file_put_meta(ucs_rcache_record_file_t *file,
                                     const char *key, const char *value)
{
    ucs_mutex_lock(&file->lock);
    if (may_put(file)) {
        ucs_rcache_trace_put_meta(file->writer, key, value);
    }
    ucs_mutex_unlock(&file->lock);
}

void ucs_rcache_record_file_put_domain(ucs_rcache_record_file_t *file,
                                       unsigned number, const char *name)
{
    ucs_mutex_lock(&file->lock);
    if (may_put(file)) {
        ucs_rcache_trace_put_domain(file->writer, number, name);
    }
    ucs_mutex_unlock(&file->lock);
}

void ucs_rcache_record_file_put_counter(ucs_rcache_record_file_t *file,
                                        const char *name, uint64_t value)
{
    ucs_mutex_lock(&file->lock);
    if (may_put(file)) {
        ucs_rcache_trace_put_counter(file->writer, name, value);
    }
    ucs_mutex_unlock(&file->lock);
}

void ucs_rcache_record_file_put_sends(ucs_rcache_record_file_t *file,
                                      const ucs_reuse_sends_t *sends)
{
    ucs_mutex_lock(&file->lock);
    if (may_put(file)) {
        ucs_rcache_trace_put_sends(file->writer, sends);
    }
    ucs_mutex_unlock(&file->lock);
}
