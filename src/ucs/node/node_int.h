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
 * The shared memory of a node's processes, as node.c and its tests see it.
 *
 * A slot belongs to the process in its owner field. Only that one writes the
 * rest of it. The slot of a dead process changes hands: whoever swaps itself in
 * for the dead one clears the slot and sets it free; if it is killed while
 * doing so, the slot is a dead process's again. A free slot is all zeros. Since
 * an owner names one process for all times, a slot with a dead one's name is
 * that dead one's, however often it changed hands before it was looked at.
 *
 * The bounds are kept without a lock. A process first adds what it asks for to
 * its slot, then sums all slots; if the sum is above the bound, it takes its
 * part back and fails. Hence a slot holds at all times at least what its
 * process was granted and has not given back. Were more granted than the bound
 * at some instant, then take the one among these grants that was added last:
 * the others were in their slots before it was added, and stay there until that
 * instant, so its sum, which was made in between, had all of them in it and was
 * above the bound; but then it was not granted. That some of them are of one
 * process's threads, in one slot, makes no difference. "Before" is the one
 * order in which all processes see the sequentially consistent operations on
 * bytes, regions and num_used. Memory is registered after it was granted and
 * deregistered before it is given back, and a dead process has none; so what is
 * registered never exceeds the bound either.
 */

#define UCS_RCACHE_PRED_NODE_MAGIC   0x7072656472656721ull /* "predreg!" */
/** To be raised with every change of the layout. */
#define UCS_RCACHE_PRED_NODE_VERSION 1

/** Slots: more processes than processors of any node so far. */
#define UCS_RCACHE_PRED_NODE_SLOTS   1024

/** Words of an affinity mask. */
#define UCS_RCACHE_PRED_NODE_CPU_WORDS (CPU_SETSIZE / 64)


typedef struct ucs_rcache_pred_node_slot {
    /** A @ref ucs_rcache_pred_procid_t. Swapped from 0 by who joins (acquire:
     *  finds the zeros), from a dead one by who clears it, and set to 0
     *  (release) by the owner. Shares its cache line with what sums read. */
    _Atomic uint64_t owner UCS_V_ALIGNED(64);
    _Atomic uint64_t bytes;   /**< Granted, or being asked for. Sequentially
                                   consistent */
    _Atomic uint64_t regions; /**< As bytes */
    /** Relaxed, as the mask below: each word is a number by itself, and half of
     *  a new mask does no harm to a choice that is soon made again */
    _Atomic uint64_t demand;
    _Atomic uint64_t affinity[UCS_RCACHE_PRED_NODE_CPU_WORDS];
} ucs_rcache_pred_node_slot_t;


typedef struct ucs_rcache_pred_node_shm {
    ucs_rcache_pred_segment_header_t header;
    /** Slots from here on have never had an owner. Only grows, before the slot
     *  is taken. Sequentially consistent: who does not see a slot's number here
     *  yet has added its part before the slot's owner adds anything. */
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
    cpu_set_t                     usable;    /**< See cpus.h; not followed if
                                                  the cpuset changes */

    /** Of shm->asks: by this process. Written by whoever is refused, before
     *  shm->asks */
    _Atomic uint64_t              own_asks;
    /** Of shm->asks: by others, at the last look. By is_asked; relaxed: only
     *  grows */
    _Atomic uint64_t              asks_seen;
};


/** What recognizes the segment in which those with this key meet. */
ucs_rcache_pred_segment_id_t pred_node_segment_id(uint64_t key);

/**
 * @ref ucs_rcache_pred_node_join in the name of a process, among those with the
 * same key.
 */
ucs_status_t pred_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t self,
                               ucs_rcache_pred_node_t **node_p);

/**
 * Take back the shares of processes that died.
 *
 * @return how many.
 */
unsigned pred_node_reap(ucs_rcache_pred_node_t *node);

#endif
