/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flights.h"

#include <ucs/sys/compiler_def.h>

#include <stdlib.h>


ucs_status_t uct_predreg_flights_init(uct_predreg_flights_t *flights)
{
    uint32_t i;

    flights->flights = calloc(UCT_PREDREG_MAX_FLIGHTS,
                              sizeof(*flights->flights));
    if (flights->flights == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    for (i = 0; i < UCT_PREDREG_MAX_FLIGHTS; ++i) {
        flights->flights[i].owner = flights;
        atomic_init(&flights->flights[i].request, NULL);
        atomic_init(&flights->flights[i].next,
                    (i + 2) % (UCT_PREDREG_MAX_FLIGHTS + 1));
    }
    atomic_init(&flights->first, 1);
    atomic_init(&flights->used, 0);
    return UCS_OK;
}

void uct_predreg_flights_cleanup(uct_predreg_flights_t *flights)
{
    free(flights->flights);
}

/* @return the value of the field first with another send in front, changed in
 * its upper half as well, so that a thread that has read the old one notices */
static uint64_t with_first(uint64_t list, uint32_t first)
{
    return (((list >> 32) + 1) << 32) | first;
}

/* Raise the highest number that a send has had. Two threads may do so at a time: the higher
 * of their numbers must stay */
static void note_used(uct_predreg_flights_t *flights, uint32_t number)
{
    uint32_t used = atomic_load_explicit(&flights->used, memory_order_relaxed);

    while (ucs_unlikely(used < number) &&
           !atomic_compare_exchange_weak_explicit(&flights->used, &used, number,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

uct_predreg_flight_t *uct_predreg_flight_take(uct_predreg_flights_t *flights)
{
    uint64_t list = atomic_load_explicit(&flights->first, memory_order_acquire);
    uct_predreg_flight_t *flight;
    uint32_t next;

    do {
        if ((uint32_t)list == 0) {
            return NULL;
        }
        flight = &flights->flights[(uint32_t)list - 1];
        next   = atomic_load_explicit(&flight->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
            &flights->first, &list, with_first(list, next),
            memory_order_acquire, memory_order_acquire));

    note_used(flights, flight - flights->flights + 1);
    return flight;
}

void uct_predreg_flight_give_back(uct_predreg_flight_t *flight)
{
    uct_predreg_flights_t *flights = flight->owner;
    uint32_t number                = flight - flights->flights + 1;
    uint64_t list = atomic_load_explicit(&flights->first, memory_order_relaxed);

    do {
        atomic_store_explicit(&flight->next, (uint32_t)list,
                              memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
            &flights->first, &list, with_first(list, number),
            memory_order_release, memory_order_relaxed));
}

void uct_predreg_flight_issued(uct_predreg_flight_t *flight, void *request)
{
    void *before = NULL;

    if (!atomic_compare_exchange_strong_explicit(&flight->request, &before,
                                                 request, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        uct_predreg_flight_give_back(flight);
    }
}

int uct_predreg_flight_over(uct_predreg_flight_t *flight)
{
    void *request = atomic_exchange_explicit(&flight->request,
                                             UCT_PREDREG_FLIGHT_OVER,
                                             memory_order_acq_rel);

    if (request != NULL) {
        uct_predreg_flight_give_back(flight);
    }
    return request != UCT_PREDREG_FLIGHT_FREED;
}

int uct_predreg_flight_free(uct_predreg_flights_t *flights, void *request)
{
    uint32_t used = atomic_load_explicit(&flights->used, memory_order_relaxed);
    uct_predreg_flight_t *flight;
    void *found;

    for (flight = flights->flights; flight < flights->flights + used;
         ++flight) {
        found = request;
        if ((atomic_load_explicit(&flight->request, memory_order_relaxed) ==
             request) &&
            atomic_compare_exchange_strong_explicit(
                    &flight->request, &found, UCT_PREDREG_FLIGHT_FREED,
                    memory_order_acq_rel, memory_order_relaxed)) {
            return 1;
        }
    }

    return 0;
}
