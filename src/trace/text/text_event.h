/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_TEXT_EVENT_H_
#define UCS_RCACHE_TRACE_TEXT_EVENT_H_

#include "token.h"

#include <trace/content/build.h>

BEGIN_C_DECLS

/** @file text_event.h
 *
 * The lines of the text form that are events. Uses token.h, number.h and
 * content/; text.c calls it.
 */

/** A text that is being read, by one thread. */
typedef struct trace_text {
    trace_builder_t *builder; /**< Gets what is read */
    uint64_t        version;  /**< Of the file */
    trace_line_t    line;     /**< The present line */
} trace_text_t;


/**
 * Add the event of this line to the trace that is built.
 *
 * @param [in] type  What the first word of the line, which has been read, says:
 *                   ucs_rcache_pred_event_type_t.
 *
 * @return UCS_ERR_INVALID_PARAM or UCS_ERR_NO_MEMORY, logged.
 */
ucs_status_t trace_text_event(trace_text_t *text, uint8_t type);

END_C_DECLS

#endif
