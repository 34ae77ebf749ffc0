/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"
#include "ucx_merge.h"

#include <ucs/base/align.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * The policies of UCX's own cache: leave-pinned has no limit, lru has a limit on the bytes
 * in the cache, and regions has a limit on the number of regions. The code is a model of
 * UCX's registration caches, of which each memory domain has one (UCX 1.13.1,
 * src/ucs/memory/rcache.c). Merging is leave-pinned with adjacent regions merged, as of
 * openucx/ucx pull request #11803, commit deb98f6fe2.
 *
 * A cache deregisters a region in three cases: the region's memory was unmapped, a larger
 * region replaces the region, or the cache is above its limit. The program deregisters by
 * itself, and waits meanwhile, but for the cleanup below.
 *
 *   - Regions do not overlap. If no region covers the memory of a use, the cache makes a
 *     new region, which also covers all regions that overlap this memory. The cache
 *     deregisters such an overlapped region at the end of its last use.
 *   - A region with unmapped memory serves no further use. The cache deregisters this
 *     region before it makes the next region of the domain.
 *   - If a cache has more than RCACHE_MAX_UNRELEASED bytes of unmapped regions
 *     at another unmap, UCX's asynchronous thread cleans up
 *     (ucs_rcache_unmapped_callback(), ucs_rcache_invalidate_handler()): it
 *     deregisters the earlier unmapped regions of all caches, one after the
 *     other. Meanwhile it holds the locks of the caches, so that the begin of a
 *     use waits.
 *   - After the registration of a new region, the cache deregisters idle regions, in the
 *     order of a list, until the cache keeps its limit. The begin of a use takes the
 *     region off the list. The end of a use puts the region at the end of the list, also
 *     if another use of the region goes on (as in ucs_rcache_region_put()); the end of
 *     this other use does not move the region again. A region in use stays registered,
 *     whatever the limit.
 *
 * Under merging, a new region also covers the regions beside it, and grows
 * (ucx_merge.h). A region still goes as a whole: an unmap of a part takes all of a merged
 * region. The asynchronous thread never cleans up: RCACHE_MAX_UNRELEASED is infinite by
 * default for the caches of contexts, which UCX has since 1.14 in place of those of domains.
 * A replay keeps a cache for each domain, so that the policies differ by the merging.
 */

/* UCX 1.13.1, src/uct/ib/base/ib_md.c: UCT_IB_MD_RCACHE_DEFAULT_ALIGN */
#define REGION_ALIGN 16

/* UCX 1.13.1, src/uct/base/uct_md.c: the default of RCACHE_MAX_UNRELEASED */
#define MAX_UNRELEASED (512ul << 20)


typedef predreg_ucx_region_t  region_t;
typedef predreg_ucx_regions_t cache_t; /* The regions of a domain stand for the cache
                                          of the domain */

typedef struct model {
    const predreg_timeline_t      *timeline;
    const predreg_replay_params_t *params;
    uint64_t                      max_bytes;   /* Limits of each cache, on the sum of
                                                  idle and used regions */
    uint64_t                      max_regions;
    predreg_account_t             account;
    cache_t                       *caches;     /* Cache of each domain, indexed by its
                                                  number */
    region_t                      **uses;      /* Region of each use */
    predreg_ucx_dereg_t           dereg;
    int                           is_merging;  /* Whether adjacent regions merge */
    predreg_ucx_mapped_t          mapped;      /* Empty unless adjacent regions merge */
    uint64_t                      now;         /* Time of the program, ns */
    uint64_t                      peak_bytes;  /* The largest peak of any cache: bytes
                                                  of pages, and number of regions */
    uint64_t                      peak_regions;
} model_t;


/* Deregister a region that no use can find any more. The thread of the program does that for UCX:
 * the program goes on when the deregistration has ended */
static void dereg(model_t *model, region_t *region)
{
    model->now = predreg_ucx_dereg_region(&model->dereg, region, model->now);
}

/* Let a region serve no new use, and deregister it at the end of the last
 * use */
static void invalidate(model_t *model, region_t *region)
{
    predreg_ucx_region_hide(region);
    if (region->refs == 0) {
        dereg(model, region);
    }
}

static void dereg_unmapped(model_t *model, cache_t *cache)
{
    region_t *region;

    while ((region = predreg_ucx_regions_extract_unmapped(cache)) != NULL) {
        dereg(model, region);
    }
}

/* Extend the range of a new region over all overlapping regions, and invalidate
 * the overlapping regions */
