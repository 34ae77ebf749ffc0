/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "build.h"
#include "format.h"

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room that reading starts with: files may have no size, such as a pipe */
#define LOAD_MIN_SIZE 65536


/* All that can be read. To be freed, also after an error */
static ucs_status_t load_read(int fd, const char *path, char **data_p,
                              size_t *size_p)
{
    size_t size = 0, room = LOAD_MIN_SIZE;
    ssize_t count;
    char *data;

    for (;;) {
        data = realloc(*data_p, room);
        if (data == NULL) {
            ucs_error("%s: out of memory after %zu bytes", path, size);
            return UCS_ERR_NO_MEMORY;
        }
        *data_p = data;

        while (size < room) {
            count = read(fd, data + size, room - size);
            if (count > 0) {
                size += count;
            } else if (count == 0) {
                *size_p = size;
                return UCS_OK;
            } else if (errno != EINTR) {
                ucs_error("%s: cannot be read: %m", path);
                return UCS_ERR_IO_ERROR;
            }
        }
        room *= 2;
    }
}

static ucs_status_t load_read_file(const char *path, char **data_p,
                                   size_t *size_p)
{
    ucs_status_t status;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status = (errno == ENOENT) ? UCS_ERR_NO_ELEM : UCS_ERR_IO_ERROR;
        ucs_error("%s: cannot be opened: %m", path);
        return status;
    }

    status = load_read(fd, path, data_p, size_p);
    close(fd);
    return status;
}

ucs_status_t ucs_rcache_trace_load(const char *path,
                                   ucs_rcache_trace_t **trace_p)
{
    char *data  = NULL;
    size_t size = 0;
    ucs_status_t status;

    status = load_read_file(path, &data, &size);
    if (status == UCS_OK) {
        status = ucs_rcache_trace_parse(path, data, size, trace_p);
    }

    free(data);
    return status;
}

static int has_prefix(const void *data, size_t size, const void *prefix,
                      size_t length)
{
    return (size >= length) && (memcmp(data, prefix, length) == 0);
}

static int is_binary_trace(const void *data, size_t size)
{
    return has_prefix(data, size, TRACE_MAGIC, TRACE_MAGIC_SIZE);
}

int ucs_rcache_trace_is_trace(const void *data, size_t size)
{
    return is_binary_trace(data, size) ||
           has_prefix(data, size, TRACE_HEADER, strlen(TRACE_HEADER));
}

ucs_status_t ucs_rcache_trace_parse(const char *name, const void *data,
                                    size_t size, ucs_rcache_trace_t **trace_p)
{
    int is_binary = is_binary_trace(data, size);
    trace_builder_t builder;
    ucs_status_t status;

    status = trace_builder_init(&builder, name, is_binary ? "offset" : "line");
    if (status != UCS_OK) {
        return status;
    }

    status = is_binary ? trace_read(&builder, data, size) :
                         trace_read_text(&builder, data, size);
    if (status == UCS_OK) {
        status = trace_build(&builder, trace_p);
    }

    trace_builder_cleanup(&builder);
    return status;
}

void ucs_rcache_trace_free(ucs_rcache_trace_t *trace)
{
    size_t i;

    if (trace == NULL) {
        return;
    }

    for (i = 0; i < trace->num_meta; ++i) {
        free(trace->meta[i].key);
        free(trace->meta[i].value);
    }
    for (i = 0; i < trace->num_domains; ++i) {
        free(trace->domains[i]);
    }
    for (i = 0; i < trace->num_modules; ++i) {
        free(trace->modules[i].path);
    }
    for (i = 0; i < trace->num_counters; ++i) {
        free(trace->counters[i].name);
    }

    free(trace->meta);
    free(trace->domains);
    free(trace->events);
    free(trace->sites);
    free(trace->modules);
    free(trace->counters);
    free(trace->path);
    free(trace);
}

const char *ucs_rcache_trace_get_meta(const ucs_rcache_trace_t *trace,
                                      const char *key)
{
    unsigned i;

    for (i = trace->num_meta; i > 0; --i) {
        if (!strcmp(trace->meta[i - 1].key, key)) {
            return trace->meta[i - 1].value;
        }
    }

    return NULL;
}

int ucs_rcache_trace_get_counter(const ucs_rcache_trace_t *trace,
                                 const char *name, uint64_t *value_p)
{
    unsigned i;

    for (i = trace->num_counters; i > 0; --i) {
        if (!strcmp(trace->counters[i - 1].name, name)) {
            *value_p = trace->counters[i - 1].value;
            return 1;
        }
    }

    return 0;
}

const ucs_rcache_trace_site_t *
ucs_rcache_trace_find_site(const ucs_rcache_trace_t *trace,
                           const ucs_rcache_pred_context_t *context)
{
    unsigned i;

    for (i = 0; i < trace->num_sites; ++i) {
        if ((trace->sites[i].caller == context->caller) &&
            (trace->sites[i].stack == context->stack)) {
            return &trace->sites[i];
        }
    }

    return NULL;
}
