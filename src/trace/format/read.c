/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "build.h"
#include "fields.h"
#include "format.h"

#include <ucs/algorithm/crc.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

/* Bytes a number takes at most */
#define READ_MAX_NUMBER 10


typedef struct reader {
    trace_builder_t *builder;
    const uint8_t   *begin;   /* Of the file */
    const uint8_t   *next;    /* What is read next */
    const uint8_t   *end;     /* Of the chunk, as far as it is there */
    const uint8_t   *eof;     /* End of the file */
    const uint8_t   *record;  /* Start of the present record */
    int             is_short; /* The record goes beyond the end */
    const char      *problem; /* What is wrong with the record */
    trace_known_t   known;
} reader_t;


static size_t read_offset(const reader_t *reader, const uint8_t *p)
{
    return p - reader->begin;
}

static uint32_t read_u32(const uint8_t *p)
{
    return p[0] | (p[1] << 8) | (p[2] << 16) | ((uint32_t)p[3] << 24);
}

/*
 * Functions that read a part of a record return 0, or something short, where
 * the record is not what it should be, and take notice of that: the caller
 * looks when it has read all of it.
 */

static int read_is_good(const reader_t *reader)
{
    return !reader->is_short && (reader->problem == NULL);
}

static uint64_t read_bad(reader_t *reader, const char *problem)
{
    if (read_is_good(reader)) {
        reader->problem = problem;
    }
    return 0;
}

static const uint8_t *read_bytes(reader_t *reader, size_t count)
{
    const uint8_t *bytes = reader->next;

    if (!read_is_good(reader) || (count > (size_t)(reader->end - bytes))) {
        reader->is_short |= (reader->problem == NULL);
        return NULL;
    }

    reader->next += count;
    return bytes;
}

static uint8_t read_byte(reader_t *reader)
{
    const uint8_t *byte = read_bytes(reader, 1);

    return (byte == NULL) ? 0 : *byte;
}

static uint64_t read_number(reader_t *reader)
{
    uint64_t value = 0;
    unsigned i;
    uint8_t byte;

    for (i = 0; i < READ_MAX_NUMBER; ++i) {
        byte   = read_byte(reader);
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            /* The last byte has room for one bit */
            return ((i < READ_MAX_NUMBER - 1) || (byte <= 1)) ?
                   value : read_bad(reader, "a number of more than 64 bits");
        }
    }

    return read_bad(reader, "a number of more than 64 bits");
}

static uint64_t read_number_upto(reader_t *reader, uint64_t max,
                                 const char *problem)
{
    uint64_t value = read_number(reader);

    return (value <= max) ? value : read_bad(reader, problem);
}

static uint64_t read_fixed64(reader_t *reader)
{
    const uint8_t *bytes = read_bytes(reader, 8);

    return (bytes == NULL) ?
           0 : read_u32(bytes) | ((uint64_t)read_u32(bytes + 4) << 32);
}

static trace_string_t read_string(reader_t *reader)
{
    trace_string_t string = { "", 0 };
    const char *data;
    size_t length;

    length = read_number_upto(reader, TRACE_MAX_STRING,
                              "a string of more than 16383 bytes");
    data   = (const char*)read_bytes(reader, length);
    if (data == NULL) {
        return string;
    }

    if (memchr(data, '\0', length) != NULL) {
        read_bad(reader, "a string with a zero in it");
        return string;
    }

    string.data   = data;
    string.length = length;
    return string;
}


static const trace_subject_t *read_subject(reader_t *reader)
{
    trace_known_t *known = &reader->known;
    uint64_t number;
    const trace_subject_t *last;
    trace_subject_t subject;
    unsigned slot;

    last   = &known->subjects[trace_known_slot(known->num_subjects - 1)];
    number = read_number_upto(reader, trace_known_count(known->num_subjects),
                              "a region that was not described before");
    if (number > 0) {
        return &known->subjects[number - 1];
    }

    subject.id      = trace_unfold(read_number(reader), last->id);
    subject.domain  = read_number_upto(reader, UINT16_MAX,
                                       "a domain above 65535");
    subject.address = trace_unfold(read_number(reader), last->address);
    subject.length  = read_number(reader);

    slot                  = trace_known_slot(known->num_subjects++);
    known->subjects[slot] = subject;
    return &known->subjects[slot];
}

