/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "build.h"
#include "fields.h"
#include "format.h"

#include <ucs/base/hash.h>
#include <ucs/host/own_fd.h>

#include <ucs/algorithm/crc.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Longest records, bytes: a number takes up to 10 */
#define WRITE_MAX_EVENT  128
#define WRITE_MAX_SITE   (1 + 10 * (3 + UCS_RCACHE_TRACE_MAX_FRAMES))
#define WRITE_MAX_STRING (3 + TRACE_MAX_STRING)
#define WRITE_MAX_OTHER  (64 + UCS_RCACHE_TRACE_MAX_BUILD_ID)

/* The buffer has the head of the file, which is written once, the head of the
 * chunk and its records */
enum {
    WRITE_CHUNK   = TRACE_HEAD_SIZE,
    WRITE_RECORDS = WRITE_CHUNK + TRACE_CHUNK_HEAD,
    WRITE_END     = WRITE_RECORDS + TRACE_CHUNK_MAX_LENGTH
};


struct ucs_rcache_trace_writer {
    ucs_rcache_pred_own_fd_t file;
    int                      started; /* The head of the file is written */
    int                      error;   /* errno of the first failure, or 0 */
    uint32_t                 num_records;
    uint8_t                  *next;   /* End of the records in the chunk */
    trace_known_t            known;

    /* Where a subject or manner was put last, by hash. It may be gone */
    uint8_t                  subject_slots[TRACE_KNOWN];
    uint8_t                  manner_slots[TRACE_KNOWN];

    uint8_t                  buffer[WRITE_END];
};


static void write_u32(uint8_t *p, uint32_t value)
{
    unsigned i;

    for (i = 0; i < 4; ++i) {
        p[i] = value >> (8 * i);
    }
}

/* Seven bits a byte, low ones first; the eighth says that more follow (LEB128,
 * as in DWARF 5, section 7.6) */
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
    size_t length = strnlen(string, TRACE_MAX_STRING);

    p = write_number(p, length);
    memcpy(p, string, length);
    return p + length;
}

static void writer_start_chunk(ucs_rcache_trace_writer_t *writer)
{
    trace_known_reset(&writer->known);
    writer->num_records = 0;
    writer->next        = writer->buffer + WRITE_RECORDS;
}

ucs_status_t
ucs_rcache_trace_writer_create(int fd, ucs_rcache_trace_writer_t **writer_p)
{
    ucs_rcache_trace_writer_t *writer = calloc(1, sizeof(*writer));

    if (writer == NULL) {
        ucs_error("out of memory for the writer of a trace");
        return UCS_ERR_NO_MEMORY;
    }

    /* As anything else that cannot be written, it shows when it is flushed */
    if (ucs_rcache_pred_own_fd_init(&writer->file, fd) != 0) {
        writer->error = errno;
    }

    memcpy(writer->buffer, TRACE_MAGIC, TRACE_MAGIC_SIZE);
    write_u32(writer->buffer + TRACE_MAGIC_SIZE, UCS_RCACHE_TRACE_VERSION);
    writer_start_chunk(writer);
    *writer_p = writer;
    return UCS_OK;
}

void ucs_rcache_trace_writer_destroy(ucs_rcache_trace_writer_t *writer)
{
    ucs_rcache_trace_writer_flush(writer);
    free(writer);
}

/* Where the file may not grow (RLIMIT_FSIZE), write(2) fails with EFBIG, and the
 * thread gets a SIGXFSZ besides, which would end the program. That one is taken
 * back; one that was pending before stays. @return as write(2) */
static ssize_t writer_write_silently(int fd, const uint8_t *data, size_t size)
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

/* Looked at each time: the number may be another file's by now, which gets none
 * of it. @return as write(2) */
