/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_ENROL_H_
#define UCS_ARENA_ENROL_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file enrol.h
 *
 * Plain slabs are registered. Called by the helper, under its lock, without that
 * of the arena.
 */

/** Register the plain slabs that uses have asked for. Where that fails, a use may
 *  ask again, and it is tried after a while. */
void ucs_arena_enrol(ucs_arena_t *arena, ucs_arena_time_t now);

END_C_DECLS

#endif
