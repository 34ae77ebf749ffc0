/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_BUILD_H_
#define UCS_RCACHE_TRACE_BUILD_H_

#include "trace.h"

BEGIN_C_DECLS

/** @file build.h
 *
 * A trace in memory while it is read: the readers of both forms add records as
 * they find them, and what is asked of all of them together is done at the end.
 * All functions that fail have logged why.
 */

/** Longest string in a trace, bytes. */
#define TRACE_MAX_STRING 16383

/** What a text starts with; its version follows. */
#define TRACE_HEADER "ucx_predreg trace "


/** What is to be found out about an event when all are known (text form). */
enum {
    TRACE_NO_ID   = 1 << 0, /**< Its id */
    TRACE_AT_ADDR = 1 << 1  /**< USE_END: @a address, which is not one of its
                                 fields, says of which region */
};


/** Where an event came from. */
typedef struct trace_origin {
    uint64_t time;
    size_t   index; /**< Before events were sorted */
    size_t   place; /**< Line (text) or offset (binary) */
    unsigned open;  /**< TRACE_NO_ID, TRACE_AT_ADDR */
} trace_origin_t;


typedef struct trace_builder {
    ucs_rcache_trace_t *trace;
    trace_origin_t     *origins; /**< Of trace->events */
    const char         *name;    /**< Of the file, for messages */
    const char         *place;   /**< What a place is: "line" */
    size_t             num_open; /**< Events with something to be found out */
} trace_builder_t;


/** Bytes of a file: not terminated. */
typedef struct trace_string {
    const char *data;
    size_t     length;
} trace_string_t;


ucs_status_t trace_builder_init(trace_builder_t *builder, const char *name,
                                const char *place);

/** The trace as well, if there is one. */
void trace_builder_cleanup(trace_builder_t *builder);

/** Log what is wrong at a place. @return UCS_ERR_INVALID_PARAM. */
ucs_status_t trace_builder_error(const trace_builder_t *builder, size_t place,
                                 const char *format, ...)
        UCS_F_PRINTF(3, 4);

/** @return UCS_ERR_UNSUPPORTED if it is none that this reader knows. */
ucs_status_t trace_check_version(const trace_builder_t *builder,
                                 uint64_t version);


ucs_status_t trace_build_event(trace_builder_t *builder,
                               const ucs_rcache_pred_event_t *event,
                               size_t place, unsigned open);
ucs_status_t trace_build_meta(trace_builder_t *builder,
                              const trace_string_t *key,
                              const trace_string_t *value);
ucs_status_t trace_build_domain(trace_builder_t *builder, uint64_t number,
                                const trace_string_t *name, size_t place);
ucs_status_t trace_build_site(trace_builder_t *builder,
                              const ucs_rcache_trace_site_t *site);

/** @a module without its path. */
ucs_status_t trace_build_module(trace_builder_t *builder,
                                const ucs_rcache_trace_module_t *module,
                                const trace_string_t *path);
ucs_status_t trace_build_counter(trace_builder_t *builder,
                                 const trace_string_t *name, uint64_t value);
void trace_build_lost(trace_builder_t *builder, uint64_t count);

/** Sort events, find their regions, and check that each end has a begin.
 *  The trace is no longer the builder's. */
ucs_status_t trace_build(trace_builder_t *builder,
                         ucs_rcache_trace_t **trace_p);

/** @ref match.c : the part of it that is about regions and ends. Events are
 *  sorted, origins are theirs. */
ucs_status_t trace_match(trace_builder_t *builder);


/** @ref read.c , @ref text.c : add the records of a file. */
ucs_status_t trace_read(trace_builder_t *builder, const void *data,
                        size_t size);
ucs_status_t trace_read_text(trace_builder_t *builder, const void *data,
                             size_t size);

END_C_DECLS

#endif
