/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_NOTES_H_
#define UCS_RCACHE_PRED_NODE_NOTES_H_

#include "node.h"

BEGIN_C_DECLS

/** @file notes.h
 *
 * Notes that the processes of a node leave for each other: a name, which means
 * the same in all of them, and one or two numbers that were seen with it. The
 * memory for them is bounded: a note is lost when one with another name gets its
 * place. Whoever reads a note that two processes write at the same time gets one
 * of the two, or none.
 *
 * Uses the shared memory of node_int.h; the core of uct/ib/predreg calls it.
 * Any thread may; nobody waits for anybody, not even for a process that was
 * killed while it wrote.
 */

/** How many numbers a note has at most. */
#define UCS_RCACHE_PRED_NODE_NOTE_VALUES 2


/**
 * Leave a note, in the place of one with the same name.
 *
 * @param [in] name    Not 0.
 * @param [in] values  Each > 0.
 * @param [in] num     How many there are, 1..UCS_RCACHE_PRED_NODE_NOTE_VALUES.
 */
void ucs_rcache_pred_node_leave_note(ucs_rcache_pred_node_t *node,
                                     uint64_t name, const uint64_t *values,
                                     unsigned num);

/**
 * Look for a note, whichever process has left it.
 *
 * @param [out] values  Room for UCS_RCACHE_PRED_NODE_NOTE_VALUES.
 * @return how many values it has; 0: there is none.
 */
unsigned ucs_rcache_pred_node_find_note(ucs_rcache_pred_node_t *node,
                                        uint64_t name, uint64_t *values);

END_C_DECLS

#endif
