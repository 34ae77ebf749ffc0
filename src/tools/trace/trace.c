/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <tools/base/memory.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Size of the buffer at first, bytes; enough to recognise a trace. The
 * buffer grows as the file is read, since pipes do not tell their size */
#define LOAD_MIN_SIZE 65536ul

/* Most bytes read from a pipe: few machines have the memory for the events
 * of a larger trace. A stream without end must be refused before it takes
 * all memory */
#define LOAD_MAX_STREAM (4ul << 30)

/* The unpacked records of a binary trace may have this multiple of the size of the file,
 * or LOAD_MAX_STREAM bytes if the multiple is less. The records of real traces have four
 * to ten times the size of their file */
#define LOAD_MAX_RATIO  32


/* Read into the buffer until it is full or the file ends. @param [inout]
 * size_p Bytes read so far. */
static ucs_status_t load_block(int fd, const char *name, char *data,
                               size_t room, size_t *size_p)
{
    ssize_t count;

    while (*size_p < room) {
        count = read(fd, data + *size_p, room - *size_p);
        if (count > 0) {
            *size_p += count;
        } else if (count == 0) {
            return UCS_OK;
        } else if (errno != EINTR) {
            ucs_error("%s: cannot be read: %m", name);
            return UCS_ERR_IO_ERROR;
        }
    }

    return UCS_INPROGRESS; /* The buffer is full; the file may have more bytes */
}

static int may_be_trace(const char *data, size_t size)
{
    return trace_is_binary(data, size) || trace_may_be_text(data, size);
}

/* Read until the file ends, or turns out to be no trace. The caller has to free
 * the data, also after an error. */
static ucs_status_t load_read(int fd, const char *name, size_t max_size,
                              char **data_p, size_t *size_p)
{
    size_t room = 0;
    ucs_status_t status;

    do {
        /* Room for one byte more than is accepted: if this byte is read, the file is too
         * long */
        room    = ucs_min(ucs_max(2 * room, LOAD_MIN_SIZE), max_size + 1);
        *data_p = predreg_check_memory(realloc(*data_p, room));
        status  = load_block(fd, name, *data_p, room, size_p);
        if (*size_p > max_size) {
            ucs_error("%s: is longer than %zu bytes; accepted: that, or a "
                      "longer file that does not grow while it is read", name,
                      max_size);
            return UCS_ERR_EXCEEDS_LIMIT;
        }
    } while ((status == UCS_INPROGRESS) &&
             ((room > LOAD_MIN_SIZE) || may_be_trace(*data_p, *size_p)));

    return (status == UCS_INPROGRESS) ? UCS_OK : status;
}

/* @return the most bytes to be read from a file. */
static size_t load_max_size(int fd)
{
    struct stat st;

    return ((fstat(fd, &st) == 0) && S_ISREG(st.st_mode)) ?
           ucs_max((size_t)st.st_size, LOAD_MAX_STREAM) : LOAD_MAX_STREAM;
}

ucs_status_t ucs_rcache_trace_load(const char *path,
                                   ucs_rcache_trace_t **trace_p)
{
    ucs_status_t status;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status = (errno == ENOENT) ? UCS_ERR_NO_ELEM : UCS_ERR_IO_ERROR;
        ucs_error("%s: cannot be opened: %m", path);
        return status;
    }

    status = ucs_rcache_trace_load_fd(fd, path, load_max_size(fd), trace_p);
    close(fd);
    return status;
}

ucs_status_t ucs_rcache_trace_load_fd(int fd, const char *name,
                                      size_t max_size,
                                      ucs_rcache_trace_t **trace_p)
{
    char *data  = NULL;
    size_t size = 0;
    ucs_status_t status;

    predreg_loaded = name;
    status         = load_read(fd, name, max_size, &data, &size);
    if (status == UCS_OK) {
        status = ucs_rcache_trace_parse(name, data, size, trace_p);
    }

    predreg_loaded = NULL;
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

    predreg_loaded = name;
    trace_builder_init(&builder, &source);
    /* A file of neither form goes to the reader of the text form, which refuses it */
    status = is_binary ? trace_read(&builder, data, size,
                                    ucs_max(size * LOAD_MAX_RATIO,
                                            LOAD_MAX_STREAM)) :
                         trace_read_text(&builder, data, size);
    if (status == UCS_OK) {
        trace_builder_sort(&builder);
        status = trace_match(&builder);
    }
    if (status == UCS_OK) {
        *trace_p      = builder.trace;
        builder.trace = NULL;
    }

    predreg_loaded = NULL;
    trace_builder_cleanup(&builder);
    return status;
}

static void write_record(void *writer, unsigned type, const void *record)
{
    ucs_rcache_trace_put(writer, type, record);
}

ucs_status_t ucs_rcache_trace_write(const ucs_rcache_trace_t *trace, int fd)
{
    ucs_rcache_trace_writer_t *writer;
    ucs_status_t status;
    int error;

    status = ucs_rcache_trace_writer_create(fd, &writer);
    if (status != UCS_OK) {
        return status;
    }

    trace_for_each(trace, write_record, writer);
    status = ucs_rcache_trace_writer_finish(writer);
    error  = errno;
    ucs_rcache_trace_writer_destroy(writer);
    errno  = error;
    return status;
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

int ucs_rcache_trace_get_number(const ucs_rcache_trace_t *trace,
                                const char *key, uint64_t *value_p)
{
    const char *text = ucs_rcache_trace_get_meta(trace, key);
    char *end;

    if ((text == NULL) || !isdigit((unsigned char)text[0])) {
        return 0;
    }

    errno    = 0;
    *value_p = strtoull(text, &end, 10);
    return (*end == '\0') && (errno == 0);
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

int ucs_rcache_trace_compare(long rank_a, const char *name_a, long rank_b,
                             const char *name_b)
{
    if (rank_a != rank_b) {
        /* A rank that is not known is -1, the largest unsigned number, and so comes
         * last */
        return ((unsigned long)rank_a < (unsigned long)rank_b) ? -1 : 1;
    }

    return strcmp(name_a, name_b);
}
