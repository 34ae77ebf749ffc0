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


static ucs_status_t pred_create(uct_predreg_core_t *core)
{
    const uct_predreg_knobs_t *knobs = &core->knobs;
    ucs_rcache_pred_params_t params;
    ucs_rcache_pred_t *pred;
    ucs_status_t status;

    status = ucs_rcache_pred_thread_create(&core->thread);
    if (status != UCS_OK) {
        goto err;
    }

    status = uct_predreg_node_join_bounds(knobs);
    if (status != UCS_OK) {
        goto err_destroy_thread;
    }

    uct_predreg_record_create(core);
    uct_predreg_knobs_to_params(knobs, &params);
    params.ops       = &uct_predreg_pred_ops;
    params.sink      = uct_predreg_record_sink(core);
    params.arg       = core;
    params.node      = uct_predreg_node();
    params.max_bytes = uct_predreg_max_bytes(&core->knobs);
    status           = ucs_rcache_pred_create(&params, &pred);
    if (status != UCS_OK) {
        goto err_destroy_record;
    }

    core->pred = pred;
    if (uct_predreg_policy(core) != knobs->policy) {
        ucs_debug("there is no helper: %s is %s",
                  ucs_rcache_pred_policy_names[knobs->policy],
                  ucs_rcache_pred_policy_names[uct_predreg_policy(core)]);
    }
    return UCS_OK;

err_destroy_record:
    uct_predreg_record_destroy(core);
    uct_predreg_node_leave();
err_destroy_thread:
    ucs_rcache_pred_thread_destroy(core->thread);
    core->thread = NULL;
err:
    return status;
}

int uct_predreg_is_managing(uct_predreg_core_t *core)
{
    int managing;

    if ((core->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) ||
        atomic_load_explicit(&core->aside, memory_order_relaxed)) {
        return 0;
    }

    uct_predreg_core_lock(core);
    managing = (core->pred != NULL) || (pred_create(core) == UCS_OK);
    uct_predreg_core_unlock(core);
    return managing;
}

static ucs_rcache_pred_time_t poll_cache(void *pred)
{
    return ucs_rcache_pred_poll(pred);
}

void uct_predreg_helper_start(uct_predreg_core_t *core)
{
    ucs_status_t status;

    /* On demand, the thread that ends a use also deregisters: a helper would
     * have nothing to do */
    if (uct_predreg_policy(core) != UCS_RCACHE_PRED_POLICY_PREDICT) {
        return;
    }

    if (core->num_opened == 0) {
        uct_predreg_node_join();
    }

    if (core->knobs.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) {
        return;
    }

    status = ucs_rcache_pred_thread_start(core->thread, "predreg", poll_cache,
                                          core->pred);
    if (status != UCS_OK) {
        ucs_warn("the helper thread cannot start (%s): memory is registered on "
                 "demand", ucs_status_string(status));
        ucs_rcache_pred_without_helper(core->pred);
    }
}
