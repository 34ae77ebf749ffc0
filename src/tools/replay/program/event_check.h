/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_EVENT_CHECK_H_
#define PREDREG_EVENT_CHECK_H_

#include <ucs/rcache_pred/api/event.h>

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file event_check.h
 *
 * Finds events that no program can have had. A replay may rely on all that is
 * checked here; timeline.c refuses a trace that has such an event.
 */

/**
 * Check an event.
 *
 * @param [in] origin    Time of the first event, ns.
 * @param [in] previous  Time of the event before this one, ns.
 * @return what is wrong with the event, as a phrase without a subject, or NULL.
 */
const char *predreg_event_check(const ucs_rcache_pred_event_t *event,
                                uint64_t origin, uint64_t previous);

END_C_DECLS

#endif
