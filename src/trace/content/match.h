/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_MATCH_H_
#define UCS_RCACHE_TRACE_MATCH_H_

#include "build.h"

BEGIN_C_DECLS

/** @file match.h
 *
 * Which events of a trace are about the same region. Uses build.h; called when
 * all records of a file have been read.
 */

/**
 * Give each event the id of its region where its record did not say it, by the
 * memory it is about, and check that each end of a use has a begin. Where
 * events were lost, begins may be missing.
 *
 * @param [inout] builder  Its events have been sorted.
 *
 * @return UCS_ERR_INVALID_PARAM if an end has no begin or no id is left, or
 *         UCS_ERR_NO_MEMORY. Logged.
 */
ucs_status_t trace_match(trace_builder_t *builder);

END_C_DECLS

#endif
