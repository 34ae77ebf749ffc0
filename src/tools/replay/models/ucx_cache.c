/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx_cache.h"
#include "ucx_dereg.h"
#include "ucx_regions.h"

#include <tools/replay/program/timeline.h>
#include <ucs/base/align.h>

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


typedef predreg_ucx_region_t  region_t;
typedef predreg_ucx_regions_t cache_t; /* All that the cache of a domain has */

typedef struct model {
    const predreg_timeline_t         *timeline;
    const predreg_ucx_cache_params_t *params;
    predreg_account_t                *account;
    cache_t                          *caches;   /* One for each domain */
    region_t                         **uses;    /* Region of each use */
    predreg_ucx_dereg_t              dereg;
    uint64_t                         now;       /* Time of the program, ns */
    ucs_status_t                     status;
} model_t;


/* Deregister a region that no use finds any more. The program does this, and
 * waits for it */
static void dereg(model_t *model, region_t *region)
{
    model->now = predreg_ucx_dereg_region(&model->dereg, region, model->now);
}

/* Invalidate a region: it serves no new use, and is deregistered when its last
 * use has ended */
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

/* Extend the range of a new region over all regions that it overlaps, and
 * invalidate these */
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

static void enforce_limit(model_t *model, cache_t *cache)
{
    region_t *region;

    while (!ucs_list_is_empty(&cache->idle) &&
           ((cache->num_regions > model->params->max_regions) ||
            (cache->bytes > model->params->max_bytes))) {
        region = ucs_list_head(&cache->idle, region_t, idle_link);
        if (!region->is_found || (region->refs > 0)) {
            predreg_ucx_region_set_idle(region, 0);
        } else {
            invalidate(model, region);
        }
    }
}

/* Register a region for a use, which begins as soon as that is done. Then give
 * up other regions, if the limit asks for it.
 * @return NULL if there is no memory. */
static region_t *region_register(model_t *model, const predreg_use_t *use,
                                 predreg_site_t *site)
{
    cache_t *cache         = &model->caches[use->domain];
    ucs_pgt_region_t range = {
        .start = ucs_rcache_pred_align_down(use->address, REGION_ALIGN),
        .end   = ucs_rcache_pred_align_up(use->address + use->length,
                                          REGION_ALIGN)
    };
    uint64_t length;
    region_t *region;

    dereg_unmapped(model, cache);
    merge(model, cache, &range);
    region = predreg_ucx_regions_add(cache, &range);
    if (region == NULL) {
        model->status = UCS_ERR_NO_MEMORY;
        return NULL;
    }

    length = predreg_ucx_region_length(region);
    predreg_holding_reg(model->account, &region->holding, range.start, length,
                        model->now);
    model->now += predreg_cost_of(&model->params->reg, range.start, length);
    predreg_holding_registered(model->account, &region->holding, model->now);
    predreg_holding_use(model->account, &region->holding, site, model->now);
    enforce_limit(model, cache);
    return region;
}

static uint64_t model_begin(void *arg, const predreg_use_t *use, uint64_t now)
{
    model_t *model       = arg;
    predreg_site_t *site = predreg_account_site(model->account, &use->context);
    region_t *region     = predreg_ucx_regions_find(&model->caches[use->domain],
                                                    use->address, use->length);
    int hit              = (region != NULL);

    model->now = predreg_ucx_dereg_wait(&model->dereg, now);
    if (hit) {
        predreg_ucx_region_set_idle(region, 0);
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
    predreg_ucx_region_set_idle(region, 1);
    if ((--region->refs == 0) && !region->is_found) {
        model->now = predreg_ucx_dereg_wait(&model->dereg, now);
        dereg(model, region);
    }

    site = predreg_account_site(model->account, &use->context);
    predreg_account_wait(model->account, site, model->now - now);
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
        predreg_ucx_regions_unmap(&model->caches[i], unmap->start, unmap->end);
    }
}

static ucs_status_t model_create(model_t *model)
{
    const predreg_timeline_t *timeline = model->timeline;
    unsigned i;

    model->uses   = calloc(ucs_max(timeline->num_uses, 1ul),
                           sizeof(*model->uses));
    model->caches = calloc(timeline->num_domains, sizeof(*model->caches));
    if ((model->uses == NULL) || (model->caches == NULL)) {
        goto err;
    }

    if (predreg_account_create(&model->account) != UCS_OK) {
        goto err;
    }

    predreg_ucx_dereg_init(&model->dereg, model->account,
                           &model->params->dereg);
    for (i = 0; i < timeline->num_domains; ++i) {
        predreg_ucx_regions_init(&model->caches[i]);
    }
    return UCS_OK;

err:
    free(model->caches);
    free(model->uses);
    return UCS_ERR_NO_MEMORY;
}

static void model_destroy(model_t *model)
{
    unsigned i;

    for (i = 0; i < model->timeline->num_domains; ++i) {
        predreg_ucx_regions_cleanup(&model->caches[i]);
    }
    predreg_account_destroy(model->account);
    free(model->caches);
    free(model->uses);
}

/* The program is over: close the account of all registrations that are left */
static void finish(model_t *model, uint64_t duration)
{
    region_t *region;
    unsigned i;

    predreg_ucx_dereg_finish(&model->dereg, duration);
    for (i = 0; i < model->timeline->num_domains; ++i) {
        ucs_list_for_each(region, &model->caches[i].all, link) {
            predreg_holding_close(model->account, &region->holding, duration);
        }
    }
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

    status = predreg_timeline_play(model->timeline, &player, &duration);
    if (status == UCS_OK) {
        status = model->status;
    }

    if (status != UCS_OK) {
        return status;
    }

    finish(model, duration);
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
