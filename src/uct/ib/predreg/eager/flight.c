/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <ucs/base/hash.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

#define ENDPOINT_BITS 10
#define KEY_BITS      48

/* The classes of lengths (ucs_reuse_class()) from min to max. Messages of one kind over
 * an endpoint may go without a copy in these classes, and are left alone in others. */
typedef struct range {
    uint8_t min;
    uint8_t max;
} range_t;

/*
 * A table of endpoints, with an entry for each kind of messages of an endpoint. The hash
 * of the key of an entry tells its place; a later entry overwrites an earlier one there.
 * A word holds the key, and above its 48 bits the range, the lower end first. Relaxed: a
 * word only decides how a message goes. A new endpoint at the address of a former one is
 * taken for the former one until another worker is made. Senders remember ranges, and are
 * told when one changes (uct_predreg_senders_forget()).
 */
static _Atomic(uint64_t) endpoints[1 << ENDPOINT_BITS];


/* Addresses of endpoints are multiples of a word, so that adding a kind gives each kind
 * its own key */
static uint64_t key_of(ucp_ep_h ep, uct_predreg_message_t message)
{
    return ((uintptr_t)ep + message) & UCS_MASK(KEY_BITS);
}

static _Atomic(uint64_t) *word_of(uint64_t key)
{
    return &endpoints[ucs_hash_bits(key, ENDPOINT_BITS)];
}

static range_t range_of(ucp_ep_h ep, uct_predreg_message_t message)
{
    range_t range = {0, UCS_REUSE_NUM_CLASSES - 1};
    uint64_t key  = key_of(ep, message);
    uint64_t word = ucs_relaxed_load(word_of(key));

    if ((word & UCS_MASK(KEY_BITS)) == key) {
        range.min = word >> KEY_BITS;
        range.max = word >> (KEY_BITS + 8);
    }
    return range;
}

static void endpoint_set(ucp_ep_h ep, uct_predreg_message_t message,
                         range_t range)
{
    uint64_t key  = key_of(ep, message);
    uint64_t both = range.min | ((uint64_t)range.max << 8);

    ucs_debug("ep %p: messages of kind %d go without a copy from %u to %u bytes",
              ep, message, range.min * UCS_REUSE_STEP + 1,
              (range.max + 1) * UCS_REUSE_STEP);
    ucs_relaxed_store(word_of(key), key | (both << KEY_BITS));
    uct_predreg_senders_forget();
}

uct_predreg_sender_range_t
uct_predreg_endpoint_lengths(ucp_ep_h ep, uct_predreg_message_t message,
                             size_t min_length, size_t max_length)
{
    const uct_predreg_sender_range_t none = {.min = UINT16_MAX};
    range_t range                         = range_of(ep, message);
    size_t min = ucs_max(min_length, range.min * UCS_REUSE_STEP + 1);
    size_t max = ucs_min((range.max + 1) * UCS_REUSE_STEP, max_length);

    return (min > max) ? none :
                         (uct_predreg_sender_range_t){min, max - min};
}

void uct_predreg_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                                 size_t length)
{
    range_t range = range_of(ep, message);

    range.min = ucs_max(range.min, ucs_reuse_class(length) + 1);
    endpoint_set(ep, message, range);
}

void uct_predreg_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                                   size_t length)
{
    range_t range  = range_of(ep, message);
    unsigned class = ucs_reuse_class(length);

    if (class == 0) {
        range.min = UCS_REUSE_NUM_CLASSES;
    } else {
        range.max = ucs_min(range.max, class - 1);
    }
    endpoint_set(ep, message, range);
}

void uct_predreg_endpoints_forget(void)
{
    unsigned i;

    for (i = 0; i < UCS_BIT(ENDPOINT_BITS); ++i) {
        ucs_relaxed_store(&endpoints[i], 0);
    }
    uct_predreg_senders_forget();
}


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
    return UCS_OK;
}

void uct_predreg_flights_cleanup(uct_predreg_flights_t *flights)
{
    free(flights->flights);
}

/* @return the field first of a list, with another flight in front and a new count of
 * changes: by the count a thread notices that the value it has read is old */
static uint64_t with_first(uint64_t list, uint32_t first)
{
    return (((list >> 32) + 1) << 32) | first;
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
        next   = ucs_relaxed_load(&flight->next);
    } while (!atomic_compare_exchange_weak_explicit(
            &flights->first, &list, with_first(list, next),
            memory_order_acquire, memory_order_acquire));

    ucs_relaxed_store(&flight->request, NULL);
    return flight;
}

static void flight_give_back(uct_predreg_flight_t *flight)
{
    uct_predreg_flights_t *flights = flight->owner;
    uint32_t number                = flight - flights->flights + 1;
    uint64_t list = ucs_relaxed_load(&flights->first);

    do {
        ucs_relaxed_store(&flight->next, (uint32_t)list);
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
        flight_give_back(flight);
    }
}

