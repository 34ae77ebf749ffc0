/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SEQSLOT_H_
#define UCS_RCACHE_PRED_SEQSLOT_H_

#include <stdatomic.h>
#include <stdint.h>

/** @file seqslot.h
 *
 * A few words that many threads write and read without waiting for each other:
 * a writer that finds another one at work gives up, a reader that was overtaken
 * says so. The sequence number is odd while the words are being written.
 *
 * Progress: both operations are wait-free.
 */

#define UCS_RCACHE_PRED_SEQSLOT_WORDS 7

typedef struct ucs_rcache_pred_seqslot {
    _Atomic uint64_t seq;
    _Atomic uint64_t word[UCS_RCACHE_PRED_SEQSLOT_WORDS];
} ucs_rcache_pred_seqslot_t; /* one cache line */


/**
 * Write all words, if the slot's sequence number is still @a seq (even).
 * It becomes @a next (even).
 *
 * @return 0 if another writer came first: nothing was written.
 */
static inline int
ucs_rcache_pred_seqslot_write(ucs_rcache_pred_seqslot_t *slot, uint64_t seq,
                              uint64_t next, const uint64_t *words)
{
    unsigned i;

    /* Acquire: the words below are not written before the slot is ours */
    if (!atomic_compare_exchange_strong_explicit(&slot->seq, &seq, next - 1,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return 0;
    }

    /* A reader that sees one of the words sees the odd number as well */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < UCS_RCACHE_PRED_SEQSLOT_WORDS; ++i) {
        atomic_store_explicit(&slot->word[i], words[i], memory_order_relaxed);
    }

    /* Release: a reader that sees the number sees the words */
    atomic_store_explicit(&slot->seq, next, memory_order_release);
    return 1;
}


/**
 * Read all words, if the slot's sequence number is @a seq (even) before and
 * after.
 *
 * @return 0 if it was not: @a words is undefined.
 */
static inline int
ucs_rcache_pred_seqslot_read(ucs_rcache_pred_seqslot_t *slot, uint64_t seq,
                             uint64_t *words)
{
    unsigned i;

    /* Acquire: pairs with the release of the writer's last store */
    if (atomic_load_explicit(&slot->seq, memory_order_acquire) != seq) {
        return 0;
    }

    for (i = 0; i < UCS_RCACHE_PRED_SEQSLOT_WORDS; ++i) {
        words[i] = atomic_load_explicit(&slot->word[i], memory_order_relaxed);
    }

    /* The second look at the number comes after the words were read */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->seq, memory_order_relaxed) == seq;
}

#endif
