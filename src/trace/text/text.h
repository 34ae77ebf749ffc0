/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_TEXT_H_
#define UCS_RCACHE_TRACE_TEXT_H_

#include <trace/content/build.h>

BEGIN_C_DECLS

/** @file text.h
 *
 * The reader of the text form. Uses content/; trace/load.c calls it.
 *
 * Threads: the functions share no state. Any thread may call them.
 */

/** The first word of a text. */
#define TRACE_TEXT_NAME   "ucx_predreg"

/** A text starts with this, and its version after it. */
#define TRACE_TEXT_HEADER TRACE_TEXT_NAME " trace "


/** @return whether a file that begins with these bytes has the text form as
 *          print.h writes it, of any version. A text that people write may also
 *          begin with empty lines and comments. */
int trace_is_text(const void *data, size_t size);

/** @return whether a file that begins with these bytes, but is longer, may have
 *          the text form: what comes first besides empty lines and comments is
 *          the header, as far as it is there. */
int trace_may_be_text(const void *data, size_t size);

/**
 * Add all records of a file, @a size bytes, to the trace that is built.
 *
 * @return UCS_ERR_UNSUPPORTED if the file is no trace or of a newer version,
 *         UCS_ERR_INVALID_PARAM if a line is wrong, or UCS_ERR_NO_MEMORY.
 *         Logged.
 */
ucs_status_t trace_read_text(trace_builder_t *builder, const void *data,
                             size_t size);

END_C_DECLS

#endif
