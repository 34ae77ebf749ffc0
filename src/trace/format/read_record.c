/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "read_record.h"

#include <trace/content/fields.h>

#include <string.h>


/* Read which region an event is about. The first event of a chunk that is about
 * a region describes it; later ones refer to that description by its number. */
static const trace_subject_t *read_subject(trace_reader_t *reader)
{
    trace_known_t *known = &reader->known;
    uint64_t number;
    const trace_subject_t *last;
    trace_subject_t subject;
    unsigned slot;

    last   = &known->subjects[trace_known_slot(known->num_subjects - 1)];
    number = trace_reader_number_upto(
            reader, trace_known_count(known->num_subjects),
            "a region that was not described before");
    if (number > 0) {
        return &known->subjects[number - 1];
    }

    subject.id      = trace_unfold(trace_reader_number(reader), last->id);
    subject.domain  = trace_reader_number_upto(reader, UINT16_MAX,
                                               "a domain above 65535");
    subject.address = trace_unfold(trace_reader_number(reader), last->address);
    subject.length  = trace_reader_number(reader);

    slot                  = trace_known_slot(known->num_subjects++);
    known->subjects[slot] = subject;
    return &known->subjects[slot];
}

/* Read from where in the program a use was made, and of what kind it is. As
 * with regions, the first use of a chunk describes that, and later ones refer
 * to the description by its number. */
static const trace_manner_t *read_manner(trace_reader_t *reader)
{
    trace_known_t *known = &reader->known;
    uint64_t number;
    const trace_manner_t *last;
    trace_manner_t manner;
    unsigned slot;

    last   = &known->manners[trace_known_slot(known->num_manners - 1)];
    number = trace_reader_number_upto(
            reader, trace_known_count(known->num_manners),
            "a context that was not described before");
    if (number > 0) {
        return &known->manners[number - 1];
    }

    manner.kind = trace_reader_byte(reader);
    if (manner.kind >= UCS_RCACHE_PRED_USE_LAST) {
        trace_reader_bad(reader, "an unknown kind of use");
    }
    manner.flags  = trace_reader_number_upto(reader, UINT32_MAX,
                                             "flags of more than 32 bits");
    manner.caller = trace_unfold(trace_reader_number(reader), last->caller);
    manner.stack  = trace_unfold(trace_reader_number(reader), last->stack);
    manner.window = trace_reader_fixed64(reader);

    slot                 = trace_known_slot(known->num_manners++);
    known->manners[slot] = manner;
    return &known->manners[slot];
}