static void merge(model_t *model, cache_t *cache, ucs_pgt_region_t *range)
{
    ucs_list_link_t found;
    region_t *region;

    ucs_list_head_init(&found);
    predreg_ucx_regions_collect(cache, range->start, range->end, &found);
    while (!ucs_list_is_empty(&found)) {
        region       = ucs_list_extract_head(&found, region_t, tmp_link);
        range->start = ucs_min(range->start, region->super.start);
        range->end   = ucs_max(range->end, region->super.end);
        invalidate(model, region);
    }
}

/* Extend the range of a new region over the regions beside it, and then over what the
 * longer range overlaps */
static void merge_adjacent(model_t *model, cache_t *cache, const predreg_use_t *use,
                           ucs_pgt_region_t *range)
{
    predreg_ucx_mapped_add(&model->mapped, use->address, use->address + use->length);
    predreg_ucx_merge_adjacent(cache, &model->mapped, range);
    merge(model, cache, range);
}

static void enforce_limit(model_t *model, cache_t *cache)
{
    region_t *region;

    while (!ucs_list_is_empty(&cache->idle) &&
           ((cache->num_regions > model->max_regions) ||
            (cache->bytes > model->max_bytes))) {
        region = ucs_list_head(&cache->idle, region_t, idle_link);
        if (!region->is_found || (region->refs > 0)) {
            predreg_ucx_region_set_idle(region, 0);
        } else {
            invalidate(model, region);
        }
    }
}

/* Register a region for a use, let the use begin, and deregister other regions to keep
 * the limit */
static region_t *region_register(model_t *model, const predreg_use_t *use,
                                 predreg_site_t *site)
{
    cache_t *cache         = &model->caches[use->domain];
    ucs_pgt_region_t range = {
        .start = ucs_round_down(use->address, REGION_ALIGN),
        .end   = ucs_round_up(use->address + use->length,
                                          REGION_ALIGN)
    };
    uint64_t length;
    region_t *region;

    dereg_unmapped(model, cache);
    merge(model, cache, &range);
    if (model->is_merging) {
        merge_adjacent(model, cache, use, &range);
    }
    region = predreg_ucx_regions_add(cache, &range);
    length = predreg_ucx_region_length(region);
    predreg_holding_reg(&model->account, &region->holding, range.start, length,
                        model->now);
    model->now += predreg_cost_of(&model->params->reg, range.start, length);
    predreg_holding_registered(&model->account, &region->holding, model->now);
    predreg_holding_use(&model->account, &region->holding, site, model->now);
    enforce_limit(model, cache);
    return region;
}

static uint64_t model_begin(void *arg, const predreg_use_t *use, uint64_t now)
{
    model_t *model       = arg;
    predreg_site_t *site = predreg_account_site(&model->account,
                                                 &use->context);
    region_t *region     = predreg_ucx_regions_find(&model->caches[use->domain],
                                                    use->address, use->length);
    int hit              = (region != NULL);

    model->now = predreg_ucx_dereg_wait(&model->dereg, now);
    if (hit) {
        predreg_ucx_region_set_idle(region, 0);
        predreg_holding_use(&model->account, &region->holding, site,
                            model->now);
    } else {
        region = region_register(model, use, site);
    }

    ++region->refs;
    model->uses[use - model->timeline->uses] = region;
    predreg_account_use(&model->account, site, hit, 0, model->now - now);
    return model->now - now;
}

static uint64_t model_end(void *arg, const predreg_use_t *use, uint64_t now)
{
    model_t *model   = arg;
    region_t *region = model->uses[use - model->timeline->uses];
    predreg_site_t *site;

    model->now = now;
    predreg_holding_unuse(&model->account, &region->holding, now);
    predreg_ucx_region_set_idle(region, 1);
    if ((--region->refs == 0) && !region->is_found) {
        model->now = predreg_ucx_dereg_wait(&model->dereg, now);
        dereg(model, region);
    }

    site = predreg_account_site(&model->account, &use->context);
    predreg_account_wait(&model->account, site, model->now - now);
    return model->now - now;
}

/* The asynchronous thread cleans up all caches */
static void clean(model_t *model, uint64_t now)
{
    unsigned i;

    for (i = 0; i < model->timeline->num_domains; ++i) {
        predreg_ucx_dereg_clean(&model->dereg, &model->caches[i], now);
    }
}

static void model_map(void *arg, const predreg_map_t *map, uint64_t now)
{
    model_t *model = arg;

    if (model->is_merging) {
        predreg_ucx_mapped_add(&model->mapped, map->start, map->end);
    }
}

