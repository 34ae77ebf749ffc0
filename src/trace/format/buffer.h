/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_BUFFER_H_
#define UCS_RCACHE_TRACE_BUFFER_H_

#include "format.h"
#include "writer.h"

/** @file buffer.h
 *
 * A writer of the binary form, as write.c sees it, which puts records into the
 * buffer that buffer.c packs and writes to the file.
 */

/** @return where to put the content of a record, up to 65535 bytes. The buffer
 *          is emptied if it has no room for that many. */
uint8_t *trace_buffer_begin(ucs_rcache_trace_writer_t *writer, unsigned type);

/** The content of the record that was begun ends at @a end. */
void trace_buffer_end(ucs_rcache_trace_writer_t *writer, uint8_t *end);

/** Put a field into the plain part of the file.
 *  @return 0 if there is no room, or if a record was put before. */
int trace_buffer_put_field(ucs_rcache_trace_writer_t *writer, const char *name,
                           const char *value);

#endif
