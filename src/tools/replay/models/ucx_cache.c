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
 * A model of the registration caches that UCX's memory domains have, one each
 * (UCX 1.13.1, src/ucs/memory/rcache.c), without or with a limit. A cache
 * deregisters a region only if its memory is unmapped, if another region takes
 * its place, or if the limit leaves no room for a new one. The program does all
 * of this itself, and waits for it, but for the cleanup below.
 *
 *   - Regions do not overlap. A use that no region covers makes a new region,
 *     which also covers the regions that the use overlaps. These are
 *     deregistered when their last use ends.
 *   - A region whose memory is unmapped serves no further use, and is
 *     deregistered before the next region of its domain is made.
 *   - If a cache has more than RCACHE_MAX_UNRELEASED bytes of such regions when
 *     memory is unmapped, UCX's asynchronous thread cleans up
 *     (ucs_rcache_unmapped_callback(), ucs_rcache_invalidate_handler()): it
 *     deregisters those of all caches, one after the other, that were unmapped
 *     before. It holds the locks of the caches meanwhile, so that a use that
 *     begins waits for it.
 *   - The limit is enforced after a new region was registered, by giving up
 *     those that are idle. A region is listed when a use of it ends, taken off
 *     when one begins, and given up in the order of the list. The first end of
 *     uses that overlap lists it; the others leave it in its place (as
 *     ucs_rcache_region_put() does). Regions in use stay registered, whatever
 *     the limit.
 */

/* UCX 1.13.1, src/uct/ib/base/ib_md.c: UCT_IB_MD_RCACHE_DEFAULT_ALIGN */
#define REGION_ALIGN 16

/* UCX 1.13.1, src/uct/base/uct_md.c: the default of RCACHE_MAX_UNRELEASED */
#define MAX_UNRELEASED (512ul << 20)


/* The cache of a domain */
typedef struct cache {
    ucs_pgtable_t   table;
    ucs_list_link_t idle;         /* Regions of which a use has ended and none
                                     has begun since, in the order of those
                                     ends. If uses overlap, some of them may be
                                     in use */
    ucs_list_link_t unmapped;     /* To be deregistered */
    uint64_t        unreleased;   /* Bytes of those */
    uint64_t        bytes;        /* Bytes of all regions */
    uint64_t        num_regions;
    uint64_t        peak_regions;
    uint64_t        pinned;       /* Bytes of the pages of all regions */
    uint64_t        peak_pinned;
} cache_t;

typedef struct region {
    ucs_pgt_region_t  super;
    cache_t           *cache;
    int               is_found;  /* Whether uses find it */
    unsigned          refs;      /* Uses under way */
    int               is_idle;   /* Whether it is on the list of idle regions */
    ucs_list_link_t   idle_link; /* In the list of idle regions */
    ucs_list_link_t   link;      /* In the list of all regions */
    ucs_list_link_t   tmp_link;  /* In what a search found, in unmapped, or in
                                    cleaned */
    uint64_t          cleaned;   /* When the asynchronous thread begins to
                                    deregister it */
    predreg_holding_t holding;
} region_t;

typedef struct model {
    const predreg_timeline_t         *timeline;
    const predreg_ucx_cache_params_t *params;
    predreg_account_t                *account;
    cache_t                          *caches;   /* One for each domain */
    region_t                         **uses;    /* Region of each use */
    ucs_list_link_t                  all;
    ucs_list_link_t                  cleaned;   /* Regions that the asynchronous
                                                   thread deregisters, in that
                                                   order */
    uint64_t                         cleaning;  /* When it is done with that */
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
    if (region->is_found) {
        ucs_pgtable_remove(&region->cache->table, &region->super);
        region->is_found = 0;
    }
}

static void region_set_idle(region_t *region, int is_idle)
{
    if (region->is_idle == is_idle) {
        return;
    }

    region->is_idle = is_idle;
    if (is_idle) {
        ucs_list_add_tail(&region->cache->idle, &region->idle_link);
    } else {
        ucs_list_del(&region->idle_link);
    }
}

static uint64_t dereg_cost(const model_t *model, const region_t *region)
{
    return predreg_cost_of(&model->params->dereg, region->super.start,
                           region_length(region));
}

/* Free a region that has been deregistered */
static void region_free(region_t *region)
{
    cache_t *cache = region->cache;

    region_set_idle(region, 0);
    ucs_list_del(&region->link);
    cache->bytes       -= region_length(region);
    cache->num_regions -= 1;
    cache->pinned      -= region->holding.bytes;
    free(region);
}

/* Deregister a region that no use finds any more. The program does this, and
 * waits for it */