static void model_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
{
    model_t *model = arg;
    unsigned i;

    if (unmap->start >= unmap->end) {
        return;
    }

    if (model->is_merging) {
        predreg_ucx_mapped_remove(&model->mapped, unmap->start, unmap->end);
    }

    /* UCX compares the bytes of earlier unmaps with the limit, and adds those of the present
     * unmap afterwards */
    for (i = 0; i < model->timeline->num_domains; ++i) {
        if (!model->is_merging && (model->caches[i].unreleased > MAX_UNRELEASED)) {
            clean(model, now);
        }
    }

    for (i = 0; i < model->timeline->num_domains; ++i) {
        predreg_ucx_regions_unmap(&model->caches[i], unmap->start, unmap->end);
    }
}

static void model_create(model_t *model)
{
    const predreg_timeline_t *timeline = model->timeline;
    unsigned i;

    model->uses   = predreg_alloc(timeline->num_uses, sizeof(*model->uses));
    model->caches = predreg_alloc(timeline->num_domains,
                                  sizeof(*model->caches));
    predreg_ucx_dereg_init(&model->dereg, &model->account,
                           &model->params->dereg);
    for (i = 0; i < timeline->num_domains; ++i) {
        predreg_ucx_regions_init(&model->caches[i]);
    }
    if (model->is_merging) {
        predreg_ucx_mapped_init(&model->mapped, timeline);
    }
}

static void model_destroy(model_t *model)
{
    unsigned i;

    for (i = 0; i < model->timeline->num_domains; ++i) {
        predreg_ucx_regions_cleanup(&model->caches[i]);
    }
    predreg_ucx_mapped_cleanup(&model->mapped);
    free(model->caches);
    free(model->uses);
}

/* At the end of the program, close the holdings of all regions that are still
 * registered */
static void finish(model_t *model, uint64_t duration)
{
    cache_t *cache;
    region_t *region;

    predreg_ucx_dereg_finish(&model->dereg, duration);
    predreg_for_each(cache, model->caches, model->timeline->num_domains) {
        model->peak_bytes   = ucs_max(model->peak_bytes, cache->peak_pinned);
        model->peak_regions = ucs_max(model->peak_regions, cache->peak_regions);
        ucs_list_for_each(region, &cache->all, link) {
            predreg_holding_close(&model->account, &region->holding, duration);
        }
    }
}

/* Play the policy with these limits of each cache.
 * @param [out] model  Has the peaks of the caches afterwards. */
static void replay(const predreg_timeline_t *timeline,
                   const predreg_replay_params_t *params, uint64_t max_bytes,
                   uint64_t max_regions, model_t *model,
                   predreg_replay_result_t *result)
{
    const predreg_player_t player = {
        .arg   = model,
        .begin = model_begin,
        .end   = model_end,
        .unmap = model_unmap,
        .map   = model_map
    };
    uint64_t duration;

    *model = (model_t){
        .timeline    = timeline,
        .params      = params,
        .max_bytes   = max_bytes,
        .max_regions = max_regions,
        .is_merging  = params->policy == PREDREG_REPLAY_MERGING
    };
    model_create(model);
    predreg_account_init(&model->account, result);
    duration = predreg_timeline_play(timeline, &player);
    finish(model, duration);
    predreg_account_result(&model->account, duration);
    predreg_account_cleanup(&model->account);
    model_destroy(model);
}

/* For lru and regions, the limit is that of the parameters. If they have none, the limit
 * is half of the peak of a cache without a limit, but at least 1 */
ucs_status_t predreg_replay_ucx_cache(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_replay_result_t *result)
{
    int is_lru                        = params->policy == PREDREG_REPLAY_LRU;
    int is_regions                    = params->policy == PREDREG_REPLAY_REGIONS;
    predreg_replay_result_t unlimited = { .policy = result->policy };
    uint64_t limit                    = params->limit;
    model_t model;

    if ((is_lru || is_regions) && (limit == 0)) {
        replay(timeline, params, UINT64_MAX, UINT64_MAX, &model, &unlimited);
        predreg_replay_result_cleanup(&unlimited);
        limit = ucs_max((is_lru ? model.peak_bytes : model.peak_regions) / 2, 1ul);
    }

    result->bound_bytes   = is_lru ? limit : 0;
    result->bound_regions = is_regions ? limit : 0;
    replay(timeline, params, is_lru ? limit : UINT64_MAX, is_regions ? limit : UINT64_MAX,
           &model, result);
    return UCS_OK;
}
