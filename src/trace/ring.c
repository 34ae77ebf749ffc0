/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ring.h"

#include <ucs/base/relaxed.h>
#include <ucs/sys/math.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The bounded queue of D. Vyukov ("Bounded MPMC queue", 1024cores.net) with
 * one consumer. Each slot has a number, its turn, that says whether it may be
 * written or read. So a producer that is interrupted after taking a slot holds
 * up the consumer at this slot, and nobody else. */

/* A slot of the ring. Events are numbered by positions, which only grow: the
 * slot of an event is its position modulo size */
typedef struct ring_slot {
    /* Position of the next event to be written here; the position plus 1 once
     * the event was written. Release and acquire: pass the rest of the slot
     * from the producer to the consumer, and back */
    _Atomic(uint64_t)        turn;
    ucs_rcache_pred_event_t event;
    uint64_t                lost; /* Number of events dropped before this one */
} ring_slot_t;


struct ucs_rcache_record_ring {
    /* Constant */
    ring_slot_t      *slots;
    uint64_t         size;

    /* Written by producers. Relaxed: the turns of the slots order all other
     * memory, and when lost is read for the last time, there is no producer any
     * more */
    _Atomic(uint64_t) tail       /* Position of the next event to be pushed */
                     __attribute__((aligned(64)));
    _Atomic(uint64_t) lost;      /* Events dropped so far */
    _Atomic(int)      half_full; /* The ring was half full at the last look */

    /* Written by the consumer. Producers read head, relaxed, as an estimate
     * of how full the ring is */
    _Atomic(uint64_t) head       /* Position of the next event to be read */
                     __attribute__((aligned(64)));
    uint64_t         told;      /* How many lost events pop has told of so far */
};


ucs_status_t ucs_rcache_record_ring_create(unsigned size,
                                           ucs_rcache_record_ring_t **ring_p)
{
    ucs_rcache_record_ring_t *ring;
    unsigned i;
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

    /* Touch all pages now, so that no event has to wait for a page */
    memset(ring->slots, 0, size * sizeof(*ring->slots));
    for (i = 0; i < size; ++i) {
        atomic_init(&ring->slots[i].turn, i);
    }
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

/* @return whether the ring has become half full since the last look. Two producers
 * that look at once may both find so, and wake the consumer twice */
static int ring_check(ucs_rcache_record_ring_t *ring, uint64_t tail)
{
    uint64_t head = ucs_relaxed_load(&ring->head);
    int is        = (tail - head) >= (ring->size / 2);

    if (ucs_likely(is == ucs_relaxed_load(&ring->half_full))) {
        return 0;
    }

    ucs_relaxed_store(&ring->half_full, is);
    return is;
}

/* Take the next slot. @return NULL if the ring is full */
static ring_slot_t *ring_take(ucs_rcache_record_ring_t *ring, uint64_t *tail_p)
{
    uint64_t tail = ucs_relaxed_load(&ring->tail);
    ring_slot_t *slot;
    int64_t ahead;

    for (;;) {
        slot  = &ring->slots[tail & (ring->size - 1)];
        ahead = atomic_load_explicit(&slot->turn, memory_order_acquire) - tail;
        if (ahead == 0) {
            if (atomic_compare_exchange_weak_explicit(&ring->tail, &tail,
                                                      tail + 1,
                                                      memory_order_relaxed,
                                                      memory_order_relaxed)) {
                break;
            }
        } else if (ahead < 0) {
            slot = NULL; /* The slot still has an event that was not read: the
                            ring is full */
            break;
        } else {
            tail = ucs_relaxed_load(&ring->tail);
        }
    }

    *tail_p = tail;
    return slot;
}

int ucs_rcache_record_ring_push(ucs_rcache_record_ring_t *ring,
                                const ucs_rcache_pred_event_t *event)
{
    uint64_t tail;
    ring_slot_t *slot;

    slot = ring_take(ring, &tail);
    if (ucs_unlikely(slot == NULL)) {
        ucs_relaxed_add(&ring->lost, 1);
    } else {
        slot->event = *event;
        slot->lost  = ucs_relaxed_load(&ring->lost);
        atomic_store_explicit(&slot->turn, tail + 1, memory_order_release);
    }
    return ring_check(ring, tail);
}

int ucs_rcache_record_ring_pop(ucs_rcache_record_ring_t *ring,
                               ucs_rcache_pred_event_t *event,
                               uint64_t *lost_p)
{
    /* Relaxed: only the consumer writes head */
    uint64_t head     = ucs_relaxed_load(&ring->head);
    ring_slot_t *slot = &ring->slots[head & (ring->size - 1)];

    if (atomic_load_explicit(&slot->turn, memory_order_acquire) != head + 1) {
        return 0;
    }

    /* The producer of an earlier event may have seen more losses than the producer
     * of this event */
    *event     = slot->event;
    *lost_p    = (slot->lost > ring->told) ? (slot->lost - ring->told) : 0;
    ring->told = ucs_max(slot->lost, ring->told);
    atomic_store_explicit(&slot->turn, head + ring->size, memory_order_release);
    ucs_relaxed_store(&ring->head, head + 1);
    return 1;
}

uint64_t ucs_rcache_record_ring_lost(ucs_rcache_record_ring_t *ring)
{
    return ucs_relaxed_load(&ring->lost) - ring->told;
}