static void region_destroy(model_t *model, region_t *region)
{
    predreg_holding_dereg(model->account, &region->holding, model->now);
    model->now += dereg_cost(model, region);
    predreg_holding_close(model->account, &region->holding, model->now);
    region_free(region);
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
static void merge(model_t *model, cache_t *cache, ucs_pgt_region_t *range)
{
    ucs_list_link_t found;
    region_t *region, *tmp;

    ucs_list_head_init(&found);
    ucs_pgtable_search_range(&cache->table, range->start, range->end - 1,
                             collect, &found);
    ucs_list_for_each_safe(region, tmp, &found, tmp_link) {
        range->start = ucs_min(range->start, region->super.start);
        range->end   = ucs_max(range->end, region->super.end);
        region_invalidate(model, region);
    }
}

static void destroy_unmapped(model_t *model, cache_t *cache)
{
    while (!ucs_list_is_empty(&cache->unmapped)) {
        region_destroy(model, ucs_list_extract_head(&cache->unmapped, region_t,
                                                    tmp_link));
    }
    cache->unreleased = 0;
}

/* Let the asynchronous thread deregister all regions that were unmapped, from
 * now on */
static void clean(model_t *model, uint64_t now)
{
    cache_t *cache;
    region_t *region;

    model->cleaning = ucs_max(model->cleaning, now);
    for (cache = model->caches;
         cache < model->caches + model->timeline->num_domains; ++cache) {
        while (!ucs_list_is_empty(&cache->unmapped)) {
            region           = ucs_list_extract_head(&cache->unmapped, region_t,
                                                     tmp_link);
            region->cleaned  = model->cleaning;
            model->cleaning += dereg_cost(model, region);
            ucs_list_add_tail(&model->cleaned, &region->tmp_link);
        }
        cache->unreleased = 0;
    }
}

/* Enter into the account what the asynchronous thread has deregistered, up to
 * this time at which it is done, or the program ends */
static void finish_cleaning(model_t *model, uint64_t now)
{
    predreg_holding_t *holding;
    region_t *region;

    while (!ucs_list_is_empty(&model->cleaned)) {
        region  = ucs_list_extract_head(&model->cleaned, region_t, tmp_link);
        holding = &region->holding;
        if (region->cleaned <= now) {
            predreg_holding_dereg(model->account, holding, region->cleaned);
        }
        predreg_holding_close(model->account, holding,
                              ucs_min(region->cleaned +
                                      dereg_cost(model, region), now));
        region_free(region);
    }
}

/* The program needs the lock of a cache: it waits until the asynchronous thread
 * has cleaned up */
static void wait_for_cleaning(model_t *model)
{
    if (!ucs_list_is_empty(&model->cleaned)) {
        model->now = ucs_max(model->now, model->cleaning);
        finish_cleaning(model, model->now);
    }
}

static void enforce_limit(model_t *model, cache_t *cache)
{
    region_t *region;

    while (!ucs_list_is_empty(&cache->idle) &&
           ((cache->num_regions > model->params->max_regions) ||
            (cache->bytes > model->params->max_bytes))) {
        region = ucs_list_head(&cache->idle, region_t, idle_link);
        if (!region->is_found || (region->refs > 0)) {
            region_set_idle(region, 0);
        } else {
            region_invalidate(model, region);
        }
    }
}

/* @return NULL if there is no memory. */
static region_t *region_create(model_t *model, cache_t *cache,
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
    *region = (region_t){ .super = *range, .cache = cache, .is_found = 1 };
    status  = ucs_pgtable_insert(&cache->table, &region->super);
    if (status != UCS_OK) {
        goto err_free;
    }

    ucs_list_add_tail(&model->all, &region->link);
    cache->bytes        += region_length(region);
    cache->num_regions  += 1;
    cache->peak_regions  = ucs_max(cache->peak_regions, cache->num_regions);
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
    cache_t *cache         = &model->caches[use->domain];
    ucs_pgt_region_t range = {
        .start = ucs_align_down_pow2(use->address, REGION_ALIGN),
        .end   = ucs_align_up_pow2(use->address + use->length, REGION_ALIGN)
    };
    region_t *region;

    destroy_unmapped(model, cache);
    merge(model, cache, &range);
    region = region_create(model, cache, &range);
    if (region == NULL) {
        return NULL;
    }

    predreg_holding_reg(model->account, &region->holding, region->super.start,
                        region_length(region), model->now);
    cache->pinned      += region->holding.bytes;
    cache->peak_pinned  = ucs_max(cache->peak_pinned, cache->pinned);
    model->now         += predreg_cost_of(&model->params->reg, region->super.start,
                                  region_length(region));
    predreg_holding_registered(model->account, &region->holding, model->now);
    predreg_holding_use(model->account, &region->holding, site, model->now);
    enforce_limit(model, cache);
    return region;
}

static region_t *find_region(model_t *model, const predreg_use_t *use)
{
    cache_t *cache          = &model->caches[use->domain];
    ucs_pgt_region_t *found = ucs_pgtable_lookup(&cache->table, use->address);

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
    wait_for_cleaning(model);
    if (hit) {
        region_set_idle(region, 0);
        predreg_holding_use(model->account, &region->holding, site,
                            model->now);
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
    region_set_idle(region, 1);
    if ((--region->refs == 0) && !region->is_found) {
        wait_for_cleaning(model);
        region_destroy(model, region);
    }

    site = predreg_account_site(model->account, &use->context);
    predreg_account_wait(model->account, site, model->now - now);
    return model->now - now;
}

static void cache_unmap(cache_t *cache, const predreg_unmap_t *unmap)
{
    ucs_list_link_t found;
    region_t *region;

    ucs_list_head_init(&found);
    ucs_pgtable_search_range(&cache->table, unmap->start, unmap->end - 1,
                             collect, &found);
    while (!ucs_list_is_empty(&found)) {
        region = ucs_list_extract_head(&found, region_t, tmp_link);
        region_hide(region);
        if (region->refs == 0) {
            cache->unreleased += region_length(region);
            ucs_list_add_tail(&cache->unmapped, &region->tmp_link);
        }
    }
}

static void model_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
{
    model_t *model = arg;
    unsigned i;

    if (unmap->start >= unmap->end) {
        return;
    }

    /* What is unmapped now does not count for the limit yet */
    for (i = 0; i < model->timeline->num_domains; ++i) {
        if (model->caches[i].unreleased > MAX_UNRELEASED) {
            clean(model, now);
        }
    }

    for (i = 0; i < model->timeline->num_domains; ++i) {
        cache_unmap(&model->caches[i], unmap);
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
    ucs_list_head_init(&model->cleaned);
    model->uses   = calloc(ucs_max(timeline->num_uses, 1ul),
                           sizeof(*model->uses));
    model->caches = calloc(timeline->num_domains, sizeof(*model->caches));
    if ((model->uses == NULL) || (model->caches == NULL)) {
        goto err;
    }

    if (predreg_account_create(&model->account) != UCS_OK) {
        goto err;
    }

    for (i = 0; i < timeline->num_domains; ++i) {
        ucs_pgtable_init(&model->caches[i].table, dir_alloc, dir_release);
        ucs_list_head_init(&model->caches[i].idle);
        ucs_list_head_init(&model->caches[i].unmapped);
    }
    return UCS_OK;

err:
    free(model->caches);
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
        ucs_pgtable_cleanup(&model->caches[i].table);
    }
    predreg_account_destroy(model->account);
    free(model->caches);
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

    finish_cleaning(model, duration);
    ucs_list_for_each(region, &model->all, link) {
        predreg_holding_close(model->account, &region->holding, duration);
    }
    return predreg_account_result(model->account, duration, result);
}

ucs_status_t predreg_ucx_cache_replay(const predreg_timeline_t *timeline,
                                      const predreg_ucx_cache_params_t *params,
                                      predreg_replay_result_t *result,
                                      predreg_ucx_cache_peaks_t *peaks)
{
    model_t model = {
        .timeline = timeline,
        .params   = params,
        .status   = UCS_OK
    };
    ucs_status_t status;
    unsigned i;

    status = model_create(&model);
    if (status != UCS_OK) {
        return status;
    }

    status = model_run(&model, result);
    *peaks = (predreg_ucx_cache_peaks_t){ .bytes = 0 };
    for (i = 0; i < timeline->num_domains; ++i) {
        peaks->bytes   = ucs_max(peaks->bytes, model.caches[i].peak_pinned);
        peaks->regions = ucs_max(peaks->regions, model.caches[i].peak_regions);
    }
    model_destroy(&model);
    return status;
}

ucs_status_t predreg_ucx_cache_set_limits(const predreg_timeline_t *timeline,
                                          predreg_ucx_cache_params_t *params)
{
    predreg_ucx_cache_params_t unlimited = *params;
    predreg_ucx_cache_peaks_t peaks;
    predreg_replay_result_t result;
    ucs_status_t status;

    if ((params->max_bytes > 0) && (params->max_regions > 0)) {
        return UCS_OK;
    }

    unlimited.max_bytes   = UINT64_MAX;
    unlimited.max_regions = UINT64_MAX;
    status = predreg_ucx_cache_replay(timeline, &unlimited, &result,
                                      &peaks);
    if (status != UCS_OK) {
        return status;
    }

    if (params->max_bytes == 0) {
        params->max_bytes = ucs_max(peaks.bytes / 2, 1ul);
    }
    if (params->max_regions == 0) {
        params->max_regions = ucs_max(peaks.regions / 2, 1ul);
    }
    predreg_replay_result_cleanup(&result);
    return UCS_OK;
}
