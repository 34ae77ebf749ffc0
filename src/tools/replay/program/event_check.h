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

/** No memory that is used or registered may be beyond this address: no
 * processor that UCX runs on has longer virtual addresses (five levels of page
 * tables on x86-64). It is so far from 2^64 that lengths and ends of whole pages
 * do not overflow, and that searches of page tables end. */
#define PREDREG_MAX_ADDRESS (1ul << 57)

/**
 * Check an event. Of an unmap, and of what failed, any memory is accepted: a
 * program can ask for what it cannot have.
 *
 * @param [in] origin    Time of the first event, ns.
 * @param [in] previous  Time of the event before this one, ns.
 * @return what is wrong with the event, as a phrase without a subject, or NULL.
 */
const char *predreg_event_check(const ucs_rcache_pred_event_t *event,
                                uint64_t origin, uint64_t previous);

END_C_DECLS

#endif
