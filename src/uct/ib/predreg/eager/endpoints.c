/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "endpoints.h"

#include <ucs/base/hash.h>
#include <ucs/reuse/costs.h>
#include <uct/ib/predreg/core/sender.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdatomic.h>
#include <stdint.h>


#define NUM_BITS 10

/* What is known of the messages of one kind of an endpoint: those whose class
 * of length (ucs_reuse_class()) is below or above these are left alone. */
typedef struct range {
    uint8_t min;
    uint8_t max;
} range_t;

/*
 * Endpoints, each at the place of the hash of its key; a later one takes the
 * place. A word holds the key, and above its 48 bits the range, the lower end
 * first. Relaxed: it only decides how a message goes. An endpoint that gets the
 * address of one that is gone is taken for it until another worker is made.
 * Senders remember the range, and are told when it changes
 * (uct_predreg_senders_forget()).
 */
static _Atomic(uint64_t) endpoints[1 << NUM_BITS];

#define KEY_BITS 48


/* Endpoints are aligned to words, so that a kind can be added to the address */
static uint64_t key_of(ucp_ep_h ep, uct_predreg_message_t message)
{
    return ((uintptr_t)ep + message) & UCS_MASK(KEY_BITS);
}

static _Atomic(uint64_t) *place_of(uint64_t key)
{
    return &endpoints[ucs_rcache_pred_hash_bits(key, NUM_BITS)];
}

static range_t range_of(ucp_ep_h ep, uct_predreg_message_t message)
{
    range_t range = {0, UCS_REUSE_NUM_CLASSES - 1};
    uint64_t key  = key_of(ep, message);
    uint64_t word = atomic_load_explicit(place_of(key), memory_order_relaxed);

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
    atomic_store_explicit(place_of(key), key | (both << KEY_BITS),
                          memory_order_relaxed);
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
    range_t range = range_of(ep, message);
    unsigned class                     = ucs_reuse_class(length);

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

    for (i = 0; i < UCS_BIT(NUM_BITS); ++i) {
        atomic_store_explicit(&endpoints[i], 0,
                              memory_order_relaxed);
    }
    uct_predreg_senders_forget();
}
