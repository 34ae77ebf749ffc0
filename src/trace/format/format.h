/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_FORMAT_H_
#define UCS_RCACHE_TRACE_FORMAT_H_

#include <stdint.h>

/** @file format.h
 *
 * The binary form, as docs/trace-format.md describes it: what its writer and
 * its reader have in common. A file has a head, fields in plain text, and
 * records that zlib has packed. Uses the C library only.
 */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#  error "numbers of a trace are little-endian, and are copied as they are"
#endif

#define TRACE_MAGIC          "\x89predreg"
#define TRACE_MAGIC_SIZE     8
#define TRACE_FORMAT_VERSION 4

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
    uint16_t length; /**< Length of what follows, bytes */
} trace_record_t;


/** What a record is. The type of an event is its ucs_rcache_pred_event_type_t
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

#endif
