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
 * The state of an interface whose operations were replaced. The files of this
 * folder share it.
 *
 * Threads: UCT demands of its users that only one thread at a time is in the
 * functions of an interface, or in the progress of its worker. All of this
 * structure is touched only there, and so needs no lock.
 */

typedef struct uct_predreg_iface {
    /* The fields down to max_get are constant once the interface is wrapped */
    uct_iface_ops_t    ops;        /**< The interface's own operations, before
                                        they were replaced */
    uct_predreg_env_t  env;
    uct_worker_h       worker;
    ucs_callback_t     retry_func; /**< The worker's progress calls it with this
                                        interface while something waits */
    size_t             min_zcopy;  /**< The fewest bytes that ep_get_zcopy and
                                        ep_put_zcopy accept */
    size_t             max_put;    /**< The most bytes that ep_put_bcopy
                                        accepts */
    size_t             max_get;    /**< The most bytes that ep_get_bcopy
                                        accepts */
    unsigned           forks;      /**< uct_predreg_forks when it was wrapped */

    uct_worker_cb_id_t retry_id;   /**< Registration of retry_func;
                                        UCS_CALLBACKQ_ID_NULL while there is
                                        none */

    /* Written by transfer.c */
    ucs_list_link_t    transfers;  /**< Transfers that have not ended */
    unsigned           round;      /**< Number of the present round, in which
                                        waiting transfers are tried again */
    unsigned           waiting;    /**< How many transfers wait */
    uint64_t           started;    /**< How many transfers have ever started */

    /* Written by flush.c */
    ucs_list_link_t    flushes;    /**< Flushes that wait for transfers to
                                        end */
} uct_predreg_iface_t;


/** How often this process, and those that it was forked from, were forked.
 *  Written by the fork handler of a child, when it has no other thread. */
extern unsigned uct_predreg_forks;


/** @return whether an interface was inherited from the parent of this forked
 *  process. A child may destroy what it has inherited; what it must not use is
 *  the cache of its parent. */
static inline int uct_predreg_is_inherited(const uct_predreg_iface_t *iface)
{
    return iface->forks != uct_predreg_forks;
}

/** Have the worker's progress call retry_func from now on, because something
 *  waits. It does so until @ref uct_predreg_retry_stop is called. Nothing
 *  changes if it does so already. */
static inline void uct_predreg_retry_start(uct_predreg_iface_t *iface)
{
    iface->env.progress_register(iface->worker, iface->retry_func, iface, 0,
                                 &iface->retry_id);
}

/** Have the worker's progress call retry_func no longer, because nothing waits
 *  any more. retry_func itself may call this. */
static inline void uct_predreg_retry_stop(uct_predreg_iface_t *iface)
{
    iface->env.progress_unregister(iface->worker, &iface->retry_id);
}

#endif
