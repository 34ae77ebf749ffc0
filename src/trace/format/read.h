/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_READ_H_
#define UCS_RCACHE_TRACE_READ_H_

#include <trace/content/build.h>

BEGIN_C_DECLS

/** @file read.h
 *
 * The reader of the binary form. Uses content/; trace/load.c calls it.
 *
 * Threads: the functions share no state. Any thread may call them.
 */

/** @return whether a file that begins with these bytes has the binary form, of
 *          any version. */
int trace_is_binary(const void *data, size_t size);

/**
 * Add all records of a file, @a size bytes that begin as
 * @ref trace_is_binary says, to the trace that is built. If the file ends
 * within a chunk, records before its end are added, and the trace is marked
 * truncated.
 *
 * @return UCS_ERR_UNSUPPORTED if its version is newer, UCS_ERR_INVALID_PARAM if
 *         it is damaged, or UCS_ERR_NO_MEMORY. Logged.
 */
ucs_status_t trace_read(trace_builder_t *builder, const void *data,
                        size_t size);

END_C_DECLS

#endif
