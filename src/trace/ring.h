/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_RING_H_
#define UCS_RCACHE_RECORD_RING_H_

#include <ucs/rcache_pred/api/event.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file ring.h
 *
 * A ring of events between the threads in which events happen (producers) and
 * the thread that writes them to a file (consumer). The ring is bounded: an
 * event that finds it full is dropped, and the consumer learns how many events
 * were dropped between two events that it takes out.
 *
 * Threads: any number of producers, and one consumer at a time. The handler of
 * a signal that interrupts a producer may itself be a producer.
 *
 * Progress: push is lock-free, pop is wait-free, and neither makes a system
 * call. While an event is being pushed, the consumer cannot take out later
 * events.
 *
 * Uses the events of the cache; recorder.c calls it.
 */

typedef struct ucs_rcache_record_ring ucs_rcache_record_ring_t;


/**
 * Create a ring. All its memory is allocated and touched here, so that no event
 * has to wait for a page.
 *
 * @param [in]  size  How many events the ring holds, a power of 2, >= 2.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucs_rcache_record_ring_create(unsigned size,
                                           ucs_rcache_record_ring_t **ring_p);

/** Free a ring, which no thread uses any more. */
void ucs_rcache_record_ring_destroy(ucs_rcache_record_ring_t *ring);

/**
 * Copy an event into the ring, or drop it if the ring is full. Any
 * thread.
 *
 * @return whether to wake the consumer, which is when the ring is found half
 *         full for the first time since it was found less full.
 */
int ucs_rcache_record_ring_push(ucs_rcache_record_ring_t *ring,
                                const ucs_rcache_pred_event_t *event);

/**
 * Take the oldest event out of the ring. Only the consumer calls this.
 *
 * @param [out] lost_p  Number of events that were dropped between this event
 *                      and the one taken out before.
 * @return 0 if the ring is empty.
 */
int ucs_rcache_record_ring_pop(ucs_rcache_record_ring_t *ring,
                               ucs_rcache_pred_event_t *event,
                               uint64_t *lost_p);

/** Consumer: @return how many events were dropped after the last one that was
 *  taken out. May be called only when there is no producer any more and the
 *  ring is empty. */
uint64_t ucs_rcache_record_ring_lost(ucs_rcache_record_ring_t *ring);

END_C_DECLS

#endif