int uct_predreg_flight_over(uct_predreg_flight_t *flight)
{
    void *request = atomic_exchange_explicit(&flight->request,
                                             UCT_PREDREG_FLIGHT_OVER,
                                             memory_order_acq_rel);

    if (request != NULL) {
        flight_give_back(flight);
    }
    return request != UCT_PREDREG_FLIGHT_FREED;
}

int uct_predreg_flight_free(uct_predreg_flights_t *flights, void *request)
{
    uct_predreg_flight_t *flight;
    void *found;
    unsigned i;

    for (i = 0; i < UCT_PREDREG_MAX_FLIGHTS; ++i) {
        flight = &flights->flights[i];
        found  = request;
        if ((ucs_relaxed_load(&flight->request) ==
             request) &&
            atomic_compare_exchange_strong_explicit(
                    &flight->request, &found, UCT_PREDREG_FLIGHT_FREED,
                    memory_order_acq_rel, memory_order_relaxed)) {
            return 1;
        }
    }

    return 0;
}


/*
 * A message from a slot is over, and no transport was seen to send any message from the
 * slot without a copy. If UCP's call for the message has not returned yet, UCP has copied
 * the message. Otherwise UCP may have sent the message by rendezvous; UCP then does so
 * with all messages of this length and longer.
 */
static UCS_F_NOINLINE void not_proven(const ucs_reuse_slot_t *slot)
{
    const uct_predreg_sender_t *sender       = uct_predreg_sender_mine;
    uct_predreg_registration_t *registration = slot->handle;
    uct_predreg_message_t message;
    size_t length;
    ucp_ep_h ep;

    ep      = ucs_relaxed_load(&registration->ep);
    message = ucs_relaxed_load(&registration->message);
    length  = ucs_relaxed_load(&registration->length);
    if ((sender != NULL) && (slot == sender->issuing.slot)) {
        uct_predreg_endpoint_copies(ep, message, length);
    } else {
        uct_predreg_endpoint_has_rndv(ep, message, length);
    }
}

static int is_proven(const ucs_reuse_slot_t *slot)
{
    return ucs_likely(ucs_relaxed_load(&slot->is_proven));
}

static void send_completed(ucs_reuse_slot_t *slot, ucs_status_t status)
{
    if (!is_proven(slot) && (status == UCS_OK)) {
        not_proven(slot);
    }
    ucs_reuse_slot_release(slot);
}

/* The library's callback: UCP calls it at the end of a hot send */
static void
completed(void *request, ucs_status_t status, void *user_data)
{
    uct_predreg_flight_t *flight = user_data;
    ucp_send_nbx_callback_t cb   = flight->cb;
    void *data                   = flight->user_data;

    send_completed(flight->slot, status);
    if (uct_predreg_flight_over(flight) && (cb != NULL)) {
        cb(request, status, data);
    }
}

int uct_predreg_flight_begin(uct_predreg_eager_context_t *context,
                             uct_predreg_sender_t *sender, ucs_reuse_slot_t *slot,
                             ucp_ep_h ep, const void *buffer, size_t length,
                             const ucp_request_param_t *param,
                             uct_predreg_send_t *send)
{
    uct_predreg_registration_t *registration = slot->handle;
    uct_predreg_flight_t *flight;

    flight = uct_predreg_flight_take(&context->flights);
    if (ucs_unlikely(flight == NULL)) {
        ucs_reuse_slot_release(slot);
        return 0;
    }

    flight->slot      = slot;
    flight->cb        = (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) ?
                        param->cb.send : NULL;
    flight->user_data = (param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) ?
                        param->user_data : NULL;
    if (!is_proven(slot)) {
        ucs_relaxed_store(&registration->ep, ep);
        ucs_relaxed_store(&registration->length, length);
        ucs_relaxed_store(&registration->message, send->message);
    }

    send->cb        = completed;
    send->user_data = flight;
    send->flight    = flight;
    send->memh      = registration->memh;
    send->slot      = slot;
    send->outer     = sender->issuing;
    sender->issuing = (uct_predreg_issuing_t){slot, buffer, 0};
    return 1;
}

void uct_predreg_eager_sent(uct_predreg_sender_t *sender,
                            const uct_predreg_send_t *send, size_t length,
                            ucs_status_ptr_t result)
{
    int is_zcopy = sender->issuing.is_zcopy;

    /* UCP calls the library's callback only if it has returned a request */
    if (UCS_PTR_IS_PTR(result)) {
        uct_predreg_flight_issued(send->flight, result);
    } else {
        flight_give_back(send->flight);
        send_completed(send->slot, UCS_PTR_RAW_STATUS(result));
    }

    sender->issuing = send->outer;
    if (is_zcopy) {
        uct_predreg_sender_add(&sender->hot, 1);
        uct_predreg_sender_add(&sender->bytes_saved, length);
    }
}