static const trace_manner_t *read_manner(reader_t *reader)
{
    trace_known_t *known = &reader->known;
    uint64_t number;
    const trace_manner_t *last;
    trace_manner_t manner;
    unsigned slot;

    last   = &known->manners[trace_known_slot(known->num_manners - 1)];
    number = read_number_upto(reader, trace_known_count(known->num_manners),
                              "a context that was not described before");
    if (number > 0) {
        return &known->manners[number - 1];
    }

    manner.kind = read_byte(reader);
    if (manner.kind >= UCS_RCACHE_PRED_USE_LAST) {
        read_bad(reader, "an unknown kind of use");
    }
    manner.flags  = read_number_upto(reader, UINT32_MAX,
                                     "flags of more than 32 bits");
    manner.caller = trace_unfold(read_number(reader), last->caller);
    manner.stack  = trace_unfold(read_number(reader), last->stack);
    manner.window = read_fixed64(reader);

    slot                 = trace_known_slot(known->num_manners++);
    known->manners[slot] = manner;
    return &known->manners[slot];
}

static void read_event_subject(reader_t *reader, unsigned has,
                               ucs_rcache_pred_event_t *event)
{
    const trace_subject_t *subject = read_subject(reader);

    if (has & TRACE_HAS_ID) {
        event->id     = subject->id;
        event->domain = subject->domain;
    }
    if (has & TRACE_HAS_RANGE) {
        event->address = subject->address;
        event->length  = subject->length;
    }
}

static void read_event_manner(reader_t *reader, ucs_rcache_pred_event_t *event)
{
    const trace_manner_t *manner = read_manner(reader);

    event->context.caller = manner->caller;
    event->context.stack  = manner->stack;
    event->context.window = manner->window;
    event->flags          = manner->flags;
    event->kind           = manner->kind;
}

static void read_event_fields(reader_t *reader, ucs_rcache_pred_event_t *event)
{
    unsigned has = trace_types[event->type].has;

    event->time = trace_unfold(read_number(reader), reader->known.time);
    read_event_subject(reader, has, event);
    if (has & TRACE_HAS_RESULT) {
        event->result = read_byte(reader);
    }
    if (has & TRACE_HAS_MANNER) {
        read_event_manner(reader, event);
    }
    if (has & TRACE_HAS_BY) {
        event->by = read_byte(reader);
        if (event->by >= UCS_RCACHE_PRED_BY_LAST) {
            read_bad(reader, "registered by an unknown one");
        }
    }
    if (has & TRACE_HAS_DURATION) {
        event->duration = read_number(reader);
    }
    if (has & TRACE_HAS_DEADLINE) {
        event->deadline = trace_unfold(read_number(reader), event->time);
        event->period   = read_number(reader);
    }
}

static ucs_status_t read_event(reader_t *reader, uint8_t type)
{
    ucs_rcache_pred_event_t event = { 0 };

    event.type = type - TRACE_RECORD_EVENT;
    if (event.type >= UCS_RCACHE_PRED_EVENT_LAST) {
        read_bad(reader, "a record of unknown type");
        return UCS_OK;
    }

    read_event_fields(reader, &event);
    if (!read_is_good(reader)) {
        return UCS_OK;
    }

    reader->known.time = event.time;
    return trace_build_event(reader->builder, &event,
                             read_offset(reader, reader->record), 0);
}

static ucs_status_t read_meta(reader_t *reader)
{
    trace_string_t key   = read_string(reader);
    trace_string_t value = read_string(reader);

    return !read_is_good(reader) ?
           UCS_OK : trace_build_meta(reader->builder, &key, &value);
}

static ucs_status_t read_domain(reader_t *reader)
{
    uint64_t number     = read_number(reader);
    trace_string_t name = read_string(reader);

    return !read_is_good(reader) ?
           UCS_OK :
           trace_build_domain(reader->builder, number, &name,
                              read_offset(reader, reader->record));
}

static ucs_status_t read_site(reader_t *reader)
{
    ucs_rcache_trace_site_t site = { 0 };
    unsigned i;

    site.caller     = read_number(reader);
    site.stack      = read_number(reader);
    site.num_frames = read_number_upto(reader, UCS_RCACHE_TRACE_MAX_FRAMES,
                                       "a site of too many frames");
    for (i = 0; i < site.num_frames; ++i) {
        site.frames[i] = read_number(reader);
    }

    return !read_is_good(reader) ?
           UCS_OK : trace_build_site(reader->builder, &site);
}

static ucs_status_t read_module(reader_t *reader)
{
    ucs_rcache_trace_module_t module = { 0 };
    trace_string_t path;
    const uint8_t *build_id;

    module.start           = read_number(reader);
    module.end             = read_number(reader);
    module.bias            = read_number(reader);
    path                   = read_string(reader);
    module.build_id_length = read_number_upto(reader,
                                              UCS_RCACHE_TRACE_MAX_BUILD_ID,
                                              "a build ID that is too long");
    build_id               = read_bytes(reader, module.build_id_length);
    if (build_id == NULL) {
        return UCS_OK;
    }

    memcpy(module.build_id, build_id, module.build_id_length);
    return trace_build_module(reader->builder, &module, &path);
}

