/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "read.h"
#include "read_record.h"

#include <ucs/algorithm/crc.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>


static ucs_status_t read_error(const trace_reader_t *reader,
                               const uint8_t *place, const char *problem)
{
    return trace_error(&reader->builder->source,
                       trace_reader_offset(reader, place), "%s", problem);
}

static ucs_status_t read_truncated(trace_reader_t *reader, const uint8_t *place)
{
    ucs_warn("%s: offset %zu: the file ends within a chunk; what is before was "
             "read", reader->builder->source.name,
             trace_reader_offset(reader, place));
    reader->builder->trace->truncated = 1;
    reader->next                      = reader->eof;
    return UCS_OK;
}

/* Read the records of a chunk. @a is_whole says whether the file has all of the
 * chunk, rather than ends within it. */
static ucs_status_t read_records(trace_reader_t *reader, uint32_t num_records,
                                 int is_whole)
{
    ucs_status_t status;
    uint32_t i;

    trace_known_reset(&reader->known);
    reader->is_short = 0;
    for (i = 0; i < num_records; ++i) {
        status = trace_read_record(reader);
        if (status != UCS_OK) {
            return status;
        }

        if (reader->problem != NULL) {
            return read_error(reader, reader->record, reader->problem);
        }

        if (reader->is_short) {
            return is_whole ?
                   read_error(reader, reader->record,
                              "a record that goes beyond its chunk") :
                   read_truncated(reader, reader->record);
        }
    }

    if (!is_whole || (reader->next < reader->end)) {
        return read_error(reader, reader->next,
                          "a chunk that is longer than its records");
    }

    return UCS_OK;
}

static int chunk_is_damaged(const uint8_t *head, uint32_t length)
{
    uint32_t crc;

    crc = ucs_crc32(0, head, TRACE_CHUNK_CRC);
    crc = ucs_crc32(crc, head + TRACE_CHUNK_HEAD, length);
    return crc != trace_get_u32(head + TRACE_CHUNK_CRC);
}

static ucs_status_t read_chunk(trace_reader_t *reader)
{
    const uint8_t *head = reader->next;
    size_t left         = reader->eof - head;
    uint32_t length;

    if (left < TRACE_CHUNK_HEAD) {
        return read_truncated(reader, head);
    }

    if (trace_get_u32(head + TRACE_CHUNK_MAGIC) != TRACE_CHUNK_TAG) {
        return read_error(reader, head, "damaged: expected a chunk");
    }

    length = trace_get_u32(head + TRACE_CHUNK_LENGTH);
    if (length > TRACE_CHUNK_MAX_LENGTH) {
        return read_error(reader, head,
                          "damaged: a chunk of more than 65536 bytes");
    }

    reader->next = head + TRACE_CHUNK_HEAD;
    left        -= TRACE_CHUNK_HEAD;
    reader->end  = reader->next + ucs_min(left, length);
    if ((left >= length) && chunk_is_damaged(head, length)) {
        return read_error(reader, head,
                          "damaged: the checksum of the chunk differs");
    }

    return read_records(reader, trace_get_u32(head + TRACE_CHUNK_RECORDS),
                        left >= length);
}

int trace_is_binary(const void *data, size_t size)
{
    return (size >= TRACE_MAGIC_SIZE) &&
           (memcmp(data, TRACE_MAGIC, TRACE_MAGIC_SIZE) == 0);
}

ucs_status_t trace_read(trace_builder_t *builder, const void *data, size_t size)
{
    trace_reader_t reader = {
        .builder = builder,
        .begin   = data,
        .eof     = UCS_PTR_BYTE_OFFSET(data, size)
    };
    ucs_status_t status;

    if (size < TRACE_HEAD_SIZE) {
        return read_truncated(&reader, reader.begin);
    }

    reader.next    = reader.begin + TRACE_HEAD_SIZE;
    reader.version = trace_get_u32(reader.begin + TRACE_MAGIC_SIZE);
    status         = trace_check_version(&builder->source, reader.version);
    while ((status == UCS_OK) && (reader.next < reader.eof)) {
        status = read_chunk(&reader);
    }

    return status;
}
