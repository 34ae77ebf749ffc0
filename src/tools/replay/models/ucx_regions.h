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
 * The regions of one of UCX's registration caches: which uses find them, which
 * of them are idle, which were unmapped, and how much they are together. What
 * happens to them, and when, is up to ucx_cache.c and ucx_dereg.c, which call
 * these functions.
 */

typedef struct predreg_ucx_regions {
    ucs_pgtable_t   table;        /**< Regions that uses find. They do not
                                       overlap */
    ucs_list_link_t all;
    ucs_list_link_t idle;         /**< Regions of which a use has ended and none
                                       has begun since, in the order of those
                                       ends. If uses overlap, some of them may
                                       be in use */
    ucs_list_link_t unmapped;     /**< To be deregistered */
    uint64_t        unreleased;   /**< Bytes of those */
    uint64_t        bytes;        /**< Bytes of all regions */
    uint64_t        num_regions;
    uint64_t        peak_regions;
    uint64_t        pinned;       /**< Bytes of the pages of all regions */
    uint64_t        peak_pinned;
} predreg_ucx_regions_t;

typedef struct predreg_ucx_region {
    ucs_pgt_region_t      super;
    predreg_ucx_regions_t *regions;  /**< Those that it is one of */
    int                   is_found;  /**< Whether uses find it */
    unsigned              refs;      /**< Uses under way. The caller counts
                                          them */
    int                   is_idle;   /**< Whether it is on the list of idle
                                          regions */
    ucs_list_link_t       idle_link; /**< In the list of idle regions */
    ucs_list_link_t       link;      /**< In the list of all regions */
    ucs_list_link_t       tmp_link;  /**< In what a search found, in the list of
                                          unmapped regions, or in a list of the
                                          caller's */
    uint64_t              cleaned;   /**< When the asynchronous thread begins to
                                          deregister it; the caller's */
    predreg_holding_t     holding;   /**< The caller's */
} predreg_ucx_region_t;


void predreg_ucx_regions_init(predreg_ucx_regions_t *regions);

/** Free all regions that are left. */
void predreg_ucx_regions_cleanup(predreg_ucx_regions_t *regions);

/** Add a region, which uses find from now on.
 *  @param [in] range  Overlaps no region that uses find.
 *  @return NULL if there is no memory. */
predreg_ucx_region_t *predreg_ucx_regions_add(predreg_ucx_regions_t *regions,
                                              const ucs_pgt_region_t *range);

/** Free a region, which uses do not find any more and which is in no list of
 *  the caller's. */
void predreg_ucx_region_free(predreg_ucx_region_t *region);

/** @return the region that covers all of [address, address + length), or
 *          NULL. */
predreg_ucx_region_t *
predreg_ucx_regions_find(const predreg_ucx_regions_t *regions, uint64_t address,
                         uint64_t length);

/** Append all regions that uses find and that overlap [start, end), which is
 *  not empty, to a list, by their tmp_link. */
void predreg_ucx_regions_collect(const predreg_ucx_regions_t *regions,
                                 uint64_t start, uint64_t end,
                                 ucs_list_link_t *found);

/** The memory [start, end), which is not empty, is unmapped: its regions serve
 *  no new use, and those that are not used become unmapped regions. */
void predreg_ucx_regions_unmap(predreg_ucx_regions_t *regions, uint64_t start,
                               uint64_t end);

/** @return the region that is unmapped for the longest time, which is no
 *          unmapped region any more and is to be deregistered, or NULL. */
predreg_ucx_region_t *
predreg_ucx_regions_extract_unmapped(predreg_ucx_regions_t *regions);

/** Let no use find the region any more. */
void predreg_ucx_region_hide(predreg_ucx_region_t *region);

/** Put the region at the end of the list of idle regions, or take it off,
 *  unless that is so already. */
void predreg_ucx_region_set_idle(predreg_ucx_region_t *region, int is_idle);

static inline uint64_t
predreg_ucx_region_length(const predreg_ucx_region_t *region)
{
    return region->super.end - region->super.start;
}

END_C_DECLS

#endif
