/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "writer.h"

#include <ucs/host/own_fd.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Size of the buffer of records, which are packed together, bytes: the longest
 * record fits */
#define BUFFER_SIZE     131072
#define MAX_RECORD      (sizeof(trace_record_t) + UINT16_MAX)

/* Level 2 of zlib takes the time of level 1, and a tenth less room. Level 6 takes
 * twice the time or more, for another tenth */
#define PACK_LEVEL      2

/* Offset of the fields in the plain part of the file */
#define FIELDS_OFFSET   sizeof(trace_head_t)


struct ucs_rcache_trace_writer {
    ucs_rcache_pred_own_fd_t file;
    int                      error;    /* errno of the first failure, or 0 */
    int                      started;  /* The plain part was written */
    int                      finished; /* The end was written */
    z_stream                 zlib;
    uint8_t                  *record;  /* The record that is being put */
    uint8_t                  *next;    /* End of the records in the buffer */
    uint8_t                  *fields;  /* End of the fields in @a packed */
    uint8_t                  records[BUFFER_SIZE];
    uint8_t                  packed[BUFFER_SIZE / 2]; /* Data on its way to the
                                                         file: at first the
                                                         plain part, then output
                                                         of zlib */
};


ucs_status_t
ucs_rcache_trace_writer_create(int fd, ucs_rcache_trace_writer_t **writer_p)
{
    ucs_rcache_trace_writer_t *writer = calloc(1, sizeof(*writer));

    if (writer == NULL) {
        goto err;
    }

    if (deflateInit(&writer->zlib, PACK_LEVEL) != Z_OK) {
        goto err_free;
    }

    /* If the descriptor is not open, the next flush returns the error, like
     * every other error */
    if (ucs_rcache_pred_own_fd_init(&writer->file, fd) != 0) {
        writer->error = errno;
    }

    writer->next   = writer->records;
    writer->fields = writer->packed + FIELDS_OFFSET;
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

/* Write, unless the descriptor is no longer of the trace: the program may have closed
 * the descriptor since the last write, and opened another file, which got its number.
 * @return as write(2) */
static ssize_t write_some(const ucs_rcache_trace_writer_t *writer,
                          const uint8_t *data, size_t size)
{
    if (!ucs_rcache_pred_own_fd_is_ours(&writer->file)) {
        errno = EBADF;
        return -1;
    }

    return ucs_rcache_pred_own_fd_write(writer->file.fd, data, size, SIGXFSZ);
}

/* Once a write has failed, nothing more is written: a part of a block may be in
 * the file, and no reader would find the records behind it */
static void write_all(ucs_rcache_trace_writer_t *writer, const uint8_t *data,
                      size_t size)
{
    ssize_t count;

    while ((size > 0) && (writer->error == 0)) {
        count = write_some(writer, data, size);
        if (count >= 0) {
            data += count;
            size -= count;
        } else if (errno != EINTR) {
            writer->error = errno;
        }
    }
}

/* Write the plain part of the file */
static void write_plain(ucs_rcache_trace_writer_t *writer)
{
    size_t size       = writer->fields - writer->packed;
    trace_head_t head = {
        .magic   = TRACE_MAGIC,
        .version = TRACE_FORMAT_VERSION,
        .size    = size - FIELDS_OFFSET
    };

    head.crc = crc32(0, (const void*)&head, offsetof(trace_head_t, crc));
    head.crc = crc32(head.crc, writer->packed + FIELDS_OFFSET, head.size);
    memcpy(writer->packed, &head, sizeof(head));
    write_all(writer, writer->packed, size);
    writer->started = 1;
}

/* Pack the records in the buffer, and write the output of zlib. With Z_NO_FLUSH
 * zlib may hold back some of its output */
static void pack(ucs_rcache_trace_writer_t *writer, int flush)
{
    z_stream *zlib = &writer->zlib;

    if (!writer->started) {
        write_plain(writer);
    }

    zlib->next_in  = writer->records;
    zlib->avail_in = writer->next - writer->records;
    do {
        zlib->next_out  = writer->packed;
        zlib->avail_out = sizeof(writer->packed);
        deflate(zlib, flush);
        write_all(writer, writer->packed, zlib->next_out - writer->packed);
    } while (zlib->avail_out == 0);
    writer->next = writer->records;
}

static ucs_status_t get_status(const ucs_rcache_trace_writer_t *writer)
{
    if (writer->error != 0) {
        errno = writer->error;
        return UCS_ERR_IO_ERROR;
    }

    return UCS_OK;
}

ucs_status_t ucs_rcache_trace_writer_flush(ucs_rcache_trace_writer_t *writer)
{
    /* If nothing was put yet, nothing is written: the plain part may still get fields */
    if (writer->started || (writer->next > writer->records) ||
        (writer->fields > writer->packed + FIELDS_OFFSET)) {
        pack(writer, Z_SYNC_FLUSH);
    }

    return get_status(writer);
}

ucs_status_t ucs_rcache_trace_writer_finish(ucs_rcache_trace_writer_t *writer)
{
    if (!writer->finished) {
        pack(writer, Z_FINISH);
        writer->finished = 1;
    }

    return get_status(writer);
}

/* Begin a record. A buffer without room for one more is packed first */
static void
begin_record(ucs_rcache_trace_writer_t *writer, unsigned type)
{
    const trace_record_t head = { .type = type };

    if (writer->next > writer->records + BUFFER_SIZE - MAX_RECORD) {
        pack(writer, Z_NO_FLUSH);
    }

    writer->record = writer->next;
    memcpy(writer->record, &head, sizeof(head));
    writer->next += sizeof(head);
}

static void end_record(ucs_rcache_trace_writer_t *writer)
{
    uint16_t length = writer->next - writer->record - sizeof(trace_record_t);

    memcpy(writer->record + offsetof(trace_record_t, length), &length,
           sizeof(length));
}

static void
put_bytes(ucs_rcache_trace_writer_t *writer, const void *data, size_t size)
{
    memcpy(writer->next, data, size);
    writer->next += size;
}

static void put_string(ucs_rcache_trace_writer_t *writer, const char *string)
{
    uint16_t length = strnlen(string, UCS_RCACHE_TRACE_MAX_STRING);

    put_bytes(writer, &length, sizeof(length));
    put_bytes(writer, string, length);
}

static void put_field(ucs_rcache_trace_writer_t *writer,
                      const trace_field_t *field, const void *record)
{
    const void *data = UCS_PTR_BYTE_OFFSET(record, field->offset);
    uint8_t count;

    switch (field->style) {
    case TRACE_STRING:
        put_string(writer, *(char *const*)data);
        break;
    case TRACE_FRAMES:
    case TRACE_BYTES:
        count = *trace_field_count(field, record);
        put_bytes(writer, &count, sizeof(count));
        put_bytes(writer, data, count * field->size);
        break;
    default:
        put_bytes(writer, data, field->size);
        break;
    }
}

/* Put a property of the run into the plain part of the file.
 * @return 0 if there is no room, or if a record was put before */
static int put_plain(ucs_rcache_trace_writer_t *writer,
                     const ucs_rcache_trace_meta_t *meta)
{
    size_t key_length   = strnlen(meta->key, UCS_RCACHE_TRACE_MAX_STRING);
    size_t value_length = strnlen(meta->value, UCS_RCACHE_TRACE_MAX_STRING);
    size_t room         = writer->packed + sizeof(writer->packed) -
                          writer->fields;

    if (writer->started || (writer->next > writer->records) ||
        (key_length + value_length + 2 > room)) {
        return 0;
    }

    /* The buffer was zero at first, so that each string ends with a zero */
    memcpy(writer->fields, meta->key, key_length);
    memcpy(writer->fields + key_length + 1, meta->value, value_length);
    writer->fields += key_length + value_length + 2;
    return 1;
}

void ucs_rcache_trace_put(ucs_rcache_trace_writer_t *writer, unsigned type,
                          const void *record)
{
    const trace_field_t *field;

    if ((type == TRACE_RECORD_META) && put_plain(writer, record)) {
        return;
    }

    begin_record(writer, type);
    trace_for_each_field(field, &trace_types[type]) {
        put_field(writer, field, record);
    }
    end_record(writer);
}
