/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_INT_H_
#define UCS_RCACHE_PRED_NODE_INT_H_

#include "node.h"
#include "procid.h"
#include "segment.h"

#include <stdatomic.h>

/** @file node_int.h
 *
 * The shared memory of a node's processes, as slot.c, share.c, node.c and the
 * tests see it.
 *
 * A slot belongs to the process in its owner field. Only that process writes
 * the rest of the slot. The slot of a dead process changes hands: a process
 * that has swapped itself in for the dead one clears the slot and sets it free.
 * If that process is killed before it is done, the slot is a dead process's
 * again. A free slot is all zeros. An owner field names one process for all
 * times, so a slot that names a dead process belongs to that one, however often
 * the slot changed hands before.
 *
 * The bounds are kept without a lock. A process first adds what it asks for to
 * its slot, then it sums all slots; if the sum is above the bound, it takes its
 * part back and fails. Hence a slot holds at all times at least what its
 * process was granted and has not given back. The proof that the bound is kept:
 * suppose that at some instant more is granted than the bound. Take the grant
 * among these that was added to its slot last. All others were in their slots
 * before it was added, and stayed there until that instant. The sum that was
 * made for the last one, in between, had all of them in it and was above the
 * bound; but then it was not granted, which contradicts the supposition. It
 * makes no difference whether some of the grants are in one slot, being of
 * several threads of one process. "Before" refers to the single order in which
 * all processes see the sequentially consistent operations on bytes, regions
 * and num_used. Memory is registered after it was granted and deregistered
 * before it is given back, and a dead process has none registered; so
 * registered memory does not exceed the bound either.
 */

#define UCS_RCACHE_PRED_NODE_MAGIC   0x7072656472656721ull /* "predreg!" */
/** Version of the layout of the shared memory. Every change of the layout has
 *  to raise it. */
#define UCS_RCACHE_PRED_NODE_VERSION 1

/** Slots: more processes than processors of any node so far. */
#define UCS_RCACHE_PRED_NODE_SLOTS   1024

/** Words of an affinity mask. */
#define UCS_RCACHE_PRED_NODE_CPU_WORDS (CPU_SETSIZE / 64)


typedef struct ucs_rcache_pred_node_slot {
    /** A @ref ucs_rcache_pred_procid_t, or 0 if the slot is free. A process
     *  that joins swaps itself in for 0 (acquire: it finds the zeros), a
     *  process that clears the slot swaps itself in for a dead one, and the
     *  owner sets it to 0 (release). In one cache line with the numbers that
     *  are summed. */
    _Atomic uint64_t owner UCS_V_ALIGNED(64);
    _Atomic uint64_t bytes;   /**< Granted, or being asked for. Sequentially
                                   consistent */
    _Atomic uint64_t regions; /**< Regions granted, or being asked for.
                                   Sequentially consistent */
    /** Relaxed, as the mask below: each word is a number by itself. A reader
     *  that gets half of a new mask makes a worse choice, which it soon makes
     *  again. */
    _Atomic uint64_t demand;
    _Atomic uint64_t affinity[UCS_RCACHE_PRED_NODE_CPU_WORDS];
} ucs_rcache_pred_node_slot_t;


typedef struct ucs_rcache_pred_node_shm {
    ucs_rcache_pred_segment_header_t header;
    /** Slots from this index on have never had an owner. Only grows, before the
     *  slot is taken. Sequentially consistent: a process that sums the slots
     *  and does not see a slot's index here yet has added its own part before
     *  that slot's owner adds anything. */
    _Atomic uint32_t                 num_used UCS_V_ALIGNED(64);
    /** How often a process was refused room. Release and acquire, see
     *  ucs_rcache_pred_node_is_asked() */
    _Atomic uint64_t                 asks UCS_V_ALIGNED(64);
    ucs_rcache_pred_node_slot_t      slots[UCS_RCACHE_PRED_NODE_SLOTS];
} ucs_rcache_pred_node_shm_t;


struct ucs_rcache_pred_node {
    /* Constant after join */
    ucs_rcache_pred_node_params_t params;
    ucs_rcache_pred_procid_t      self;
    ucs_rcache_pred_node_shm_t    *shm;
    ucs_rcache_pred_node_slot_t   *slot;
    cpu_set_t                     usable;    /**< Processors that this process
                                                  could run on, see cpus.h. A
                                                  later change of the cpuset is
                                                  not noticed */

    /** How many of shm->asks are this process's. Written by any thread that is
     *  refused, before it writes shm->asks. Relaxed: see
     *  ucs_rcache_pred_node_is_asked() */
    _Atomic uint64_t              own_asks;
    /** How many of shm->asks were others' when ucs_rcache_pred_node_is_asked()
     *  looked last, which writes it. Relaxed: it only grows */
    _Atomic uint64_t              asks_seen;
};


/** @return what is recognized of the segment in which the processes with this
 *          key meet. */
ucs_rcache_pred_segment_id_t pred_node_segment_id(uint64_t key);

/**
 * As @ref ucs_rcache_pred_node_join, but under the name of any process, and
 * among those with the same key. Tests make processes of their own with it.
 */
ucs_status_t pred_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t self,
                               ucs_rcache_pred_node_t **node_p);

#endif
