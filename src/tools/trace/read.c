/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>
#include <zlib.h>

/* Size of the buffer of unpacked records, bytes. Whole records are read, and
 * the begin of the next one moves to the begin of the buffer: two of the
 * longest have room */
#define READ_BUFFER   131072ul

/* Most input for a call of zlib, which counts it with 32 bits, bytes */
#define READ_MAX_PART (1ul << 30)


/* The rest of a record */
typedef struct content {
    const uint8_t *next;
    const uint8_t *end;
    const char    *problem; /* What is wrong with the record, or NULL */
} content_t;


static const uint8_t *take_bytes(content_t *content, size_t count)
{
    const uint8_t *bytes = content->next;

    if (count > (size_t)(content->end - bytes)) {
        content->problem = "a record that is too short";
        content->next    = content->end;
        return NULL;
    }

    content->next += count;
    return bytes;
}

/* @return the next number, of 1, 2, 4 or 8 bytes; 0 at the end of the
 * record: older writers do not put newer fields */
static uint64_t take_number(content_t *content, size_t size)
{
    const uint8_t *bytes = NULL;
    uint64_t value       = 0;

    if (content->next < content->end) {
        bytes = take_bytes(content, size);
    }
    if (bytes != NULL) {
        memcpy(&value, bytes, size);
    }

    return value;
}

static uint64_t take_number_upto(content_t *content, size_t size, uint64_t max,
                                 const char *problem)
{
    uint64_t value = take_number(content, size);

    if (value > max) {
        content->problem = problem;
        return 0;
    }

    return value;
}

static trace_string_t take_string(content_t *content)
{
    trace_string_t string = { .data = "" };
    const void *data;
    size_t length;

    length = take_number_upto(content, 2, UCS_RCACHE_TRACE_MAX_STRING,
                              "a string of more than 16383 bytes");
    data   = take_bytes(content, length);
    if (data == NULL) {
        return string;
    }

    if (memchr(data, '\0', length) != NULL) {
        content->problem = "a string with a zero in it";
    }
    string.data   = data;
    string.length = length;
    return string;
}

static ucs_status_t read_event(trace_builder_t *builder, content_t *content,
                               unsigned type, size_t place)
{
    ucs_rcache_pred_event_t event = { .type = type };
    unsigned has                  = trace_types[type].has;
    const trace_field_t *field;

    event.time = take_number(content, 8);
    if (has & TRACE_HAS_RANGE) {
        event.address = take_number(content, 8);
        event.length  = take_number(content, 8);
    }
    for (field = trace_fields; field < trace_fields + TRACE_NUM_FIELDS;
         ++field) {
        if (field->part & has) {
            trace_field_set(field, &event,
                            take_number_upto(content, field->size,
                                             trace_field_max(field),
                                             "an unknown kind or doer"));
        }
    }

    return (content->problem != NULL) ?
           UCS_OK : trace_build_event(builder, &event, place, 0);
}

static ucs_status_t read_meta(trace_builder_t *builder, content_t *content)
{
    trace_string_t key   = take_string(content);
    trace_string_t value = take_string(content);

    return (content->problem != NULL) ?
           UCS_OK : trace_build_meta(builder, &key, &value);
}

static ucs_status_t read_domain(trace_builder_t *builder, content_t *content,
                                size_t place)
{
    uint64_t number     = take_number(content, 2);
    trace_string_t name = take_string(content);

    return (content->problem != NULL) ?
           UCS_OK : trace_build_domain(builder, number, &name, place);
}

static ucs_status_t read_site(trace_builder_t *builder, content_t *content)
{
    ucs_rcache_trace_site_t site = { 0 };
    unsigned i;

    site.caller     = take_number(content, 8);
    site.stack      = take_number(content, 8);
    site.num_frames = take_number_upto(content, 1, UCS_RCACHE_TRACE_MAX_FRAMES,
                                       "a site of too many frames");
    for (i = 0; i < site.num_frames; ++i) {
        site.frames[i] = take_number(content, 8);
    }

    return (content->problem != NULL) ?
           UCS_OK : trace_build_site(builder, &site);
}

static ucs_status_t read_module(trace_builder_t *builder, content_t *content)
{
    ucs_rcache_trace_module_t module = { 0 };
    trace_string_t path;
    const uint8_t *build_id;

    module.start           = take_number(content, 8);
    module.end             = take_number(content, 8);
    module.bias            = take_number(content, 8);
    path                   = take_string(content);
    module.build_id_length = take_number_upto(content, 1,
                                              UCS_RCACHE_TRACE_MAX_BUILD_ID,
                                              "a build ID that is too long");
    build_id               = take_bytes(content, module.build_id_length);
    if (content->problem != NULL) {
        return UCS_OK;
    }

    memcpy(module.build_id, build_id, module.build_id_length);
    return trace_build_module(builder, &module, &path);
}

