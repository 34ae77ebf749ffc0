/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "comm.h"

#include <ucs/base/hash.h>
#include <ucs/base/relaxed.h>

#include <stdatomic.h>
#include <string.h>


/* The table has entries for 4096 buffers, two of them in a cache line. The kernel
 * provides their pages as they are touched. */
#define POSTED_BITS 12

/* UCX 1.16 registers from a multiple of the block below a buffer's start
 * (UCS_PGT_ADDR_ALIGN), so the block's start names the buffer */
#define BLOCK 16


/* An entry. Any thread reads and writes the words, relaxed and one by one: a thread that
 * reads while another one writes, or after two have written at the same time, may get
 * words of two contexts. No call has such a mixed context, so the context predicts
 * nothing, as an unknown one. In return no message pays for an atomic operation on the
 * whole entry. */
typedef struct posted {
    _Atomic(uint64_t) block;
    _Atomic(uint64_t) caller;
    _Atomic(uint64_t) stack;
    _Atomic(uint64_t) window;
} posted_t;

static posted_t posted[1u << POSTED_BITS] __attribute__((aligned(64)));


static uint64_t block_of(const void *buffer)
{
    return (uintptr_t)buffer / BLOCK;
}

static posted_t *posted_entry(const void *buffer)
{
    return &posted[ucs_hash_bits(block_of(buffer), POSTED_BITS)];
}

void uct_predreg_posted_put(const void *buffer,
                            const ucs_rcache_pred_context_t *context)
{
    posted_t *entry = posted_entry(buffer);

    ucs_relaxed_store(&entry->block, block_of(buffer));
    ucs_relaxed_store(&entry->caller, context->caller);
    ucs_relaxed_store(&entry->stack, context->stack);
    ucs_relaxed_store(&entry->window, context->window);
}

void uct_predreg_posted_get(const void *buffer,
                            ucs_rcache_pred_context_t *context)
{
    const posted_t *entry = posted_entry(buffer);

    if (ucs_relaxed_load(&entry->block) != block_of(buffer)) {
        memset(context, 0, sizeof(*context));
        return;
    }

    context->caller = ucs_relaxed_load(&entry->caller);
    context->stack  = ucs_relaxed_load(&entry->stack);
    context->window = ucs_relaxed_load(&entry->window);
}
