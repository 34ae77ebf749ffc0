/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"
#include "schedule/schedule.h"

#include <stdlib.h>

/*
 * The policies strict-lru and bounded: memory is registered on demand, and deregistered
 * when it gives way, by the program, which waits meanwhile. schedule.c decides who gives
 * way.
 */

typedef struct play {
    const predreg_timeline_t      *timeline;
    const predreg_replay_params_t *params;
    predreg_schedule_t            schedule;
    const predreg_decision_t      *next;     /* The next decision of the schedule */
    predreg_account_t             account;
    predreg_holding_t             *holdings; /* Of the registration of each use; not
                                                registered: the bytes are 0 */
    size_t                        *serving;  /* For each use, the registration */
} play_t;


/* @return when the deregistration has ended. */
static uint64_t play_dereg(play_t *play, size_t index, uint64_t now)
{
    const predreg_use_t *use   = &play->timeline->uses[index];
    predreg_holding_t *holding = &play->holdings[index];

    predreg_holding_dereg(&play->account, holding, now);
    now += predreg_cost_of(&play->params->dereg, use->address, use->length);
    predreg_holding_close(&play->account, holding, now);
    holding->bytes = 0;
    return now;
}

/* @return when the registration has ended. */
static uint64_t play_reg(play_t *play, const predreg_use_t *use,
                         predreg_holding_t *holding, uint64_t now)
{
    predreg_holding_reg(&play->account, holding, use->address, use->length, now);
    now += predreg_cost_of(&play->params->reg, use->address, use->length);
    predreg_holding_registered(&play->account, holding, now);
    return now;
}

static uint64_t play_begin(void *arg, const predreg_use_t *use, uint64_t now)
{
    play_t *play         = arg;
    size_t index         = use - play->timeline->uses;
    predreg_site_t *site = predreg_account_site(&play->account, &use->context);
    uint64_t begun       = now;
    size_t serving;

    for (; play->next->gives_way; ++play->next) {
        begun = play_dereg(play, play->next->registration, begun);
    }

    serving              = play->next++->registration;
    play->serving[index] = serving;
    if (serving == PREDREG_NO_USE) {
        ++play->account.result->refused;
        predreg_account_wait(&play->account, site, predreg_copy_time(use->length));
        return predreg_copy_time(use->length);
    }

    if (serving == index) {
        begun = play_reg(play, use, &play->holdings[index], begun);
    }
    predreg_holding_use(&play->account, &play->holdings[serving], site, begun);
    predreg_account_use(&play->account, site, serving != index, 0, begun - now);
    return begun - now;
}

static uint64_t play_end(void *arg, const predreg_use_t *use, uint64_t now)
{
    play_t *play   = arg;
    size_t serving = play->serving[use - play->timeline->uses];

    if (serving != PREDREG_NO_USE) {
        predreg_holding_unuse(&play->account, &play->holdings[serving], now);
    }
    return 0;
}

/* The schedule has seen the unmaps */
static void play_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
{
}

ucs_status_t predreg_replay_strict(const predreg_timeline_t *timeline,
                                   const predreg_replay_params_t *params,
                                   predreg_replay_result_t *result)
{
    play_t play                   = { .timeline = timeline, .params = params };
    const predreg_player_t player = {
        .arg   = &play,
        .begin = play_begin,
        .end   = play_end,
        .unmap = play_unmap
    };
    const predreg_schedule_params_t bounds = {
        .is_lru      = (params->policy == PREDREG_REPLAY_STRICT_LRU),
        .max_bytes   = params->cache.max_bytes,
        .max_regions = params->cache.max_regions,
        .max_steps   = params->max_steps,
        .reg         = params->reg,
        .dereg       = params->dereg
    };
    predreg_holding_t *holding;
    ucs_status_t status;
    uint64_t duration;

    predreg_replay_result_bounds(result, bounds.max_bytes, bounds.max_regions);
    status = predreg_schedule_make(timeline, &bounds, &play.schedule);
    if (status != UCS_OK) {
        return status;
    }

    play.next     = play.schedule.decisions;
    play.serving  = predreg_alloc(timeline->num_uses, sizeof(*play.serving));
    play.holdings = predreg_alloc(timeline->num_uses, sizeof(*play.holdings));
    predreg_account_init(&play.account, result);
    duration = predreg_timeline_play(timeline, &player);
    predreg_for_each(holding, play.holdings, timeline->num_uses) {
        if (holding->bytes > 0) {
            predreg_holding_close(&play.account, holding, duration);
        }
    }

    predreg_account_result(&play.account, duration);
    predreg_account_cleanup(&play.account);
    free(play.schedule.decisions);
    free(play.serving);
    free(play.holdings);
    return UCS_OK;
}
