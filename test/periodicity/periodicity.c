/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ahead.h"
#include "pattern.h"
#include "periodicity.h"

#include <tools/replay/program/timeline.h>
#include <ucs/rcache_pred/predict/history.h>

#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/*
 * The periodicity-based predictor that the paper compares its own predictor
 * with, and a schedule that follows its predictions.
 * The samples are the uses, identified by their memory. As long as they have a
 * pattern, the time until the next use of a region is expected to be the same
 * as one period ago.
 *
 * The times of the samples leave out how long the program waited for
 * registrations. Otherwise each wait would lengthen the interval that the
 * policy expects next, so that its registration would come too late, and the
 * program would wait again.
 *
 *   - When its last use ends, a region is deregistered, unless its next use is
 *     expected before the region could be registered again. It is also
 *     deregistered if there is no prediction.
 *   - It is registered again just in time for the expected begin.
 *   - If the use has not come a quarter of its interval after that, the region
 *     is given up. The policy predict allows regions it is in doubt of the same
 *     quarter (the narrow grace of history.h). So no hit counts as early.
 *
 * All of this is done beside the program, any number of operations at a time,
 * which favours this policy.
 */


typedef struct region {
    predreg_ahead_region_t super;
    ucs_list_link_t        link;     /* In the list of all regions */
    int                    is_known; /* Whether uses find it: it was not
                                        unmapped while in use */
    unsigned               uses;     /* Number of uses under way */
    uint64_t               last;     /* Begin of the last use, after its wait */
    uint64_t               interval; /* Expected time from last to the next use,
                                        ns; 0: none is expected */
} region_t;

typedef struct periodicity {
    const predreg_timeline_t      *timeline;
    const predreg_replay_params_t *params;
    predreg_replay_result_t       *result;
    predreg_account_t             account;
    predreg_pattern_t             pattern;
    predreg_ahead_t               ahead;
    predreg_overlap_t             index;
    region_t                      **known; /* The regions that uses find, by
                                              buffer; NULL: there is none */
    region_t                      **found; /* Room for what an unmap finds */
    ucs_list_link_t               all;
    region_t                      **uses;  /* Regions of the uses */
    uint64_t                      waited;  /* How long the program has waited,
                                              ns */
    ucs_status_t                  status;  /* UCS_ERR_NO_MEMORY if there was no
                                              memory for a region */
} periodicity_t;


/* Do what is due for a region. If the use that it was registered for has not
 * come, no use of it is expected any more. */
static void region_update(periodicity_t *self, region_t *region, uint64_t now)
{
    if (predreg_ahead_update(&self->ahead, &region->super, now)) {
        region->interval = 0;
    }
}

/* @return NULL if there is no memory. */
static region_t *region_get(periodicity_t *self, const predreg_use_t *use)
{
    size_t buffer    = predreg_overlap_find(&self->index, use);
    region_t *region = self->known[buffer];

    if (region != NULL) {
        return region;
    }

    region = calloc(1, sizeof(*region));
    if (region == NULL) {
        self->status = UCS_ERR_NO_MEMORY;
        return NULL;
    }

    region->super.address = use->address;
    region->super.length  = use->length;
    region->super.buffer  = buffer;
    region->is_known      = 1;
    self->known[buffer]   = region;
    ucs_list_add_tail(&self->all, &region->link);
    return region;
}

/* Judge the prediction of a use that begins now */
static void region_judge(periodicity_t *self, const region_t *region,
                         uint64_t now)
{
    if ((region->interval != 0) && (now > region->last)) {
        ++self->result->prediction_errors[
                ucs_rcache_pred_error_class(region->interval,
                                            now - region->last)];
    }
}

/* Add a use of the region, which begins now, after its wait, as the next
 * sample */
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
    predreg_site_t *site = predreg_account_site(&self->account,
                                                &use->context);
    region_t *region     = region_get(self, use);
    predreg_ahead_state_t state;
    uint64_t begun;

    if (region == NULL) {
        return 0;
    }

    predreg_ahead_close_ended(&self->ahead, now);
    region_update(self, region, now);
    region_judge(self, region, now);
    state = region->super.state;
    begun = predreg_ahead_prepare(&self->ahead, &region->super, now);
    region_sample(self, region, begun, begun - now);

    predreg_ahead_use(&self->ahead, &region->super, site, begun);
    ++region->uses;
    self->uses[use - self->timeline->uses] = region;
    predreg_account_use(&self->account, site,
                        (state == PREDREG_AHEAD_READY) ||
                        (state == PREDREG_AHEAD_USED),
                        state == PREDREG_AHEAD_REGISTERING, begun - now);
    return begun - now;
}

/* The last use of a region has ended: decide what happens until the next one */
static void region_decide(periodicity_t *self, region_t *region, uint64_t now)
{
    predreg_ahead_region_t *super = &region->super;
    uint64_t next                 = ucs_max(region->last + region->interval,
                                            now);
    uint64_t reg, dereg;

    if (!region->is_known || (region->interval == 0)) {
        predreg_ahead_dereg(&self->ahead, super, now);
        return;
    }

    reg             = predreg_ahead_reg_cost(&self->ahead, super);
    dereg           = predreg_ahead_dereg_cost(&self->ahead, super);
    super->expiry   = next + region->interval / 4;
    super->is_ahead = (next - now >= dereg + reg);
    if (super->is_ahead) {
        predreg_ahead_plan(&self->ahead, super, now, next - reg);
    } else {
        predreg_ahead_keep(&self->ahead, super);
    }
}

