/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "reader.h"

#include <string.h>

/* Longest number, bytes: 7 bits of the 64 in each */
#define READER_MAX_NUMBER 10


int trace_reader_is_good(const trace_reader_t *reader)
{
    return !reader->is_short && (reader->problem == NULL);
}

uint64_t trace_reader_bad(trace_reader_t *reader, const char *problem)
{
    if (trace_reader_is_good(reader)) {
        reader->problem = problem;
    }
    return 0;
}

const uint8_t *trace_reader_bytes(trace_reader_t *reader, size_t count)
{
    const uint8_t *bytes = reader->next;

    if (!trace_reader_is_good(reader) ||
        (count > (size_t)(reader->end - bytes))) {
        reader->is_short |= (reader->problem == NULL);
        return NULL;
    }

    reader->next += count;
    return bytes;
}

uint8_t trace_reader_byte(trace_reader_t *reader)
{
    const uint8_t *byte = trace_reader_bytes(reader, 1);

    return (byte == NULL) ? 0 : *byte;
}

uint64_t trace_reader_number(trace_reader_t *reader)
{
    uint64_t value = 0;
    unsigned i;
    uint8_t byte;

    for (i = 0; i < READER_MAX_NUMBER; ++i) {
        byte   = trace_reader_byte(reader);
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            /* The last byte of the longest number has one bit of the 64 */
            return ((i < READER_MAX_NUMBER - 1) || (byte <= 1)) ?
                   value :
                   trace_reader_bad(reader, "a number of more than 64 bits");
        }
    }

    return trace_reader_bad(reader, "a number of more than 64 bits");
}

uint64_t trace_reader_number_upto(trace_reader_t *reader, uint64_t max,
                                 const char *problem)
{
    uint64_t value = trace_reader_number(reader);

    return (value <= max) ? value : trace_reader_bad(reader, problem);
}

uint64_t trace_reader_fixed64(trace_reader_t *reader)
{
    const uint8_t *bytes = trace_reader_bytes(reader, 8);

    return (bytes == NULL) ?
           0 :
           trace_get_u32(bytes) | ((uint64_t)trace_get_u32(bytes + 4) << 32);
}

trace_string_t trace_reader_string(trace_reader_t *reader)
{
    trace_string_t string = { "", 0 };
    const char *data;
    size_t length;

    length = trace_reader_number_upto(reader, UCS_RCACHE_TRACE_MAX_STRING,
                              "a string of more than 16383 bytes");
    data   = (const char*)trace_reader_bytes(reader, length);
    if (data == NULL) {
        return string;
    }

    if (memchr(data, '\0', length) != NULL) {
        trace_reader_bad(reader, "a string with a zero in it");
        return string;
    }

    string.data   = data;
    string.length = length;
    return string;
}
