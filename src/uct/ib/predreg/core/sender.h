/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SENDER_H_
#define UCT_PREDREG_SENDER_H_

#include "types.h"

#include <ucp/api/ucp.h>
#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** @file sender.h
 *
 * What a thread remembers from one small send to the next, and its counters. The
 * preloaded library keeps a pointer to it, since its thread-local storage is
 * found with one instruction; the core makes it.
 */

/** How many workers a thread remembers; a power of 2. */
#define UCT_PREDREG_SENDER_WORKERS 4

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

/** A thread that sends. Only that thread writes it. */
struct uct_predreg_sender {
    uct_predreg_sender_worker_t workers[UCT_PREDREG_SENDER_WORKERS];

    /* Counters, see @ref uct_predreg_eager_stats_t. Relaxed: whoever reads them
     * gets what they were at some time. They stay when the thread ends, and
     * another thread goes on with them */
    _Atomic uint64_t            sends;
    _Atomic uint64_t            hot;
    _Atomic uint64_t            bytes_saved;

    /** Whether a thread has it. Under the lock of senders.c, as next */
    int                         is_taken;
    struct uct_predreg_sender   *next;
};


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
uct_predreg_sender_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter,
                          atomic_load_explicit(counter, memory_order_relaxed) +
                          value, memory_order_relaxed);
}

/** @return a sender for this thread, until it ends; NULL: there is no memory. */
uct_predreg_sender_t *uct_predreg_sender_take(void);

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

#endif
