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
#include "token.h"

#include <stdatomic.h>

/** @file node_int.h
 *
 * The shared memory of a node's processes, as slot.c, share.c, watch.c, node.c and
 * the tests see it.
 *
 * A slot belongs to the process whose sign of life (token.h) is in its owner
 * field. Only that process writes the rest of the slot, except for the fields
 * whose comment names another writer. The slot of a dead process changes hands: a process that has swapped itself in for the dead one
 * clears the slot and sets it free. If that process is killed before it is
 * done, the slot is a dead process's again. A free slot is all zeros. An owner
 * field names one process for all times, so a slot that names a dead process
 * belongs to that one, however often the slot changed hands before.
 *
 * A slot is a dead process's, and what is in it is registered no more, if both
 * are true:
 * - The sign is gone. As long as a child of the process has it that was forked,
 *   the child has the process's descriptors as well, which keep its memory
 *   registered.
 * - The process itself is dead, as far as this can be found out: the kernel
 *   takes the sign from a process that ends before it closes its files. A
 *   process of other PID or time name spaces cannot be found; there the sign
 *   decides alone, and for some milliseconds the share of a process that has
 *   just ended may be given to others too early. Nor is a process dead that
 *   runs another program since (exec): its share stays until it ends, or joins
 *   again.
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
 *
 * Who is refused and can make no room itself asks the others for what is
 * missing (wanted). They give up idle memory until as much has been given back:
 * each release takes its size off what is wanted. Deregistering takes time, so a
 * helper takes the size off before it (an offer), and others stop at once. If the
 * process that lacks room asks again before the offer was released, more may be
 * given up than it lacks.
 */

#define UCS_RCACHE_PRED_NODE_MAGIC   0x7072656472656721ull /* "predreg!" */
/** Version of the layout of the shared memory. Every change of the layout has
 *  to raise it. */
#define UCS_RCACHE_PRED_NODE_VERSION 5

/** Slots: more processes than processors of any node so far. */
#define UCS_RCACHE_PRED_NODE_SLOTS   1024

/** Words of an affinity mask. */
#define UCS_RCACHE_PRED_NODE_CPU_WORDS (CPU_SETSIZE / 64)


