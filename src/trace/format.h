/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_FORMAT_H_
#define UCS_RCACHE_TRACE_FORMAT_H_

#include <ucs/rcache_pred/api/event.h>

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file format.h
 *
 * The binary form of a trace, as docs/trace-format.md describes it: what its
 * writer (writer.h) and its reader (src/tools/trace) have in common. A file has
 * a head, fields in plain text, and records that zlib has packed. The text form
 * names the fields of events by the same tables. Uses event.h only.
 *
 * Threads: constants and pure functions, for any thread.
 */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#  error "numbers of a trace are little-endian, and are copied as they are"
#endif

#define TRACE_MAGIC          "\x89predreg"
#define TRACE_MAGIC_SIZE     8
#define TRACE_FORMAT_VERSION 4

/** A call site has at most this many frames; outer ones are left out. */
#define UCS_RCACHE_TRACE_MAX_FRAMES 24

/** Longest build ID of a module, bytes. */
#define UCS_RCACHE_TRACE_MAX_BUILD_ID 32

/** Longest string in a trace, bytes without the terminating zero. */
#define UCS_RCACHE_TRACE_MAX_STRING 16383


/** The head of a file. */
typedef struct trace_head {
    char     magic[TRACE_MAGIC_SIZE]; /**< @ref TRACE_MAGIC */
    uint32_t version;                 /**< @ref TRACE_FORMAT_VERSION */
    uint32_t size;                    /**< Size of the fields after the head,
                                           bytes */
    uint32_t crc;                     /**< CRC-32 of the head up to here and of
                                           the fields */
} trace_head_t;

/** The head of a record. */
typedef struct trace_record {
    uint16_t type;   /**< TRACE_RECORD_* */
    uint16_t length; /**< Length of the content after the head, bytes */
} trace_record_t;

/** Types of records. The type of an event is its ucs_rcache_pred_event_type_t
 *  plus 1. A reader skips records of other types. */
enum {
    TRACE_RECORD_EVENT     = 1,
    TRACE_RECORD_META      = 16,
    TRACE_RECORD_DOMAIN    = 17,
    TRACE_RECORD_SITE      = 18,
    TRACE_RECORD_MODULE    = 19,
    TRACE_RECORD_COUNTER   = 20,
    TRACE_RECORD_LOST      = 21,
    TRACE_RECORD_TRUNCATED = 22,
    TRACE_RECORD_SENDS     = 23
};


/** A call stack of communications: a place in the program. */
typedef struct ucs_rcache_trace_site {
    uint64_t caller; /**< Caller, as in contexts of uses */
    uint64_t stack;  /**< Path of calls as there */
    unsigned num_frames;
    uint64_t frames[UCS_RCACHE_TRACE_MAX_FRAMES]; /**< Return addresses,
                                                       innermost first */
} ucs_rcache_trace_site_t;

/** The program, or a mapped library: the file with the symbol of an address. */
typedef struct ucs_rcache_trace_module {
    uint64_t start;  /**< First address of the code */
    uint64_t end;    /**< Address after the last one of the code */
    uint64_t bias;   /**< Address in memory less address in the file */
    char     *path;
    unsigned build_id_length; /**< 0: the module has no build ID */
    uint8_t  build_id[UCS_RCACHE_TRACE_MAX_BUILD_ID];
} ucs_rcache_trace_module_t;


/** Groups of fields. An event stores the groups of its type only. */
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
    unsigned   version; /**< First version of the text form with such events;
                             0: all have them */
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

/** A field that the text form names: any but time, address and length. */
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

/** All named fields, in the order of both forms. */
extern const trace_field_t trace_fields[TRACE_NUM_FIELDS];

/** @return the largest value of a field. */
uint64_t trace_field_max(const trace_field_t *field);

/** @return the value of a field of an event. */
uint64_t trace_field_get(const trace_field_t *field,
                         const ucs_rcache_pred_event_t *event);

/** Set a field of this event. @a value is at most @ref trace_field_max. */
void trace_field_set(const trace_field_t *field, ucs_rcache_pred_event_t *event,
                     uint64_t value);

END_C_DECLS

#endif
