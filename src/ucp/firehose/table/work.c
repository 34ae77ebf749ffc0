/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pin.h"

#include <ucs/sys/math.h>


/* What has been taken out of its list is to be pinned or unpinned */
static int set_work(const ucp_fh_local_t *table, ucp_fh_region_t *region,
                    int is_pin, ucp_fh_work_t *work)
{
    *work = (ucp_fh_work_t){
        .region = region,
        .is_pin = is_pin,
        .start  = region->span.start,
        .length = region->span.end - region->span.start,
        .handle = region->handle,
        .status = UCS_INPROGRESS
    };
    region->state = is_pin ? UCP_FH_REGION_PINNING : UCP_FH_REGION_UNPINNING;
    return 1;
}

static int unpin(ucp_fh_local_t *table, ucp_fh_region_t *region,
                 ucp_fh_work_t *work)
{
    table->num_unpinning += region->run.num;
    return set_work(table, region, 0, work);
}

static int unpin_victim(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_region_t *region = ucs_list_head(&table->victims, ucp_fh_region_t,
                                            link);

    ucp_fh_region_revive(table, region);
    return unpin(table, region, work);
}

/* Unpin a region that nobody uses, preferably one that could be unpinned
 * before */
static int unpin_any(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_region_t *region;

    if (!ucs_list_is_empty(&table->victims)) {
        return unpin_victim(table, work);
    }

    if (!ucs_list_is_empty(&table->doomed)) {
        region = ucs_list_extract_head(&table->doomed, ucp_fh_region_t, link);
        return unpin(table, region, work);
    }

    return 0;
}

static int has_room(const ucp_fh_local_t *table, const ucp_fh_region_t *region,
                    uint64_t num_pinned)
{
    return num_pinned + region->run.num <= table->max_pinned;
}

/* @return whether there is something to be done so that the first of the queued
 *         regions is pinned */
static int next_pin(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_region_t *region;

    if (ucs_list_is_empty(&table->to_pin)) {
        table->num_missing = 0;
        table->is_refused  = 0;
        return 0;
    }

    if (table->is_refused && (table->num_victims == 0)) {
        return 0;
    }
    table->is_refused = 0;

    if ((table->num_missing > table->num_unpinning) &&
        (table->num_victims > 0)) {
        return unpin_victim(table, work);
    }

    /* Others may be about to make the room that the system lacked */
    if ((table->num_missing > 0) && (table->num_unpinning > 0)) {
        return 0;
    }

    table->num_missing = 0;
    region             = ucs_list_head(&table->to_pin, ucp_fh_region_t, link);
    if (has_room(table, region, table->num_pinned)) {
        ucs_list_del(&region->link);
        table->num_pinned += region->run.num;
        return set_work(table, region, 1, work);
    }

    /* Others may be about to make room for it */
    if (has_room(table, region, table->num_pinned - table->num_unpinning)) {
        return 0;
    }

    return unpin_any(table, work);
}

int ucp_fh_local_next_work(ucp_fh_local_t *table, ucp_fh_work_t *work)
{
    ucp_fh_region_t *region;

    ucs_list_for_each(region, &table->doomed, link) {
        if (!region->is_kept) {
            ucs_list_del(&region->link);
            return unpin(table, region, work);
        }
    }

    if (next_pin(table, work)) {
        return 1;
    }

    if ((table->num_victims > table->max_local) && !table->keeps_victims) {
        return unpin_victim(table, work);
    }

    return 0;
}

void ucp_fh_work_do(ucp_fh_work_t *work, const ucp_fh_pin_ops_t *ops)
{
    work->status = work->is_pin ? ops->pin(ops->arg, work->start, work->length,
                                           &work->handle) :
                                  ops->unpin(ops->arg, work->handle);
}

/* Whether an active pin has buckets of a region */
static int uses_region(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin,
                       const ucp_fh_region_t *region)
{
    const ucp_fh_run_t *run = &region->run;
    ucp_fh_bucket_t bucket  = ucs_max(pin->run.first, run->first);
    ucp_fh_bucket_t end     = ucs_min(ucp_fh_run_end(&pin->run),
                                      ucp_fh_run_end(run));

    for (; bucket < end; ++bucket) {
        if (ucp_fh_page_find(table, bucket, &pin->span)->region == region) {
            return 1;
        }
    }

    return 0;
}

/* @return an active pin that has buckets of a region, or NULL */
static ucp_fh_pin_t *
find_user(const ucp_fh_local_t *table, const ucp_fh_region_t *region)
{
    ucp_fh_pin_t *pin;

    ucs_list_for_each(pin, &table->active, link) {
        if (uses_region(table, pin, region)) {
            return pin;
        }
    }

    return NULL;
}