typedef struct ucs_rcache_pred_node_slot {
    /** A @ref ucs_rcache_pred_token_t, or 0 if the slot is free. A process
     *  that joins swaps itself in for 0 (acquire: it finds the zeros), a
     *  process that clears the slot swaps itself in for a dead one, and the
     *  owner sets it to 0 (release). In one cache line with the numbers that
     *  are summed. */
    _Atomic(uint64_t) owner UCS_V_ALIGNED(64);
    _Atomic(uint64_t) bytes;   /**< Granted, or being asked for. Sequentially
                                   consistent */
    _Atomic(uint64_t) regions; /**< Regions granted, or being asked for.
                                   Sequentially consistent */
    /** The @ref ucs_rcache_pred_procid_t of the owner, and its PID and time
     *  name spaces, in which alone that is true. 0: not written yet. Relaxed:
     *  read only if the owner's sign of life is gone, so that the owner writes
     *  no more */
    _Atomic(uint64_t) procid;
    _Atomic(uint64_t) names;
    /** Relaxed, as all that follows: each word is a number by itself. A reader
     *  that gets half of a new mask makes a worse choice, which it soon makes
     *  again. */
    _Atomic(uint64_t) demand;
    /** What its helper has used of which processor, @ref pred_node_helper_t */
    _Atomic(uint64_t) helper;
    /** What helper was at the last look, but with the processor that it got then; and
     *  what the owner has since, @ref pred_node_word_t; 0: no look has seen the owner.
     *  Written by whoever looks, see watch.h, and set to 0 with the slot */
    _Atomic(uint64_t) helper_seen;
    _Atomic(uint64_t) seat;
    /** Processors that the launcher has bound the owner to, and that its threads
     *  could be bound to */
    _Atomic(uint64_t) affinity[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    _Atomic(uint64_t) usable[UCS_RCACHE_PRED_NODE_CPU_WORDS];
} ucs_rcache_pred_node_slot_t;


/** What a helper's thread has used so far of the processor that it is bound to. */
typedef union pred_node_helper {
    struct {
        uint64_t cpu  : 11; /**< Number of the processor and 1; 0: it is not bound to
                                 a single one, or there is no thread */
        uint64_t usec : 53; /**< Processor time */
    };
    uint64_t word;
} pred_node_helper_t;

/** A seat, as @ref ucs_rcache_pred_node_seat_t. */
typedef union pred_node_word {
    struct {
        uint64_t cpu     : 11; /**< Number of the processor and 1; 0: those of the
                                    process */
        uint64_t has_cpu : 1;  /**< Whether nobody else uses it */
        uint64_t is_half : 1;  /**< Whether its sibling is busy */
        uint64_t sharers : 11;
        uint64_t rank    : 11;
        uint64_t procs   : 11;
        uint64_t share   : 17; /**< In parts of UCS_RCACHE_PRED_NODE_SHARE_ONE, more
                                    than 0 */
    };
    uint64_t word;
} pred_node_word_t;

#define UCS_RCACHE_PRED_NODE_SHARE_ONE 65536


/** What is known of the processors, for all processes. Written by the process that looks,
 *  see watch.h. */
typedef struct pred_node_watch {
    /** When the last look began, CLOCK_MONOTONIC, ns; 0: there was none. Who changes it
     *  looks. Acquire and release: who looks next finds what the one before has left */
    _Atomic(uint64_t) time;
    _Atomic(uint64_t) cost; /**< Processor time that the last look has taken, ns. Relaxed, as
                                below */
    /** For how long each processor had been idle at the last look, see idle.h. If two
     *  processes look at a time, since the first one was stopped meanwhile, a
     *  processor may be taken for idle that is not, until the next look */
    _Atomic(uint64_t) idle[CPU_SETSIZE];
} pred_node_watch_t;


typedef struct ucs_rcache_pred_node_shm {
    ucs_rcache_pred_segment_header_t header;
    /** Slots from this index on have never had an owner. Only grows, before the
     *  slot is taken. Sequentially consistent: a process that sums the slots
     *  and does not see a slot's index here yet has added its own part before
     *  that slot's owner adds anything. */
    _Atomic(uint32_t)                 num_used UCS_V_ALIGNED(64);
    /** How often a process has asked for room. Release and acquire, see
     *  ucs_rcache_pred_node_is_asked() */
    _Atomic(uint64_t)                 asks UCS_V_ALIGNED(64);
    /** What is missing: the most that one process has asked for, less what was
     *  given back since. In one cache line with asks, which whoever reads these
     *  has just read. Relaxed: each is a number, and a little more or less is
     *  given up if processes meet here */
    _Atomic(uint64_t)                 wanted_bytes;
    _Atomic(uint64_t)                 wanted_regions;
    pred_node_watch_t                watch UCS_V_ALIGNED(64);
    ucs_rcache_pred_node_slot_t      slots[UCS_RCACHE_PRED_NODE_SLOTS];
} ucs_rcache_pred_node_shm_t;


struct ucs_rcache_pred_node {
    /* Constant after join */
    ucs_rcache_pred_node_params_t params;
    ucs_rcache_pred_token_t       self;      /**< Sign of life, the owner of
                                                  the slot */
    void                          *token;    /**< Its memory */
    ucs_rcache_pred_procid_t      procid;
    uint64_t                      names;     /**< PID and time name spaces */
    ucs_rcache_pred_node_shm_t    *shm;
    ucs_rcache_pred_node_slot_t   *slot;
    cpu_set_t                     usable;    /**< Processors that this process
                                                  could run on, see cpus.h. A
                                                  later change of the cpuset is
                                                  not noticed */
    uint16_t                      cores[CPU_SETSIZE]; /**< See cpus.h */
    uint64_t                      joined;    /**< CLOCK_MONOTONIC, ns */

    /** Index of the slot at which pred_node_reap_some() goes on. Any thread
     *  adds to it; relaxed: it does not matter where it goes on */
    _Atomic(unsigned)              reap_hand;
    /** How many of shm->asks are this process's. Written by any thread that
     *  asks, before it writes shm->asks. Relaxed: see
     *  ucs_rcache_pred_node_is_asked() */
    _Atomic(uint64_t)              own_asks;
    /** How many of shm->asks were others' when ucs_rcache_pred_node_is_asked()
     *  looked last, which writes it. Relaxed: it only grows */
    _Atomic(uint64_t)              asks_seen;
};


/** @return what is recognized of the segment in which the processes with this
 *          key meet. */
ucs_rcache_pred_segment_id_t pred_node_segment_id(uint64_t key);

/**
 * As @ref ucs_rcache_pred_node_join, but under the name of any process, and
 * among those with the same key. Tests make processes of their own with it.
 */
ucs_status_t pred_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t procid,
                               ucs_rcache_pred_node_t **node_p);

/** As @ref ucs_rcache_pred_node_update, at a time of CLOCK_MONOTONIC, ns. */
void pred_node_update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
                         uint64_t busy, ucs_rcache_pred_node_seat_t *seat);

/** Detach what is shared, and free the rest. The slot stays as it is: without
 *  clearing it before, this is what the end of a process does. */
void pred_node_close(ucs_rcache_pred_node_t *node);

#endif
