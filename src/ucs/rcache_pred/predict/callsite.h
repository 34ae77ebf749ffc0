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
 * The call-site table (CF'11, section 3.2), in which the signature of a
 * communication on a region is looked up to find the history of its begins.
 * Only the helper uses it, so that it needs no lock.
 */

/** What is known of one communication context of one region. */
typedef struct ucs_rcache_pred_site {
    ucs_hlist_link_t          hash_link;
    ucs_list_link_t           region_link; /**< Element of the region's list of
                                                sites */
    uint64_t                  signature;   /**< 0: the site is free */
    uint8_t                   referenced;  /**< Not 0: used since the clock's
                                                hand passed this site */
    ucs_rcache_pred_history_t history;     /**< Intervals from each use in this
                                                context to the next use in this
                                                context */
    ucs_rcache_pred_history_t next;        /**< Intervals from each use in this
                                                context to the region's next use
                                                in any context. A begin is
                                                awaited here only after the
                                                region's last use */
} ucs_rcache_pred_site_t;


/** So many sites there may be, however few regions are known: a program may
 *  use one buffer from many places. */
#define UCS_RCACHE_PRED_FIRST_SITES 16384


/**
 * A table of sites, whose number follows that of the regions up to a bound.
 * When all are taken, a new site replaces the one that was not used for
 * longest, approximately: the CLOCK algorithm finds it.
 */
typedef struct ucs_rcache_pred_site_table {
    ucs_rcache_pred_site_t **chunks;    /**< The memory of all sites */
    ucs_hlist_head_t       *buckets;
    unsigned               max_sites;   /**< The bound */
    unsigned               limit;       /**< How many sites there may be now */
    unsigned               num_sites;   /**< How many sites there are, taken or
                                             free */
    unsigned               bucket_mask;
    unsigned               hand;        /**< The site at which the clock's hand
                                             is, or num_sites */
} ucs_rcache_pred_site_table_t;


/** @param [in] max_sites  How many sites there may be in the end, 1..2^30. */
ucs_status_t
ucs_rcache_pred_site_table_init(ucs_rcache_pred_site_table_t *table,
                                unsigned max_sites);

/** So many regions are known now: let there be sites for all of them, within
 *  the bound. There are never fewer again. */
void ucs_rcache_pred_site_table_expect(ucs_rcache_pred_site_table_t *table,
                                       unsigned regions);

/** Free the memory of a table. */
void ucs_rcache_pred_site_table_cleanup(ucs_rcache_pred_site_table_t *table);

/** @return the site with this signature, or NULL. */
ucs_rcache_pred_site_t*
ucs_rcache_pred_site_find(ucs_rcache_pred_site_table_t *table,
                          uint64_t signature);

/**
 * Find the site with this signature, and let it be the first one in the
 * region's list. If there is none, make one. Never fails: if the table is full,
 * a site is removed, perhaps one of another region.
 *
 * @param [in] region_sites  List of the region's sites.
 */
ucs_rcache_pred_site_t*
ucs_rcache_pred_site_get(ucs_rcache_pred_site_table_t *table,
                         uint64_t signature, ucs_list_link_t *region_sites);

/** Remove a site from the table and from its region's list. */
void ucs_rcache_pred_site_remove(ucs_rcache_pred_site_table_t *table,
                                 ucs_rcache_pred_site_t *site);

#endif
