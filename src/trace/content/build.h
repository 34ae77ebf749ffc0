/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_BUILD_H_
#define UCS_RCACHE_TRACE_BUILD_H_

#include "content.h"
#include "error.h"

BEGIN_C_DECLS

/** @file build.h
 *
 * A trace in memory while its file is read. The readers of both forms add the
 * records as they find them; then events are sorted, match.h completes them,
 * and the trace is taken. Uses content.h and error.h.
 *
 * Threads: one at a time for each builder. All functions that fail have logged
 * why, and return UCS_ERR_INVALID_PARAM or UCS_ERR_NO_MEMORY.
 */

/** What match.h has to find out about an event, since its record did not say
 *  it. Only the text form has such records. */
enum {
    TRACE_NO_ID   = 1 << 0, /**< The event has no id yet */
    TRACE_AT_ADDR = 1 << 1  /**< USE_END: its address, which an end does not
                                 have otherwise, says which region it is of */
};


/** Where an event came from. */
typedef struct trace_origin {
    uint64_t time;
    size_t   index; /**< Number of the event in the order of the file */
    size_t   place; /**< Line (text) or offset (binary) of its record */
    unsigned open;  /**< TRACE_NO_ID, TRACE_AT_ADDR */
} trace_origin_t;


typedef struct trace_builder {
    ucs_rcache_trace_t *trace;
    trace_origin_t     *origins; /**< One for each of trace->events */
    trace_source_t     source;
    size_t             num_open; /**< How many origins have open bits */
} trace_builder_t;


/** Bytes of the file, which are not terminated by a zero. */
typedef struct trace_string {
    const char *data;
    size_t     length;
} trace_string_t;


/** Begin with an empty trace. The strings of @a source must live as long as the
 *  builder. @return UCS_ERR_NO_MEMORY. */
ucs_status_t trace_builder_init(trace_builder_t *builder,
                                const trace_source_t *source);

/** Free the builder, and the trace unless it was taken. */
void trace_builder_cleanup(trace_builder_t *builder);

/** Sort the events, with their origins, by time; those of the same time stay in
 *  the order of the file. */
void trace_builder_sort(trace_builder_t *builder);

/** @return the trace, which is the caller's from now on. Nothing can be added
 *          to it any more. */
ucs_rcache_trace_t *trace_builder_take(trace_builder_t *builder);


/*
 * Add a record. What it points to is copied.
 */

/** @param [in] place  Line or offset of the record.
 *  @param [in] open   TRACE_NO_ID, TRACE_AT_ADDR. */
ucs_status_t trace_build_event(trace_builder_t *builder,
                               const ucs_rcache_pred_event_t *event,
                               size_t place, unsigned open);
ucs_status_t trace_build_meta(trace_builder_t *builder,
                              const trace_string_t *key,
                              const trace_string_t *value);

/** A domain that has a name already gets the new one. */
ucs_status_t trace_build_domain(trace_builder_t *builder, uint64_t number,
                                const trace_string_t *name, size_t place);
ucs_status_t trace_build_site(trace_builder_t *builder,
                              const ucs_rcache_trace_site_t *site);

/** The path comes apart from the @a module, whose own path is ignored. */
ucs_status_t trace_build_module(trace_builder_t *builder,
                                const ucs_rcache_trace_module_t *module,
                                const trace_string_t *path);
ucs_status_t trace_build_counter(trace_builder_t *builder,
                                 const trace_string_t *name, uint64_t value);

/** Add how often a small buffer was sent. */
ucs_status_t trace_build_sends(trace_builder_t *builder,
                               const ucs_reuse_sends_t *sends, size_t place);

/** Add to the number of lost events. The sum stays at the largest number once
 *  it has reached that. */
void trace_build_lost(trace_builder_t *builder, uint64_t count);

END_C_DECLS

#endif
