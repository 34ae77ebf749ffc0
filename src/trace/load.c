/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace.h"

#include <trace/content/build.h>
#include <trace/content/match.h>
#include <trace/format/read.h>
#include <trace/text/text.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Size of the buffer at first, bytes. It grows as the file is read, since some
 * files, such as pipes, do not tell their size. */
#define LOAD_MIN_SIZE 65536


/* Read until the file ends. The caller has to free the data, also after an
 * error. */
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

int ucs_rcache_trace_is_trace(const void *data, size_t size)
{
    return trace_is_binary(data, size) || trace_is_text(data, size);
}

ucs_status_t ucs_rcache_trace_parse(const char *name, const void *data,
                                    size_t size, ucs_rcache_trace_t **trace_p)
{
    int is_binary         = trace_is_binary(data, size);
    trace_source_t source = { name, is_binary ? "offset" : "line" };
    trace_builder_t builder;
    ucs_status_t status;

    status = trace_builder_init(&builder, &source);
    if (status != UCS_OK) {
        return status;
    }

    /* What has neither form is refused by the reader of the text form */
    status = is_binary ? trace_read(&builder, data, size) :
                         trace_read_text(&builder, data, size);
    if (status == UCS_OK) {
        trace_builder_sort(&builder);
        status = trace_match(&builder);
    }
    if (status == UCS_OK) {
        *trace_p = trace_builder_take(&builder);
    }

    trace_builder_cleanup(&builder);
    return status;
}
