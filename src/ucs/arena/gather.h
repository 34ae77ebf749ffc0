/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_GATHER_H_
#define UCS_ARENA_GATHER_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file gather.h
 *
 * Holding all idle blocks of a run of pages, whatever their kinds. Called by
 * the helper, without the lock, which is taken for some blocks at a time.
 * Others may allocate and free in the meantime.
 */

/**
 * Hold blocks of a slab that follow each other.
 *
 * @param [in]  pages    At least so many pages are held.
 * @param [out] first_p  The first one.
 * @param [out] end_p    The page after the last one.
 * @return 0 if there is no such run, or if others came in between: none is
 *         held.
 */
int ucs_arena_gather(ucs_arena_t *arena, uint32_t slab, uint32_t pages,
                     uint32_t *first_p, uint32_t *end_p);

/** Make held blocks that follow each other idle, each of its kind. */
void ucs_arena_scatter(ucs_arena_t *arena, uint32_t first, uint32_t end);

END_C_DECLS

#endif
