/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_IFACE_H_
#define UCT_PREDREG_IFACE_H_

#include "handle.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file iface.h
 *
 * Transport interfaces on managed memory domains. This library replaces some operations
 * of the interfaces by its own, which understand handles of memory registered in pieces,
 * and pass everything else on.
 */

/** Functions of UCX, and the clock, that a wrapped interface needs besides its own
 *  operations. Unit tests hand over functions of their own. */
typedef struct uct_predreg_env {
    /** uct_worker_progress_register_safe() of the UCX in this process. */
    void (*progress_register)(uct_worker_h worker, ucs_callback_t func, void *arg,
                              unsigned flags, uct_worker_cb_id_t *id_p);

    /** uct_worker_progress_unregister_safe() of the same UCX. Does nothing if the
     *  function is not registered. */
    void (*progress_unregister)(uct_worker_h worker, uct_worker_cb_id_t *id_p);

    /** Read the clock, ns. */
    ucs_rcache_pred_time_t (*now)(void *arg);
    void                   *now_arg; /**< Argument for now() */
} uct_predreg_env_t;

/**
 * Replace the operations of a new interface, until it is closed. Thread safe, but nobody
 * may use the interface before the function returns.
 *
 * @param [in] worker  The worker of the interface.
 * @param [in] env     Copied.
 * @return UCS_ERR_UNSUPPORTED if the interface has an operation that could be handed a
 *         pieces handle, would not understand the handle and is not replaced;
 *         UCS_ERR_NO_MEMORY. In both cases the interface is left as it is, and pieces
 *         handles must not be given out in its domain.
 */
ucs_status_t uct_predreg_iface_wrap(uct_iface_h iface, uct_worker_h worker,
                                    const uct_predreg_env_t *env);

/** In a forked child, where there is no other thread: interfaces that were wrapped so far are
 *  inherited. They can be used and destroyed as interfaces of UCX can; their transfers in
 *  pieces end with UCS_ERR_CANCELED, and nothing is done to the cache and the registrations,
 *  which are the parent's. Neither allocates nor frees. */
void uct_predreg_ifaces_reset(void);

/** @return whether no transfer or flush of this process waits for the program's next call
 *          of progress. Else the program must not sleep until the next event of UCX: what
 *          a transfer waits for, such as room, may come without an event. Any thread. */
int uct_predreg_may_sleep(void);

END_C_DECLS

#endif
