/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"

/*
 * Who does the helper's work: its thread, or the program's threads between
 * communications. seat.c changes the mode, and so does poll.c when the helper thread gets
 * no processor.
 */


void pred_mode_init(ucs_rcache_pred_t *pred)
{
    pred_handshake_t *handshake = &pred->handshake;

    atomic_init(&handshake->mode,
                (pred->params.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) ?
                UCS_RCACHE_PRED_MODE_PROGRESS : UCS_RCACHE_PRED_MODE_THREAD);
    /* The first round is due at once, since it asks for the seat */
    atomic_init(&handshake->due,
                pred_is_on_demand(pred) ? UCS_RCACHE_PRED_TIME_INF : 0);
}

ucs_rcache_pred_mode_t ucs_rcache_pred_get_mode(ucs_rcache_pred_t *pred)
{
    return pred_is_on_demand(pred) ? UCS_RCACHE_PRED_MODE_NONE :
                                     atomic_load(&pred->handshake.mode);
}

void ucs_rcache_pred_without_helper(ucs_rcache_pred_t *pred)
{
    pred->params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    /* Relaxed: there is no domain yet, so no other thread uses the cache */
    ucs_relaxed_store(&pred->handshake.due, UCS_RCACHE_PRED_TIME_INF);
}

ucs_rcache_pred_policy_t ucs_rcache_pred_get_policy(ucs_rcache_pred_t *pred)
{
    return pred->params.policy;
}
