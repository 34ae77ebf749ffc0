/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_WRAPPED_H_
#define UCT_PREDREG_WRAPPED_H_

#include "env.h"

#include <ucs/datastruct/list.h>

#include <uct/api/tl.h>

/** @file wrapped.h
 *
 * An interface whose operations were replaced, as the files of this folder
 * share it.
 *
 * Threads: UCT demands of its users that one thread at a time is in an
 * interface's functions, the progress of its worker included. All of this
 * structure is touched there only, and needs no lock.
 */

typedef struct uct_predreg_iface {
    /* Constant once the interface is wrapped */
    uct_iface_ops_t    ops;        /**< The operations it came with */
    uct_predreg_env_t  env;
    uct_worker_h       worker;
    ucs_callback_t     retry_func; /**< What the worker's progress calls, with
                                        the interface, while something waits */
    size_t             min_zcopy;  /**< Least that ep_get_zcopy and ep_put_zcopy
                                        take, bytes */
    size_t             max_put;    /**< Bytes that ep_put_bcopy takes */
    size_t             max_get;    /**< Bytes that ep_get_bcopy takes */

    uct_worker_cb_id_t retry_id;   /**< Of retry_func; UCS_CALLBACKQ_ID_NULL
                                        while it is not registered */

    /* By transfer.c */
    ucs_list_link_t    transfers;  /**< Those that have not ended */
    unsigned           round;      /**< Number of the present round of trying
                                        again what waits */
    uint64_t           started;    /**< Transfers ever */

    /* By flush.c */
    ucs_list_link_t    flushes;    /**< Those that wait for transfers to end */
} uct_predreg_iface_t;


/** Something waits: have the worker's progress call retry_func until @ref
 *  uct_predreg_retry_stop. Does nothing if it does so already. */
static inline void uct_predreg_retry_start(uct_predreg_iface_t *iface)
{
    iface->env.progress_register(iface->worker, iface->retry_func, iface, 0,
                                 &iface->retry_id);
}

/** Nothing waits any more. May be called from within retry_func. */
static inline void uct_predreg_retry_stop(uct_predreg_iface_t *iface)
{
    iface->env.progress_unregister(iface->worker, &iface->retry_id);
}

#endif
