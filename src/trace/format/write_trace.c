/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "writer.h"

#include <errno.h>


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
    status = ucs_rcache_trace_writer_flush(writer);
    error  = errno;
    ucs_rcache_trace_writer_destroy(writer);
    errno  = error;
    return status;
}
