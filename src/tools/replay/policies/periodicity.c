/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/account/account.h>
#include <tools/replay/models/pattern.h>
#include <tools/replay/program/play.h>
#include <ucs/rcache_pred/predict/history.h>

#include <ucs/datastruct/khash.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * The periodicity-based predictor the paper compares its own with (section 3.1
 * and Figure 5), and a schedule that follows it. Samples are the uses, by their
 * memory. While they have a pattern, the next use of a region is expected after
 * as long as it took one period ago.
 *
 * The times of the samples are without what the program waited for registrations:
 * it would otherwise, after each wait, expect the next one, come too late, and
 * wait again.
 *
 *   - After its last use a region is deregistered, unless its next one is
 *     expected before it could be registered again; without a prediction, too.
 *   - It is registered again just in time for the expected begin.
 *   - If the use has not come a quarter of its interval after that, the region is
 *     given up. The quarter is what predict allows regions it is in doubt of (the
 *     narrow grace of history.h). So no hit counts as early.
 *
 * Somebody else than the program does that, any number of operations at a time:
 * in favour of this policy. Regions are thus independent of each other, and what
 * has become of one is found out when it is looked at.
 */


typedef enum {
    REGION_IDLE,        /* Not registered, and not to be */
    REGION_PLANNED,     /* Is to be registered at reg_at */
    REGION_REGISTERING, /* Until ready_at */
    REGION_READY,       /* Registered until it is used, or until expiry */
    REGION_USED
} region_state_t;

typedef struct region_key {
    uint64_t address;
    uint64_t length;
    uint64_t domain;
} region_key_t;

typedef struct region {
    region_key_t      key;
    ucs_list_link_t   link;     /* In all */
    ucs_list_link_t   live;     /* In live, unless idle */
    region_state_t    state;
    int               is_known; /* Uses find it: it was not unmapped while used */
    int               is_ahead; /* Registered for a use that has not come yet */
    unsigned          uses;     /* Under way */
    uint64_t          reg_at;
    uint64_t          ready_at;
    uint64_t          expiry;
    uint64_t          last;     /* Begin of the last use, after its wait */
    uint64_t          interval; /* Expected until the next one; 0: none is */
    predreg_holding_t holding;
} region_t;

#define KEY_HASH(_key) \
    kh_int64_hash_func((_key).address ^ ((_key).length << 16) ^ \
                       ((_key).domain << 48))
#define KEY_EQUAL(_a, _b) \
    (((_a).address == (_b).address) && ((_a).length == (_b).length) && \
     ((_a).domain == (_b).domain))

KHASH_INIT(regions, region_key_t, region_t*, 1, KEY_HASH, KEY_EQUAL)

/* A deregistration under way */
typedef struct closing {
    ucs_list_link_t   link;
    uint64_t          time;    /* It ends */
    predreg_holding_t holding;
} closing_t;

typedef struct periodicity {
    const predreg_timeline_t      *timeline;
    const predreg_replay_params_t *params;
    predreg_replay_result_t       *result;
    predreg_account_t             *account;
    predreg_pattern_t             pattern;
    khash_t(regions)              regions; /* Known ones */
    ucs_list_link_t               all;
    ucs_list_link_t               live;
    ucs_list_link_t               closings;
    region_t                      **uses;  /* Regions of the uses */
    uint64_t                      waited;  /* By the program, ns */
    ucs_status_t                  status;  /* UCS_ERR_NO_MEMORY: something is
                                              missing */
} periodicity_t;


static uint64_t reg_cost(const periodicity_t *self, const region_t *region)
{
    return predreg_cost_of(&self->params->reg, region->key.address,
                           region->key.length);
}

static uint64_t dereg_cost(const periodicity_t *self, const region_t *region)
{
    return predreg_cost_of(&self->params->dereg, region->key.address,
                           region->key.length);
}

static void region_set_state(periodicity_t *self, region_t *region,
                             region_state_t state)
{
    if (region->state != REGION_IDLE) {
        ucs_list_del(&region->live);
    }

    region->state = state;
    if (state != REGION_IDLE) {
        ucs_list_add_tail(&self->live, &region->live);
    }
}

/* Deregister at a time that may have passed; what follows is as if it was idle
 * from then on */
static void region_dereg(periodicity_t *self, region_t *region, uint64_t time)
{
    closing_t *closing = malloc(sizeof(*closing));

    region_set_state(self, region, REGION_IDLE);
    if (closing == NULL) {
        self->status = UCS_ERR_NO_MEMORY;
        return;
    }

    predreg_holding_dereg(self->account, &region->holding, time);
    closing->holding      = region->holding;
    closing->time         = time + dereg_cost(self, region);
    self->result->helper += closing->time - time;
    predreg_account_helper(self->account, time, closing->time, 0);
    ucs_list_add_tail(&self->closings, &closing->link);
}

/* Deregistrations that have ended; all of them if the program has. One that
 * waits behind a longer one is found later */