static void pinned(ucp_fh_local_t *table, ucp_fh_region_t *region, void *handle)
{
    UCS_LIST_HEAD(waiters);
    ucp_fh_pin_t *pin;

    region->state  = UCP_FH_REGION_PINNED;
    region->handle = handle;
    if (region->num_used == 0) {
        ucp_fh_region_idle(table, region);
        return;
    }

    ucs_list_splice_tail(&waiters, &region->waiters);
    ucs_list_head_init(&region->waiters);
    while (!ucs_list_is_empty(&waiters)) {
        pin = ucs_list_extract_head(&waiters, ucp_fh_pin_t, wait);
        if (ucp_fh_pin_advance(table, pin)) {
            ucp_fh_pin_end(table, pin, UCS_OK);
        }
    }
}

/* Whether the system had no room for a region that is wanted still, and may
 * have some soon: victims can be unpinned, or others are, or may do so by
 * themselves */
static int may_try_again(const ucp_fh_local_t *table,
                         const ucp_fh_region_t *region, ucs_status_t status)
{
    return ((status == UCS_ERR_EXCEEDS_LIMIT) ||
            (status == UCS_ERR_NO_MEMORY)) &&
           (region->num_used > 0) && !region->is_withdrawn &&
           ((table->num_victims > 0) || (table->num_unpinning > 0) ||
            !table->is_impatient);
}

/* @return whether those who waited for it have ended */
static int not_pinned(ucp_fh_local_t *table, ucp_fh_region_t *region,
                      ucs_status_t status)
{
    ucp_fh_pin_t *pin;

    table->num_pinned -= region->run.num;
    if (!may_try_again(table, region, status)) {
        while ((pin = find_user(table, region)) != NULL) {
            ucp_fh_pin_fail(table, pin, status);
        }
        ucp_fh_region_destroy(table, region);
        return 1;
    }

    region->state = UCP_FH_REGION_QUEUED;
    ucs_list_add_head(&table->to_pin, &region->link);
    if ((table->num_victims > 0) || (table->num_unpinning > 0)) {
        table->num_missing = ucs_max(table->num_missing, region->run.num);
    } else {
        table->is_refused = 1;
    }
    return 0;
}

static void unpinned(ucp_fh_local_t *table, ucp_fh_region_t *region)
{
    table->num_pinned    -= region->run.num;
    table->num_unpinning -= region->run.num;
    table->num_missing   -= ucs_min(table->num_missing, region->run.num);
    ucp_fh_region_destroy(table, region);
}

/* Those that wait for the first of the queued regions end with an error */
static void fail_first(ucp_fh_local_t *table, ucs_status_t status)
{
    ucp_fh_region_t *region = ucs_list_head(&table->to_pin, ucp_fh_region_t,
                                            link);
    uint64_t number         = region->number;

    do {
        ucp_fh_pin_fail(table, find_user(table, region), status);
        /* The region goes with the last one */
        region = ucs_list_head(&table->to_pin, ucp_fh_region_t, link);
    } while (!ucs_list_is_empty(&table->to_pin) && (region->number == number));
}

static void not_unpinned(ucp_fh_local_t *table, ucp_fh_region_t *region,
                         ucs_status_t status)
{
    region->state         = UCP_FH_REGION_PINNED;
    table->num_unpinning -= region->run.num;
    ucp_fh_region_idle(table, region);
    table->keeps_victims = 1;
    if (region->is_withdrawn && !region->is_kept) {
        region->is_kept = 1;
        ucp_fh_region_gone(table, region, status);
    }

    /* Its room may have been needed. To try others for it could go on for
     * ever */
    if (!ucs_list_is_empty(&table->to_pin) &&
        ((table->num_missing > 0) ||
         !has_room(table,
                   ucs_list_head(&table->to_pin, ucp_fh_region_t, link),
                   table->num_pinned))) {
        fail_first(table, status);
        table->num_missing = 0;
    }
}

int ucp_fh_local_work_done(ucp_fh_local_t *table, const ucp_fh_work_t *work)
{
    ucp_fh_region_t *region = work->region;
    int has_failed          = 0;

    if (work->is_pin && (work->status == UCS_OK)) {
        pinned(table, region, work->handle);
    } else if (work->is_pin) {
        has_failed = not_pinned(table, region, work->status);
    } else if (work->status == UCS_OK) {
        unpinned(table, region);
    } else {
        not_unpinned(table, region, work->status);
    }

    ucp_fh_pin_settle(table);
    return has_failed;
}

void ucp_fh_local_try_again(ucp_fh_local_t *table, int is_last)
{
    table->is_refused    = 0;
    table->is_impatient |= is_last;
}

void ucp_fh_local_be_patient(ucp_fh_local_t *table)
{
    table->is_impatient = 0;
}
