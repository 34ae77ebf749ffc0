/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_READ_RECORD_H_
#define UCS_RCACHE_TRACE_READ_RECORD_H_

#include "reader.h"

BEGIN_C_DECLS

/** @file read_record.h
 *
 * A record of the binary form: read, and added to the trace that is built.
 * Uses reader.h and content/; read.c calls it for each record of a chunk.
 */

/**
 * Read the next record. It is added to the trace only if it is whole and good;
 * otherwise the reader says what is wrong with it (is_short, problem).
 *
 * @return an error of the builder, logged; UCS_OK also for a record that is not
 *         good.
 */
ucs_status_t trace_read_record(trace_reader_t *reader);

END_C_DECLS

#endif
