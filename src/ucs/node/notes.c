/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "notes.h"
#include "node_int.h"

/*
 * A note has no lock and no owner. What makes its words one note is that they
 * are, all together by exclusive or, its name (R. Hyatt and T. Mann, "A lockless
 * transposition table implementation for parallel search", ICGA Journal 25(1),
 * 2002): words of two notes are hardly ever the name of either, since names are
 * hashes. So the words are relaxed, and in whatever order they come, and whoever
 * is killed between two of them leaves no note.
 */


static ucs_rcache_pred_node_note_t *
note_at(ucs_rcache_pred_node_t *node, uint64_t name)
{
    return &node->shm->notes[name % UCS_RCACHE_PRED_NODE_NOTES];
}

void ucs_rcache_pred_node_leave_note(ucs_rcache_pred_node_t *node,
                                     uint64_t name, const uint64_t *values,
                                     unsigned num)
{
    ucs_rcache_pred_node_note_t *note = note_at(node, name);
    uint64_t check                    = name;
    uint64_t value;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_NODE_NOTE_VALUES; ++i) {
        value  = (i < num) ? values[i] : 0;
        check ^= value;
        atomic_store_explicit(&note->values[i], value, memory_order_relaxed);
    }
    atomic_store_explicit(&note->check, check, memory_order_relaxed);
}

unsigned ucs_rcache_pred_node_find_note(ucs_rcache_pred_node_t *node,
                                        uint64_t name, uint64_t *values)
{
    ucs_rcache_pred_node_note_t *note = note_at(node, name);
    uint64_t found = atomic_load_explicit(&note->check, memory_order_relaxed);
    unsigned num   = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_NODE_NOTE_VALUES; ++i) {
        values[i] = atomic_load_explicit(&note->values[i],
                                         memory_order_relaxed);
        found    ^= values[i];
        /* A note that tells of fewer intervals than there is room for has 0 in their place:
         * an interval is never 0 */
        num      += (values[i] != 0);
    }
    /* Whoever else writes there, of the same user, may know a name and not leave a
     * value */
    return ((found == name) && (values[0] != 0)) ? num : 0;
}
