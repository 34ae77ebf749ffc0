/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "posted.h"

#include <ucs/base/hash.h>
#include <ucs/base/seqslot.h>

#include <string.h>

/* The table has entries for 4096 buffers, each a cache line long. The kernel
 * provides their pages as they are touched. */
#define POSTED_BITS 12

/* UCX 1.16 registers from the multiple of this that is below a buffer
 * (UCS_PGT_ADDR_ALIGN), so buffers are known by where such a block begins */
#define BLOCK 16

enum {
    WORD_BLOCK,
    WORD_CALLER,
    WORD_STACK,
    WORD_WINDOW,
    NUM_WORDS /* A slot has room for more, which are not copied: each message
                 pays for what is */
};

static ucs_rcache_pred_seqslot_t posted[1u << POSTED_BITS]
        __attribute__((aligned(64)));


static uint64_t block_of(const void *buffer)
{
    return (uintptr_t)buffer / BLOCK;
}

static ucs_rcache_pred_seqslot_t *posted_slot(const void *buffer)
{
    return &posted[ucs_rcache_pred_hash_bits(block_of(buffer), POSTED_BITS)];
}

void uct_predreg_posted_put(const void *buffer,
                            const ucs_rcache_pred_context_t *context)
{
    uint64_t words[NUM_WORDS] = {
        [WORD_BLOCK]  = block_of(buffer),
        [WORD_CALLER] = context->caller,
        [WORD_STACK]  = context->stack,
        [WORD_WINDOW] = context->window
    };
    ucs_rcache_pred_seqslot_t *slot = posted_slot(buffer);
    uint64_t seq;

    /* Relaxed: ucs_rcache_pred_seq_write() checks that the number is still
     * the same */
    seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
    if (!(seq & 1)) {
        ucs_rcache_pred_seq_write(&slot->seq, slot->word, NUM_WORDS, seq,
                                  seq + 2, words);
    }
}

void uct_predreg_posted_get(const void *buffer,
                            ucs_rcache_pred_context_t *context)
{
    ucs_rcache_pred_seqslot_t *slot = posted_slot(buffer);
    uint64_t words[NUM_WORDS];
    uint64_t seq;

    /* Relaxed: ucs_rcache_pred_seq_read() checks that the number is still
     * the same */
    seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
    if ((seq & 1) ||
        !ucs_rcache_pred_seq_read(&slot->seq, slot->word, NUM_WORDS, seq,
                                  words) ||
        (words[WORD_BLOCK] != block_of(buffer))) {
        memset(context, 0, sizeof(*context));
        return;
    }

    context->caller = words[WORD_CALLER];
    context->stack  = words[WORD_STACK];
    context->window = words[WORD_WINDOW];
}
