/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_ERROR_H_
#define UCS_RCACHE_TRACE_ERROR_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file error.h
 *
 * What is logged of a file that is no good trace. Uses UCS only; the readers of
 * both forms and the builder call it.
 *
 * Threads: the functions share no state. Any thread may call them.
 */

/** The file that is being read, as messages call it. */
typedef struct trace_source {
    const char *name; /**< Name of the file */
    const char *unit; /**< What a place in it counts: "line" or "offset" */
} trace_source_t;


/** Log what is wrong at a place of the file.
 *  @return UCS_ERR_INVALID_PARAM, for the caller to return. */
ucs_status_t trace_error(const trace_source_t *source, size_t place,
                         const char *format, ...) UCS_F_PRINTF(3, 4);

/** Check that this reader knows the version of the file.
 *  @return UCS_OK, or UCS_ERR_UNSUPPORTED, logged. */
ucs_status_t trace_check_version(const trace_source_t *source,
                                 uint64_t version);

END_C_DECLS

#endif
