/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dq.h"

#include <stdlib.h>
#include <string.h>

/*
 * Ticket t uses slot t mod size in round t div size. The slot's sequence number
 * says what it holds:
 *
 *   2 * r          nothing of round r yet (the entry of round r - 1, if any)
 *   2 * r + 1      the entry of round r is being written
 *   2 * (r + 1)    the entry of round r
 *
 * A producer writes only over the number of the round before its own. If the
 * producer of that round is late by a whole round, the new one gives up its
 * entry, and so does the late one when it finds the number moved on.
 */

/* After so many calls of pop that found the oldest entry not written, its
 * producer is taken to have given up. If the producer was only slow, the entry
 * counts as dropped, and the helper's sweep finds its region */
#define DQ_PATIENCE 64


static inline uint64_t dq_round(const ucs_rcache_pred_dq_t *dq, uint64_t ticket)
{
    return ticket >> dq->shift;
}

ucs_status_t ucs_rcache_pred_dq_init(ucs_rcache_pred_dq_t *dq, unsigned size)
{
    void *slots;

    if (posix_memalign(&slots, sizeof(*dq->slots), size * sizeof(*dq->slots))) {
        return UCS_ERR_NO_MEMORY;
    }

    memset(slots, 0, size * sizeof(*dq->slots));
    dq->slots   = slots;
    dq->mask    = size - 1;
    dq->shift   = __builtin_ctz(size);
    dq->tail    = 0;
    dq->dropped = 0;
    dq->waited  = 0;
    atomic_init(&dq->head, 0);
    return UCS_OK;
}

void ucs_rcache_pred_dq_cleanup(ucs_rcache_pred_dq_t *dq)
{
    free(dq->slots);
}

void ucs_rcache_pred_dq_push(ucs_rcache_pred_dq_t *dq,
                             const ucs_rcache_pred_dq_entry_t *entry)
{
    uint64_t words[UCS_RCACHE_PRED_SEQSLOT_WORDS] = {
        (uintptr_t)entry->region, entry->generation,      entry->begin,
        entry->length,            entry->context.caller,  entry->context.stack,
        entry->context.window
    };
    /* Sequentially consistent, see ucs_rcache_pred_dq_is_empty() */
    uint64_t ticket                  = atomic_fetch_add(&dq->head, 1);
    ucs_rcache_pred_seqslot_t *slot = &dq->slots[ticket & dq->mask];
    uint64_t round                  = dq_round(dq, ticket);
    uint64_t seq;

    /* The slot may be without an entry of the round before, since its producer
     * may have given up. Hence any even number up to this round's is
     * overwritten. */
    seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
    if ((seq & 1) || (seq > 2 * round)) {
        return;
    }

    ucs_rcache_pred_seqslot_write(slot, seq, 2 * (round + 1), words);
}

/* Move the tail to the oldest entry that new ones cannot have overwritten
 * yet */
static void dq_skip_overwritten(ucs_rcache_pred_dq_t *dq, uint64_t head)
{
    uint64_t size = dq->mask + 1;

    if (head - dq->tail > size) {
        dq->dropped += head - size - dq->tail;
        dq->tail     = head - size;
    }
}

int ucs_rcache_pred_dq_pop(ucs_rcache_pred_dq_t *dq,
                           ucs_rcache_pred_dq_entry_t *entry)
{
    uint64_t words[UCS_RCACHE_PRED_SEQSLOT_WORDS];
    ucs_rcache_pred_seqslot_t *slot;
    uint64_t head, seq, full;

    for (;;) {
        /* Relaxed: the sequence number of the slot orders its words */
        head = atomic_load_explicit(&dq->head, memory_order_relaxed);
        if (head == dq->tail) {
            return 0;
        }

        dq_skip_overwritten(dq, head);
        slot = &dq->slots[dq->tail & dq->mask];
        full = 2 * (dq_round(dq, dq->tail) + 1);
        if (ucs_rcache_pred_seqslot_read(slot, full, words)) {
            break;
        }

        seq = atomic_load_explicit(&slot->seq, memory_order_relaxed);
        if ((seq < full) && (++dq->waited < DQ_PATIENCE)) {
            return 0; /* Not written yet */
        }

        /* The entry was overwritten after the head was read, or its producer
         * has given up */
        dq->waited = 0;
        ++dq->tail;
        ++dq->dropped;
    }

    dq->waited = 0;
    ++dq->tail;
    entry->region         = (struct ucs_rcache_pred_region*)words[0];
    entry->generation     = words[1];
    entry->begin          = words[2];
    entry->length         = words[3];
    entry->context.caller = words[4];
    entry->context.stack  = words[5];
    entry->context.window = words[6];
    return 1;
}
