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
 * arena, if nothing else is said.
 */

/** Open a slab, if there is no room for a request as long as the longest one. */
void ucs_arena_supply(ucs_arena_t *arena, ucs_arena_time_t now);

/**
 * Open a slab at once, for a thread that allocates, if the helper does nothing just
 * now: the kernel is asked for it as it would be for the memory itself.
 *
 * @param [in] pages  There is room for so many in it.
 * @return UCS_OK: ucs_arena_leave_plain() is to be called, and the slab has
 *         live pages by then, or the helper may give it back.
 */
ucs_status_t ucs_arena_enter_supply(ucs_arena_t *arena, uint32_t pages);

END_C_DECLS

#endif
