/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_FORMAT_H_
#define UCS_RCACHE_TRACE_FORMAT_H_

#include <ucs/rcache_pred/api/event.h>
#include <ucs/reuse/sends.h>

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file format.h
 *
 * Both forms of a trace, binary and text, as docs/trace-format.md describes
 * them. A binary file has a head, fields in plain text, and records that zlib
 * has packed. One table has the layout of each record: the writer (writer.h)
 * reads it, and so do the reader, the printer and the parser of text
 * (src/tools/trace). Uses event.h and ucs/reuse/sends.h only.
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
    TRACE_RECORD_SENDS     = 23,
    TRACE_RECORD_LAST
};


/* The contents of records. An event is a ucs_rcache_pred_event_t, and the number of
 * lost events is a uint64_t; the structures below are the contents of other records */

typedef ucs_reuse_sends_t ucs_rcache_trace_sends_t;

/** A property of the run as a whole, such as its "rank", "command" or "policy".
 *  docs/trace-format.md lists the keys. */
typedef struct ucs_rcache_trace_meta {
    char *key;
    char *value;
} ucs_rcache_trace_meta_t;

/** The name of a memory domain. */
typedef struct ucs_rcache_trace_domain {
    uint16_t number;
    char     *name;
} ucs_rcache_trace_domain_t;

/** A counter of the run at its end, by its name in the summary. */
typedef struct ucs_rcache_trace_counter {
    char     *name;
    uint64_t value;
} ucs_rcache_trace_counter_t;


/** A call stack of communications: a place in the program. */
typedef struct ucs_rcache_trace_site {
    uint64_t caller; /**< Caller, as in ucs_rcache_pred_context_t */
    uint64_t stack;  /**< Path of calls, as in ucs_rcache_pred_context_t */
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


/** How the text form writes a value. */
typedef enum {
    TRACE_NUMBER,
    TRACE_SIZE,    /**< A number of bytes */
    TRACE_HEX,
    TRACE_ADDRESS, /**< As TRACE_HEX, but the parser's messages ask for an
                        address */
    TRACE_TIME,    /**< A point in time */
    TRACE_SPAN,    /**< A length of time */
    TRACE_NAME,    /**< One of @a names */
    TRACE_SET,     /**< Bits, by @a names */
    TRACE_STRING,  /**< The field is a pointer (char*) */
    TRACE_FRAMES,  /**< The field is an array of addresses */
    TRACE_BYTES    /**< The field is an array of bytes, two digits each */
} trace_style_t;

/** Where the text form writes a value. */
typedef enum {
    TRACE_PLACED,   /**< The value alone, after the field before */
    TRACE_OPTIONAL, /**< The value alone; left out at the end of a line if it is
                         0 */
    TRACE_NAMED,    /**< NAME=VALUE; left out if it is 0 */
    TRACE_ALWAYS    /**< NAME=VALUE, also if it is 0 */
} trace_form_t;

/** A field of a record. */
typedef struct trace_field {
    const char        *name;
    unsigned          part;    /**< TRACE_HAS_*: the group of the field; 0: each
                                    type has the field */
    trace_form_t      form;
    trace_style_t     style;
    size_t            offset;  /**< Offset in the structure of the record */
    size_t            size;    /**< Size of the field, or of one element of an
                                    array: 1, 2, 4 or 8 bytes */
    const char *const *names;
    unsigned          max;     /**< Number of names, or of elements for which an
                                    array has room */
    size_t            count;   /**< Offset of the number (unsigned) of an
                                    array's elements */
} trace_field_t;

/** A type of record. */
typedef struct trace_type {
    const char          *name;      /**< Name in the text form; NULL: there is no
                                         such type */
    unsigned            has;        /**< TRACE_HAS_xxx */
    unsigned            version;    /**< First version of the text form with such
                                         records; 0: all versions have them */
    const trace_field_t *fields;    /**< In the order in which both forms write
                                         them */
    unsigned            num_fields;
} trace_type_t;

/** All types of records, by TRACE_RECORD_*. */
extern const trace_type_t trace_types[TRACE_RECORD_LAST];

/** Go through the fields of a type. */
#define trace_for_each_field(_field, _type) \
    for ((_field) = (_type)->fields; \
         (_field) < (_type)->fields + (_type)->num_fields; ++(_field)) \
        if (!((_field)->part & ~(_type)->has))

/** @return the type of an event. */
static inline const trace_type_t *
trace_event_type(const ucs_rcache_pred_event_t *event)
{
    return &trace_types[TRACE_RECORD_EVENT + event->type];
}

/** @return the largest value of a field. */
uint64_t trace_field_max(const trace_field_t *field);

/** @return the value of a field that is a number. */
uint64_t trace_field_get(const trace_field_t *field, const void *record);

/** Set a field that is a number. @a value is at most @ref trace_field_max. */
void trace_field_set(const trace_field_t *field, void *record, uint64_t value);

/** @return where a record has the number of elements of an array. */
static inline unsigned *
trace_field_count(const trace_field_t *field, const void *record)
{
    return (unsigned*)UCS_PTR_BYTE_OFFSET(record, field->count);
}

END_C_DECLS

#endif
