/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_READ_H_
#define UCS_RCACHE_TRACE_READ_H_

#include "format.h"

#include <trace/content/build.h>

BEGIN_C_DECLS

/** @file read.h
 *
 * The reader of the binary form: read.c unpacks the records, read_record.c
 * takes each apart. Uses content/ and zlib; trace/load.c calls it.
 *
 * Threads: the functions share no state. Any thread may call them.
 */

/** @return whether a file that begins with these bytes has the binary form, of
 *          any version. */
int trace_is_binary(const void *data, size_t size);

/**
 * Add all records of a file, @a size bytes that begin as
 * @ref trace_is_binary says, to the trace that is built. If the file ends too
 * early, what is before its end is added, and the trace is marked truncated.
 *
 * @param [in] max_size  The records may have so many bytes after unpacking. A
 *                       small file that unpacks to a thousand times its size
 *                       must not take all memory.
 *
 * @return UCS_ERR_UNSUPPORTED if it is of another version,
 *         UCS_ERR_INVALID_PARAM if it is damaged, UCS_ERR_EXCEEDS_LIMIT if it
 *         has more than @a max_size, or UCS_ERR_NO_MEMORY. Logged.
 */
ucs_status_t trace_read(trace_builder_t *builder, const void *data, size_t size,
                        uint64_t max_size);

/** Add one record, whose content of @a head->length bytes is @a bytes. A
 *  record of an unknown type is left out.
 *  @param [in] place  Offset of the record among all of them, for messages.
 *  @return as @ref trace_read. */
ucs_status_t trace_read_record(trace_builder_t *builder,
                               const trace_record_t *head,
                               const uint8_t *bytes, size_t place);

END_C_DECLS

#endif
