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
 * Sends of hot buffers in flight whose callback is the program's: UCP calls back
 * this library first. Any thread takes and gives back, without waiting.
 */

/** How many there may be at a time. */
#define UCT_PREDREG_MAX_FLIGHTS 4096

/** A send. Its fields belong to whoever has taken it; UCP keeps it
 *  meanwhile. */
typedef struct uct_predreg_flight {
    ucs_reuse_slot_t        *slot;
    ucp_send_nbx_callback_t cb;         /**< The program's */
    void                    *user_data; /**< The program's */
    struct uct_predreg_flights *owner;
    /** Number of the next free one plus one; 0: there is none. Relaxed: a
     *  thread that reads it of a send that another one takes meanwhile finds
     *  that the list has changed */
    _Atomic uint32_t        next;
} uct_predreg_flight_t;

typedef struct uct_predreg_flights {
    uct_predreg_flight_t *flights; /**< Constant */
    /** Number of the first free one plus one in the low 32 bits, and above them
     *  how often this has changed, so that a compare-and-swap notices. Acquire
     *  and release: whoever takes one is after whoever gave it back. */
    _Atomic uint64_t     first;
} uct_predreg_flights_t;


ucs_status_t uct_predreg_flights_init(uct_predreg_flights_t *flights);

void uct_predreg_flights_cleanup(uct_predreg_flights_t *flights);

/** @return a send to be filled in; NULL: all are in flight. */
uct_predreg_flight_t *uct_predreg_flight_take(uct_predreg_flights_t *flights);

void uct_predreg_flight_give_back(uct_predreg_flight_t *flight);

#endif
