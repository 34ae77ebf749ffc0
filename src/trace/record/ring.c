/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct ring_slot {
    ucs_rcache_pred_event_t event;
    uint64_t                lost; /* How many events had been dropped before
                                     this one */
} ring_slot_t;


/* Positions only grow; a slot's index is the position modulo size */
struct ucs_rcache_record_ring {
    /* Constant */
    ring_slot_t      *slots;
    uint64_t         size;

    /* Written by the producer. The consumer reads tail; release: the slots
     * before it have been written. It reads lost only when there is no producer
     * any more, so that this is relaxed; until then the slots tell it. */
    _Atomic uint64_t tail       /* Slot to be written next */
                     __attribute__((aligned(64)));
    _Atomic uint64_t lost;      /* Events dropped so far */
    uint64_t         head_seen; /* Head as the producer saw it last. It looks
                                   again if by this the ring is half full */
    int              half_full; /* Whether it was half full at that time */

    /* Written by the consumer. The producer reads head; release: the slots
     * before it have been read. */
    _Atomic uint64_t head       /* Slot to be read next */
                     __attribute__((aligned(64)));
    uint64_t         told;      /* Lost events that pop has told of */
};


ucs_status_t ucs_rcache_record_ring_create(unsigned size,
                                           ucs_rcache_record_ring_t **ring_p)
{
    ucs_rcache_record_ring_t *ring;
    void *ptr;

    if (posix_memalign(&ptr, 64, sizeof(*ring)) != 0) {
        goto err;
    }

    ring = ptr;
    memset(ring, 0, sizeof(*ring));
    ring->size  = size;
    ring->slots = malloc(size * sizeof(*ring->slots));
    if (ring->slots == NULL) {
        goto err_free;
    }

    /* All pages are touched now, so that no event has to wait for one */
    memset(ring->slots, 0, size * sizeof(*ring->slots));
    *ring_p = ring;
    return UCS_OK;

err_free:
    free(ring);
err:
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_record_ring_destroy(ucs_rcache_record_ring_t *ring)
{
    free(ring->slots);
    free(ring);
}

static void ring_drop(ucs_rcache_record_ring_t *ring)
{
    /* Relaxed, and no read-modify-write: only the producer writes it */
    uint64_t lost = atomic_load_explicit(&ring->lost, memory_order_relaxed);

    atomic_store_explicit(&ring->lost, lost + 1, memory_order_relaxed);
}

/* Find out whether the ring is half full. @return whether it has become so
 * since the last look */
static UCS_F_NOINLINE int ring_check(ucs_rcache_record_ring_t *ring,
                                     uint64_t tail)
{
    int was = ring->half_full;

    /* Acquire: slots before it are not written until they have been read */
    ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
    ring->half_full = (tail - ring->head_seen) >= (ring->size / 2);
    return ring->half_full && !was;
}

int ucs_rcache_record_ring_push(ucs_rcache_record_ring_t *ring,
                                const ucs_rcache_pred_event_t *event)
{
    /* Relaxed: only the producer writes it, and lost as well */
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    int wake      = 0;
    ring_slot_t *slot;

    if (ucs_unlikely(tail - ring->head_seen >= ring->size / 2)) {
        wake = ring_check(ring, tail);
        if (tail - ring->head_seen == ring->size) {
            ring_drop(ring);
            return wake;
        }
    }

    slot        = &ring->slots[tail & (ring->size - 1)];
    slot->event = *event;
    slot->lost  = atomic_load_explicit(&ring->lost, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return wake;
}

int ucs_rcache_record_ring_pop(ucs_rcache_record_ring_t *ring,
                               ucs_rcache_pred_event_t *event,
                               uint64_t *lost_p)
{
    /* Relaxed: only the consumer writes it */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const ring_slot_t *slot;

    /* Acquire: the slots before it are read after they were written */
    if (atomic_load_explicit(&ring->tail, memory_order_acquire) == head) {
        return 0;
    }

    slot       = &ring->slots[head & (ring->size - 1)];
    *event     = slot->event;
    *lost_p    = slot->lost - ring->told;
    ring->told = slot->lost;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return 1;
}

uint64_t ucs_rcache_record_ring_lost(ucs_rcache_record_ring_t *ring)
{
    return atomic_load_explicit(&ring->lost, memory_order_relaxed) - ring->told;
}
