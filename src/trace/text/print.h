/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_PRINT_H_
#define UCS_RCACHE_TRACE_PRINT_H_

#include <trace/content/content.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file print.h
 *
 * The writer of the text form. Uses content/; the tools and the tests call it.
 */

/** Print a whole trace. Its text can be read again, as the same trace.
 *  @return UCS_ERR_IO_ERROR if the stream has failed. */
ucs_status_t ucs_rcache_trace_print(const ucs_rcache_trace_t *trace,
                                    FILE *stream);

END_C_DECLS

#endif
