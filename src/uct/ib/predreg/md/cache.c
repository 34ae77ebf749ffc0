/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cache.h"
#include "foreign.h"
#include "register.h"

#include <uct/ib/predreg/core/record.h>
#include <uct/ib/predreg/core/seat.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>


static ucs_status_t pred_create(void)
{
    const uct_predreg_knobs_t *knobs = &uct_predreg_core.knobs;
    ucs_rcache_pred_params_t params;
    ucs_rcache_pred_t *pred;
    ucs_status_t status;

    status = ucs_rcache_pred_thread_create(&uct_predreg_core.thread);
    if (status != UCS_OK) {
        goto err;
    }

    status = uct_predreg_node_join_bounds(knobs);
    if (status != UCS_OK) {
        goto err_destroy_thread;
    }

    uct_predreg_record_create();
    uct_predreg_knobs_to_params(knobs, &params);
    params.ops       = &uct_predreg_pred_ops;
    params.sink      = uct_predreg_record_sink();
    params.arg       = uct_predreg_core.thread;
    params.node      = uct_predreg_node();
    params.max_bytes = uct_predreg_max_bytes();
    status           = ucs_rcache_pred_create(&params, &pred);
    if (status != UCS_OK) {
        goto err_leave_node;
    }

    uct_predreg_core.pred = pred;
    if (uct_predreg_policy() != knobs->policy) {
        ucs_debug("there is no helper: %s is %s",
                  ucs_rcache_pred_policy_names[knobs->policy],
                  ucs_rcache_pred_policy_names[uct_predreg_policy()]);
    }
    return UCS_OK;

err_leave_node:
    uct_predreg_node_leave();
err_destroy_thread:
    ucs_rcache_pred_thread_destroy(uct_predreg_core.thread);
    uct_predreg_core.thread = NULL;
err:
    return status;
}

int uct_predreg_is_managing(void)
{
    int managing;

    if ((uct_predreg_core.knobs.policy ==
         UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) ||
        atomic_load_explicit(&uct_predreg_core.aside, memory_order_relaxed)) {
        return 0;
    }

    pthread_mutex_lock(&uct_predreg_core.lock);
    managing = (uct_predreg_core.pred != NULL) || (pred_create() == UCS_OK);
    pthread_mutex_unlock(&uct_predreg_core.lock);
    return managing;
}

void uct_predreg_helper_start(void)
{
    ucs_status_t status;

    /* On demand, the thread that ends a use also deregisters: a helper would
     * have nothing to do */
    if (uct_predreg_policy() != UCS_RCACHE_PRED_POLICY_PREDICT) {
        return;
    }

    if (uct_predreg_core.num_opened == 0) {
        uct_predreg_node_join();
    }

    if (uct_predreg_core.knobs.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) {
        return;
    }

    status = ucs_rcache_pred_thread_start(uct_predreg_core.thread,
                                          uct_predreg_core.pred);
    if (status != UCS_OK) {
        ucs_warn("the helper thread cannot start (%s): memory is registered on "
                 "demand", ucs_status_string(status));
        ucs_rcache_pred_without_helper(uct_predreg_core.pred);
    }
}
