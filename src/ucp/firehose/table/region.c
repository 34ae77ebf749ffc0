/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "region.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


ucp_fh_page_t *ucp_fh_page_find(const ucp_fh_local_t *table,
                                ucp_fh_bucket_t bucket,
                                const ucp_fh_span_t *span)
{
    ucs_hlist_head_t *head = ucp_fh_pages(table, bucket);
    ucp_fh_run_t run       = {.first = bucket, .num = 1};
    ucp_fh_span_t part     = ucp_fh_span_clip(span, table->params.shift, &run);
    ucp_fh_page_t *found   = NULL;
    ucp_fh_page_t *page;

    ucs_hlist_for_each(page, head, hash) {
        if ((page->bucket == bucket) &&
            ucp_fh_span_is_within(&part, &page->region->span) &&
            ((found == NULL) ||
             (page->region->number < found->region->number))) {
            found = page;
        }
    }

    return found;
}

uint64_t ucp_fh_region_room(const ucp_fh_local_t *table, uint64_t num)
{
    uint64_t room = 1 + table->max_stranded - table->num_stranded;

    room = ucs_min(room, table->params.max_region);
    return ucs_min(room, num);
}

ucp_fh_region_t *
ucp_fh_region_alloc(const ucp_fh_run_t *run, const ucp_fh_span_t *span)
{
    ucp_fh_region_t *region;
    uint64_t i;

    region = calloc(1, sizeof(*region) + (run->num * sizeof(*region->pages)));
    if (region == NULL) {
        return NULL;
    }

    region->run  = *run;
    region->span = *span;
    ucs_list_head_init(&region->waiters);
    for (i = 0; i < run->num; ++i) {
        region->pages[i].bucket = run->first + i;
        region->pages[i].region = region;
        ucs_list_head_init(&region->pages[i].grants);
    }
    return region;
}

static void insert(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    ucs_rcache_pred_buckets_t *buckets = &table->pages;
    unsigned capacity = ucs_rcache_pred_buckets_capacity(buckets);

    /* Without memory it becomes slower, and nothing else */
    if (table->num_pages >= capacity) {
        free(ucs_rcache_pred_buckets_grow(
                buckets, ucs_rcache_pred_buckets_alloc(capacity), capacity));
    }

    ucs_rcache_pred_buckets_move(buckets);
    ucs_hlist_add_head(ucs_rcache_pred_bucket(buckets, page->bucket),
                       &page->hash);
    ++table->num_pages;
}

void ucp_fh_region_add(ucp_fh_local_t *table, ucp_fh_region_t *region)
{
    uint64_t i;

    for (i = 0; i < region->run.num; ++i) {
        insert(table, &region->pages[i]);
    }

    region->number = table->next_number++;
    region->state  = UCP_FH_REGION_QUEUED;
    ucs_list_add_tail(&table->to_pin, &region->link);
    table->num_stranded += region->run.num - 1;
}

void ucp_fh_region_destroy(ucp_fh_local_t *table, ucp_fh_region_t *region)
{
    uint64_t i;

    for (i = 0; i < region->run.num; ++i) {
        ucs_hlist_del(ucs_rcache_pred_bucket(&table->pages,
                                             region->pages[i].bucket),
                      &region->pages[i].hash);
    }

    table->num_pages    -= region->run.num;
    table->num_stranded -= region->run.num - 1;
    if (!region->is_kept) {
        ucp_fh_region_gone(table, region, UCS_OK);
    }
    free(region);
}

void ucp_fh_region_gone(ucp_fh_local_t *table, const ucp_fh_region_t *region,
                        ucs_status_t status)
{
    ucp_fh_withdraw_t *withdraw, *next;

    next = ucp_fh_withdraw_next(table, NULL, &region->run);
    while ((withdraw = next) != NULL) {
        next = ucp_fh_withdraw_next(table, withdraw, &region->run);
        if (!ucp_fh_span_overlaps(&withdraw->span, &region->span)) {
            continue;
        }

        if (status != UCS_OK) {
            withdraw->result = status;
        }
        if (--withdraw->num_left == 0) {
            ucp_fh_places_remove(&table->withdraws, &withdraw->place);
            ucp_fh_comp_end(&withdraw->comp, &table->ended, withdraw->result);
        }
    }
}

void ucp_fh_region_idle(ucp_fh_local_t *table, ucp_fh_region_t *region)
{
    if (region->is_withdrawn) {
        ucs_list_add_tail(&table->doomed, &region->link);
        return;
    }

    ucs_list_add_tail(&table->victims, &region->link);
    table->num_victims  += region->run.num;
    table->keeps_victims = 0;
}

void ucp_fh_region_revive(ucp_fh_local_t *table, ucp_fh_region_t *region)
{
    ucs_list_del(&region->link);
    table->num_victims -= region->run.num;
}

/* A bucket gets its first count. The region is not a withdrawn one: no pin is
 * let in there */
static void count(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    ucp_fh_region_t *region = page->region;

    if ((page->uses + page->num_grants == 0) && (region->num_used++ == 0) &&
        (region->state == UCP_FH_REGION_PINNED)) {
        ucp_fh_region_revive(table, region);
    }
}

/* A bucket may have lost its last count, and its region its last user */
static void uncount(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    ucp_fh_region_t *region = page->region;

    if ((page->uses + page->num_grants > 0) || (--region->num_used > 0)) {
        return;
    }

    if (region->state == UCP_FH_REGION_PINNED) {
        ucp_fh_region_idle(table, region);
    } else if (region->state == UCP_FH_REGION_QUEUED) {
        ucs_list_del(&region->link);
        ucp_fh_region_destroy(table, region);
    }
}

void ucp_fh_page_use(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    count(table, page);
    table->num_local += (page->uses++ == 0);
}

void ucp_fh_page_unuse(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    table->num_local -= (--page->uses == 0);
    uncount(table, page);
}

void ucp_fh_page_grant(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    count(table, page);
    ++page->num_grants;
}

void ucp_fh_page_ungrant(ucp_fh_local_t *table, ucp_fh_page_t *page)
{
    --page->num_grants;
    uncount(table, page);
}
