/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_SUPPLY_H_
#define UCS_ARENA_SUPPLY_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file supply.h
 *
 * Slabs are opened. Called by the helper, under its lock, without that of the
 * arena.
 */

/** Make room for what was refused, and open a slab if that is not possible, or
 *  if less is free than the low-water mark.
 *
 * @param [inout] budget_p  See ucs_arena_make_room(). */
void ucs_arena_supply(ucs_arena_t *arena, ucs_arena_time_t now,
                      uint32_t *budget_p);

END_C_DECLS

#endif
