/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "writer.h"
#include "writer_int.h"

#include <trace/content/fields.h>
#include <ucs/base/hash.h>

#include <string.h>

/* Longest records, bytes. A number takes up to 10. */
#define WRITE_MAX_EVENT  128
#define WRITE_MAX_SITE   (1 + 10 * (3 + UCS_RCACHE_TRACE_MAX_FRAMES))
#define WRITE_MAX_STRING (3 + UCS_RCACHE_TRACE_MAX_STRING)
#define WRITE_MAX_OTHER  (64 + UCS_RCACHE_TRACE_MAX_BUILD_ID)


/* A number of variable length: each byte has seven bits of it, low ones first,
 * and its eighth bit says that more bytes follow (LEB128, as in DWARF 5,
 * section 7.6). @return where the number ends */
static inline uint8_t *write_number(uint8_t *p, uint64_t value)
{
    while (value > 0x7f) {
        *p++   = value | 0x80;
        value >>= 7;
    }

    *p++ = value;
    return p;
}

static uint8_t *write_string(uint8_t *p, const char *string)
{
    size_t length = strnlen(string, UCS_RCACHE_TRACE_MAX_STRING);

    p = write_number(p, length);
    memcpy(p, string, length);
    return p + length;
}

/* Begin a record of up to @a max_length bytes; the buffer is flushed if it has
 * no room for that. @return where the rest of the record is put */
static inline uint8_t *writer_begin(ucs_rcache_trace_writer_t *writer,
                                    size_t max_length, uint8_t type)
{
    if (writer->next + max_length > writer->buffer + TRACE_WRITER_END) {
        ucs_rcache_trace_writer_flush(writer);
    }

    *writer->next = type;
    return writer->next + 1;
}

/* End the record that was begun, at @a end. */
static inline void writer_end(ucs_rcache_trace_writer_t *writer, uint8_t *end)
{
    writer->next = end;
    ++writer->num_records;
}

static inline unsigned writer_hash(uint64_t value)
{
    return ucs_rcache_pred_hash_bits(value, 8);
}

/* Whether an event can refer to a subject that was described before. An event
 * without a range, the end of a use, needs the same region only. */
static inline int writer_same_subject(const trace_subject_t *known,
                                      const trace_subject_t *subject,
                                      unsigned has)
{
    return (known->id == subject->id) && (known->domain == subject->domain) &&
           (!(has & TRACE_HAS_RANGE) ||
            ((known->address == subject->address) &&
             (known->length == subject->length)));
}

static uint8_t *writer_put_subject(ucs_rcache_trace_writer_t *writer,
                                   uint8_t *p, const trace_subject_t *subject,
                                   unsigned has)
{
    trace_known_t *known = &writer->known;
    uint8_t *slot_p      = &writer->subject_slots[writer_hash(subject->id)];
    const trace_subject_t *last;

    if ((*slot_p < trace_known_count(known->num_subjects)) &&
        writer_same_subject(&known->subjects[*slot_p], subject, has)) {
        return write_number(p, *slot_p + 1);
    }

    last = &known->subjects[trace_known_slot(known->num_subjects - 1)];
    p    = write_number(p, 0);
    p    = write_number(p, trace_fold(subject->id, last->id));
    p    = write_number(p, subject->domain);
    p    = write_number(p, trace_fold(subject->address, last->address));
    p    = write_number(p, subject->length);

    *slot_p                  = trace_known_slot(known->num_subjects++);
    known->subjects[*slot_p] = *subject;
    return p;
}

static inline int writer_same_manner(const trace_manner_t *known,
                                     const trace_manner_t *manner)
{
    return (known->caller == manner->caller) &&
           (known->stack == manner->stack) &&
           (known->window == manner->window) &&
           (known->flags == manner->flags) && (known->kind == manner->kind);
}

static uint8_t *writer_put_manner(ucs_rcache_trace_writer_t *writer, uint8_t *p,
                                  const trace_manner_t *manner)
{
    trace_known_t *known = &writer->known;
    uint8_t *slot_p      = &writer->manner_slots[writer_hash(
            manner->caller + manner->stack + manner->window)];
    const trace_manner_t *last;

    if ((*slot_p < trace_known_count(known->num_manners)) &&
        writer_same_manner(&known->manners[*slot_p], manner)) {
        return write_number(p, *slot_p + 1);
    }

    last = &known->manners[trace_known_slot(known->num_manners - 1)];
    p    = write_number(p, 0);
    *p++ = manner->kind;
    p    = write_number(p, manner->flags);
    p    = write_number(p, trace_fold(manner->caller, last->caller));
    p    = write_number(p, trace_fold(manner->stack, last->stack));
    trace_put_u32(p, manner->window);
    trace_put_u32(p + 4, manner->window >> 32);
    p   += 8;

    *slot_p                 = trace_known_slot(known->num_manners++);
    known->manners[*slot_p] = *manner;
    return p;
}

