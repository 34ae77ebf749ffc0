/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_FIELDS_H_
#define UCS_RCACHE_TRACE_FIELDS_H_

#include <ucs/rcache_pred/api/event.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file fields.h
 *
 * Which fields the events of each type have, as event.h describes them. The
 * readers and writers of both forms go by these tables; fields that an event
 * does not have are not stored. Constant tables and pure functions, for any
 * thread.
 */

enum {
    TRACE_HAS_ID       = 1 << 0, /**< id, domain */
    TRACE_HAS_RANGE    = 1 << 1, /**< address, length */
    TRACE_HAS_RESULT   = 1 << 2, /**< result */
    TRACE_HAS_MANNER   = 1 << 3, /**< kind, flags, context */
    TRACE_HAS_BY       = 1 << 4, /**< by */
    TRACE_HAS_DURATION = 1 << 5, /**< duration */
    TRACE_HAS_DEADLINE = 1 << 6  /**< deadline, period */
};


typedef struct trace_type {
    const char *name;   /**< Name in the text form */
    unsigned   has;     /**< TRACE_HAS_xxx */
    unsigned   version; /**< The first version that has it; 0: all have */
} trace_type_t;

/** The type of each event, by its @ref ucs_rcache_pred_event_type_t. */
extern const trace_type_t trace_types[UCS_RCACHE_PRED_EVENT_LAST];


/** How the text form writes a value. */
typedef enum {
    TRACE_NUMBER,
    TRACE_HEX,
    TRACE_TIME, /**< A point in time */
    TRACE_SPAN, /**< A length of time */
    TRACE_NAME, /**< One of @a names */
    TRACE_SET   /**< Bits, by @a names */
} trace_style_t;


/** A field that the text form names: all but time, address and length. */
typedef struct trace_field {
    const char        *name;
    unsigned          part;      /**< TRACE_HAS_xxx */
    trace_style_t     style;
    size_t            offset;    /**< Offset in ucs_rcache_pred_event_t */
    size_t            size;      /**< 1, 2, 4 or 8 bytes */
    const char *const *names;
    unsigned          num_names;
} trace_field_t;

#define TRACE_NUM_FIELDS 12

/** All named fields, in the order in which they are printed. */
extern const trace_field_t trace_fields[TRACE_NUM_FIELDS];

/** @return the largest value that a field can have. */
uint64_t trace_field_max(const trace_field_t *field);

/** @return the value of a field of this event. */
uint64_t trace_field_get(const trace_field_t *field,
                         const ucs_rcache_pred_event_t *event);

/** Set a field of this event. @a value is at most @ref trace_field_max. */
void trace_field_set(const trace_field_t *field, ucs_rcache_pred_event_t *event,
                     uint64_t value);

END_C_DECLS

#endif
