/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_WRAPPED_H_
#define UCT_PREDREG_WRAPPED_H_

#include "env.h"

#include <ucs/datastruct/khash.h>
#include <ucs/datastruct/list.h>

#include <uct/api/tl.h>

/** @file wrapped.h
 *
 * The state of an interface whose operations were replaced. The files of this
 * folder share it.
 *
 * Threads: UCT demands of its users that only one thread at a time is in the
 * functions of an interface, or in the progress of its worker. All of this
 * structure is touched only there, and so needs no lock. Interfaces share
 * nothing but the map of all interfaces (iface.c), the cache (which has its own
 * lock), and two numbers: uct_predreg_forks, and how many interfaces have to be
 * called by progress (atomic).
 *
 * Callbacks: UCP may do anything with the interface and its endpoints while it
 * is called back, except closing the interface. So whoever calls it back holds
 * no pointer to anything but the interface across the call.
 */

KHASH_TYPE(uct_predreg_endpoints, uint64_t, struct uct_predreg_endpoint*)

/** Lines that a transfer can stand in, see transfer.c. */
typedef enum {
    UCT_PREDREG_LINE_ROOM,  /**< It waits for room within the bounds, or for
                                 memory that the system refuses */
    UCT_PREDREG_LINE_PLACE, /**< It waits for a place in the send queue */
    UCT_PREDREG_LINE_OVER,  /**< It is over, and UCP was not called back yet */
    UCT_PREDREG_LINE_NONE   /**< It waits for its pieces to land. This is the
                                 number of lines as well */
} uct_predreg_line_t;

typedef struct uct_predreg_iface {
    /* The fields down to forks are constant once the interface is wrapped */
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

    int                closing;    /**< Whether it is being closed: what starts
                                        now is refused */
    uct_worker_cb_id_t retry_id;   /**< Registration of retry_func;
                                        UCS_CALLBACKQ_ID_NULL while there is
                                        none */
    uint64_t           tickets;    /**< How many tickets were given out. Whoever
                                        gets in line takes one: whoever serves a
                                        line stops at those who came after it
                                        began */

    /* Written by endpoint.c */
    khash_t(uct_predreg_endpoints) endpoints; /**< Those with something under
                                                   way, by UCT's handle */
    ucs_list_link_t    all_endpoints; /**< The same ones, and those that were
                                           destroyed meanwhile */
    struct uct_predreg_watch *watches; /**< Endpoints that are being destroyed
                                            or cancelled, the last one first;
                                            NULL: none */

    /* Written by transfer.c and pieces.c */
    ucs_list_link_t    lines[UCT_PREDREG_LINE_NONE];
    uint64_t           releases;   /**< What ucs_rcache_pred_releases() was when
                                        room was last refused */
    ucs_rcache_pred_time_t asked_at; /**< When it was. After a while it is asked
                                          again although that number has not
                                          changed */
    ucs_rcache_pred_time_t refused_at; /**< Since when the system has refused
                                            memory; 0: it does not refuse any */
    int                refusal_told; /**< Not 0: transfers have failed for that,
                                          and it was said why */

    /* Written by flush.c and endpoint.c */
    ucs_list_link_t    ready;      /**< Flushes whose transfers have all ended,
                                        to be handed to the interface */
    ucs_list_link_t    cancelled;  /**< Flushes that were cancelled, and of
                                        which UCP was not told yet */
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
void uct_predreg_retry_start(uct_predreg_iface_t *iface);

/** Have the worker's progress call retry_func no longer, because nothing waits
 *  any more. retry_func itself may call this. */
void uct_predreg_retry_stop(uct_predreg_iface_t *iface);

/** @return whether nothing waits in this process for its progress. What waits
 *  may wait for something that is no event of UCX, so a program that slept
 *  until the next event might never wake up. Any thread may call this. */
int uct_predreg_may_sleep(void);

/** In a forked child, where there is no other thread: all interfaces are
 *  inherited ones from now on. */
void uct_predreg_wrapped_reset(void);

#endif
