/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/base/align.h>
#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/cache.h>
#include <ucs/rcache_pred/cache/lanes.h>
#include <ucs/rcache_pred/cache/use.h>
#include <ucs/rcache_pred/helper/helper.h>
#include <ucs/rcache_pred/helper/decide.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Creates and destroys a cache and its domains, and has the functions that need both
 * folders, cache/ and helper/: at the end of a use the thread may do some of the helper's
 * work, and a thread that destroys a domain or forks waits for the helper. This file may
 * call all folders below; transports, the replay and the tests call it through api/.
 */


static ucs_status_t page_size_check(size_t page_size)
{
    if ((page_size != 0) &&
        (!ucs_is_pow2(page_size) ||
         (page_size < UCS_RCACHE_PRED_MIN_PAGE_SIZE) ||
         (page_size > UCS_RCACHE_PRED_MAX_PAGE_SIZE))) {
        ucs_error("page size of %zu bytes: expected a power of 2, %lu to %lu",
                  page_size, UCS_RCACHE_PRED_MIN_PAGE_SIZE,
                  UCS_RCACHE_PRED_MAX_PAGE_SIZE);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

static ucs_status_t params_check(const ucs_rcache_pred_params_t *params)
{
    if (params->policy >= UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        ucs_error("policy %d manages nothing: expected predict or on-demand",
                  params->policy);
        return UCS_ERR_INVALID_PARAM;
    }

    if (params->helper >= UCS_RCACHE_PRED_HELPER_LAST) {
        ucs_error("helper %d is out of range: expected 0..%d", params->helper,
                  UCS_RCACHE_PRED_HELPER_LAST - 1);
        return UCS_ERR_INVALID_PARAM;
    }

    if (!(params->budget >= 0)) { /* Or it is not a number */
        ucs_error("budget of %g of the run time is out of range: expected 0 or "
                  "more", params->budget);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((params->history < 1) ||
        (params->history > UCS_RCACHE_PRED_MAX_HISTORY)) {
        ucs_error("history of %u intervals is out of range: expected 1..%d",
                  params->history, UCS_RCACHE_PRED_MAX_HISTORY);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((params->max_sites < 16) || (params->known_regions < 16)) {
        ucs_error("%u call sites and %u regions: expected at least 16 of each",
                  params->max_sites, params->known_regions);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((params->max_bytes < UCS_RCACHE_PRED_MIN_BYTES) ||
        (params->max_regions < 4)) {
        ucs_error("bounds of %lu bytes and %lu regions: expected at least %lu "
                  "bytes and 4 regions", params->max_bytes,
                  params->max_regions, UCS_RCACHE_PRED_MIN_BYTES);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((params->dq_size < 2) || !ucs_is_pow2(params->dq_size)) {
        ucs_error("deregistration queue of %u entries: expected a power of 2, "
                  "2 or more", params->dq_size);
        return UCS_ERR_INVALID_PARAM;
    }

    return page_size_check(params->page_size);
}

static void params_to_state(ucs_rcache_pred_t *pred,
                            const ucs_rcache_pred_params_t *params)
{
    pred->params          = *params;
    pred->node            = params->node;
    if (params->page_size == 0) {
        pred->params.page_size = ucs_page_size();
    }
    if (params->budget == 0) {
        /* The memory of a use in pieces is not registered afterwards. Without a budget
         * the helper would not register it ahead of the next use */
        pred->params.pieces = 0;
    }
    pred->ops             = *params->ops;
    pred->bound.max_bytes = params->max_bytes;
    ucs_list_head_init(&pred->domains);
    pred_rounds_init(pred);
    pred_seat_init(pred);
    if (params->helper == UCS_RCACHE_PRED_HELPER_OFF) {
        ucs_rcache_pred_without_helper(pred);
    }
}

/* Initialize a cache whose memory was allocated. On error nothing is left
 * to undo. */
static ucs_status_t pred_init(ucs_rcache_pred_t *pred,
                              const ucs_rcache_pred_params_t *params)
{
    ucs_status_t status;

    memset(pred, 0, sizeof(*pred));
    params_to_state(pred, params);

    status = ucs_rcache_pred_table_init(&pred->table);
    if (status != UCS_OK) {
        goto err;
    }

    status = ucs_rcache_pred_forgotten_init(&pred->forgotten,
                                            params->known_regions);
    if (status != UCS_OK) {
        goto err_cleanup_table;
    }

    status = ucs_rcache_pred_predictor_init(&pred->predictor, params->max_sites,
                                            params->history);
    if (status != UCS_OK) {
        goto err_cleanup_forgotten;
    }

    status = ucs_rcache_pred_dq_init(&pred->dq, params->dq_size);
    if (status != UCS_OK) {
        goto err_cleanup_predictor;
    }

    ucs_mutex_init(&pred->helper_mutex, UCS_RANK_HELPER, UCS_MUTEX_LENDS);
    return UCS_OK;

err_cleanup_predictor:
    ucs_rcache_pred_predictor_cleanup(&pred->predictor);
err_cleanup_forgotten:
    ucs_rcache_pred_forgotten_cleanup(&pred->forgotten);
err_cleanup_table:
    ucs_rcache_pred_table_cleanup(&pred->table);
err:
    return status;
}

ucs_status_t ucs_rcache_pred_create(const ucs_rcache_pred_params_t *params,
                                    ucs_rcache_pred_t **pred_p)
{
    ucs_status_t status;
    void *pred;

    status = params_check(params);
    if (status != UCS_OK) {
        goto err;
    }

    if (posix_memalign(&pred, 64, sizeof(ucs_rcache_pred_t)) != 0) {
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    status = pred_init(pred, params);
    if (status != UCS_OK) {
        goto err_free;
    }

    *pred_p = pred;
    return UCS_OK;

err_free:
    free(pred);
err:
    return status;
}

void ucs_rcache_pred_destroy(ucs_rcache_pred_t *pred)
{
    ucs_mutex_destroy(&pred->helper_mutex);
    pred_lanes_cleanup(pred);
    ucs_rcache_pred_dq_cleanup(&pred->dq);
    ucs_rcache_pred_predictor_cleanup(&pred->predictor);
    ucs_rcache_pred_forgotten_cleanup(&pred->forgotten);
    ucs_rcache_pred_table_cleanup(&pred->table);
    free(pred);
}

ucs_status_t ucs_rcache_pred_domain_create(ucs_rcache_pred_t *pred,
                                           const char *name, void *arg,
                                           ucs_rcache_pred_domain_t **domain_p)
{
    ucs_rcache_pred_domain_t *domain;

    domain = calloc(1, sizeof(*domain));
    if (domain == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    domain->pred   = pred;
    domain->arg    = arg;
    domain->limits = (ucs_rcache_pred_limits_t){
        .max_bytes   = UINT64_MAX,
        .max_regions = UINT64_MAX
    };
    snprintf(domain->name, sizeof(domain->name), "%s", name);
    ucs_rcache_pred_cost_init(&domain->reg_cost,
                              UCS_RCACHE_PRED_REG_COST_PER_PAGE,
                              UCS_RCACHE_PRED_REG_COST_PER_OP);
    ucs_rcache_pred_cost_init(&domain->dereg_cost,
                              UCS_RCACHE_PRED_DEREG_COST_PER_PAGE,
                              UCS_RCACHE_PRED_DEREG_COST_PER_OP);

    ucs_mutex_lock(&pred->helper_mutex);
    pred_lock(pred);
    if (ucs_list_is_empty(&pred->domains)) {
        pred->integral.time = pred_now(pred);
    }
    pred_unlock(pred);
    domain->number = pred->num_domains++;
    ucs_list_add_tail(&pred->domains, &domain->list);
    ucs_mutex_unlock(&pred->helper_mutex);

    *domain_p = domain;
    return UCS_OK;
}

void ucs_rcache_pred_domain_limit(ucs_rcache_pred_domain_t *domain,
                                  const ucs_rcache_pred_limits_t *limits)
{
    ucs_rcache_pred_t *pred = domain->pred;

    domain->limits = *limits;
    ucs_mutex_lock(&pred->helper_mutex);
    pred->node = (limits->node != NULL) ? limits->node : pred->node;
    ucs_mutex_unlock(&pred->helper_mutex);
}

unsigned
ucs_rcache_pred_domain_get_number(const ucs_rcache_pred_domain_t *domain)
{
    return domain->number;
}

/* The kinds of regions that deregister_all() deregisters */
typedef enum {
    WHICH_OF_DOMAIN, /* All regions of one domain */
    WHICH_IDLE,      /* All regions without a use, of all domains, guarded ones as well */
    WHICH_AT_FORK    /* The regions without a use of all domains that do not keep them at
                        a fork, guarded ones as well */
} which_t;

/* @return whether a region is of a kind. Under the lock of the cache. */
static int is_one_of(const ucs_rcache_pred_region_t *region, which_t which,
                     const ucs_rcache_pred_domain_t *domain)
{
    switch (which) {
    case WHICH_OF_DOMAIN:
        return region->extent.domain == domain;
    case WHICH_IDLE:
        return region->refs == region->extent.guarded;
    default:
        return (region->refs == region->extent.guarded) &&
               !region->extent.domain->limits.keeps_at_fork;
    }
}

/* Deregister all regions of a kind. @param [in] domain The domain for
 * WHICH_OF_DOMAIN. Under helper_mutex. */
static void deregister_all(ucs_rcache_pred_t *pred, which_t which,
                           const ucs_rcache_pred_domain_t *domain)
{
    ucs_rcache_pred_waiter_t *waiters;
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_extent_t *extent;
    pred_handle_t handle;
    uintptr_t start;

    pred_lock(pred);
    region = ucs_rcache_pred_table_from(&pred->table, 0);
    while (region != NULL) {
        extent = &region->extent;
        if ((extent->state != UCS_RCACHE_PRED_EXTENT_REGISTERED) ||
            !is_one_of(region, which, domain)) {
            region = ucs_rcache_pred_region_next(region);
            continue;
        }

        start           = extent->known.start;
        pred_unguard(pred, extent);
        region->refs    = 0;
        handle          = pred_take_handle(pred, extent);
        waiters         = extent->waiters;
        extent->waiters = NULL;
        pred_unlock(pred);
        pred_deregister(&handle, UCS_RCACHE_PRED_BY_HELPER);
        pred_run_waiters(waiters);
        pred_lock(pred);
        /* On demand, the end of a use in another domain may have freed the region that
         * comes next: look it up again */
        region = ucs_rcache_pred_table_from(&pred->table, start);
    }
    pred_unlock(pred);
}

/* Forget all regions of a domain, none of which is registered. Under
 * helper_mutex. */
static void forget_all(ucs_rcache_pred_domain_t *domain)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_rcache_pred_region_t *region;
    uintptr_t start;

    pred_lock(pred);
    region = ucs_rcache_pred_table_from(&pred->table, 0);
    while (region != NULL) {
        if (region->extent.domain != domain) {
            region = ucs_rcache_pred_region_next(region);
            continue;
        }

        start = region->extent.known.start;
        pred_unlock(pred);
        pred_forget_region(pred, region);
        pred_lock(pred);
        region = ucs_rcache_pred_table_from(&pred->table, start);
    }
    pred_unlock(pred);
}

/* Wait until other threads have deregistered the handles that they have taken from
 * regions of this domain, such as those that uses of other domains have evicted to make
 * room */
static void domain_wait_releases(ucs_rcache_pred_domain_t *domain)
{
    ucs_rcache_pred_t *pred = domain->pred;

    pred_lock(pred);
    while (domain->releasing > 0) {
        pred_unlock(pred);
        pred_yield(pred);
        pred_lock(pred);
    }
    pred_unlock(pred);
}

void ucs_rcache_pred_domain_destroy(ucs_rcache_pred_domain_t *domain)
{
    ucs_rcache_pred_t *pred = domain->pred;

    ucs_mutex_lock(&pred->helper_mutex);
    deregister_all(pred, WHICH_OF_DOMAIN, domain);
    domain_wait_releases(domain);
    forget_all(domain);

    ucs_list_del(&domain->list);
    pred_lock(pred);
    if (ucs_list_is_empty(&pred->domains)) {
        pred_stats_advance(pred, pred_now(pred));
        pred->integral.time = 0;
    }
    pred_unlock(pred);
    ucs_mutex_unlock(&pred->helper_mutex);
    free(domain);
}

/* Do some of the helper's work after the end of a use, if the program does the helper's
 * work: memory is to be deregistered before the program computes, perhaps for long. Work
 * that has become due only since the use began waits for the next call, and so the clock
 * need not be read here.
 *
 * @param [in] status  Result of the end of the use.
 * @param [in] begin   When the use began.
 * @return the status for the caller. */
static UCS_F_ALWAYS_INLINE ucs_status_t
after_end(ucs_rcache_pred_t *pred, ucs_status_t status,
          ucs_rcache_pred_time_t begin)
{
    if (ucs_likely(status == UCS_OK)) {
        if ((atomic_load(&pred->handshake.mode) ==
             UCS_RCACHE_PRED_MODE_PROGRESS) &&
            ucs_unlikely(pred_is_due(pred, begin))) {
            ucs_rcache_pred_progress(pred);
        }
        return UCS_OK;
    }

    return (status == UCS_INPROGRESS) ? UCS_OK : status;
}

ucs_status_t ucs_rcache_pred_end(ucs_rcache_pred_domain_t *domain, void *memh)
{
    ucs_rcache_pred_time_t begin = 0;
    ucs_status_t status          = pred_use_end(domain, memh, &begin);

    return after_end(domain->pred, status, begin);
}

ucs_status_t ucs_rcache_pred_invalidate(ucs_rcache_pred_domain_t *domain,
                                        void *memh, void (*cb)(void *arg),
                                        void *arg)
{
    ucs_rcache_pred_time_t begin = 0;
    ucs_status_t status = pred_invalidate(domain, memh, cb, arg, &begin);

    return after_end(domain->pred, status, begin);
}

/* Keep the helper from its work until ucs_rcache_pred_resume(), and deregister all
 * regions of a kind */
static void quiesce(ucs_rcache_pred_t *pred, which_t which)
{
    ucs_mutex_lock(&pred->helper_mutex);
    deregister_all(pred, which, NULL);
}

void ucs_rcache_pred_quiesce(ucs_rcache_pred_t *pred)
{
    quiesce(pred, WHICH_AT_FORK);
}

void ucs_rcache_pred_resume(ucs_rcache_pred_t *pred)
{
    ucs_mutex_unlock(&pred->helper_mutex);
    pred_publish(pred);
}

void ucs_rcache_pred_purge(ucs_rcache_pred_t *pred)
{
    quiesce(pred, WHICH_IDLE);
    ucs_rcache_pred_resume(pred);
}

void ucs_rcache_pred_get_stats(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_stats_t *stats)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    unsigned __int128 byte_ns;

    pred_lock(pred);
    pred_stats_advance(pred, now);
    byte_ns          = pred->integral.byte_ns;
    *stats           = pred->stats;
    stats->byte_ns   = (byte_ns > UINT64_MAX) ? UINT64_MAX : byte_ns;
    stats->bytes_avg = (stats->duration == 0) ? 0 : (byte_ns / stats->duration);
    pred_unlock(pred);
}