static uint64_t periodicity_end(void *arg, const predreg_use_t *use,
                                uint64_t now)
{
    periodicity_t *self = arg;
    region_t *region    = self->uses[use - self->timeline->uses];

    if (region == NULL) {
        return 0; /* There was no memory for its region */
    }

    predreg_holding_unuse(&self->account, &region->super.holding, now);
    if (--region->uses == 0) {
        region_decide(self, region, now);
    }
    return 0;
}

/* The memory of a region is unmapped. If the region is in use, it serves no
 * further use. */
static void region_unmap(periodicity_t *self, region_t *region, uint64_t now)
{
    region_update(self, region, now);
    region->interval = 0;
    if (region->super.state == PREDREG_AHEAD_USED) {
        self->known[region->super.buffer] = NULL;
        region->is_known                  = 0;
        predreg_ahead_forget(&self->ahead, &region->super);
    }
    predreg_ahead_unmap(&self->ahead, &region->super, now);
}

static int order_compare(const void *a, const void *b)
{
    uint64_t first  = (*(region_t *const*)a)->super.order;
    uint64_t second = (*(region_t *const*)b)->super.order;

    return (first > second) - (first < second);
}

/* Unmap all regions that are not idle and overlap the memory, in the order of
 * the list of such regions */
static void periodicity_unmap(void *arg, const predreg_unmap_t *unmap,
                              uint64_t now)
{
    periodicity_t *self = arg;
    size_t num_found    = 0;
    size_t buffer, i;

    for (buffer = predreg_overlap_next(&self->index, 0, unmap->start,
                                       unmap->end);
         buffer != PREDREG_OVERLAP_NONE;
         buffer = predreg_overlap_next(&self->index, buffer + 1, unmap->start,
                                       unmap->end)) {
        self->found[num_found++] = self->known[buffer];
    }

    qsort(self->found, num_found, sizeof(*self->found), order_compare);
    for (i = 0; i < num_found; ++i) {
        region_unmap(self, self->found[i], now);
    }
}

/* The program has ended */
static void periodicity_finish(periodicity_t *self, uint64_t now)
{
    region_t *region, *tmp;

    ucs_list_for_each_safe(region, tmp, &self->ahead.active,
                           super.active) {
        region_update(self, region, now);
    }
    predreg_ahead_finish(&self->ahead, now);
    self->result->helper = self->ahead.busy;
    self->result->wasted = self->ahead.wasted;
}

static ucs_status_t periodicity_run(periodicity_t *self)
{
    const predreg_player_t player = {
        .arg   = self,
        .begin = periodicity_begin,
        .end   = periodicity_end,
        .unmap = periodicity_unmap
    };
    uint64_t duration = predreg_timeline_play(self->timeline, &player);
    ucs_status_t status;

    periodicity_finish(self, duration);
    status = (self->status == UCS_OK) ? self->ahead.status : self->status;
    if (status == UCS_OK) {
        predreg_account_result(&self->account, duration);
    }
    return status;
}

static void free_arrays(periodicity_t *self)
{
    free(self->found);
    free(self->known);
    free(self->uses);
}

static ucs_status_t alloc_arrays(periodicity_t *self)
{
    size_t num_buffers = self->index.num_buffers;

    self->uses  = calloc(self->timeline->num_uses + 1, sizeof(*self->uses));
    self->known = calloc(num_buffers + 1, sizeof(*self->known));
    self->found = calloc(num_buffers + 1, sizeof(*self->found));
    if ((self->uses == NULL) || (self->known == NULL) ||
        (self->found == NULL)) {
        free_arrays(self);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

static ucs_status_t
periodicity_create(periodicity_t *self, unsigned compared)
{
    ucs_status_t status;

    ucs_list_head_init(&self->all);
    status = predreg_overlap_init(&self->index, self->timeline);
    if (status != UCS_OK) {
        goto err;
    }

    status = alloc_arrays(self);
    if (status != UCS_OK) {
        goto err_cleanup_index;
    }

    status = predreg_pattern_init(&self->pattern, compared);
    if (status != UCS_OK) {
        goto err_free_arrays;
    }

    predreg_account_init(&self->account, self->result);
    self->ahead.account = &self->account;
    self->ahead.reg     = self->params->reg;
    self->ahead.dereg   = self->params->dereg;
    self->ahead.index   = &self->index;
    predreg_ahead_init(&self->ahead);
    return UCS_OK;

err_free_arrays:
    free_arrays(self);
err_cleanup_index:
    predreg_overlap_cleanup(&self->index);
err:
    return status;
}

static void periodicity_destroy(periodicity_t *self)
{
    predreg_ahead_cleanup(&self->ahead);
    while (!ucs_list_is_empty(&self->all)) {
        free(ucs_list_extract_head(&self->all, region_t, link));
    }
    predreg_pattern_cleanup(&self->pattern);
    predreg_account_cleanup(&self->account);
    free_arrays(self);
    predreg_overlap_cleanup(&self->index);
}

ucs_status_t periodicity_replay(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                unsigned compared,
                                predreg_replay_result_t *result)
{
    periodicity_t self = {
        .timeline = timeline,
        .params   = params,
        .result   = result,
        .status   = UCS_OK
    };
    ucs_status_t status;

    memset(result, 0, sizeof(*result));
    status = periodicity_create(&self, compared);
    if (status != UCS_OK) {
        return status;
    }

    status = periodicity_run(&self);
    periodicity_destroy(&self);
    return status;
}
