/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SENDER_H_
#define UCT_PREDREG_SENDER_H_

#include <ucs/base/hash.h>
#include <ucs/base/relaxed.h>
#include <ucs/stat/stats.h>
#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/core/types.h>

#include <ucp/api/ucp.h>
#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file sender.h
 *
 * What a thread remembers from one small send to the next, and its counters. The preloaded
 * library keeps a pointer to the structure, since one instruction finds the preloaded
 * library's thread-local storage; the core makes the structure.
 */

/** How many workers a thread remembers, a power of 2; and the logarithm to base 2 of how
 *  many endpoints it remembers. */
#define UCT_PREDREG_SENDER_WORKERS 4
#define UCT_PREDREG_SENDER_EP_BITS 6

struct uct_predreg_eager_context;

typedef struct uct_predreg_sender_worker {
    ucp_worker_h                     worker;
    struct uct_predreg_eager_context *context;   /**< NULL: the worker's sends are left
                                                      alone */
    uint32_t                         generation; /**< The generation of the entry */
} uct_predreg_sender_worker_t;

/** Lengths from min to max, bytes; none, if min is above all lengths. */
typedef struct uct_predreg_sender_range {
    uint16_t min;
    uint16_t span; /**< max - min */
} uct_predreg_sender_range_t;

/** An endpoint, and all facts for a decision on a send. */
typedef struct uct_predreg_sender_ep {
    ucp_ep_h                         ep;
    ucp_worker_h                     worker;
    struct uct_predreg_eager_context *context;   /**< NULL only if all ranges
                                                      are empty */
    uint32_t                         generation; /**< The generation of the entry */
    /** The lengths of sends to look at, by kind of message */
    uct_predreg_sender_range_t       ranges[UCT_PREDREG_MESSAGE_LAST];
} uct_predreg_sender_ep_t;

/** What a sending thread remembers, and its counters. Unless something else is said, only
 *  the thread itself writes the fields. */
struct uct_predreg_sender {
    uct_predreg_sender_worker_t workers[UCT_PREDREG_SENDER_WORKERS];
    uct_predreg_sender_ep_t     eps[1 << UCT_PREDREG_SENDER_EP_BITS];

    /** The present send of the thread. A send of a callback replaces the outer send until
     *  UCP has returned from the callback's send */
    uct_predreg_issuing_t       issuing;

    /* Counters, eager_* of @ref ucs_rcache_pred_snapshot_t. Relaxed: the values that a
     * reader gets may be of slightly different times. The counters stay when the thread
     * ends, and another thread goes on counting */
    _Atomic(uint64_t)            sends;
    _Atomic(uint64_t)            hot;
    _Atomic(uint64_t)            bytes_saved;

    /** Whether a thread has the sender. Under the lock of sender.c, as next */
    int                         is_taken;
    struct uct_predreg_sender   *next;
};


/** Raised whenever what senders remember may be out of date: an entry that has another
 *  generation is looked up anew. Raised with release, and read with acquire before a
 *  lookup: a thread that sees the new number sees the change as well. Relaxed where an
 *  entry is used: a program that closes a worker or a context in another thread tells the
 *  sending thread by stronger means. */
extern _Atomic(uint32_t) uct_predreg_sender_generation;

static inline void uct_predreg_senders_forget(void)
{
    atomic_fetch_add_explicit(&uct_predreg_sender_generation, 1,
                              memory_order_release);
}

/** @return whether an entry with this generation is up to date. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_sender_is_recent(uint32_t generation)
{
    return generation == ucs_relaxed_load(&uct_predreg_sender_generation);
}

/** @return the sender's entry for an endpoint, perhaps taken by another endpoint. */
static UCS_F_ALWAYS_INLINE uct_predreg_sender_ep_t *
uct_predreg_sender_ep(uct_predreg_sender_t *sender, ucp_ep_h ep)
{
    return &sender->eps[ucs_hash_bits((uintptr_t)ep,
                                                  UCT_PREDREG_SENDER_EP_BITS)];
}

/** @return the sender's entry for a worker, perhaps taken by another worker. Workers are
 *  several pages long, so bits above a page's tell workers apart. */
static UCS_F_ALWAYS_INLINE uct_predreg_sender_worker_t *
uct_predreg_sender_place(uct_predreg_sender_t *sender, ucp_worker_h worker)
{
    return &sender->workers[((uintptr_t)worker >> 12) %
                            UCT_PREDREG_SENDER_WORKERS];
}

/** Add to a counter with one writing thread. */
static UCS_F_ALWAYS_INLINE void
uct_predreg_sender_add(_Atomic(uint64_t) *counter, uint64_t value)
{
    atomic_store_explicit(counter,
                          ucs_relaxed_load(counter) +
                          value, memory_order_relaxed);
}

/** @return a sender for the calling thread, which has the sender until the thread ends;
 *  NULL if there is no memory. */
uct_predreg_sender_t *uct_predreg_sender_take(void);

/** The sender of the thread; NULL: none was taken. Written by uct_predreg_sender_take()
 *  alone. */
extern __thread uct_predreg_sender_t *uct_predreg_sender_mine;

/** Count a message that went out without the copy only after UCP's call had returned. Any
 *  thread. */
void uct_predreg_count_late(size_t length);

/** Count a new hot buffer. */
void uct_predreg_count_heated(void);

/** Add up the counters of all threads, eager_* of the snapshot. Any thread. */
void uct_predreg_count_sends(ucs_rcache_pred_snapshot_t *snapshot);

/** In a forked child, where there is no other thread: the counters begin at
 *  0. */
void uct_predreg_senders_reset(void);

END_C_DECLS

#endif