static uint8_t *writer_put_event_subject(ucs_rcache_trace_writer_t *writer,
                                         uint8_t *p, unsigned has,
                                         const ucs_rcache_pred_event_t *event)
{
    trace_subject_t subject = { 0 };

    if (has & TRACE_HAS_ID) {
        subject.id     = event->id;
        subject.domain = event->domain;
    }
    if (has & TRACE_HAS_RANGE) {
        subject.address = event->address;
        subject.length  = event->length;
    }

    return writer_put_subject(writer, p, &subject, has);
}

static uint8_t *writer_put_event_manner(ucs_rcache_trace_writer_t *writer,
                                        uint8_t *p,
                                        const ucs_rcache_pred_event_t *event)
{
    const trace_manner_t manner = {
        .caller = event->context.caller,
        .stack  = event->context.stack,
        .window = event->context.window,
        .flags  = event->flags,
        .kind   = event->kind
    };

    return writer_put_manner(writer, p, &manner);
}

void ucs_rcache_trace_put_event(ucs_rcache_trace_writer_t *writer,
                                const ucs_rcache_pred_event_t *event)
{
    unsigned has = trace_types[event->type].has;
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_EVENT, TRACE_RECORD_EVENT + event->type);
    p = write_number(p, trace_fold(event->time, writer->known.time));
    writer->known.time = event->time;

    p = writer_put_event_subject(writer, p, has, event);
    if (has & TRACE_HAS_RESULT) {
        *p++ = event->result;
    }
    if (has & TRACE_HAS_MANNER) {
        p = writer_put_event_manner(writer, p, event);
    }
    if (has & TRACE_HAS_BY) {
        *p++ = event->by;
    }
    if (has & TRACE_HAS_DURATION) {
        p = write_number(p, event->duration);
    }
    if (has & TRACE_HAS_DEADLINE) {
        p = write_number(p, trace_fold(event->deadline, event->time));
        p = write_number(p, event->period);
    }

    writer_end(writer, p);
}

void ucs_rcache_trace_put_lost(ucs_rcache_trace_writer_t *writer,
                               uint64_t count)
{
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_OTHER, TRACE_RECORD_LOST);
    writer_end(writer, write_number(p, count));
}

void ucs_rcache_trace_put_meta(ucs_rcache_trace_writer_t *writer,
                               const char *key, const char *value)
{
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_OTHER + 2 * WRITE_MAX_STRING,
                     TRACE_RECORD_META);
    p = write_string(p, key);
    writer_end(writer, write_string(p, value));
}

void ucs_rcache_trace_put_domain(ucs_rcache_trace_writer_t *writer,
                                 unsigned number, const char *name)
{
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_OTHER + WRITE_MAX_STRING,
                     TRACE_RECORD_DOMAIN);
    p = write_number(p, number);
    writer_end(writer, write_string(p, name));
}

void ucs_rcache_trace_put_site(ucs_rcache_trace_writer_t *writer,
                               const ucs_rcache_trace_site_t *site)
{
    uint8_t *p;
    unsigned i;

    p = writer_begin(writer, WRITE_MAX_SITE, TRACE_RECORD_SITE);
    p = write_number(p, site->caller);
    p = write_number(p, site->stack);
    p = write_number(p, site->num_frames);
    for (i = 0; i < site->num_frames; ++i) {
        p = write_number(p, site->frames[i]);
    }
    writer_end(writer, p);
}

void ucs_rcache_trace_put_module(ucs_rcache_trace_writer_t *writer,
                                 const ucs_rcache_trace_module_t *module)
{
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_OTHER + WRITE_MAX_STRING,
                     TRACE_RECORD_MODULE);
    p = write_number(p, module->start);
    p = write_number(p, module->end);
    p = write_number(p, module->bias);
    p = write_string(p, module->path);
    p = write_number(p, module->build_id_length);
    memcpy(p, module->build_id, module->build_id_length);
    writer_end(writer, p + module->build_id_length);
}

void ucs_rcache_trace_put_counter(ucs_rcache_trace_writer_t *writer,
                                  const char *name, uint64_t value)
{
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_OTHER + WRITE_MAX_STRING,
                     TRACE_RECORD_COUNTER);
    p = write_string(p, name);
    writer_end(writer, write_number(p, value));
}

void ucs_rcache_trace_put_sends(ucs_rcache_trace_writer_t *writer,
                                const ucs_reuse_sends_t *sends)
{
    uint8_t *p;

    p = writer_begin(writer, WRITE_MAX_OTHER, TRACE_RECORD_SENDS);
    p = write_number(p, sends->address);
    p = write_number(p, sends->length);
    p = write_number(p, sends->count);
    writer_end(writer, write_number(p, sends->copied));
}

void ucs_rcache_trace_put_truncated(ucs_rcache_trace_writer_t *writer)
{
    writer_end(writer, writer_begin(writer, WRITE_MAX_OTHER,
                                    TRACE_RECORD_TRUNCATED));
}
