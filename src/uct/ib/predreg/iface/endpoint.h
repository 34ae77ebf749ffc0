/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ENDPOINT_H_
#define UCT_PREDREG_ENDPOINT_H_

#include "wrapped.h"

/** @file endpoint.h
 *
 * Endpoints that have something under way: transfers in pieces, and flushes
 * that wait for these. What is under way on an endpoint stands in one list, in
 * the order in which it started. So a flush has waited long enough when it
 * comes first in that list.
 *
 * Only the thread that is in the interface may call these functions.
 */

struct uct_predreg_endpoint;

/** Something that is under way: the first field of a transfer or a flush. */
typedef struct uct_predreg_entry {
    ucs_list_link_t             list;      /**< In endpoint->entries; of a flush
                                                that has waited long enough, in
                                                iface->ready */
    struct uct_predreg_endpoint *endpoint;
    int                         is_flush;
} uct_predreg_entry_t;

typedef struct uct_predreg_endpoint {
    ucs_list_link_t list;    /**< In iface->all_endpoints */
    uct_ep_h        ep;      /**< UCT's handle; NULL: it was destroyed */
    ucs_list_link_t entries; /**< Never empty, and the first one is never a
                                  flush */
} uct_predreg_endpoint_t;

/** Somebody calls UCP back on behalf of an endpoint, and has to know what UCP
 *  does to it. It is on the stack of that function. */
typedef struct uct_predreg_watch {
    uct_ep_h                 ep;
    int                      dying; /**< Whether it is being destroyed: what
                                         starts on it is refused */
    int                      gone;  /**< Set when it is destroyed meanwhile */
    struct uct_predreg_watch *outer;
} uct_predreg_watch_t;


/** Prepare an interface that is being wrapped. */
void uct_predreg_endpoints_init(uct_predreg_iface_t *iface);

/** Free what keeps track of endpoints. Nothing may be under way any more. */
void uct_predreg_endpoints_cleanup(uct_predreg_iface_t *iface);

/** @return NULL if nothing is under way on this endpoint. */
uct_predreg_endpoint_t *
uct_predreg_endpoint_find(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Note that something starts on an endpoint. @return UCS_ERR_NO_MEMORY;
 *  UCS_ERR_CANCELED if the endpoint is being destroyed, or the interface
 *  closed. */
ucs_status_t uct_predreg_endpoint_add(uct_predreg_iface_t *iface, uct_ep_h ep,
                                      uct_predreg_entry_t *entry);

/** Note that a transfer has ended. Flushes that have waited for it alone become
 *  ready. */
void uct_predreg_endpoint_remove(uct_predreg_iface_t *iface,
                                 uct_predreg_entry_t *entry);

/** Note that an endpoint was destroyed: what is left of it ends when its pieces
 *  have landed, and has nothing to do with an endpoint that gets the same
 *  address. */
void uct_predreg_endpoint_forget(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Begin to watch an endpoint. With @a dying it is about to be destroyed, and
 *  those who watch it now are told. Watches end in the opposite order. */
void uct_predreg_watch_begin(uct_predreg_iface_t *iface, uct_ep_h ep, int dying,
                             uct_predreg_watch_t *watch);

/** End a watch. @return whether the endpoint was destroyed meanwhile. */
int uct_predreg_watch_end(uct_predreg_iface_t *iface,
                          uct_predreg_watch_t *watch);

#endif
