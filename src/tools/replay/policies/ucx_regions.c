/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx_regions.h"

#include <tools/base/memory.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* The alignment of the entries and directories of a page table */
#define TABLE_ALIGN ucs_max(sizeof(void*), UCS_PGT_ENTRY_MIN_ALIGN)


typedef predreg_ucx_region_t region_t;


/* Allocate a directory of a page table. If this returns NULL, UCS ends the program with a
 * message */
static ucs_pgt_dir_t *dir_alloc(const ucs_pgtable_t *table)
{
    return aligned_alloc(TABLE_ALIGN, sizeof(ucs_pgt_dir_t));
}

static void dir_release(const ucs_pgtable_t *table, ucs_pgt_dir_t *dir)
{
    free(dir);
}

void predreg_ucx_regions_init(predreg_ucx_regions_t *regions)
{
    *regions = (predreg_ucx_regions_t){ .bytes = 0 };
    ucs_pgtable_init(&regions->table, dir_alloc, dir_release);
    ucs_list_head_init(&regions->all);
    ucs_list_head_init(&regions->idle);
    ucs_list_head_init(&regions->unmapped);
}

void predreg_ucx_regions_cleanup(predreg_ucx_regions_t *regions)
{
    region_t *region;

    while (!ucs_list_is_empty(&regions->all)) {
        region = ucs_list_extract_head(&regions->all, region_t, link);
        predreg_ucx_region_hide(region);
        free(region);
    }
    ucs_pgtable_cleanup(&regions->table);
}

static uint64_t pinned_by(const region_t *region)
{
    return ucs_rcache_pred_pages(region->super.start,
                                 predreg_ucx_region_length(region),
                                 PREDREG_PAGE_SIZE) *
           PREDREG_PAGE_SIZE;
}

region_t *predreg_ucx_regions_add(predreg_ucx_regions_t *regions,
                                  const ucs_pgt_region_t *range)
{
    region_t *region;
    void *ptr;

    if (posix_memalign(&ptr, TABLE_ALIGN, sizeof(*region)) != 0) {
        predreg_no_memory();
    }

    region  = ptr;
    *region = (region_t){ .super = *range, .regions = regions, .is_found = 1 };
    if (ucs_pgtable_insert(&regions->table, &region->super) != UCS_OK) {
        predreg_no_memory();
    }

    ucs_list_add_tail(&regions->all, &region->link);
    regions->bytes        += predreg_ucx_region_length(region);
    regions->num_regions  += 1;
    regions->pinned       += pinned_by(region);
    regions->peak_regions  = ucs_max(regions->peak_regions,
                                     regions->num_regions);
    regions->peak_pinned   = ucs_max(regions->peak_pinned, regions->pinned);
    return region;
}

region_t *predreg_ucx_regions_find(const predreg_ucx_regions_t *regions,
                                   uint64_t address, uint64_t length)
{
    ucs_pgt_region_t *found = ucs_pgtable_lookup(&regions->table, address);

    return ((found != NULL) && (address + length <= found->end)) ?
           ucs_container_of(found, region_t, super) : NULL;
}

static void add_found(const ucs_pgtable_t *table, ucs_pgt_region_t *found,
                      void *arg)
{
    region_t *region = ucs_container_of(found, region_t, super);

    ucs_list_add_tail((ucs_list_link_t*)arg, &region->tmp_link);
}

void predreg_ucx_regions_collect(const predreg_ucx_regions_t *regions,
                                 uint64_t start, uint64_t end,
                                 ucs_list_link_t *found)
{
    ucs_pgtable_search_range(&regions->table, start, end - 1, add_found, found);
}

void predreg_ucx_regions_unmap(predreg_ucx_regions_t *regions, uint64_t start,
                               uint64_t end)
{
    ucs_list_link_t found;
    region_t *region;

    ucs_list_head_init(&found);
    predreg_ucx_regions_collect(regions, start, end, &found);
    while (!ucs_list_is_empty(&found)) {
        region = ucs_list_extract_head(&found, region_t, tmp_link);
        predreg_ucx_region_hide(region);
        if (region->refs == 0) {
            regions->unreleased += predreg_ucx_region_length(region);
            ucs_list_add_tail(&regions->unmapped, &region->tmp_link);
        }
    }
}