static void read_event_subject(trace_reader_t *reader, unsigned has,
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

static void read_event_manner(trace_reader_t *reader,
                              ucs_rcache_pred_event_t *event)
{
    const trace_manner_t *manner = read_manner(reader);

    event->context.caller = manner->caller;
    event->context.stack  = manner->stack;
    event->context.window = manner->window;
    event->flags          = manner->flags;
    event->kind           = manner->kind;
}

static void read_event_fields(trace_reader_t *reader,
                              ucs_rcache_pred_event_t *event)
{
    unsigned has = trace_types[event->type].has;

    event->time = trace_unfold(trace_reader_number(reader), reader->known.time);
    read_event_subject(reader, has, event);
    if (has & TRACE_HAS_RESULT) {
        event->result = trace_reader_byte(reader);
    }
    if (has & TRACE_HAS_MANNER) {
        read_event_manner(reader, event);
    }
    if (has & TRACE_HAS_BY) {
        event->by = trace_reader_byte(reader);
        if (event->by >= UCS_RCACHE_PRED_BY_LAST) {
            trace_reader_bad(reader, "registered by an unknown one");
        }
    }
    if (has & TRACE_HAS_DURATION) {
        event->duration = trace_reader_number(reader);
    }
    if (has & TRACE_HAS_DEADLINE) {
        event->deadline = trace_unfold(trace_reader_number(reader),
                                       event->time);
        event->period   = trace_reader_number(reader);
    }
}

static ucs_status_t read_event(trace_reader_t *reader, uint8_t type)
{
    ucs_rcache_pred_event_t event = { 0 };

    event.type = type - TRACE_RECORD_EVENT;
    if ((event.type >= UCS_RCACHE_PRED_EVENT_LAST) ||
        (reader->version < trace_types[event.type].version)) {
        trace_reader_bad(reader, "a record of unknown type");
        return UCS_OK;
    }

    read_event_fields(reader, &event);
    if (!trace_reader_is_good(reader)) {
        return UCS_OK;
    }

    reader->known.time = event.time;
    return trace_build_event(reader->builder, &event,
                             trace_reader_offset(reader, reader->record), 0);
}

static ucs_status_t read_meta(trace_reader_t *reader)
{
    trace_string_t key   = trace_reader_string(reader);
    trace_string_t value = trace_reader_string(reader);

    return !trace_reader_is_good(reader) ?
           UCS_OK : trace_build_meta(reader->builder, &key, &value);
}

static ucs_status_t read_domain(trace_reader_t *reader)
{
    uint64_t number     = trace_reader_number(reader);
    trace_string_t name = trace_reader_string(reader);

    return !trace_reader_is_good(reader) ?
           UCS_OK :
           trace_build_domain(reader->builder, number, &name,
                              trace_reader_offset(reader, reader->record));
}

static ucs_status_t read_site(trace_reader_t *reader)
{
    ucs_rcache_trace_site_t site = { 0 };
    unsigned i;

    site.caller     = trace_reader_number(reader);
    site.stack      = trace_reader_number(reader);
    site.num_frames = trace_reader_number_upto(reader,
                                               UCS_RCACHE_TRACE_MAX_FRAMES,
                                               "a site of too many frames");
    for (i = 0; i < site.num_frames; ++i) {
        site.frames[i] = trace_reader_number(reader);
    }

    return !trace_reader_is_good(reader) ?
           UCS_OK : trace_build_site(reader->builder, &site);
}

static ucs_status_t read_module(trace_reader_t *reader)
{
    ucs_rcache_trace_module_t module = { 0 };
    trace_string_t path;
    const uint8_t *build_id;

    module.start           = trace_reader_number(reader);
    module.end             = trace_reader_number(reader);
    module.bias            = trace_reader_number(reader);
    path                   = trace_reader_string(reader);
    module.build_id_length = trace_reader_number_upto(
            reader, UCS_RCACHE_TRACE_MAX_BUILD_ID,
            "a build ID that is too long");
    build_id               = trace_reader_bytes(reader, module.build_id_length);
    if (build_id == NULL) {
        return UCS_OK;
    }

    memcpy(module.build_id, build_id, module.build_id_length);
    return trace_build_module(reader->builder, &module, &path);
}

static ucs_status_t read_counter(trace_reader_t *reader)
{
    trace_string_t name = trace_reader_string(reader);
    uint64_t value      = trace_reader_number(reader);

    return !trace_reader_is_good(reader) ?
           UCS_OK :
           trace_build_counter(reader->builder, &name, value);
}

static ucs_status_t read_lost(trace_reader_t *reader)
{
    uint64_t count = trace_reader_number(reader);

    if (trace_reader_is_good(reader)) {
        trace_build_lost(reader->builder, count);
    }
    return UCS_OK;
}

static ucs_status_t read_sends(trace_reader_t *reader)
{
    ucs_reuse_sends_t sends;

    if (reader->version < UCS_RCACHE_TRACE_VERSION_SENDS) {
        trace_reader_bad(reader, "a record of unknown type");
        return UCS_OK;
    }

    sends.address = trace_reader_number(reader);
    sends.length  = trace_reader_number(reader);
    sends.count   = trace_reader_number(reader);
    sends.copied  = trace_reader_number(reader);
    return !trace_reader_is_good(reader) ?
           UCS_OK :
           trace_build_sends(reader->builder, &sends,
                             trace_reader_offset(reader, reader->record));
}

ucs_status_t trace_read_record(trace_reader_t *reader)
{
    uint8_t type;

    reader->record = reader->next;
    type           = trace_reader_byte(reader);
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
    case TRACE_RECORD_SENDS:
        return read_sends(reader);
    case TRACE_RECORD_TRUNCATED:
        reader->builder->trace->truncated = 1;
        return UCS_OK;
    default:
        return read_event(reader, type);
    }
}
