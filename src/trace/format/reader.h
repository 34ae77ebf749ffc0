/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_READER_H_
#define UCS_RCACHE_TRACE_READER_H_

#include "format.h"

#include <trace/content/build.h>

BEGIN_C_DECLS

/** @file reader.h
 *
 * The numbers and strings that records of the binary form consist of. Uses
 * format.h and the builder of content/; read_record.c and read.c call it.
 *
 * A function that finds something else than it should, or the end of the chunk,
 * notes that in the reader and returns 0 or what is empty; from then on all
 * return that. So a record can be read to its end before its reader asks once
 * whether all of it was good.
 *
 * Threads: a reader belongs to one thread.
 */

/** A file in memory that is being read. */
typedef struct trace_reader {
    trace_builder_t *builder;
    uint32_t        version;  /**< Of the file */
    const uint8_t   *begin;   /**< Beginning of the file */
    const uint8_t   *next;    /**< The byte that is read next */
    const uint8_t   *end;     /**< End of the chunk, or of the file if that
                                   within the chunk */
    const uint8_t   *eof;     /**< End of the file */
    const uint8_t   *record;  /**< Start of the present record */
    int             is_short; /**< The record goes beyond the end */
    const char      *problem; /**< What is wrong with the record, or NULL */
    trace_known_t   known;    /**< What the records of this chunk have described
                                   so far */
} trace_reader_t;


/** @return where in the file this is, bytes. */
static inline size_t trace_reader_offset(const trace_reader_t *reader,
                                         const uint8_t *p)
{
    return p - reader->begin;
}

/** @return whether all of the record was good so far. */
int trace_reader_is_good(const trace_reader_t *reader);

/** Note what is wrong with the record, unless something was wrong before.
 *  @return 0. */
uint64_t trace_reader_bad(trace_reader_t *reader, const char *problem);

/** @return the next bytes, or NULL if there are not that many. */
const uint8_t *trace_reader_bytes(trace_reader_t *reader, size_t count);

/** @return the next byte. */
uint8_t trace_reader_byte(trace_reader_t *reader);

/** A number of variable length, see docs/trace-format.md. */
uint64_t trace_reader_number(trace_reader_t *reader);

/** Read a number as @ref trace_reader_number does. A number above @a max is
 *  noted as the @a problem. */
uint64_t trace_reader_number_upto(trace_reader_t *reader, uint64_t max,
                                  const char *problem);

/** A number of 8 bytes. */
uint64_t trace_reader_fixed64(trace_reader_t *reader);

/** @return the next string, which is not copied. */
trace_string_t trace_reader_string(trace_reader_t *reader);

END_C_DECLS

#endif