region_t *predreg_ucx_regions_extract_unmapped(predreg_ucx_regions_t *regions)
{
    region_t *region;

    if (ucs_list_is_empty(&regions->unmapped)) {
        return NULL;
    }

    region               = ucs_list_extract_head(&regions->unmapped, region_t,
                                                 tmp_link);
    regions->unreleased -= predreg_ucx_region_length(region);
    return region;
}

void predreg_ucx_region_hide(region_t *region)
{
    if (region->is_found) {
        ucs_pgtable_remove(&region->regions->table, &region->super);
        region->is_found = 0;
    }
}

void predreg_ucx_region_set_idle(region_t *region, int is_idle)
{
    if (region->is_idle == is_idle) {
        return;
    }

    region->is_idle = is_idle;
    if (is_idle) {
        ucs_list_add_tail(&region->regions->idle, &region->idle_link);
    } else {
        ucs_list_del(&region->idle_link);
    }
}

static void region_free(region_t *region)
{
    predreg_ucx_regions_t *regions = region->regions;

    predreg_ucx_region_set_idle(region, 0);
    ucs_list_del(&region->link);
    regions->bytes       -= predreg_ucx_region_length(region);
    regions->num_regions -= 1;
    regions->pinned      -= pinned_by(region);
    free(region);
}

void predreg_ucx_dereg_init(predreg_ucx_dereg_t *dereg,
                            predreg_account_t *account,
                            const predreg_cost_t *cost)
{
    *dereg = (predreg_ucx_dereg_t){ .account = account, .cost = *cost };
    ucs_list_head_init(&dereg->cleaned);
}

static uint64_t cost_of(const predreg_ucx_dereg_t *dereg,
                        const region_t *region)
{
    return predreg_cost_of(&dereg->cost, region->super.start,
                           predreg_ucx_region_length(region));
}

uint64_t predreg_ucx_dereg_region(predreg_ucx_dereg_t *dereg,
                                  region_t *region, uint64_t now)
{
    uint64_t end = now + cost_of(dereg, region);

    predreg_holding_dereg(dereg->account, &region->holding, now);
    predreg_holding_close(dereg->account, &region->holding, end);
    region_free(region);
    return end;
}

void predreg_ucx_dereg_clean(predreg_ucx_dereg_t *dereg,
                             predreg_ucx_regions_t *regions, uint64_t now)
{
    region_t *region;

    dereg->cleaning = ucs_max(dereg->cleaning, now);
    while ((region = predreg_ucx_regions_extract_unmapped(regions)) != NULL) {
        region->cleaned  = dereg->cleaning;
        dereg->cleaning += cost_of(dereg, region);
        ucs_list_add_tail(&dereg->cleaned, &region->tmp_link);
    }
}

uint64_t predreg_ucx_dereg_wait(predreg_ucx_dereg_t *dereg, uint64_t now)
{
    if (ucs_list_is_empty(&dereg->cleaned)) {
        return now;
    }

    now = ucs_max(now, dereg->cleaning);
    predreg_ucx_dereg_finish(dereg, now);
    return now;
}

void predreg_ucx_dereg_finish(predreg_ucx_dereg_t *dereg, uint64_t now)
{
    region_t *region;
    predreg_holding_t *holding;

    while (!ucs_list_is_empty(&dereg->cleaned)) {
        region  = ucs_list_extract_head(&dereg->cleaned, region_t, tmp_link);
        holding = &region->holding;
        if (region->cleaned <= now) {
            predreg_holding_dereg(dereg->account, holding, region->cleaned);
        }
        predreg_holding_close(dereg->account, holding,
                              ucs_min(region->cleaned + cost_of(dereg, region),
                                      now));
        region_free(region);
    }
}
