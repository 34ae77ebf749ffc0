/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "check.h"
#include "pin.h"

#include <stdlib.h>

/* So many local pins that came later are let in before the oldest that waits
 * for room, and then no more until it is: what the deadlock-avoidance bit is
 * for remote requests (section 4.1 of the paper, "Local Client Requests"). More
 * is not needed, since a pin that waits holds nothing */
#define MAX_PASSED 8


void ucp_fh_pin_init(ucp_fh_pin_t *pin, const ucp_fh_run_t *run, uint32_t peer)
{
    pin->comp.status = UCS_INPROGRESS;
    pin->run         = *run;
    pin->wanted      = (ucp_fh_span_t){};
    pin->span        = pin->wanted;
    pin->peer        = peer;
    pin->state       = UCP_FH_PIN_ENDED;
    pin->passed      = 0;
    pin->num_done    = 0;
    pin->serve       = NULL;
}

/* The first buckets of a pin that no region covers. @return whether there are
 * any; *end_p is how many were looked at */
static int next_gap(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin,
                    uint64_t *end_p, ucp_fh_run_t *gap)
{
    const ucp_fh_run_t *run = &pin->run;
    uint64_t i              = *end_p;

    while ((i < run->num) &&
           (ucp_fh_page_find(table, run->first + i, &pin->span) != NULL)) {
        ++i;
    }

    gap->first = run->first + i;
    while ((i < run->num) &&
           (ucp_fh_page_find(table, run->first + i, &pin->span) == NULL)) {
        ++i;
    }

    gap->num = run->first + i - gap->first;
    *end_p   = i;
    return gap->num > 0;
}

/* Take regions out that were added and have no count yet */
static void remove_regions(ucp_fh_local_t *table, uint64_t num)
{
    ucp_fh_region_t *region;

    for (; num > 0; --num) {
        region = ucs_list_tail(&table->to_pin, ucp_fh_region_t, link);
        ucs_list_del(&region->link);
        ucp_fh_region_destroy(table, region);
    }
}

/* Add regions for all buckets of a pin that none covers */
static ucs_status_t
add_regions(ucp_fh_local_t *table, const ucp_fh_pin_t *pin, uint64_t *num_p)
{
    uint64_t end = 0;
    ucp_fh_region_t *region;
    ucp_fh_span_t span;
    ucp_fh_run_t gap;

    *num_p = 0;
    while (next_gap(table, pin, &end, &gap)) {
        gap.num = ucp_fh_region_room(table, gap.num);
        end     = ucp_fh_run_end(&gap) - pin->run.first;
        span    = ucp_fh_span_clip(&pin->span, table->params.shift, &gap);
        region  = ucp_fh_region_alloc(&gap, &span);
        if (region == NULL) {
            goto err_remove_regions;
        }

        ucp_fh_region_add(table, region);
        ++*num_p;
    }
    return UCS_OK;

err_remove_regions:
    remove_regions(table, *num_p);
    return UCS_ERR_NO_MEMORY;
}

static void count_all(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                      ucs_list_link_t *grants)
{
    ucp_fh_page_t *page;
    uint64_t i;

    for (i = 0; i < pin->run.num; ++i) {
        page = ucp_fh_page_find(table, pin->run.first + i, &pin->span);
        if (pin->peer == UCP_FH_LOCAL) {
            ucp_fh_page_use(table, page);
        } else {
            ucp_fh_grant_add(table, grants, pin->peer, page);
        }
    }
}

/* Let a pin in that may be. @return UCS_OK, or UCS_ERR_NO_MEMORY */
static ucs_status_t let_in(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucs_list_link_t grants;
    uint64_t num_regions;
    ucs_status_t status;

    status = add_regions(table, pin, &num_regions);
    if (status != UCS_OK) {
        return status;
    }

    status = ucp_fh_grant_alloc(&grants, (pin->peer == UCP_FH_LOCAL) ?
                                                 0 : pin->run.num);
    if (status != UCS_OK) {
        goto err_remove_regions;
    }

    count_all(table, pin, &grants);
    pin->state    = UCP_FH_PIN_ACTIVE;
    pin->num_done = 0;
    ucs_list_add_tail(&table->active, &pin->link);
    return UCS_OK;

err_remove_regions:
    remove_regions(table, num_regions);
    return status;
}

/* @return the oldest local pin that waits, or NULL */
static ucp_fh_pin_t *get_oldest(const ucp_fh_local_t *table)
{
    ucp_fh_pin_t *pin;

    ucs_list_for_each(pin, &table->queue, link) {
        if (pin->peer == UCP_FH_LOCAL) {
            return pin;
        }
    }

    return NULL;
}

/* Whether a local pin has to wait although there may be room for it */
static int is_held_back(const ucp_fh_pin_t *pin, const ucp_fh_pin_t *oldest)
{
    return (pin->peer == UCP_FH_LOCAL) && (oldest != NULL) &&
           (oldest != pin) && (oldest->passed >= MAX_PASSED);
}

static void note_passed(const ucp_fh_pin_t *pin, ucp_fh_pin_t *oldest)
{
    if ((pin->peer == UCP_FH_LOCAL) && (oldest != NULL) && (oldest != pin)) {
        ++oldest->passed;
    }
}