static ucs_status_t read_counter(trace_builder_t *builder, content_t *content)
{
    trace_string_t name = take_string(content);
    uint64_t value      = take_number(content, 8);

    return (content->problem != NULL) ?
           UCS_OK : trace_build_counter(builder, &name, value);
}

static ucs_status_t read_sends(trace_builder_t *builder, content_t *content,
                               size_t place)
{
    ucs_reuse_sends_t sends;

    sends.address = take_number(content, 8);
    sends.length  = take_number(content, 8);
    sends.count   = take_number(content, 8);
    sends.copied  = take_number(content, 8);
    return (content->problem != NULL) ?
           UCS_OK : trace_build_sends(builder, &sends, place);
}

static ucs_status_t read_typed(trace_builder_t *builder, content_t *content,
                               unsigned type, size_t place)
{
    switch (type) {
    case TRACE_RECORD_META:
        return read_meta(builder, content);
    case TRACE_RECORD_DOMAIN:
        return read_domain(builder, content, place);
    case TRACE_RECORD_SITE:
        return read_site(builder, content);
    case TRACE_RECORD_MODULE:
        return read_module(builder, content);
    case TRACE_RECORD_COUNTER:
        return read_counter(builder, content);
    case TRACE_RECORD_LOST:
        trace_build_lost(builder, take_number(content, 8));
        return UCS_OK;
    case TRACE_RECORD_TRUNCATED:
        builder->trace->truncated = 1;
        return UCS_OK;
    case TRACE_RECORD_SENDS:
        return read_sends(builder, content, place);
    default:
        type -= TRACE_RECORD_EVENT;
        return (type < UCS_RCACHE_PRED_EVENT_LAST) ?
               read_event(builder, content, type, place) : UCS_OK;
    }
}

/* Add one record, whose content is @a bytes. A record of an unknown type is left out.
 * @a place is its offset among all records, for messages */
static ucs_status_t read_record(trace_builder_t *builder,
                               const trace_record_t *head,
                               const uint8_t *bytes, size_t place)
{
    content_t content = { .next = bytes, .end = bytes + head->length };
    ucs_status_t status;

    status = read_typed(builder, &content, head->type, place);
    return (content.problem != NULL) ?
           trace_error(&builder->source, place, "%s", content.problem) : status;
}


typedef struct reader {
    trace_builder_t *builder;
    z_stream        zlib;
    size_t          left;   /* Rest of the file for zlib, bytes */
    uint64_t        offset; /* Of the buffer in the unpacked records */
    size_t          filled; /* How much of the buffer is, bytes */
    int             between; /* What was unpacked ends between two blocks, with
                                no bit left (zlib.h, data_type) */
    uint8_t         buffer[READ_BUFFER];
} reader_t;


static ucs_status_t read_truncated(trace_builder_t *builder)
{
    ucs_warn("%s: the file ends too early; what is before was read",
             builder->source.name);
    builder->trace->truncated = 1;
    return UCS_OK;
}

/* Read the whole records in the buffer */
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

/* Unpack as much as fits into the buffer. @return as inflate() */
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
    if (result == Z_OK) { /* A call without input forgets it */
        reader->between = (reader->zlib.data_type == 128);
    }
    return result;
}

/* Whether the file ends where its writer has flushed */
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
        ucs_error("%s: out of memory for zlib", source->name);
        return UCS_ERR_NO_MEMORY;
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
        return read_end(&reader, Z_MEM_ERROR);
    }

    status = read_stream(&reader, max_size);
    inflateEnd(&reader.zlib);
    return status;
}

/* @return the string at @a *next_p, up to the zero at its end, and move on */
static trace_string_t read_plain(const char **next_p, const char *end)
{
    trace_string_t string = { *next_p, strnlen(*next_p, end - *next_p) };

    *next_p = ucs_min(string.data + string.length + 1, end);
    return string;
}

static ucs_status_t read_fields(trace_builder_t *builder, const char *next,
                                size_t size)
{
    const char *end     = next + size;
    ucs_status_t status = UCS_OK;
    trace_string_t name, value;

    while ((status == UCS_OK) && (next < end)) {
        name  = read_plain(&next, end);
        value = read_plain(&next, end);
        if (ucs_max(name.length, value.length) > UCS_RCACHE_TRACE_MAX_STRING) {
            return trace_error(&builder->source, 0,
                               "a field of more than 16383 bytes");
        }
        status = trace_build_meta(builder, &name, &value);
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
