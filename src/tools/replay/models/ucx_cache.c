/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx_cache.h"

#include <tools/replay/account/account.h>
#include <tools/replay/program/play.h>

#include <ucs/datastruct/list.h>
#include <ucs/datastruct/pgtable.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * A model of the registration cache that UCX's memory domains have (UCX 1.13.1,
 * src/ucs/memory/rcache.c), without or with a limit. It deregisters a region
 * only if its memory is unmapped, if another region takes its place, or if the
 * limit leaves no room for a new one. The program does all of this itself, and
 * waits for it.
 *
 *   - Regions do not overlap. A use that no region covers makes a new region,
 *     which also covers the regions that the use overlaps. These are
 *     deregistered when their last use ends.
 *   - A region whose memory is unmapped serves no further use, and is
 *     deregistered before the next region is made.
 *   - The limit is enforced after a new region was registered, by giving up
 *     those that are idle. A region is listed when a use of it ends, taken off
 *     when one begins, and given up in the order of the list. The first end of
 *     uses that overlap lists it; the others leave it in its place (as
 *     ucs_rcache_region_put() does). Regions in use stay registered, whatever
 *     the limit.
 */

/* UCX 1.13.1, src/uct/ib/base/ib_md.c: UCT_IB_MD_RCACHE_DEFAULT_ALIGN */
#define REGION_ALIGN 16


typedef struct region {
    ucs_pgt_region_t  super;
    ucs_pgtable_t     *table;    /* NULL: the region serves no new use */
    unsigned          refs;      /* Uses under way */
    int               is_idle;   /* Whether it is on the list of idle regions */
    ucs_list_link_t   idle_link; /* In the list of idle regions */
    ucs_list_link_t   link;      /* In the list of all regions */
    ucs_list_link_t   tmp_link;  /* In what a search found, or in unmapped */
    predreg_holding_t holding;
} region_t;

typedef struct model {
    const predreg_timeline_t         *timeline;
    const predreg_ucx_cache_params_t *params;
    predreg_account_t                *account;
    ucs_pgtable_t                    *tables;   /* One for each domain */
    region_t                         **uses;    /* Region of each use */
    ucs_list_link_t                  all;
    ucs_list_link_t                  idle;      /* Regions of which a use has
                                                   ended and none has begun
                                                   since, in the order of those
                                                   ends. If uses overlap, some
                                                   of them may be in use */
    ucs_list_link_t                  unmapped;  /* To be deregistered */
    uint64_t                         bytes;     /* Bytes of all regions */
    uint64_t                         num_regions;
    uint64_t                         peak_regions;
    uint64_t                         now;       /* Time of the program, ns */
    ucs_status_t                     status;
} model_t;


static uint64_t region_length(const region_t *region)
{
    return region->super.end - region->super.start;
}

/* Take the region out of the table, so that no use finds it any more */
static void region_hide(region_t *region)
{
    if (region->table != NULL) {
        ucs_pgtable_remove(region->table, &region->super);
        region->table = NULL;
    }
}

static void region_set_idle(model_t *model, region_t *region, int is_idle)
{
    if (region->is_idle == is_idle) {
        return;
    }

    region->is_idle = is_idle;
    if (is_idle) {
        ucs_list_add_tail(&model->idle, &region->idle_link);
    } else {
        ucs_list_del(&region->idle_link);
    }
}

/* Deregister a region that no use finds any more. The program does this, and
 * waits for it */
static void region_destroy(model_t *model, region_t *region)
{
    predreg_holding_dereg(model->account, &region->holding, model->now);
    model->now += predreg_cost_of(&model->params->dereg, region->super.start,
                                  region_length(region));
    predreg_holding_close(model->account, &region->holding, model->now);

    region_set_idle(model, region, 0);
    ucs_list_del(&region->link);
    model->bytes       -= region_length(region);
    model->num_regions -= 1;
    free(region);
}

/* Invalidate a region: it serves no new use, and is destroyed when its last use
 * has ended */
static void region_invalidate(model_t *model, region_t *region)
{
    region_hide(region);
    if (region->refs == 0) {
        region_destroy(model, region);
    }
}

static void collect(const ucs_pgtable_t *table, ucs_pgt_region_t *found,
                    void *arg)
{
    region_t *region = ucs_container_of(found, region_t, super);

    ucs_list_add_tail((ucs_list_link_t*)arg, &region->tmp_link);
}

/* Extend the range of a new region over all regions that it overlaps, and
 * invalidate these */
static void merge(model_t *model, ucs_pgtable_t *table, ucs_pgt_region_t *range)
{
    ucs_list_link_t found;
    region_t *region, *tmp;

    ucs_list_head_init(&found);
    ucs_pgtable_search_range(table, range->start, range->end - 1, collect,
                             &found);
    ucs_list_for_each_safe(region, tmp, &found, tmp_link) {
        range->start = ucs_min(range->start, region->super.start);
        range->end   = ucs_max(range->end, region->super.end);
        region_invalidate(model, region);
    }
}