static ssize_t writer_write_some(const ucs_rcache_trace_writer_t *writer,
                                 const uint8_t *data, size_t size)
{
    if (!ucs_rcache_pred_own_fd_is_ours(&writer->file)) {
        errno = EBADF;
        return -1;
    }

    return writer_write_silently(writer->file.fd, data, size);
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

static void writer_end_chunk(ucs_rcache_trace_writer_t *writer)
{
    uint8_t *chunk   = writer->buffer + WRITE_CHUNK;
    uint8_t *records = writer->buffer + WRITE_RECORDS;
    uint32_t crc;

    write_u32(chunk + TRACE_CHUNK_MAGIC, TRACE_CHUNK_TAG);
    write_u32(chunk + TRACE_CHUNK_LENGTH, writer->next - records);
    write_u32(chunk + TRACE_CHUNK_RECORDS, writer->num_records);
    crc = ucs_crc32(0, chunk, TRACE_CHUNK_CRC);
    crc = ucs_crc32(crc, records, writer->next - records);
    write_u32(chunk + TRACE_CHUNK_CRC, crc);
}

ucs_status_t ucs_rcache_trace_writer_flush(ucs_rcache_trace_writer_t *writer)
{
    uint8_t *begin = writer->buffer + (writer->started ? WRITE_CHUNK : 0);
    uint8_t *end   = writer->buffer + WRITE_CHUNK;

    if (writer->num_records > 0) {
        writer_end_chunk(writer);
        end = writer->next;
    }

    /* After a failure the file may end within a chunk; nothing can be read of
     * what would follow */
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

/* Begin a record that is no longer than that. @return where it is put */
static inline uint8_t *writer_begin(ucs_rcache_trace_writer_t *writer,
                                    size_t max_length, uint8_t type)
{
    if (writer->next + max_length > writer->buffer + WRITE_END) {
        ucs_rcache_trace_writer_flush(writer);
    }

    *writer->next = type;
    return writer->next + 1;
}

static inline void writer_end(ucs_rcache_trace_writer_t *writer, uint8_t *end)
{
    writer->next = end;
    ++writer->num_records;
}

static inline unsigned writer_hash(uint64_t value)
{
    return ucs_rcache_pred_hash_bits(value, 8);
}

/* The end of a use is about the region, whatever its memory */
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
    write_u32(p, manner->window);
    write_u32(p + 4, manner->window >> 32);
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

static void writer_put_truncated(ucs_rcache_trace_writer_t *writer)
{
    writer_end(writer, writer_begin(writer, WRITE_MAX_OTHER,
                                    TRACE_RECORD_TRUNCATED));
}

/* What is known of the run first, what it counted last, as it is recorded */
static void writer_put_trace(ucs_rcache_trace_writer_t *writer,
                             const ucs_rcache_trace_t *trace)
{
    size_t i;

    for (i = 0; i < trace->num_meta; ++i) {
        ucs_rcache_trace_put_meta(writer, trace->meta[i].key,
                                  trace->meta[i].value);
    }
    for (i = 0; i < trace->num_domains; ++i) {
        ucs_rcache_trace_put_domain(writer, i, trace->domains[i]);
    }
    for (i = 0; i < trace->num_modules; ++i) {
        ucs_rcache_trace_put_module(writer, &trace->modules[i]);
    }
    for (i = 0; i < trace->num_sites; ++i) {
        ucs_rcache_trace_put_site(writer, &trace->sites[i]);
    }
    for (i = 0; i < trace->num_events; ++i) {
        ucs_rcache_trace_put_event(writer, &trace->events[i]);
    }
    if (trace->lost > 0) {
        ucs_rcache_trace_put_lost(writer, trace->lost);
    }
    for (i = 0; i < trace->num_counters; ++i) {
        ucs_rcache_trace_put_counter(writer, trace->counters[i].name,
                                     trace->counters[i].value);
    }
    if (trace->truncated) {
        writer_put_truncated(writer);
    }
}

ucs_status_t ucs_rcache_trace_write(const ucs_rcache_trace_t *trace, int fd)
{
    ucs_rcache_trace_writer_t *writer;
    ucs_status_t status;
    int error;

    status = ucs_rcache_trace_writer_create(fd, &writer);
    if (status != UCS_OK) {
        return status;
    }

    writer_put_trace(writer, trace);
    status = ucs_rcache_trace_writer_flush(writer);
    error  = errno;
    ucs_rcache_trace_writer_destroy(writer);
    errno  = error;
    return status;
}
