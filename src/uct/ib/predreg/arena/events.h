/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_EVENTS_H_
#define UCT_PREDREG_ARENA_EVENTS_H_

#include "arena.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stddef.h>

BEGIN_C_DECLS

/** @file events.h
 *
 * The memory events of UCM bring the program's calls of the kernel to
 * the arena (calls.h).
 */

/** The arena that gets the events, and what the handlers of the events have to know. */
typedef struct uct_predreg_arena_events {
    /** The arena; NULL: there is none. Written with release when the arena is
     *  complete. */
    _Atomic(uct_predreg_arena_t*) arena;
    size_t                        mremap_target_offset; /**< See compat.h.
                                                             Constant */
} uct_predreg_arena_events_t;


/**
 * Ask UCM for the events, once in a process; a forked child inherits the handlers. The
 * handler for unmapped memory must have been set before: UCM has installed its hooks for
 * that handler.
 *
 * @param [in] events  Stays where it is until the process ends.
 */
ucs_status_t
uct_predreg_arena_events_start(uct_predreg_arena_events_t *events);

/** @return whether the program's calls reach the arena. They do not if another library
 *          has replaced UCM's hooks, or UCM was told to install none. Maps a page, and
 *          unmaps it. */
int uct_predreg_arena_events_arrive(uct_predreg_arena_events_t *events);

/** As uct_predreg_arena_alter(), in the arena of this process; 0 if there is no arena. */
int uct_predreg_arena_events_alter(uct_predreg_arena_events_t *events,
                                   const void *address, size_t length);

END_C_DECLS

#endif
