/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <tools/base/memory.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>
#include <zlib.h>

/* Size of the buffer of unpacked records, bytes. The reader reads all records that are
 * whole, and moves the begin of the next record to the begin of the buffer. The buffer
 * has room for two of the longest records */
#define READ_BUFFER   131072ul

/* The largest number of bytes given to zlib in one call: zlib counts its input with 32
 * bits */
#define READ_MAX_PART (1ul << 30)


/* The part of a record that is not read yet */
typedef struct content {
    trace_builder_t *builder;
    size_t          place;  /* Offset of the record in the unpacked records */
    const uint8_t   *next;
    const uint8_t   *end;
    ucs_status_t    status; /* The first error, which has been logged */
} content_t;


static void reject(content_t *content, const char *problem)
{
    if (content->status == UCS_OK) {
        content->status = trace_error(&content->builder->source, content->place,
                                      "%s", problem);
    }
}

/* @return the next bytes, or NULL if the record has fewer */
static const void *take_bytes(content_t *content, size_t count)
{
    const void *bytes = content->next;

    if (count > (size_t)(content->end - content->next)) {
        reject(content, "a record that is too short");
        content->next = content->end;
        return NULL;
    }

    content->next += count;
    return bytes;
}

/* @return the next number, of 1, 2, 4 or 8 bytes; 0 at the end of the record: the records
 *         of older writers end before the fields that were added later */
static uint64_t take_number(content_t *content, size_t size, uint64_t max,
                            const char *problem)
{
    const void *bytes = NULL;
    uint64_t value    = 0;

    if (content->next < content->end) {
        bytes = take_bytes(content, size);
    }
    if (bytes != NULL) {
        memcpy(&value, bytes, size);
    }

    if (value > max) {
        reject(content, problem);
        return 0;
    }

    return value;
}

static char *take_string(content_t *content)
{
    size_t length = take_number(content, 2, UCS_RCACHE_TRACE_MAX_STRING,
                                "a string of more than 16383 bytes");
    const char *data = take_bytes(content, length);

    if ((data != NULL) && (memchr(data, '\0', length) != NULL)) {
        reject(content, "a string with a zero in it");
    }
    return (content->status != UCS_OK) ?
           NULL : predreg_copy(data, length);
}

static void take_array(content_t *content, const trace_field_t *field,
                       void *record)
{
    unsigned count   = take_number(content, 1, field->max,
                                   (field->style == TRACE_FRAMES) ?
                                   "a site of too many frames" :
                                   "a build ID that is too long");
    const void *data = take_bytes(content, count * field->size);

    if (data != NULL) {
        memcpy(UCS_PTR_BYTE_OFFSET(record, field->offset), data,
               count * field->size);
        *trace_field_count(field, record) = count;
    }
}

static void take_field(content_t *content, const trace_field_t *field,
                       void *record)
{
    switch (field->style) {
    case TRACE_STRING:
        *(char**)UCS_PTR_BYTE_OFFSET(record, field->offset) =
                take_string(content);
        break;
    case TRACE_FRAMES:
    case TRACE_BYTES:
        take_array(content, field, record);
        break;
    default:
        trace_field_set(field, record,
                        take_number(content, field->size,
                                    trace_field_max(field),
                                    "an unknown kind or doer"));
        break;
    }
}

/* Add one record, whose content is @a bytes. A record of an unknown type is left
 * out */
static ucs_status_t read_record(trace_builder_t *builder,
                                const trace_record_t *head,
                                const uint8_t *bytes, size_t place)
{
    content_t content  = {builder, place, bytes, bytes + head->length, UCS_OK};
    trace_any_t record = { 0 };
    const trace_field_t *field;

    if ((head->type >= TRACE_RECORD_LAST) ||
        (trace_types[head->type].name == NULL)) {
        return UCS_OK;
    }

    trace_for_each_field(field, &trace_types[head->type]) {
        take_field(&content, field, &record);
    }
    if (head->type < TRACE_RECORD_META) {
        record.event.type = head->type - TRACE_RECORD_EVENT;
    }
    if (content.status != UCS_OK) {
        trace_free_strings(head->type, &record);
        return content.status;
    }

    return trace_build(builder, head->type, &record, place, 0);
}