static void close_ended(periodicity_t *self, uint64_t now, int is_end)
{
    closing_t *closing;

    while (!ucs_list_is_empty(&self->closings)) {
        closing = ucs_list_head(&self->closings, closing_t, link);
        if (!is_end && (closing->time > now)) {
            break;
        }

        predreg_holding_close(self->account, &closing->holding,
                              ucs_min(closing->time, now));
        ucs_list_del(&closing->link);
        free(closing);
    }
}

/* The registration ahead ends before the use begins */
static void region_complete(periodicity_t *self, region_t *region)
{
    predreg_holding_registered(self->account, &region->holding,
                               region->ready_at);
    region_set_state(self, region, REGION_READY);
}

/* What has been done about the region until now */
static void region_update(periodicity_t *self, region_t *region, uint64_t now)
{
    if ((region->state == REGION_PLANNED) && (region->reg_at <= now)) {
        predreg_holding_reg(self->account, &region->holding,
                            region->key.address, region->key.length,
                            region->reg_at);
        region->ready_at      = region->reg_at + reg_cost(self, region);
        self->result->helper += region->ready_at - region->reg_at;
        predreg_account_helper(self->account, region->reg_at, region->ready_at,
                               1);
        region_set_state(self, region, REGION_REGISTERING);
    }

    if ((region->state == REGION_REGISTERING) && (region->ready_at <= now)) {
        region_complete(self, region);
    }

    if ((region->state == REGION_READY) && (region->expiry <= now)) {
        self->result->wasted += region->is_ahead;
        region->interval      = 0;
        region_dereg(self, region, region->expiry);
    }
}

/* @return NULL if there is no memory. */
static region_t *region_get(periodicity_t *self, const predreg_use_t *use)
{
    region_key_t key = { use->address, use->length, use->domain };
    region_t *region;
    khiter_t iter;
    int ret;

    iter = kh_get(regions, &self->regions, key);
    if (iter != kh_end(&self->regions)) {
        return kh_val(&self->regions, iter);
    }

    region = calloc(1, sizeof(*region));
    if (region == NULL) {
        goto err;
    }

    iter = kh_put(regions, &self->regions, key, &ret);
    if (ret < 0) {
        goto err_free;
    }

    kh_val(&self->regions, iter) = region;
    region->key                  = key;
    region->state                = REGION_IDLE;
    region->is_known             = 1;
    ucs_list_add_tail(&self->all, &region->link);
    return region;

err_free:
    free(region);
err:
    self->status = UCS_ERR_NO_MEMORY;
    return NULL;
}

/* Make it registered. @return when it is. */
static uint64_t region_prepare(periodicity_t *self, region_t *region,
                               uint64_t now)
{
    uint64_t ready_at;

    switch (region->state) {
    case REGION_IDLE:
    case REGION_PLANNED:
        predreg_holding_reg(self->account, &region->holding,
                            region->key.address, region->key.length, now);
        ready_at = now + reg_cost(self, region);
        predreg_holding_registered(self->account, &region->holding, ready_at);
        return ready_at;
    case REGION_REGISTERING:
        region_complete(self, region);
        return region->ready_at;
    default:
        return now;
    }
}

/* How right it was */
static void region_judge(periodicity_t *self, const region_t *region,
                         uint64_t now)
{
    if ((region->interval != 0) && (now > region->last)) {
        ++self->result->prediction_errors[
                ucs_rcache_pred_error_class(region->interval,
                                            now - region->last)];
    }
}

/* It is used from now on, after a wait: the next sample */
static void region_sample(periodicity_t *self, region_t *region, uint64_t now,
                          uint64_t waited)
{
    self->waited += waited;
    predreg_pattern_add(&self->pattern, (uintptr_t)region, now - self->waited);
    region->last     = now;
    region->interval = predreg_pattern_interval(&self->pattern);
}

static uint64_t periodicity_begin(void *arg, const predreg_use_t *use,
                                  uint64_t now)
{
    periodicity_t *self  = arg;
    predreg_site_t *site = predreg_account_site(self->account, &use->context);
    region_t *region     = region_get(self, use);
    region_state_t state;
    uint64_t begun;

    if (region == NULL) {
        return 0;
    }

    close_ended(self, now, 0);
    region_update(self, region, now);
    region_judge(self, region, now);
    state = region->state;
    begun = region_prepare(self, region, now);
    region_sample(self, region, begun, begun - now);

    predreg_holding_use(self->account, &region->holding, site, begun);
    region_set_state(self, region, REGION_USED);
    ++region->uses;
    self->uses[use - self->timeline->uses] = region;
    predreg_account_use(self->account, site,
                        (state == REGION_READY) || (state == REGION_USED),
                        state == REGION_REGISTERING, begun - now);
    return begun - now;
}

