/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CALLSITE_H_
#define UCS_RCACHE_PRED_CALLSITE_H_

#include "history.h"

#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>

/** @file callsite.h
 *
 * Call-site table (CF'11, section 3.2): from the signature of a communication
 * on a region to the history of its begins. Helper only, no locking.
 */

/** One communication context of one region. */
typedef struct ucs_rcache_pred_site {
    ucs_hlist_link_t          hash_link;
    ucs_list_link_t           region_link; /**< In the region's list */
    uint64_t                  signature;   /**< 0: free */
    uint8_t                   referenced;  /**< Used since the clock's hand
                                                passed by */
    ucs_rcache_pred_history_t history;     /**< From one use in this context to
                                                the next in it */
    ucs_rcache_pred_history_t next;        /**< From a use in this context to
                                                the region's next use in any;
                                                awaited after the last one */
} ucs_rcache_pred_site_t;


/**
 * Fixed number of sites; when all are taken, the one not used for longest, as
 * the CLOCK algorithm approximates it, makes room.
 */
typedef struct ucs_rcache_pred_site_table {
    ucs_rcache_pred_site_t *sites;
    ucs_hlist_head_t       *buckets;
    unsigned               num_sites;
    unsigned               bucket_mask;
    unsigned               hand;        /**< Of the clock */
} ucs_rcache_pred_site_table_t;


/** @param [in] num_sites  >= 1. */
ucs_status_t ucs_rcache_pred_site_table_init(ucs_rcache_pred_site_table_t *table,
                                             unsigned num_sites);

void ucs_rcache_pred_site_table_cleanup(ucs_rcache_pred_site_table_t *table);

/** @return the site with this signature, or NULL. */
ucs_rcache_pred_site_t*
ucs_rcache_pred_site_find(ucs_rcache_pred_site_table_t *table,
                          uint64_t signature);

/**
 * Find the site with this signature, or make one and add it to the region's
 * list. Never fails: a site of another region may have to go for it.
 *
 * @param [in] region_sites  List of the region's sites.
 */
ucs_rcache_pred_site_t*
ucs_rcache_pred_site_get(ucs_rcache_pred_site_table_t *table,
                         uint64_t signature, ucs_list_link_t *region_sites);

/** Forget a site, and take it from its region's list. */
void ucs_rcache_pred_site_remove(ucs_rcache_pred_site_table_t *table,
                                 ucs_rcache_pred_site_t *site);

#endif