typedef struct reader {
    trace_builder_t *builder;
    z_stream        zlib;
    size_t          left;   /* Bytes of the file that zlib has not been given yet */
    uint64_t        offset; /* Offset of the buffer's begin in the unpacked records */
    size_t          filled; /* Bytes of the buffer that are filled */
    int             between; /* Whether the input unpacked so far ends between two
                                blocks of zlib, with no bit left (zlib.h, data_type) */
    uint8_t         buffer[READ_BUFFER];
} reader_t;


static ucs_status_t read_truncated(trace_builder_t *builder)
{
    ucs_warn("%s: the file ends too early; what is before was read",
             builder->source.name);
    builder->trace->truncated = 1;
    return UCS_OK;
}

/* Add the records that are whole in the buffer, and move the rest to its begin */
static ucs_status_t read_records(reader_t *reader)
{
    ucs_status_t status = UCS_OK;
    size_t pos          = 0;
    trace_record_t head;

    while ((status == UCS_OK) && (reader->filled - pos >= sizeof(head))) {
        memcpy(&head, reader->buffer + pos, sizeof(head));
        if (reader->filled - pos - sizeof(head) < head.length) {
            break;
        }

        status = read_record(reader->builder, &head,
                             reader->buffer + pos + sizeof(head),
                             reader->offset + pos);
        pos   += sizeof(head) + head.length;
    }

    reader->offset += pos;
    reader->filled -= pos;
    memmove(reader->buffer, reader->buffer + pos, reader->filled);
    return status;
}

/* Unpack as much as fits into the buffer. @return the result of inflate() */
static int read_unpack(reader_t *reader)
{
    int result;

    if (reader->zlib.avail_in == 0) {
        reader->zlib.avail_in = ucs_min(reader->left, READ_MAX_PART);
        reader->left         -= reader->zlib.avail_in;
    }

    reader->zlib.next_out  = reader->buffer + reader->filled;
    reader->zlib.avail_out = READ_BUFFER - reader->filled;
    result                 = inflate(&reader->zlib, Z_NO_FLUSH);
    reader->filled         = READ_BUFFER - reader->zlib.avail_out;
    if (result == Z_OK) { /* A call without input does not set data_type */
        reader->between = (reader->zlib.data_type == 128);
    }
    return result;
}

/* @return whether the file ends where its writer has flushed: then no record is cut
 *         off */
static int read_is_flushed(const reader_t *reader)
{
    return (reader->filled == 0) &&
           (reader->between || (reader->zlib.total_in == 0));
}

/* Find out why zlib unpacks no more */
static ucs_status_t read_end(reader_t *reader, int result)
{
    const trace_source_t *source = &reader->builder->source;

    switch (result) {
    case Z_STREAM_END:
        return (reader->filled + reader->zlib.avail_in + reader->left == 0) ?
               UCS_OK :
               trace_error(source, reader->offset, "damaged: expected the end");
    case Z_BUF_ERROR:
        return read_is_flushed(reader) ? UCS_OK :
                                         read_truncated(reader->builder);
    case Z_MEM_ERROR:
        predreg_no_memory();
    default:
        return trace_error(source, reader->offset, "damaged: %s",
                           (reader->zlib.msg != NULL) ? reader->zlib.msg :
                                                        "a dictionary");
    }
}

static ucs_status_t read_stream(reader_t *reader, uint64_t max_size)
{
    ucs_status_t status;
    int result;

    do {
        result = read_unpack(reader);
        status = read_records(reader);
        if ((status == UCS_OK) && (reader->offset > max_size)) {
            ucs_error("%s: unpacks to more than %lu bytes, which is not "
                      "accepted of a file of this size",
                      reader->builder->source.name, (unsigned long)max_size);
            status = UCS_ERR_EXCEEDS_LIMIT;
        }
    } while ((status == UCS_OK) && (result == Z_OK));

    return (status == UCS_OK) ? read_end(reader, result) : status;
}