/* Its last use has ended: what until the next one? */
static void region_decide(periodicity_t *self, region_t *region, uint64_t now)
{
    uint64_t next = ucs_max(region->last + region->interval, now);

    if (!region->is_known || (region->interval == 0)) {
        region_dereg(self, region, now);
        return;
    }

    region->expiry   = next + region->interval / 4;
    region->is_ahead = (next - now >= dereg_cost(self, region) +
                                      reg_cost(self, region));
    if (region->is_ahead) {
        region_dereg(self, region, now);
        region->reg_at = next - reg_cost(self, region);
        region_set_state(self, region, REGION_PLANNED);
    } else {
        region_set_state(self, region, REGION_READY);
    }
}

static uint64_t periodicity_end(void *arg, const predreg_use_t *use,
                                uint64_t now)
{
    periodicity_t *self = arg;
    region_t *region    = self->uses[use - self->timeline->uses];

    if (region == NULL) {
        return 0; /* There was no memory */
    }

    predreg_holding_unuse(self->account, &region->holding, now);
    if (--region->uses == 0) {
        region_decide(self, region, now);
    }
    return 0;
}

/* Its memory goes away */
static void region_unmap(periodicity_t *self, region_t *region, uint64_t now)
{
    khiter_t iter;

    region_update(self, region, now);
    region->interval = 0;
    switch (region->state) {
    case REGION_IDLE:
        break;
    case REGION_PLANNED:
        region_set_state(self, region, REGION_IDLE);
        break;
    case REGION_REGISTERING:
        region_complete(self, region);
        region_dereg(self, region, region->ready_at);
        break;
    case REGION_READY:
        region_dereg(self, region, now);
        break;
    case REGION_USED:
        if (region->is_known) {
            iter = kh_get(regions, &self->regions, region->key);
            kh_del(regions, &self->regions, iter);
            region->is_known = 0;
        }
        break;
    }
}

static void periodicity_unmap(void *arg, const predreg_unmap_t *unmap,
                              uint64_t now)
{
    periodicity_t *self = arg;
    region_t *region, *tmp;

    ucs_list_for_each_safe(region, tmp, &self->live, live) {
        if ((region->key.address < unmap->end) &&
            (region->key.address + region->key.length > unmap->start)) {
            region_unmap(self, region, now);
        }
    }
}

/* The program has ended */
static void periodicity_finish(periodicity_t *self, uint64_t now)
{
    region_t *region, *tmp;

    ucs_list_for_each_safe(region, tmp, &self->live, live) {
        region_update(self, region, now);
        if ((region->state != REGION_IDLE) &&
            (region->state != REGION_PLANNED)) {
            predreg_holding_close(self->account, &region->holding, now);
        }
    }
    close_ended(self, now, 1);
}

static ucs_status_t periodicity_run(periodicity_t *self)
{
    const predreg_player_t player = {
        .arg   = self,
        .begin = periodicity_begin,
        .end   = periodicity_end,
        .unmap = periodicity_unmap
    };
    ucs_status_t status;
    uint64_t duration;

    status = predreg_timeline_play(self->timeline, &player, &duration);
    if (status != UCS_OK) {
        return status;
    }

    periodicity_finish(self, duration);
    return (self->status == UCS_OK) ?
           predreg_account_result(self->account, duration, self->result) :
           self->status;
}

static ucs_status_t periodicity_create(periodicity_t *self)
{
    ucs_status_t status;

    ucs_list_head_init(&self->all);
    ucs_list_head_init(&self->live);
    ucs_list_head_init(&self->closings);
    self->uses = calloc(self->timeline->num_uses + 1, sizeof(*self->uses));
    if (self->uses == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    status = predreg_account_create(&self->account);
    if (status != UCS_OK) {
        goto err_free_uses;
    }

    status = predreg_pattern_init(&self->pattern, self->params->window);
    if (status != UCS_OK) {
        goto err_destroy_account;
    }

    return UCS_OK;

err_destroy_account:
    predreg_account_destroy(self->account);
err_free_uses:
    free(self->uses);
err:
    return status;
}

static void periodicity_destroy(periodicity_t *self)
{
    close_ended(self, UINT64_MAX, 1);
    while (!ucs_list_is_empty(&self->all)) {
        free(ucs_list_extract_head(&self->all, region_t, link));
    }
    kh_destroy_inplace(regions, &self->regions);
    predreg_pattern_cleanup(&self->pattern);
    predreg_account_destroy(self->account);
    free(self->uses);
}

ucs_status_t predreg_replay_periodicity(const predreg_timeline_t *timeline,
                                        const predreg_replay_params_t *params,
                                        predreg_replay_result_t *result)
{
    periodicity_t self = {
        .timeline = timeline,
        .params   = params,
        .result   = result,
        .status   = UCS_OK
    };
    ucs_status_t status;

    status = periodicity_create(&self);
    if (status != UCS_OK) {
        return status;
    }

    status = periodicity_run(&self);
    periodicity_destroy(&self);
    return status;
}