static void destroy_unmapped(model_t *model)
{
    while (!ucs_list_is_empty(&model->unmapped)) {
        region_destroy(model, ucs_list_extract_head(&model->unmapped, region_t,
                                                    tmp_link));
    }
}

static void enforce_limit(model_t *model)
{
    region_t *region;

    while (!ucs_list_is_empty(&model->idle) &&
           ((model->num_regions > model->params->max_regions) ||
            (model->bytes > model->params->max_bytes))) {
        region = ucs_list_head(&model->idle, region_t, idle_link);
        if ((region->table == NULL) || (region->refs > 0)) {
            region_set_idle(model, region, 0);
        } else {
            region_invalidate(model, region);
        }
    }
}

/* @return NULL if there is no memory. */
static region_t *region_create(model_t *model, ucs_pgtable_t *table,
                               const ucs_pgt_region_t *range)
{
    region_t *region;
    ucs_status_t status;
    void *ptr;

    if (posix_memalign(&ptr, ucs_max(sizeof(void*), UCS_PGT_ENTRY_MIN_ALIGN),
                       sizeof(*region)) != 0) {
        goto err;
    }

    region  = ptr;
    *region = (region_t){ .super = *range, .table = table };
    status  = ucs_pgtable_insert(table, &region->super);
    if (status != UCS_OK) {
        goto err_free;
    }

    ucs_list_add_tail(&model->all, &region->link);
    model->bytes        += region_length(region);
    model->num_regions  += 1;
    model->peak_regions  = ucs_max(model->peak_regions, model->num_regions);
    return region;

err_free:
    free(region);
err:
    model->status = UCS_ERR_NO_MEMORY;
    return NULL;
}

/* Register a region for a use, which begins as soon as that is done. Then give
 * up other regions, if the limit asks for it */
static region_t *region_register(model_t *model, const predreg_use_t *use,
                                 predreg_site_t *site)
{
    ucs_pgtable_t *table   = &model->tables[use->domain];
    ucs_pgt_region_t range = {
        .start = ucs_align_down_pow2(use->address, REGION_ALIGN),
        .end   = ucs_align_up_pow2(use->address + use->length, REGION_ALIGN)
    };
    region_t *region;

    destroy_unmapped(model);
    merge(model, table, &range);
    region = region_create(model, table, &range);
    if (region == NULL) {
        return NULL;
    }

    predreg_holding_reg(model->account, &region->holding, region->super.start,
                        region_length(region), model->now);
    model->now += predreg_cost_of(&model->params->reg, region->super.start,
                                  region_length(region));
    predreg_holding_registered(model->account, &region->holding, model->now);
    predreg_holding_use(model->account, &region->holding, site, model->now);
    enforce_limit(model);
    return region;
}

static region_t *find_region(model_t *model, const predreg_use_t *use)
{
    ucs_pgt_region_t *found = ucs_pgtable_lookup(&model->tables[use->domain],
                                                 use->address);

    return ((found != NULL) && (use->address + use->length <= found->end)) ?
           ucs_container_of(found, region_t, super) : NULL;
}

static uint64_t model_begin(void *arg, const predreg_use_t *use, uint64_t now)
{
    model_t *model       = arg;
    predreg_site_t *site = predreg_account_site(model->account, &use->context);
    region_t *region     = find_region(model, use);
    int hit              = (region != NULL);

    model->now = now;
    if (hit) {
        region_set_idle(model, region, 0);
        predreg_holding_use(model->account, &region->holding, site, now);
    } else {
        region = region_register(model, use, site);
        if (region == NULL) {
            return 0;
        }
    }

    ++region->refs;
    model->uses[use - model->timeline->uses] = region;
    predreg_account_use(model->account, site, hit, 0, model->now - now);
    return model->now - now;
}

static uint64_t model_end(void *arg, const predreg_use_t *use, uint64_t now)
{
    model_t *model   = arg;
    region_t *region = model->uses[use - model->timeline->uses];
    predreg_site_t *site;

    if (region == NULL) {
        return 0; /* There was no memory for its region */
    }

    model->now = now;
    predreg_holding_unuse(model->account, &region->holding, now);
    region_set_idle(model, region, 1);
    if ((--region->refs == 0) && (region->table == NULL)) {
        region_destroy(model, region);
    }

    site = predreg_account_site(model->account, &use->context);
    predreg_account_wait(model->account, site, model->now - now);
    return model->now - now;
}