static ucs_status_t read_packed(trace_builder_t *builder, const uint8_t *data,
                                size_t size, uint64_t max_size)
{
    reader_t reader = {
        .builder      = builder,
        .zlib.next_in = (void*)data,
        .left         = size
    };
    ucs_status_t status;

    if (inflateInit(&reader.zlib) != Z_OK) {
        predreg_no_memory();
    }

    status = read_stream(&reader, max_size);
    inflateEnd(&reader.zlib);
    return status;
}

/* Copy the string at @a *next_p, up to the zero at its end, and move @a *next_p behind
 * this zero. @return the copy, or NULL after an error */
static char *read_plain(trace_builder_t *builder, const char **next_p,
                        const char *end, ucs_status_t *status_p)
{
    const char *data = *next_p;
    size_t length    = strnlen(data, end - data);
    char *string     = NULL;

    *next_p = ucs_min(data + length + 1, end);
    if (length > UCS_RCACHE_TRACE_MAX_STRING) {
        *status_p = trace_error(&builder->source, 0,
                                "a field of more than 16383 bytes");
    } else if (*status_p == UCS_OK) {
        string = predreg_copy(data, length);
    }

    return string;
}

static ucs_status_t read_fields(trace_builder_t *builder, const char *next,
                                size_t size)
{
    const char *end     = next + size;
    ucs_status_t status = UCS_OK;
    trace_any_t record;

    while ((status == UCS_OK) && (next < end)) {
        record.meta.key   = read_plain(builder, &next, end, &status);
        record.meta.value = read_plain(builder, &next, end, &status);
        if (status != UCS_OK) {
            trace_free_strings(TRACE_RECORD_META, &record);
            return status;
        }

        status = trace_build(builder, TRACE_RECORD_META, &record, 0, 0);
    }

    return status;
}

static ucs_status_t read_check_version(const char *name, uint32_t version)
{
    if (version == TRACE_FORMAT_VERSION) {
        return UCS_OK;
    }

    ucs_error("%s: a binary trace of version %u; accepted is version %u, and "
              "text, which `ucx_predreg dump` of the release that has written "
              "the trace makes of it", name, version, TRACE_FORMAT_VERSION);
    return UCS_ERR_UNSUPPORTED;
}

int trace_is_binary(const void *data, size_t size)
{
    return (size >= TRACE_MAGIC_SIZE) &&
           (memcmp(data, TRACE_MAGIC, TRACE_MAGIC_SIZE) == 0);
}

ucs_status_t trace_read(trace_builder_t *builder, const void *data, size_t size,
                        uint64_t max_size)
{
    const uint8_t *fields = UCS_PTR_BYTE_OFFSET(data, sizeof(trace_head_t));
    trace_head_t head     = { .version = TRACE_FORMAT_VERSION };
    ucs_status_t status;
    uint32_t crc;

    memcpy(&head, data, ucs_min(size, sizeof(head)));
    status = (size < TRACE_MAGIC_SIZE + sizeof(head.version)) ? UCS_OK :
             read_check_version(builder->source.name, head.version);
    if (status != UCS_OK) {
        return status;
    }

    if ((size < sizeof(head)) || (size - sizeof(head) < head.size)) {
        return read_truncated(builder);
    }

    crc = crc32(0, (const void*)&head, offsetof(trace_head_t, crc));
    if (crc32_z(crc, fields, head.size) != head.crc) {
        return trace_error(&builder->source, 0,
                           "damaged: the checksum of the head differs");
    }

    status = read_fields(builder, (const char*)fields, head.size);
    return (status != UCS_OK) ? status :
           read_packed(builder, fields + head.size,
                       size - sizeof(head) - head.size, max_size);
}
