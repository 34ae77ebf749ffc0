/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "buffer.h"

#include <trace/content/fields.h>

#include <errno.h>
#include <string.h>


/* Put a number of 1, 2, 4 or 8 bytes. @return where it ends */
static inline uint8_t *write_number(uint8_t *p, uint64_t value, size_t size)
{
    memcpy(p, &value, size);
    return p + size;
}

static uint8_t *write_string(uint8_t *p, const char *string)
{
    size_t length = strnlen(string, UCS_RCACHE_TRACE_MAX_STRING);

    p = write_number(p, length, 2);
    memcpy(p, string, length);
    return p + length;
}

void ucs_rcache_trace_put_event(ucs_rcache_trace_writer_t *writer,
                                const ucs_rcache_pred_event_t *event)
{
    unsigned has = trace_types[event->type].has;
    const trace_field_t *field;
    uint8_t *p;

    p = trace_buffer_begin(writer, TRACE_RECORD_EVENT + event->type);
    p = write_number(p, event->time, 8);
    if (has & TRACE_HAS_RANGE) {
        p = write_number(p, event->address, 8);
        p = write_number(p, event->length, 8);
    }
    for (field = trace_fields; field < trace_fields + TRACE_NUM_FIELDS;
         ++field) {
        if (field->part & has) {
            p = write_number(p, trace_field_get(field, event), field->size);
        }
    }
    trace_buffer_end(writer, p);
}

void ucs_rcache_trace_put_lost(ucs_rcache_trace_writer_t *writer,
                               uint64_t count)
{
    uint8_t *p = trace_buffer_begin(writer, TRACE_RECORD_LOST);

    trace_buffer_end(writer, write_number(p, count, 8));
}

void ucs_rcache_trace_put_meta(ucs_rcache_trace_writer_t *writer,
                               const char *key, const char *value)
{
    uint8_t *p;

    if (!trace_buffer_put_field(writer, key, value)) {
        p = trace_buffer_begin(writer, TRACE_RECORD_META);
        p = write_string(p, key);
        trace_buffer_end(writer, write_string(p, value));
    }
}

void ucs_rcache_trace_put_domain(ucs_rcache_trace_writer_t *writer,
                                 unsigned number, const char *name)
{
    uint8_t *p = trace_buffer_begin(writer, TRACE_RECORD_DOMAIN);

    p = write_number(p, number, 2);
    trace_buffer_end(writer, write_string(p, name));
}

void ucs_rcache_trace_put_site(ucs_rcache_trace_writer_t *writer,
                               const ucs_rcache_trace_site_t *site)
{
    uint8_t *p = trace_buffer_begin(writer, TRACE_RECORD_SITE);
    unsigned i;

    p = write_number(p, site->caller, 8);
    p = write_number(p, site->stack, 8);
    p = write_number(p, site->num_frames, 1);
    for (i = 0; i < site->num_frames; ++i) {
        p = write_number(p, site->frames[i], 8);
    }
    trace_buffer_end(writer, p);
}

void ucs_rcache_trace_put_module(ucs_rcache_trace_writer_t *writer,
                                 const ucs_rcache_trace_module_t *module)
{
    uint8_t *p = trace_buffer_begin(writer, TRACE_RECORD_MODULE);

    p = write_number(p, module->start, 8);
    p = write_number(p, module->end, 8);
    p = write_number(p, module->bias, 8);
    p = write_string(p, module->path);
    p = write_number(p, module->build_id_length, 1);
    memcpy(p, module->build_id, module->build_id_length);
    trace_buffer_end(writer, p + module->build_id_length);
}

void ucs_rcache_trace_put_counter(ucs_rcache_trace_writer_t *writer,
                                  const char *name, uint64_t value)
{
    uint8_t *p = trace_buffer_begin(writer, TRACE_RECORD_COUNTER);

    p = write_string(p, name);
    trace_buffer_end(writer, write_number(p, value, 8));
}

void ucs_rcache_trace_put_sends(ucs_rcache_trace_writer_t *writer,
                                const ucs_reuse_sends_t *sends)
{
    uint8_t *p = trace_buffer_begin(writer, TRACE_RECORD_SENDS);

    p = write_number(p, sends->address, 8);
    p = write_number(p, sends->length, 8);
    p = write_number(p, sends->count, 8);
    trace_buffer_end(writer, write_number(p, sends->copied, 8));
}

void ucs_rcache_trace_put_truncated(ucs_rcache_trace_writer_t *writer)
{
    trace_buffer_end(writer,
                     trace_buffer_begin(writer, TRACE_RECORD_TRUNCATED));
}


/* The records come in the order of a recorder: first what is known of the run,
 * then events, and small sends and counters last. */
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
    for (i = 0; i < trace->num_sends; ++i) {
        ucs_rcache_trace_put_sends(writer, &trace->sends[i]);
    }
    for (i = 0; i < trace->num_counters; ++i) {
        ucs_rcache_trace_put_counter(writer, trace->counters[i].name,
                                     trace->counters[i].value);
    }
    if (trace->truncated) {
        ucs_rcache_trace_put_truncated(writer);
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
    status = ucs_rcache_trace_writer_finish(writer);
    error  = errno;
    ucs_rcache_trace_writer_destroy(writer);
    errno  = error;
    return status;
}
