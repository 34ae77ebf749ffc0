/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_TEXT_H_
#define UCS_RCACHE_TRACE_TEXT_H_

#include "token.h"

#include <trace/format/build.h>

BEGIN_C_DECLS

/** A text being read. */
typedef struct trace_text {
    trace_builder_t *builder;
    trace_line_t    line;
} trace_text_t;


/** Add the event whose line this is; the word that says its type is read.
 *  @return UCS_ERR_INVALID_PARAM or UCS_ERR_NO_MEMORY, logged. */
ucs_status_t trace_text_event(trace_text_t *text, uint8_t type);

END_C_DECLS

#endif
