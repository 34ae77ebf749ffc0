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

/** The arena that gets the events, and what their handlers have to know. */
typedef struct uct_predreg_arena_events {
    /** The arena; NULL: there is none. Written with release when the arena is
     *  complete. */
    _Atomic(uct_predreg_arena_t*) arena;
    size_t                        mremap_target_offset; /**< See compat.h.
                                                             Constant */
} uct_predreg_arena_events_t;


/**
 * Ask UCM for the events, once in a process; a forked child inherits the handlers. The
 * handler for unmapped memory must have been set before, since UCM installs its hooks then.
 *
 * @param [in] events  Stays where it is until the process ends.
 */
ucs_status_t
uct_predreg_arena_events_start(uct_predreg_arena_events_t *events);

/** @return whether calls of this process reach the arena: another library may
 *          have taken the place of UCM's hooks, or UCM was told not to have any.
 *          Maps a page, and unmaps it. */
int uct_predreg_arena_events_arrive(uct_predreg_arena_events_t *events);

/** @ref uct_predreg_arena_alter in this process's arena, if there is one. */
int uct_predreg_arena_events_alter(uct_predreg_arena_events_t *events,
                                   const void *address, size_t length);

END_C_DECLS

#endif
