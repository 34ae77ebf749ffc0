/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ENV_H_
#define UCT_PREDREG_ENV_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <uct/api/uct.h>

/** @file env.h
 *
 * The functions of UCX, and the clock, that a wrapped interface needs besides
 * its own operations. They are handed over when the interface is wrapped, so
 * that unit tests can put functions of their own in their place.
 */

typedef struct uct_predreg_env {
    /** uct_worker_progress_register_safe() of the UCX in this process. */
    void (*progress_register)(uct_worker_h worker, ucs_callback_t func,
                              void *arg, unsigned flags,
                              uct_worker_cb_id_t *id_p);

    /** uct_worker_progress_unregister_safe() of that UCX. It does nothing if
     *  the function is not registered. */
    void (*progress_unregister)(uct_worker_h worker, uct_worker_cb_id_t *id_p);

    /** Read the clock, ns. */
    ucs_rcache_pred_time_t (*now)(void *arg);
    void                   *now_arg; /**< Argument that now is called with */
} uct_predreg_env_t;

#endif
