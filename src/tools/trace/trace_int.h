/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRACE_INT_H_
#define PREDREG_TRACE_INT_H_

#include "trace.h"

BEGIN_C_DECLS

/** @file trace_int.h
 *
 * A trace in memory while its file is read. The readers of both forms, read.c and text.c,
 * add the records in the order of the file (build.c). Then the events are sorted and
 * completed (match.c), and trace.c takes the trace out of the builder. Uses trace.h; the
 * files of this folder call it.
 *
 * Threads: a builder belongs to one thread at a time. A function that fails has logged
 * the reason, and returns UCS_ERR_INVALID_PARAM. If memory runs out, the program ends.
 */

/** The file, for messages. */
typedef struct trace_source {
    const char *name; /**< Name of the file */
    const char *unit; /**< Unit of places: "line" or "offset" */
} trace_source_t;


/** Log what is wrong at a place of the file.
 *  @return UCS_ERR_INVALID_PARAM, for the caller to return. */
ucs_status_t trace_error(const trace_source_t *source, size_t place,
                         const char *format, ...) UCS_F_PRINTF(3, 4);

/** What trace_match() has to find out about an event, since its record did not say
 *  it. Only the text form has such records. */
enum {
    TRACE_NO_ID   = 1 << 0, /**< The event has no id yet */
    TRACE_AT_ADDR = 1 << 1  /**< USE_END: the address names the region. Other
                                 ends have no address */
};


/** Origin of an event in the file. */
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
    size_t             num_open; /**< Number of origins whose field open is not 0 */
} trace_builder_t;


/** A record of any type. */
typedef union trace_any {
    ucs_rcache_pred_event_t    event;
    ucs_rcache_trace_meta_t    meta;
    ucs_rcache_trace_domain_t  domain;
    ucs_rcache_trace_site_t    site;
    ucs_rcache_trace_module_t  module;
    ucs_rcache_trace_counter_t counter;
    uint64_t                   lost;
    ucs_reuse_sends_t          sends;
} trace_any_t;


/** Begin with an empty trace. The strings of @a source must live as long as the
 *  builder. */
void trace_builder_init(trace_builder_t *builder, const trace_source_t *source);

/** Free the builder, and its trace, unless the caller has taken the trace and left a NULL
 *  in its place. */
void trace_builder_cleanup(trace_builder_t *builder);

/** Sort the events, with their origins, by time. Events of the same time stay in the order
 *  of the file. */
void trace_builder_sort(trace_builder_t *builder);


/**
 * Add a record. Its strings are the builder's from now on, also after an error. A known
 * domain gets the new name, and numbers of lost events add up.
 *
 * @param [in] type   TRACE_RECORD_*.
 * @param [in] place  Line or offset of the record.
 * @param [in] open   For an event, the bits TRACE_NO_ID and TRACE_AT_ADDR; for another
 *                    record, 0.
 */
ucs_status_t trace_build(trace_builder_t *builder, unsigned type,
                         const trace_any_t *record, size_t place,
                         unsigned open);

/** Free the strings of a record that is not added. */
void trace_free_strings(unsigned type, const void *record);

/** Call @a put for each record of a trace, in the order of the recorder: first
 *  the properties of the run, then events, and small sends and counters last. */
void trace_for_each(const ucs_rcache_trace_t *trace,
                    void (*put)(void *arg, unsigned type, const void *record),
                    void *arg);

/**
 * Give each event whose record has no id the id of its region, by the memory of the
 * event, and check that each end of a use has a begin. If events were lost, begins may
 * be missing.
 *
 * @param [inout] builder  Its events have been sorted.
 *
 * @return UCS_ERR_INVALID_PARAM if an end has no begin or no id is left.
 *         Logged.
 */
ucs_status_t trace_match(trace_builder_t *builder);

/** @return whether a file with this begin has the binary form, of any
 *  version. */
int trace_is_binary(const void *data, size_t size);

/**
 * Add all records of a file in the binary form, @a size bytes, to the trace that is
 * built. If the file ends too early, the records before its end are added, and the trace
 * is marked truncated.
 *
 * @param [in] max_size  The most bytes of the records after unpacking: a small file that
 *                       unpacks to a thousand times its size must not take all memory.
 *
 * @return UCS_ERR_UNSUPPORTED if the file is of another version, UCS_ERR_INVALID_PARAM if
 *         it is damaged, or UCS_ERR_EXCEEDS_LIMIT if its records have more than @a
 *         max_size bytes. Logged.
 */
ucs_status_t trace_read(trace_builder_t *builder, const void *data, size_t size,
                        uint64_t max_size);

/** The first word of a text. */
#define TRACE_TEXT_NAME   "ucx_predreg"

/** A text starts with this, and the version. */
#define TRACE_TEXT_HEADER TRACE_TEXT_NAME " trace "


/** @return whether a file with this begin has the text form of print.c, of
 *  any version. A text by people may also begin with empty lines and
 *  comments. */
int trace_is_text(const void *data, size_t size);

/** @return whether a longer file with this begin may have the text form:
 *  after empty lines and comments comes the header, or the begin of the
 *  header. */
int trace_may_be_text(const void *data, size_t size);

/**
 * Add all records of a file in the text form, @a size bytes, to the trace that is built.
 *
 * @return UCS_ERR_UNSUPPORTED if the file is no trace or of a newer version, or
 *         UCS_ERR_INVALID_PARAM if a line is wrong. Logged.
 */
ucs_status_t trace_read_text(trace_builder_t *builder, const void *data,
                             size_t size);

END_C_DECLS

#endif
