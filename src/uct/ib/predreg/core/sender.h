/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SENDER_H_
#define UCT_PREDREG_SENDER_H_

#include "comm.h"
#include "types.h"

#include <ucs/base/hash.h>

#include <ucp/api/ucp.h>
#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file sender.h
 *
 * What a thread remembers from one small send to the next, and its counters. The
 * preloaded library keeps a pointer to it, since its thread-local storage is
 * found with one instruction; the core makes it.
 */

/** How many workers, and endpoints as the logarithm to base 2, a thread
 *  remembers. The first is a power of 2. */
#define UCT_PREDREG_SENDER_WORKERS 4
#define UCT_PREDREG_SENDER_EP_BITS 6

struct uct_predreg_eager_context;

/** Counters of small sends. */
typedef struct uct_predreg_eager_stats {
    uint64_t sends;       /**< Sends that were looked at */
    uint64_t hot;         /**< Of these, sent without the copy */
    uint64_t bytes_saved; /**< Bytes that were not copied */
    uint64_t buffers_hot; /**< How often a buffer became hot */
} uct_predreg_eager_stats_t;

typedef struct uct_predreg_sender_worker {
    ucp_worker_h                     worker;
    struct uct_predreg_eager_context *context;   /**< NULL: its sends are left
                                                      alone */
    uint32_t                         generation; /**< When that was true */
} uct_predreg_sender_worker_t;

/** Lengths from min to max, bytes; none, if min is above all lengths. */
typedef struct uct_predreg_sender_range {
    uint16_t min;
    uint16_t span; /**< max - min */
} uct_predreg_sender_range_t;

/** An endpoint, and all that has to be known to decide on a send of it. */
typedef struct uct_predreg_sender_ep {
    ucp_ep_h                         ep;
    ucp_worker_h                     worker;
    struct uct_predreg_eager_context *context;   /**< NULL only if all ranges
                                                      are empty */
    uint32_t                         generation; /**< When that was true */
    /** Which messages are looked at, by their kind */
    uct_predreg_sender_range_t       ranges[UCT_PREDREG_MESSAGE_LAST];
} uct_predreg_sender_ep_t;

/** A thread that sends. Only that thread writes it. */
struct uct_predreg_sender {
    uct_predreg_sender_worker_t workers[UCT_PREDREG_SENDER_WORKERS];
    uct_predreg_sender_ep_t     eps[1 << UCT_PREDREG_SENDER_EP_BITS];

    /** What this thread sends just now. A callback may send in between: then it
     *  is that one, until UCP has returned from it */
    uct_predreg_issuing_t       issuing;

    /* Counters, see @ref uct_predreg_eager_stats_t. Relaxed: whoever reads them
     * gets what they were at some time. They stay when the thread ends, and
     * another thread goes on with them */
    _Atomic(uint64_t)            sends;
    _Atomic(uint64_t)            hot;
    _Atomic(uint64_t)            bytes_saved;

    /** Whether a thread has it. Under the lock of senders.c, as next */
    int                         is_taken;
    struct uct_predreg_sender   *next;
};


/** Raised whenever what senders remember may no longer be true: they look anew.
 *  Release when it is raised, and acquire before one looks: who sees a new
 *  number sees the change as well. Relaxed where what is remembered is used: a
 *  program that has closed a worker or a context in another thread has told this
 *  one by stronger means. */
extern _Atomic(uint32_t) uct_predreg_sender_generation;

static inline void uct_predreg_senders_forget(void)
{
    atomic_fetch_add_explicit(&uct_predreg_sender_generation, 1,
                              memory_order_release);
}

/** @return whether something remembered is still true. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_sender_is_recent(uint32_t generation)
{
    return generation ==
           atomic_load_explicit(&uct_predreg_sender_generation,
                                memory_order_relaxed);
}

/** @return where an endpoint is remembered, if it is. */
static UCS_F_ALWAYS_INLINE uct_predreg_sender_ep_t *
uct_predreg_sender_ep(uct_predreg_sender_t *sender, ucp_ep_h ep)
{
    return &sender->eps[ucs_rcache_pred_hash_bits((uintptr_t)ep,
                                                  UCT_PREDREG_SENDER_EP_BITS)];
}

/** @return where a worker is remembered, if it is. Workers are several pages
 *  long, so bits above those of a page tell them apart. */
static UCS_F_ALWAYS_INLINE uct_predreg_sender_worker_t *
uct_predreg_sender_place(uct_predreg_sender_t *sender, ucp_worker_h worker)
{
    return &sender->workers[((uintptr_t)worker >> 12) %
                            UCT_PREDREG_SENDER_WORKERS];
}

/** Add to a counter that only this thread writes. */
static UCS_F_ALWAYS_INLINE void
uct_predreg_sender_add(_Atomic(uint64_t) *counter, uint64_t value)
{
    atomic_store_explicit(counter,
                          atomic_load_explicit(counter, memory_order_relaxed) +
                          value, memory_order_relaxed);
}

/** @return a sender for this thread, until it ends; NULL: there is no memory. */
uct_predreg_sender_t *uct_predreg_sender_take(void);

/** The sender of this thread; NULL: it has not taken one. Written by
 *  uct_predreg_sender_take() alone. */
extern __thread uct_predreg_sender_t *uct_predreg_sender_mine;

/** Count a message that was sent without the copy later than UCP was called for
 *  it, by whatever thread. */
void uct_predreg_count_late(size_t length);

/** Count a buffer that has become hot. */
void uct_predreg_count_heated(void);

/** Add up the counters of all threads. Any thread. */
void uct_predreg_eager_stats(uct_predreg_eager_stats_t *stats);

/** In a forked child, where there is no other thread: the counters begin at
 *  0. */
void uct_predreg_senders_reset(void);

END_C_DECLS

#endif
