/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "check.h"
#include "grant.h"


int ucp_fh_check_is_hit(const ucp_fh_local_t *table, const ucp_fh_run_t *run)
{
    ucp_fh_page_t *page;
    uint64_t i;

    for (i = 0; i < run->num; ++i) {
        page = ucp_fh_page_find(table, run->first + i);
        if ((page == NULL) || (page->region->state != UCP_FH_REGION_PINNED) ||
            page->region->is_withdrawn) {
            return 0;
        }
    }

    return 1;
}

static int is_exposed(const ucp_fh_local_t *table, const ucp_fh_run_t *run)
{
    ucp_fh_bucket_t bucket = run->first;
    ucp_fh_exposed_t *exposed;
    ucp_fh_bucket_t last;

    do {
        last = bucket;
        ucs_list_for_each(exposed, &table->exposed, link) {
            if (ucp_fh_run_has(&exposed->run, bucket)) {
                bucket = ucp_fh_run_end(&exposed->run);
            }
        }
        if (bucket >= ucp_fh_run_end(run)) {
            return 1;
        }
    } while (bucket != last);

    return 0;
}

static int is_withdrawn(const ucp_fh_local_t *table, const ucp_fh_run_t *run)
{
    ucp_fh_withdraw_t *withdraw;

    ucs_list_for_each(withdraw, &table->withdraws, link) {
        if (ucp_fh_run_overlaps(&withdraw->run, run)) {
            return 1;
        }
    }

    return 0;
}

int ucp_fh_check_is_allowed(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket)
{
    ucp_fh_run_t run = {.first = bucket, .num = 1};

    return is_exposed(table, &run) && !is_withdrawn(table, &run);
}

static ucs_status_t check_peer(const ucp_fh_local_t *table,
                               const ucp_fh_pin_t *pin)
{
    const ucp_fh_holder_t *holder = &table->holders[pin->peer];
    uint64_t i;

    if (!is_exposed(table, &pin->run)) {
        return UCS_ERR_INVALID_ADDR;
    }

    if (pin->run.num > table->share - holder->num_grants) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    for (i = 0; i < pin->run.num; ++i) {
        if (ucp_fh_grant_find(table, pin->peer, pin->run.first + i) != NULL) {
            return UCS_ERR_ALREADY_EXISTS;
        }
    }

    return UCS_OK;
}

ucs_status_t ucp_fh_check(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    uint64_t num_unused = 0;
    const ucp_fh_region_t *region;
    ucp_fh_page_t *page;
    ucs_status_t status;
    uint64_t i;

    if (is_withdrawn(table, &pin->run)) {
        return UCS_ERR_INVALID_ADDR;
    }

    if (pin->peer != UCP_FH_LOCAL) {
        status = check_peer(table, pin);
        if (status != UCS_OK) {
            return status;
        }
    }

    for (i = 0; i < pin->run.num; ++i) {
        page        = ucp_fh_page_find(table, pin->run.first + i);
        num_unused += (page == NULL) || (page->uses == 0);
        if (page == NULL) {
            continue;
        }

        region = page->region;
        if (region->is_withdrawn) {
            return region->is_kept ? UCS_ERR_INVALID_ADDR : UCS_INPROGRESS;
        }
        if (region->state == UCP_FH_REGION_UNPINNING) {
            return UCS_INPROGRESS;
        }
    }

    return ((pin->peer == UCP_FH_LOCAL) &&
            (table->num_local + num_unused > table->max_local)) ?
                   UCS_INPROGRESS :
                   UCS_OK;
}
