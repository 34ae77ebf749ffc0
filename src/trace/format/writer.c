/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "writer.h"
#include "writer_int.h"

#include <ucs/algorithm/crc.h>
#include <ucs/debug/log_def.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>


static void writer_start_chunk(ucs_rcache_trace_writer_t *writer)
{
    trace_known_reset(&writer->known);
    writer->num_records = 0;
    writer->next        = writer->buffer + TRACE_WRITER_RECORDS;
}

ucs_status_t
ucs_rcache_trace_writer_create(int fd, ucs_rcache_trace_writer_t **writer_p)
{
    ucs_rcache_trace_writer_t *writer = calloc(1, sizeof(*writer));

    if (writer == NULL) {
        ucs_error("out of memory for the writer of a trace");
        return UCS_ERR_NO_MEMORY;
    }

    /* If the descriptor is not open, the next flush returns the error, as it
     * does with all errors */
    if (ucs_rcache_pred_own_fd_init(&writer->file, fd) != 0) {
        writer->error = errno;
    }

    memcpy(writer->buffer, TRACE_MAGIC, TRACE_MAGIC_SIZE);
    trace_put_u32(writer->buffer + TRACE_MAGIC_SIZE, UCS_RCACHE_TRACE_VERSION);
    writer_start_chunk(writer);
    *writer_p = writer;
    return UCS_OK;
}

void ucs_rcache_trace_writer_destroy(ucs_rcache_trace_writer_t *writer)
{
    ucs_rcache_trace_writer_flush(writer);
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

static void writer_write(ucs_rcache_trace_writer_t *writer, const uint8_t *data,
                         size_t size)
{
    ssize_t count;

    while (size > 0) {
        count = writer_write_some(writer, data, size);
        if (count >= 0) {
            data += count;
            size -= count;
        } else if (errno != EINTR) {
            writer->error = errno;
            return;
        }
    }
}

/* Fill in the head of the chunk, whose records are complete. */
static void writer_end_chunk(ucs_rcache_trace_writer_t *writer)
{
    uint8_t *chunk   = writer->buffer + TRACE_WRITER_CHUNK;
    uint8_t *records = writer->buffer + TRACE_WRITER_RECORDS;
    uint32_t crc;

    trace_put_u32(chunk + TRACE_CHUNK_MAGIC, TRACE_CHUNK_TAG);
    trace_put_u32(chunk + TRACE_CHUNK_LENGTH, writer->next - records);
    trace_put_u32(chunk + TRACE_CHUNK_RECORDS, writer->num_records);
    crc = ucs_crc32(0, chunk, TRACE_CHUNK_CRC);
    crc = ucs_crc32(crc, records, writer->next - records);
    trace_put_u32(chunk + TRACE_CHUNK_CRC, crc);
}

ucs_status_t ucs_rcache_trace_writer_flush(ucs_rcache_trace_writer_t *writer)
{
    uint8_t *chunk = writer->buffer + TRACE_WRITER_CHUNK;
    uint8_t *begin = writer->started ? chunk : writer->buffer;
    uint8_t *end   = chunk;

    if (writer->num_records > 0) {
        writer_end_chunk(writer);
        end = writer->next;
    }

    /* A write that failed may have left a part of a chunk in the file. No
     * reader would find the chunks after it, so they are not written. */
    if (writer->error == 0) {
        writer_write(writer, begin, end - begin);
        writer->started = 1;
    }

    writer_start_chunk(writer);
    if (writer->error != 0) {
        errno = writer->error;
        return UCS_ERR_IO_ERROR;
    }

    return UCS_OK;
}
