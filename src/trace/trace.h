/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_H_
#define UCS_RCACHE_TRACE_H_

#include <trace/content/content.h>
#include <trace/format/writer.h>
#include <trace/text/print.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file trace.h
 *
 * Traces, for those who use them: what a trace says (content.h), how it is
 * written in the binary form (writer.h), how it is printed in the text form
 * (print.h), and here, how a file of either form is loaded. Uses all folders of
 * src/trace but record/; the tools and the tests call it.
 *
 * Threads: the functions share no state. Any thread may call them.
 */

/**
 * Load a file, in either form.
 *
 * @param [in]  path     The file. It may be one without a size, such as a pipe.
 * @param [out] trace_p  The trace, for @ref ucs_rcache_trace_free.
 *
 * What turns out to be no trace is not read to its end, and a file without a
 * size up to 4 GiB only.
 *
 * @return UCS_ERR_NO_ELEM if there is no such file, UCS_ERR_UNSUPPORTED if it
 *         is no trace or of a newer version, UCS_ERR_INVALID_PARAM if it is
 *         damaged, UCS_ERR_EXCEEDS_LIMIT if it is too long, UCS_ERR_IO_ERROR or
 *         UCS_ERR_NO_MEMORY. The error is logged and names the file, the offset
 *         (binary) or line (text), and what was expected there. A file that
 *         only ends too early is loaded up to there, with a warning.
 */
ucs_status_t ucs_rcache_trace_load(const char *path,
                                   ucs_rcache_trace_t **trace_p);

/** Load what is left of a file that is open, at most so many bytes (less than
 *  SIZE_MAX), as @ref ucs_rcache_trace_load does. @a name stands for it in
 *  messages. */
ucs_status_t ucs_rcache_trace_load_fd(int fd, const char *name, size_t max_size,
                                      ucs_rcache_trace_t **trace_p);

/** Load a trace that is in memory already, as @ref ucs_rcache_trace_load does.
 *  @a name stands for the file in messages. */
ucs_status_t ucs_rcache_trace_parse(const char *name, const void *data,
                                    size_t size, ucs_rcache_trace_t **trace_p);

/** Whether a file that begins with these bytes is meant to be a trace, of any
 *  version: it begins as @ref ucs_rcache_trace_write or
 *  @ref ucs_rcache_trace_print would begin it. */
int ucs_rcache_trace_is_trace(const void *data, size_t size);

END_C_DECLS

#endif