static void model_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
{
    model_t *model = arg;
    ucs_list_link_t found;
    region_t *region;
    unsigned i;

    if (unmap->start >= unmap->end) {
        return;
    }

    ucs_list_head_init(&found);
    for (i = 0; i < model->timeline->num_domains; ++i) {
        ucs_pgtable_search_range(&model->tables[i], unmap->start,
                                 unmap->end - 1, collect, &found);
    }

    while (!ucs_list_is_empty(&found)) {
        region = ucs_list_extract_head(&found, region_t, tmp_link);
        region_hide(region);
        if (region->refs == 0) {
            ucs_list_add_tail(&model->unmapped, &region->tmp_link);
        }
    }
}

/* Allocate a directory of a page table. If there is no memory, UCS ends the
 * program with a message */
static ucs_pgt_dir_t *dir_alloc(const ucs_pgtable_t *table)
{
    return aligned_alloc(ucs_max(sizeof(void*), UCS_PGT_ENTRY_MIN_ALIGN),
                         sizeof(ucs_pgt_dir_t));
}

static void dir_release(const ucs_pgtable_t *table, ucs_pgt_dir_t *dir)
{
    free(dir);
}

static ucs_status_t model_create(model_t *model)
{
    const predreg_timeline_t *timeline = model->timeline;
    unsigned i;

    ucs_list_head_init(&model->all);
    ucs_list_head_init(&model->idle);
    ucs_list_head_init(&model->unmapped);
    model->uses   = calloc(ucs_max(timeline->num_uses, 1ul),
                           sizeof(*model->uses));
    model->tables = calloc(timeline->num_domains, sizeof(*model->tables));
    if ((model->uses == NULL) || (model->tables == NULL)) {
        goto err;
    }

    if (predreg_account_create(&model->account) != UCS_OK) {
        goto err;
    }

    for (i = 0; i < timeline->num_domains; ++i) {
        ucs_pgtable_init(&model->tables[i], dir_alloc, dir_release);
    }
    return UCS_OK;

err:
    free(model->tables);
    free(model->uses);
    return UCS_ERR_NO_MEMORY;
}

static void model_destroy(model_t *model)
{
    region_t *region;
    unsigned i;

    while (!ucs_list_is_empty(&model->all)) {
        region = ucs_list_extract_head(&model->all, region_t, link);
        region_hide(region);
        free(region);
    }

    for (i = 0; i < model->timeline->num_domains; ++i) {
        ucs_pgtable_cleanup(&model->tables[i]);
    }
    predreg_account_destroy(model->account);
    free(model->tables);
    free(model->uses);
}

static ucs_status_t model_run(model_t *model, predreg_replay_result_t *result)
{
    const predreg_player_t player = {
        .arg   = model,
        .begin = model_begin,
        .end   = model_end,
        .unmap = model_unmap
    };
    ucs_status_t status;
    uint64_t duration;
    region_t *region;

    status = predreg_timeline_play(model->timeline, &player, &duration);
    if (status == UCS_OK) {
        status = model->status;
    }

    if (status != UCS_OK) {
        return status;
    }

    ucs_list_for_each(region, &model->all, link) {
        predreg_holding_close(model->account, &region->holding, duration);
    }
    return predreg_account_result(model->account, duration, result);
}

ucs_status_t predreg_ucx_cache_replay(const predreg_timeline_t *timeline,
                                      const predreg_ucx_cache_params_t *params,
                                      predreg_replay_result_t *result,
                                      uint64_t *peak_regions_p)
{
    model_t model = {
        .timeline = timeline,
        .params   = params,
        .status   = UCS_OK
    };
    ucs_status_t status;

    status = model_create(&model);
    if (status != UCS_OK) {
        return status;
    }

    status          = model_run(&model, result);
    *peak_regions_p = model.peak_regions;
    model_destroy(&model);
    return status;
}

ucs_status_t predreg_ucx_cache_set_limits(const predreg_timeline_t *timeline,
                                          predreg_ucx_cache_params_t *params)
{
    predreg_ucx_cache_params_t unlimited = *params;
    predreg_replay_result_t result;
    uint64_t peak_regions;
    ucs_status_t status;

    if ((params->max_bytes > 0) && (params->max_regions > 0)) {
        return UCS_OK;
    }

    unlimited.max_bytes   = UINT64_MAX;
    unlimited.max_regions = UINT64_MAX;
    status = predreg_ucx_cache_replay(timeline, &unlimited, &result,
                                      &peak_regions);
    if (status != UCS_OK) {
        return status;
    }

    if (params->max_bytes == 0) {
        params->max_bytes = ucs_max(result.pinned.peak_bytes / 2, 1ul);
    }
    if (params->max_regions == 0) {
        params->max_regions = ucs_max(peak_regions / 2, 1ul);
    }
    predreg_replay_result_cleanup(&result);
    return UCS_OK;
}
