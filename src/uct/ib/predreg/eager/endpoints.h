/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ENDPOINTS_H_
#define UCT_PREDREG_ENDPOINTS_H_

#include <ucs/base/hash.h>
#include <ucs/reuse/costs.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <uct/ib/predreg/core/comm.h>

#include <ucp/api/ucp.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file endpoints.h
 *
 * Remembers which messages go otherwise than without a copy in spite of all, so
 * that no buffer is registered for them: transports within a node copy, and UCP
 * sends by rendezvous from a length on that it does not tell. Both are found out
 * when a message from a registered buffer is sent without having been seen at a
 * transport's zero-copy operation. Such messages are left alone.
 */

#define UCT_PREDREG_ENDPOINTS_BITS 10

/** What is known of the messages of one kind of an endpoint: those whose class
 *  of length (ucs_reuse_class()) is below or above these are left alone. */
typedef struct uct_predreg_endpoint_range {
    uint8_t min;
    uint8_t max;
} uct_predreg_endpoint_range_t;

/**
 * Endpoints, each at the place of the hash of its key; a later one takes the
 * place. A word holds the key, and above its 48 bits the range, the lower end
 * first. Relaxed: it only decides how a message goes. An endpoint that gets the
 * address of one that is gone is taken for it until another worker is made.
 */
extern _Atomic uint64_t
uct_predreg_endpoints[1 << UCT_PREDREG_ENDPOINTS_BITS];

#define UCT_PREDREG_ENDPOINT_KEY_BITS 48


/* Endpoints are aligned to words, so that a kind can be added to the address */
static UCS_F_ALWAYS_INLINE uint64_t
uct_predreg_endpoint_key(ucp_ep_h ep, uct_predreg_message_t message)
{
    return ((uintptr_t)ep + message) & UCS_MASK(UCT_PREDREG_ENDPOINT_KEY_BITS);
}

/** @return the range of an endpoint. */
static UCS_F_ALWAYS_INLINE uct_predreg_endpoint_range_t
uct_predreg_endpoint_get(ucp_ep_h ep, uct_predreg_message_t message)
{
    uct_predreg_endpoint_range_t range = {0, UCS_REUSE_NUM_CLASSES - 1};
    uint64_t key  = uct_predreg_endpoint_key(ep, message);
    uint64_t word = atomic_load_explicit(
            &uct_predreg_endpoints[ucs_rcache_pred_hash_bits(
                    key, UCT_PREDREG_ENDPOINTS_BITS)], memory_order_relaxed);

    if ((word & UCS_MASK(UCT_PREDREG_ENDPOINT_KEY_BITS)) == key) {
        range.min = word >> UCT_PREDREG_ENDPOINT_KEY_BITS;
        range.max = word >> (UCT_PREDREG_ENDPOINT_KEY_BITS + 8);
    }
    return range;
}

/** @return whether a message of an endpoint is to be left alone. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_endpoint_has_no_zcopy(ucp_ep_h ep, uct_predreg_message_t message,
                                  size_t length)
{
    uct_predreg_endpoint_range_t range = uct_predreg_endpoint_get(ep, message);
    unsigned class                     = ucs_reuse_class(length);

    return (class < range.min) || (class > range.max);
}

/** A message was copied, as are all that are not longer. */
void uct_predreg_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                                 size_t length);

/** A message was sent by rendezvous, as are all that are not shorter. */
void uct_predreg_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                                   size_t length);

/** Forget all endpoints. */
void uct_predreg_endpoints_forget(void);

#endif
