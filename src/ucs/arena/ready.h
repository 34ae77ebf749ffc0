/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_READY_H_
#define UCS_ARENA_READY_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file ready.h
 *
 * Making free memory ready: filled with zeros, and not accessible before somebody
 * gets it. Called by the helper, without the lock.
 */

/**
 * Fill what is dark with zeros, and protect it again, or discard it in plain slabs.
 *
 * @param [inout] budget_p  Pages that may still be filled with zeros in this
 *                          call of the helper.
 */
void ucs_arena_wipe(ucs_arena_t *arena, ucs_arena_time_t now,
                    uint32_t *budget_p);

/**
 * Make pages that follow each other blank, whatever they are, so that a request
 * can be met that was refused: if there is a run of so many that are not live.
 *
 * @param [inout] budget_p  Becomes less, but does not limit this.
 * @return whether they are.
 */
int ucs_arena_make_room(ucs_arena_t *arena, ucs_arena_time_t now,
                        uint32_t pages, uint32_t *budget_p);

END_C_DECLS

#endif