/* @return as ucp_fh_pin_begin(), but UCS_INPROGRESS also if it is not let in */
static ucs_status_t try_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              ucp_fh_pin_t *oldest)
{
    ucs_status_t status;

    if (is_held_back(pin, oldest)) {
        return UCS_INPROGRESS;
    }

    status = ucp_fh_check_span(table, pin, &pin->span);
    if (status != UCS_OK) {
        return status;
    }

    status = ucp_fh_check(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    status = let_in(table, pin);
    if (status != UCS_OK) {
        return status;
    }

    note_passed(pin, oldest);
    return ucp_fh_pin_advance(table, pin) ? UCS_OK : UCS_INPROGRESS;
}

ucs_status_t ucp_fh_pin_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucs_status_t status = try_begin(table, pin, get_oldest(table));

    if ((status == UCS_INPROGRESS) && (pin->state == UCP_FH_PIN_ENDED)) {
        pin->state = UCP_FH_PIN_QUEUED;
        ucs_list_add_tail(&table->queue, &pin->link);
    }
    return status;
}

ucs_status_t ucp_fh_pin_hit(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucs_status_t status;

    if (!ucp_fh_check_is_hit(table, &pin->run, &pin->wanted)) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = try_begin(table, pin, get_oldest(table));
    return (status == UCS_INPROGRESS) ? UCS_ERR_NO_RESOURCE : status;
}

int ucp_fh_pin_advance(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucp_fh_region_t *region;

    for (; pin->num_done < pin->run.num; ++pin->num_done) {
        region = ucp_fh_page_find(table, pin->run.first + pin->num_done,
                                  &pin->span)->region;
        if (region->state != UCP_FH_REGION_PINNED) {
            ucs_list_add_tail(&region->waiters, &pin->wait);
            return 0;
        }
    }

    ucs_list_del(&pin->link);
    pin->state = (pin->peer == UCP_FH_LOCAL) ? UCP_FH_PIN_PINNED :
                                               UCP_FH_PIN_ENDED;
    return 1;
}

static void fill_served(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin,
                        ucs_status_t status)
{
    ucp_fh_served_t *served = &pin->serve->served[pin->served];
    const ucp_fh_page_t *page;
    uint64_t i;

    for (i = 0; i < pin->run.num; ++i) {
        served[i].status = status;
        if (status == UCS_OK) {
            page             = ucp_fh_page_find(table, pin->run.first + i,
                                                &pin->span);
            served[i].handle = page->region->handle;
            served[i].region = page->region->span;
        }
    }
}

void ucp_fh_pin_end(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                    ucs_status_t status)
{
    ucp_fh_serve_t *serve = pin->serve;

    if (serve == NULL) {
        ucp_fh_comp_end(&pin->comp, &table->ended, status);
        return;
    }

    fill_served(table, pin, status);
    if (--serve->num_left == 0) {
        ucp_fh_comp_end(&serve->comp, &table->ended,
                        table->holders[serve->peer].has_failed ?
                                UCS_ERR_UNREACHABLE : UCS_OK);
    }
}

void ucp_fh_pin_drop(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    ucp_fh_bucket_t bucket;
    uint64_t i;

    for (i = 0; i < pin->run.num; ++i) {
        bucket = pin->run.first + i;
        if (pin->peer == UCP_FH_LOCAL) {
            ucp_fh_page_unuse(table, ucp_fh_page_find(table, bucket,
                                                      &pin->span));
        } else {
            ucp_fh_grant_drop(table,
                              ucp_fh_grant_find(table, pin->peer, bucket));
        }
    }
}

void ucp_fh_pin_fail(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                     ucs_status_t status)
{
    if (pin->state == UCP_FH_PIN_ACTIVE) {
        ucs_list_del(&pin->wait);
        ucp_fh_pin_drop(table, pin);
    }

    ucs_list_del(&pin->link);
    pin->state = UCP_FH_PIN_ENDED;
    ucp_fh_pin_end(table, pin, status);
}

void ucp_fh_pin_settle(ucp_fh_local_t *table)
{
    ucp_fh_pin_t *oldest = NULL;
    ucp_fh_pin_t *pin, *next;
    ucs_list_link_t *prev;
    ucs_status_t status;

    ucs_list_for_each_safe(pin, next, &table->queue, link) {
        if ((oldest == NULL) && (pin->peer == UCP_FH_LOCAL)) {
            oldest = pin;
        }

        /* It is in the queue still, in which it keeps its place if it is not
         * let in */
        prev = pin->link.prev;
        ucs_list_del(&pin->link);
        pin->state = UCP_FH_PIN_ENDED;
        status     = try_begin(table, pin, oldest);
        if ((status == UCS_INPROGRESS) && (pin->state == UCP_FH_PIN_ENDED)) {
            pin->state = UCP_FH_PIN_QUEUED;
            ucs_list_insert_after(prev, &pin->link);
            continue;
        }

        oldest = (oldest == pin) ? NULL : oldest;
        if (status != UCS_INPROGRESS) {
            ucp_fh_pin_end(table, pin, status);
        }
    }
}
