/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_UCX_REGIONS_H_
#define PREDREG_UCX_REGIONS_H_

#include <tools/replay/account/account.h>
#include <tools/replay/program/costs.h>

#include <ucs/datastruct/list.h>
#include <ucs/datastruct/pgtable.h>

BEGIN_C_DECLS

/** @file ucx_regions.h
 *
 * The regions of one of UCX's registration caches, and their deregistration. Either the
 * program deregisters a region and waits, or UCX's asynchronous thread does so.
 * ucx_cache.c decides when a region is deregistered.
 *
 * Times are times of the program, ns.
 */

/** The regions of a cache. */
typedef struct predreg_ucx_regions {
    ucs_pgtable_t   table;        /**< The found regions, that is, regions that a use
                                       can find. They do not overlap */
    ucs_list_link_t all;
    ucs_list_link_t idle;         /**< Regions between the end of a use and the begin
                                       of the next one, in the order of the ends. Some
                                       may be in use by another use that overlaps */
    ucs_list_link_t unmapped;     /**< Regions whose memory was unmapped, and that are
                                       to be deregistered */
    uint64_t        unreleased;   /**< Bytes of the unmapped regions */
    uint64_t        bytes;        /**< Bytes of all regions */
    uint64_t        num_regions;
    uint64_t        peak_regions;
    uint64_t        pinned;       /**< Bytes of the pages of all regions */
    uint64_t        peak_pinned;
} predreg_ucx_regions_t;

typedef struct predreg_ucx_region {
    ucs_pgt_region_t      super;
    predreg_ucx_regions_t *regions;  /**< All regions of the same cache */
    int                   is_found;
    unsigned              refs;      /**< Uses under way, counted by the
                                          caller */
    int                   is_idle;   /**< Whether the region is in the list of
                                          idle regions */
    ucs_list_link_t       idle_link;
    ucs_list_link_t       link;      /**< In the list of all regions */
    ucs_list_link_t       tmp_link;  /**< In a list of found regions, in the list of
                                          unmapped regions, or in the list of regions
                                          that the asynchronous thread deregisters */
    uint64_t              cleaned;   /**< When the asynchronous thread begins to
                                          deregister the region */
    predreg_holding_t     holding;   /**< For the account; the caller opens it */
} predreg_ucx_region_t;

/** The deregistrations of all caches. */
typedef struct predreg_ucx_dereg {
    predreg_account_t *account;
    predreg_cost_t    cost;
    ucs_list_link_t   cleaned;  /**< Regions that the asynchronous thread deregisters,
                                     in this order */
    uint64_t          cleaning; /**< When the asynchronous thread ends its last
                                     deregistration */
} predreg_ucx_dereg_t;


void predreg_ucx_regions_init(predreg_ucx_regions_t *regions);

/** Free all regions that are left. */
void predreg_ucx_regions_cleanup(predreg_ucx_regions_t *regions);

/** Add a region, which uses can find from now on.
 *  @param [in] range  Overlaps no region that uses can find. */
predreg_ucx_region_t *predreg_ucx_regions_add(predreg_ucx_regions_t *regions,
                                              const ucs_pgt_region_t *range);

/** @return the found region that covers [address, address + length), or
 *          NULL. */
predreg_ucx_region_t *
predreg_ucx_regions_find(const predreg_ucx_regions_t *regions, uint64_t address,
                         uint64_t length);

/** Append all found regions that overlap the range [start, end), which is not
 *  empty, to a list of tmp_links. */
void predreg_ucx_regions_collect(const predreg_ucx_regions_t *regions,
                                 uint64_t start, uint64_t end,
                                 ucs_list_link_t *found);

/** Unmap the memory [start, end), which is not empty: no use finds its regions
 *  any more, and regions without a use become unmapped regions. */
void predreg_ucx_regions_unmap(predreg_ucx_regions_t *regions, uint64_t start,
                               uint64_t end);

/** @return the oldest unmapped region, to be deregistered, or NULL. */
predreg_ucx_region_t *
predreg_ucx_regions_extract_unmapped(predreg_ucx_regions_t *regions);

/** Let no use find the region any more. */
void predreg_ucx_region_hide(predreg_ucx_region_t *region);

/** If @a is_idle is set, put the region at the end of the list of idle regions, unless
 *  the region is in the list already. Otherwise, take it off the list. */
void predreg_ucx_region_set_idle(predreg_ucx_region_t *region, int is_idle);

static inline uint64_t
predreg_ucx_region_length(const predreg_ucx_region_t *region)
{
    return region->super.end - region->super.start;
}


/** @param [in] cost  Cost of deregistrations. */
void predreg_ucx_dereg_init(predreg_ucx_dereg_t *dereg,
                            predreg_account_t *account,
                            const predreg_cost_t *cost);

/** Let the program deregister and free a region that no use can find.
 *  @return when the program goes on. */
uint64_t predreg_ucx_dereg_region(predreg_ucx_dereg_t *dereg,
                                  predreg_ucx_region_t *region, uint64_t now);

/** Let the asynchronous thread deregister all unmapped regions of a cache. It begins
 *  after the regions that it already has. */
void predreg_ucx_dereg_clean(predreg_ucx_dereg_t *dereg,
                             predreg_ucx_regions_t *regions, uint64_t now);

/** The program needs the lock of a cache: let it wait for the end of the
 *  asynchronous thread's work.
 *  @return when the program goes on. */
uint64_t predreg_ucx_dereg_wait(predreg_ucx_dereg_t *dereg, uint64_t now);

/** End the work of the asynchronous thread at this time: close the holdings of its
 *  regions, and free the regions. */
void predreg_ucx_dereg_finish(predreg_ucx_dereg_t *dereg, uint64_t now);

END_C_DECLS

#endif
