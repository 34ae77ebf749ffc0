/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_DARK_H_
#define UCS_ARENA_DARK_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file dark.h
 *
 * Protecting what was freed, many blocks at a time and with few calls.
 */

/** Most blocks that are protected, freed, or kept from a child under one hold
 *  of the lock. */
#define UCS_ARENA_BATCH 32


/**
 * Protect held blocks, and make them idle and dark. Without the lock; any
 * thread.
 *
 * @param [in] blocks  First pages; sorted when this returns.
 * @param [in] num     How many.
 */
void ucs_arena_darken(ucs_arena_t *arena, uint32_t *blocks, unsigned num);

/** Protect all that is retired, if the lazy time has passed for some of it. The
 *  helper, without the lock. */
void ucs_arena_darken_retired(ucs_arena_t *arena, ucs_arena_time_t now);

/** Fill dark memory with zeros, or give it back to the kernel where it is not registered:
 *  it is blank then. No more than the budget of the parameters in one call. The helper,
 *  without the lock. */
void ucs_arena_wipe(ucs_arena_t *arena, ucs_arena_time_t now);

/** Hold all of a slab that is dark or blank, and make it accessible, so that the
 *  slab can be registered. The helper, without the lock. @return the first block of
 *  a chain, for ucs_arena_veil(). */
uint32_t ucs_arena_unveil(ucs_arena_t *arena, uint32_t slab);

/** The end of ucs_arena_unveil(): protect it again. */
void ucs_arena_veil(ucs_arena_t *arena, uint32_t chain);

END_C_DECLS

#endif
