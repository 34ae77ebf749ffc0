/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SEQSLOT_H_
#define UCS_RCACHE_PRED_SEQSLOT_H_

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file seqslot.h
 *
 * A few words that many threads write and read without waiting for each other:
 * a writer that finds another one at work gives up, and a reader notices if the
 * words were changed while it read them. The sequence number is odd while the
 * words are being written. Uses UCS only; the live counters use it.
 *
 * Progress: all operations are wait-free, and safe in memory hooks.
 */


/**
 * Write @a num words, if the sequence number is still @a seq (even). It becomes
 * @a next (even).
 *
 * @return 0 if another writer came first: nothing was written.
 */
static UCS_F_ALWAYS_INLINE int
ucs_rcache_pred_seq_write(_Atomic(uint64_t) *seqp, _Atomic(uint64_t) *word,
                          unsigned num, uint64_t seq, uint64_t next,
                          const uint64_t *words)
{
    unsigned i;

    /* Acquire: the words below are written after this thread has claimed
     * them */
    if (!atomic_compare_exchange_strong_explicit(seqp, &seq, next - 1,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return 0;
    }

    /* Release: a reader that sees one of the words sees the odd number as
     * well */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < num; ++i) {
        atomic_store_explicit(&word[i], words[i], memory_order_relaxed);
    }

    /* Release: a reader that sees the number sees the words */
    atomic_store_explicit(seqp, next, memory_order_release);
    return 1;
}


/**
 * Read @a num words, if the sequence number is @a seq (even) before and after.
 *
 * @return 0 if it was not: @a words is undefined.
 */
static UCS_F_ALWAYS_INLINE int
ucs_rcache_pred_seq_read(const _Atomic(uint64_t) *seqp,
                         const _Atomic(uint64_t) *word, unsigned num,
                         uint64_t seq, uint64_t *words)
{
    unsigned i;

    /* Acquire: pairs with the release of the writer's last store */
    if (atomic_load_explicit(seqp, memory_order_acquire) != seq) {
        return 0;
    }

    for (i = 0; i < num; ++i) {
        words[i] = atomic_load_explicit(&word[i], memory_order_relaxed);
    }

    /* Acquire: the number is read again only after the words were read */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(seqp, memory_order_relaxed) == seq;
}

#endif
