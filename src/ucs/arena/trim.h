/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_TRIM_H_
#define UCS_ARENA_TRIM_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file trim.h
 *
 * Slabs are given back. Called by the helper, under its lock, without that of
 * the arena.
 */

/** Give slabs back that were empty for the idle time and are dispensable
 *  (ucs_arena_is_dispensable()), and bare ones. @return when it is to be called
 *  again. */
ucs_arena_time_t ucs_arena_trim(ucs_arena_t *arena, ucs_arena_time_t now);

END_C_DECLS

#endif
