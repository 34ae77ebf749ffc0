/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ahead.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


/* A deregistration that is under way, or begins as soon as the memory has been
 * registered */
typedef struct closing {
    ucs_list_link_t   link;
    uint64_t          begin;
    uint64_t          time;    /* When it ends */
    predreg_holding_t holding; /* As it was when the deregistration was
                                  ordered */
} closing_t;


void predreg_ahead_init(predreg_ahead_t *ahead)
{
    ucs_list_head_init(&ahead->active);
    ucs_list_head_init(&ahead->closings);
    ahead->status = UCS_OK;
}

uint64_t predreg_ahead_reg_cost(const predreg_ahead_t *ahead,
                                const predreg_ahead_region_t *region)
{
    return predreg_cost_of(&ahead->reg, region->address, region->length);
}

uint64_t predreg_ahead_dereg_cost(const predreg_ahead_t *ahead,
                                  const predreg_ahead_region_t *region)
{
    return predreg_cost_of(&ahead->dereg, region->address, region->length);
}

static void set_state(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                      predreg_ahead_state_t state)
{
    int was_active = (region->state != PREDREG_AHEAD_IDLE);
    int is_active  = (state != PREDREG_AHEAD_IDLE);

    if (was_active) {
        ucs_list_del(&region->active);
    }

    region->state = state;
    if (is_active) {
        region->order = ++ahead->last;
        ucs_list_add_tail(&ahead->active, &region->active);
    }

    if ((is_active != was_active) &&
        (region->buffer != PREDREG_OVERLAP_NONE)) {
        predreg_overlap_set(ahead->index, region->buffer, is_active);
    }
}

void predreg_ahead_dereg(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t time)
{
    closing_t *closing = malloc(sizeof(*closing));

    set_state(ahead, region, PREDREG_AHEAD_IDLE);
    if (closing == NULL) {
        ahead->status = UCS_ERR_NO_MEMORY;
        return;
    }

    closing->holding  = region->holding;
    closing->begin    = time;
    closing->time     = time + predreg_ahead_dereg_cost(ahead, region);
    ahead->busy      += closing->time - time;
    predreg_account_helper(ahead->account, time, closing->time, 0);
    ucs_list_add_tail(&ahead->closings, &closing->link);
}

/* Enter a deregistration into the account, as far as it has come by now: if the
 * program ends early, its memory may even be registered still */
static void close_first(predreg_ahead_t *ahead, uint64_t now)
{
    closing_t *closing         = ucs_list_extract_head(&ahead->closings,
                                                       closing_t, link);
    predreg_holding_t *holding = &closing->holding;

    if (closing->begin <= now) {
        if (holding->state == PREDREG_HOLDING_REG) {
            predreg_holding_registered(ahead->account, holding,
                                       closing->begin);
        }
        predreg_holding_dereg(ahead->account, holding, closing->begin);
    }

    predreg_holding_close(ahead->account, holding, ucs_min(closing->time, now));
    free(closing);
}

/* The list is sorted by when deregistrations began. One that has ended already,
 * but began after a longer one, is closed as soon as the longer one has
 * ended */
void predreg_ahead_close_ended(predreg_ahead_t *ahead, uint64_t now)
{
    while (!ucs_list_is_empty(&ahead->closings) &&
           (ucs_list_head(&ahead->closings, closing_t, link)->time <= now)) {
        close_first(ahead, now);
    }
}

/* Note that the registration ahead of a use is complete before the use
 * begins */
static void complete(predreg_ahead_t *ahead, predreg_ahead_region_t *region)
{
    predreg_holding_registered(ahead->account, &region->holding,
                               region->ready_at);
    set_state(ahead, region, PREDREG_AHEAD_READY);
}

int predreg_ahead_update(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t now)
{
    if ((region->state == PREDREG_AHEAD_PLANNED) && (region->reg_at <= now)) {
        predreg_holding_reg(ahead->account, &region->holding, region->address,
                            region->length, region->reg_at);
        region->ready_at  = region->reg_at +
                            predreg_ahead_reg_cost(ahead, region);
        ahead->busy      += region->ready_at - region->reg_at;
        predreg_account_helper(ahead->account, region->reg_at, region->ready_at,
                               1);
        set_state(ahead, region, PREDREG_AHEAD_REGISTERING);
    }

    if ((region->state == PREDREG_AHEAD_REGISTERING) &&
        (region->ready_at <= now)) {
        complete(ahead, region);
    }

    if ((region->state != PREDREG_AHEAD_READY) || (region->expiry > now)) {
        return 0;
    }

    ahead->wasted += region->is_ahead;
    predreg_ahead_dereg(ahead, region, region->expiry);
    return 1;
}

uint64_t predreg_ahead_prepare(predreg_ahead_t *ahead,
                               predreg_ahead_region_t *region, uint64_t now)
{
    uint64_t ready_at;

    switch (region->state) {
    case PREDREG_AHEAD_IDLE:
    case PREDREG_AHEAD_PLANNED:
        predreg_holding_reg(ahead->account, &region->holding, region->address,
                            region->length, now);
        ready_at = now + predreg_ahead_reg_cost(ahead, region);
        predreg_holding_registered(ahead->account, &region->holding, ready_at);
        return ready_at;
    case PREDREG_AHEAD_REGISTERING:
        complete(ahead, region);
        return region->ready_at;
    default:
        return now;
    }
}

void predreg_ahead_use(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                       predreg_site_t *site, uint64_t now)
{
    predreg_holding_use(ahead->account, &region->holding, site, now);
    set_state(ahead, region, PREDREG_AHEAD_USED);
}

void predreg_ahead_plan(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                        uint64_t now, uint64_t reg_at)
{
    predreg_ahead_dereg(ahead, region, now);
    region->reg_at = reg_at;
    set_state(ahead, region, PREDREG_AHEAD_PLANNED);
}

void predreg_ahead_keep(predreg_ahead_t *ahead, predreg_ahead_region_t *region)
{
    set_state(ahead, region, PREDREG_AHEAD_READY);
}

void predreg_ahead_unmap(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t now)
{
    switch (region->state) {
    case PREDREG_AHEAD_PLANNED:
        set_state(ahead, region, PREDREG_AHEAD_IDLE);
        break;
    case PREDREG_AHEAD_REGISTERING:
        predreg_ahead_dereg(ahead, region, region->ready_at);
        break;
    case PREDREG_AHEAD_READY:
        predreg_ahead_dereg(ahead, region, now);
        break;
    default:
        break;
    }
}

void predreg_ahead_forget(predreg_ahead_t *ahead,
                          predreg_ahead_region_t *region)
{
    predreg_overlap_set(ahead->index, region->buffer, 0);
    region->buffer = PREDREG_OVERLAP_NONE;
}

void predreg_ahead_finish(predreg_ahead_t *ahead, uint64_t now)
{
    predreg_ahead_region_t *region;

    ucs_list_for_each(region, &ahead->active, active) {
        if (region->state != PREDREG_AHEAD_PLANNED) {
            predreg_holding_close(ahead->account, &region->holding, now);
        }
    }

    while (!ucs_list_is_empty(&ahead->closings)) {
        close_first(ahead, now);
    }
}

void predreg_ahead_cleanup(predreg_ahead_t *ahead)
{
    while (!ucs_list_is_empty(&ahead->closings)) {
        free(ucs_list_extract_head(&ahead->closings, closing_t, link));
    }
}
