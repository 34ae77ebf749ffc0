/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "buffer.h"

#include <ucs/host/own_fd.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* How many bytes of records are packed at a time: the longest record fits */
#define BUFFER_SIZE     131072
#define BUFFER_MAX_SIZE (sizeof(trace_record_t) + UINT16_MAX)

/* The second level of zlib takes the time of the first, and a tenth less room.
 * The sixth takes twice the time or more for another tenth */
#define BUFFER_LEVEL    2

/* Where the fields begin that are collected for the plain part of the file */
#define BUFFER_FIELDS   sizeof(trace_head_t)


/* A writer. Its user makes sure that only one thread at a time uses it */
struct ucs_rcache_trace_writer {
    ucs_rcache_pred_own_fd_t file;
    int                      error;    /* errno of the first failure, or 0 */
    int                      started;  /* The plain part is written */
    int                      finished; /* The end is written */
    z_stream                 zlib;
    uint8_t                  *next;    /* End of the records in the buffer */
    uint8_t                  *fields;  /* End of the fields in @a packed */
    uint8_t                  records[BUFFER_SIZE];
    uint8_t                  packed[BUFFER_SIZE / 2]; /* What goes to the file:
                                          at first the plain part */
};


ucs_status_t
ucs_rcache_trace_writer_create(int fd, ucs_rcache_trace_writer_t **writer_p)
{
    ucs_rcache_trace_writer_t *writer = calloc(1, sizeof(*writer));

    if (writer == NULL) {
        goto err;
    }

    if (deflateInit(&writer->zlib, BUFFER_LEVEL) != Z_OK) {
        goto err_free;
    }

    /* If the descriptor is not open, the next flush returns the error, as it
     * does with all errors */
    if (ucs_rcache_pred_own_fd_init(&writer->file, fd) != 0) {
        writer->error = errno;
    }

    writer->next   = writer->records;
    writer->fields = writer->packed + BUFFER_FIELDS;
    *writer_p      = writer;
    return UCS_OK;

err_free:
    free(writer);
err:
    ucs_error("out of memory for the writer of a trace");
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_trace_writer_destroy(ucs_rcache_trace_writer_t *writer)
{
    ucs_rcache_trace_writer_finish(writer);
    deflateEnd(&writer->zlib);
    free(writer);
}

/* Where the file may not grow (RLIMIT_FSIZE), write(2) fails with EFBIG and
 * also sends the thread a SIGXFSZ, which would end the program. This function
 * takes that signal back, but not one that was pending before. @return as
 * write(2) */
static ssize_t write_without_signal(int fd, const uint8_t *data, size_t size)
{
    const struct timespec no_time = { 0 };
    sigset_t too_big, pending, old;
    ssize_t count;
    int error;

    sigemptyset(&too_big);
    sigaddset(&too_big, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_big, &old);
    sigpending(&pending);

    count = write(fd, data, size);
    error = errno;
    if ((count < 0) && (error == EFBIG) && !sigismember(&pending, SIGXFSZ)) {
        while ((sigtimedwait(&too_big, NULL, &no_time) < 0) &&
               (errno == EINTR));
    }

    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return count;
}

/* The program may have closed the descriptor since the last write, and opened
 * another file that got its number. Nothing is written to that one.
 * @return as write(2) */
static ssize_t writer_write_some(const ucs_rcache_trace_writer_t *writer,
                                 const uint8_t *data, size_t size)
{
    if (!ucs_rcache_pred_own_fd_is_ours(&writer->file)) {
        errno = EBADF;
        return -1;
    }

    return write_without_signal(writer->file.fd, data, size);
}

/* A write that failed may have left a part of a block in the file. No reader
 * would find what comes after it, so that is not written. */
static void writer_write(ucs_rcache_trace_writer_t *writer, const uint8_t *data,
                         size_t size)
{
    ssize_t count;

    while ((size > 0) && (writer->error == 0)) {
        count = writer_write_some(writer, data, size);
        if (count >= 0) {
            data += count;
            size -= count;
        } else if (errno != EINTR) {
            writer->error = errno;
        }
    }
}

/* Write the plain part of the file */
static void writer_start(ucs_rcache_trace_writer_t *writer)
{
    size_t size       = writer->fields - writer->packed;
    trace_head_t head = {
        .magic   = TRACE_MAGIC,
        .version = TRACE_FORMAT_VERSION,
        .size    = size - BUFFER_FIELDS
    };

    head.crc = crc32(0, (const void*)&head, offsetof(trace_head_t, crc));
    head.crc = crc32(head.crc, writer->packed + BUFFER_FIELDS, head.size);
    memcpy(writer->packed, &head, sizeof(head));
    writer_write(writer, writer->packed, size);
    writer->started = 1;
}

/* Pack the records in the buffer, and write what zlib has made of them. With
 * Z_NO_FLUSH zlib may hold back some of it */
static void writer_pack(ucs_rcache_trace_writer_t *writer, int flush)
{
    z_stream *zlib = &writer->zlib;

    if (!writer->started) {
        writer_start(writer);
    }

    zlib->next_in  = writer->records;
    zlib->avail_in = writer->next - writer->records;
    do {
        zlib->next_out  = writer->packed;
        zlib->avail_out = sizeof(writer->packed);
        deflate(zlib, flush);
        writer_write(writer, writer->packed, zlib->next_out - writer->packed);
    } while (zlib->avail_out == 0);
    writer->next = writer->records;
}

static ucs_status_t writer_status(const ucs_rcache_trace_writer_t *writer)
{
    if (writer->error != 0) {
        errno = writer->error;
        return UCS_ERR_IO_ERROR;
    }

    return UCS_OK;
}

ucs_status_t ucs_rcache_trace_writer_flush(ucs_rcache_trace_writer_t *writer)
{
    /* As long as there is nothing to write, further fields may come */
    if (writer->started || (writer->next > writer->records) ||
        (writer->fields > writer->packed + BUFFER_FIELDS)) {
        writer_pack(writer, Z_SYNC_FLUSH);
    }

    return writer_status(writer);
}

ucs_status_t ucs_rcache_trace_writer_finish(ucs_rcache_trace_writer_t *writer)
{
    if (!writer->finished) {
        writer_pack(writer, Z_FINISH);
        writer->finished = 1;
    }

    return writer_status(writer);
}

uint8_t *trace_buffer_begin(ucs_rcache_trace_writer_t *writer, unsigned type)
{
    const trace_record_t head = { .type = type };

    if (writer->next > writer->records + BUFFER_SIZE - BUFFER_MAX_SIZE) {
        writer_pack(writer, Z_NO_FLUSH);
    }

    memcpy(writer->next, &head, sizeof(head));
    return writer->next + sizeof(head);
}

void trace_buffer_end(ucs_rcache_trace_writer_t *writer, uint8_t *end)
{
    uint16_t length = end - writer->next - sizeof(trace_record_t);

    memcpy(writer->next + offsetof(trace_record_t, length), &length,
           sizeof(length));
    writer->next = end;
}

int trace_buffer_put_field(ucs_rcache_trace_writer_t *writer, const char *name,
                           const char *value)
{
    size_t name_length  = strnlen(name, UCS_RCACHE_TRACE_MAX_STRING);
    size_t value_length = strnlen(value, UCS_RCACHE_TRACE_MAX_STRING);
    size_t room         = writer->packed + sizeof(writer->packed) -
                          writer->fields;

    if (writer->started || (writer->next > writer->records) ||
        (name_length + value_length + 2 > room)) {
        return 0;
    }

    /* The buffer was zero at first, so that each string ends with a zero */
    memcpy(writer->fields, name, name_length);
    memcpy(writer->fields + name_length + 1, value, value_length);
    writer->fields += name_length + value_length + 2;
    return 1;
}