static ucs_status_t read_counter(reader_t *reader)
{
    trace_string_t name = read_string(reader);
    uint64_t value      = read_number(reader);

    return !read_is_good(reader) ?
           UCS_OK :
           trace_build_counter(reader->builder, &name, value);
}

static ucs_status_t read_lost(reader_t *reader)
{
    uint64_t count = read_number(reader);

    if (read_is_good(reader)) {
        trace_build_lost(reader->builder, count);
    }
    return UCS_OK;
}

/* Read a record, if it is whole and good */
static ucs_status_t read_record(reader_t *reader)
{
    uint8_t type;

    reader->record = reader->next;
    type           = read_byte(reader);
    if (reader->is_short) {
        return UCS_OK;
    }

    switch (type) {
    case TRACE_RECORD_META:
        return read_meta(reader);
    case TRACE_RECORD_DOMAIN:
        return read_domain(reader);
    case TRACE_RECORD_SITE:
        return read_site(reader);
    case TRACE_RECORD_MODULE:
        return read_module(reader);
    case TRACE_RECORD_COUNTER:
        return read_counter(reader);
    case TRACE_RECORD_LOST:
        return read_lost(reader);
    case TRACE_RECORD_TRUNCATED:
        reader->builder->trace->truncated = 1;
        return UCS_OK;
    default:
        return read_event(reader, type);
    }
}

static ucs_status_t read_error(const reader_t *reader, const uint8_t *place,
                               const char *problem)
{
    return trace_builder_error(reader->builder, read_offset(reader, place),
                               "%s", problem);
}

static ucs_status_t read_truncated(reader_t *reader, const uint8_t *place)
{
    ucs_warn("%s: offset %zu: the file ends within a chunk; what is before was "
             "read", reader->builder->name, read_offset(reader, place));
    reader->builder->trace->truncated = 1;
    reader->next                      = reader->eof;
    return UCS_OK;
}

/* @a is_whole: the chunk is, else the file ends before it */
static ucs_status_t read_records(reader_t *reader, uint32_t num_records,
                                 int is_whole)
{
    ucs_status_t status;
    uint32_t i;

    trace_known_reset(&reader->known);
    reader->is_short = 0;
    for (i = 0; i < num_records; ++i) {
        status = read_record(reader);
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

static ucs_status_t read_chunk(reader_t *reader)
{
    const uint8_t *head = reader->next;
    size_t left         = reader->eof - head;
    uint32_t length, crc;

    if (left < TRACE_CHUNK_HEAD) {
        return read_truncated(reader, head);
    }

    if (read_u32(head + TRACE_CHUNK_MAGIC) != TRACE_CHUNK_TAG) {
        return read_error(reader, head, "damaged: expected a chunk");
    }

    length = read_u32(head + TRACE_CHUNK_LENGTH);
    if (length > TRACE_CHUNK_MAX_LENGTH) {
        return read_error(reader, head,
                          "damaged: a chunk of more than 65536 bytes");
    }

    reader->next = head + TRACE_CHUNK_HEAD;
    left        -= TRACE_CHUNK_HEAD;
    reader->end  = reader->next + ucs_min(left, length);
    if (left >= length) {
        crc = ucs_crc32(0, head, TRACE_CHUNK_CRC);
        crc = ucs_crc32(crc, reader->next, length);
        if (crc != read_u32(head + TRACE_CHUNK_CRC)) {
            return read_error(reader, head,
                              "damaged: the checksum of the chunk differs");
        }
    }

    return read_records(reader, read_u32(head + TRACE_CHUNK_RECORDS),
                        left >= length);
}

ucs_status_t trace_read(trace_builder_t *builder, const void *data, size_t size)
{
    reader_t reader = {
        .builder = builder,
        .begin   = data,
        .eof     = UCS_PTR_BYTE_OFFSET(data, size)
    };
    ucs_status_t status;

    if (size < TRACE_HEAD_SIZE) {
        return read_truncated(&reader, reader.begin);
    }

    reader.next = reader.begin + TRACE_HEAD_SIZE;
    status      = trace_check_version(builder, read_u32(reader.begin +
                                                        TRACE_MAGIC_SIZE));
    while ((status == UCS_OK) && (reader.next < reader.eof)) {
        status = read_chunk(&reader);
    }

    return status;
}
