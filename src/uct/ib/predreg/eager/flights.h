/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_FLIGHTS_H_
#define UCT_PREDREG_FLIGHTS_H_

#include <ucp/api/ucp.h>
#include <ucs/reuse/slots.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file flights.h
 *
 * Sends of hot buffers: UCP calls back this library, which calls the program back if it has
 * asked for that. Any thread takes and gives back, without waiting.
 */

/** How many there may be at a time. */
#define UCT_PREDREG_MAX_FLIGHTS 4096

/** A send. Its fields belong to whoever has taken it; UCP keeps it
 *  meanwhile. */
typedef struct uct_predreg_flight {
    ucs_reuse_slot_t        *slot;
    ucp_send_nbx_callback_t cb;         /**< The program's; NULL: it has none */
    void                    *user_data; /**< The program's */
    struct uct_predreg_flights *owner;
    /** The request that UCP has returned for it; NULL: it has not returned yet, or the send
     *  is not taken; or one of the values below. Whoever changes it last gives the send
     *  back: the call of UCP, which writes the request, or UCP's callback. Acquire and
     *  release, since these may be two threads */
    _Atomic(void*)          request;
    /** Number of the next free one plus one; 0: there is none. Relaxed: a
     *  thread that reads it of a send that another one takes meanwhile finds
     *  that the list has changed */
    _Atomic(uint32_t)        next;
} uct_predreg_flight_t;

/** UCP has called back. */
#define UCT_PREDREG_FLIGHT_OVER  ((void*)1)

/** The program has freed the request, and is not to be called back. */
#define UCT_PREDREG_FLIGHT_FREED ((void*)2)

typedef struct uct_predreg_flights {
    uct_predreg_flight_t *flights; /**< Constant */
    /** No send from this number on was ever taken: at most so many were in flight at a time.
     *  Relaxed: whoever looks for a send has been given its request */
    _Atomic(uint32_t)     used;
    /** Number of the first free one plus one in the low 32 bits, and above them
     *  how often this has changed, so that a compare-and-swap notices. Acquire
     *  and release: whoever takes one is after whoever gave it back. */
    _Atomic(uint64_t)     first;
} uct_predreg_flights_t;


ucs_status_t uct_predreg_flights_init(uct_predreg_flights_t *flights);

void uct_predreg_flights_cleanup(uct_predreg_flights_t *flights);

/** @return a send to be filled in; NULL: all are in flight. */
uct_predreg_flight_t *uct_predreg_flight_take(uct_predreg_flights_t *flights);

void uct_predreg_flight_give_back(uct_predreg_flight_t *flight);

/** UCP has returned this request for a send. */
void uct_predreg_flight_issued(uct_predreg_flight_t *flight, void *request);

/** UCP calls back, and the send is no longer needed when this returns.
 *  @return whether the program may be called back. */
int uct_predreg_flight_over(uct_predreg_flight_t *flight);

/** The program frees a request, and will not be called back. Takes as long as there were
 *  sends in flight at a time.
 *  @return whether it is one of a send in flight, so that UCP has to call back. */
int uct_predreg_flight_free(uct_predreg_flights_t *flights, void *request);

#endif
