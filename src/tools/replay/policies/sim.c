/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"

#include <tools/base/memory.h>

#include <ucs/sys/math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The simulated program makes progress once in this time, ns, if there is something to
 * do; a real program that waits for messages makes progress all the time. A helper thread
 * looks at its queue at least as often while uses end (PRED_POLL_MAX of
 * src/ucs/rcache_pred/helper/helper.h). */
#define PROGRESS_INTERVAL 1000000


/* A use of the timeline. All pointers are NULL before the begin, after the end,
 * and for a refused use */
typedef struct sim_use {
    void               *memh;
    predreg_transfer_t *transfer; /* For a use in pieces */
    void               *slab;     /* For a use that the arena answers */
} sim_use_t;

typedef struct sim {
    const predreg_timeline_t     *timeline;
    predreg_replay_result_t      *result;
    predreg_account_t            account;
    predreg_world_t              *world;
    predreg_served_t             *served;     /* NULL: there is no arena */
    ucs_rcache_pred_sink_t       sink;        /* The cache's sink, which calls
                                                 on_event() */
    const ucs_rcache_pred_sink_t *user_sink;  /* The sink in the parameters, or NULL */
    ucs_rcache_pred_t            *pred;
    ucs_rcache_pred_domain_t     **domains;
    unsigned                     num_domains; /* Number of created domains */
    sim_use_t                    *uses;       /* Indexed as the uses of the timeline */
    size_t                       under_way;   /* Number of uses under way */
    predreg_transfers_t          transfers;   /* Uses in pieces */
    uint64_t                     progressed;  /* Time of the last progress */
    unsigned                     begun_as;    /* The result of the last begin of a use,
                                                 as the cache's event says it */
} sim_t;


static void on_event(void *arg, const ucs_rcache_pred_event_t *event)
{
    sim_t *sim = arg;

    if (event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) {
        sim->begun_as = event->result;
    }

    if (sim->user_sink != NULL) {
        sim->user_sink->event(sim->user_sink->arg, event);
    }
}

/* @return whether the program carries out the decisions of the cache, and no helper
 *         thread does. The answer may change during a run: the cache asks for the number
 *         of idle processors. */
static int sim_does_progress(const sim_t *sim)
{
    return ucs_rcache_pred_get_mode(sim->pred) ==
           UCS_RCACHE_PRED_MODE_PROGRESS;
}

/* Let the program make progress, if the program does the helper's work.
 * @return how long a round of the cache took the program, without registrations and
 *         deregistrations, ns. */
static uint64_t sim_progress(sim_t *sim)
{
    uint64_t looked = 0;

    if (sim_does_progress(sim)) {
        looked          = predreg_world_progress(sim->world, sim->pred);
        sim->progressed = predreg_world_now(sim->world);
    }
    return looked;
}

/* The program makes progress while it waits for a message. Its own part of the transfer, and
 * its answers to others, wait for registrations and deregistrations in the progress. The rest
 * of a round delays nobody, since the program has nothing else to do */
static void sim_progress_in_use(sim_t *sim)
{
    uint64_t begin  = predreg_world_now(sim->world);
    uint64_t looked = sim_progress(sim);

    predreg_world_steal(sim->world, predreg_world_now(sim->world) - begin - looked);
}

/* @return the time of the next progress that finds something to do. */
static uint64_t sim_next_progress(const sim_t *sim)
{
    uint64_t first = sim->progressed + PROGRESS_INTERVAL;
    uint64_t due   = predreg_world_time(ucs_rcache_pred_due(sim->pred));

    if (due <= first) {
        return first;
    }

    return (due > UINT64_MAX - PROGRESS_INTERVAL) ?
           UINT64_MAX :
           (first + (ucs_div_round_up(due - first, PROGRESS_INTERVAL) *
                     PROGRESS_INTERVAL));
}

/* @return the time of the next step before the next event of the timeline. In a step,
 *         a piece lands, the program makes progress, or the helper of the arena works.
 *         The program makes progress only while uses are under way; without uses it
 *         computes. */
static uint64_t sim_next_step(sim_t *sim, uint64_t *landing_p, uint64_t *due_p)
{
    uint64_t progress = UINT64_MAX;

    *landing_p = predreg_transfers_next(&sim->transfers);
    *due_p     = UINT64_MAX;
    if (sim->served != NULL) {
        *due_p = ucs_max(predreg_served_due(sim->served),
                         predreg_world_now(sim->world));
    }
    if (sim_does_progress(sim) && (sim->under_way > 0)) {
        progress = sim_next_progress(sim);
    }
    return ucs_min(ucs_min(*landing_p, *due_p), progress);
}

/* Let the program go on until this time, with all steps before it */
static void sim_advance(sim_t *sim, uint64_t until)
{
    uint64_t step, landing, due;

    for (step = sim_next_step(sim, &landing, &due); step <= until;
         step = sim_next_step(sim, &landing, &due)) {
        predreg_world_advance(sim->world, step);
        if (step == landing) {
            predreg_transfers_land(&sim->transfers);
        } else if (step == due) {
            predreg_served_tend(sim->served, predreg_world_now(sim->world));
        } else {
            sim_progress_in_use(sim);
        }
    }

    predreg_world_advance(sim->world, until);
}

/* Begin a use whose kind lets the cache register the memory piece by piece, instead of
 * all at once */
static ucs_status_t begin_in_pieces(sim_t *sim, const predreg_use_t *use,
                                    sim_use_t *state)
{
    ucs_status_t status;

    state->transfer = predreg_alloc(1, sizeof(*state->transfer));
    state->transfer->super.last_resort =
            (use->kind == UCS_RCACHE_PRED_USE_LAST_RESORT);
    status = ucs_rcache_pred_begin_in_pieces(sim->domains[use->domain],
                                             (void*)use->address, use->length,
                                             use->flags, &use->context,
                                             &state->transfer->super,
                                             &state->memh);
    if (status != UCS_INPROGRESS) {
        free(state->transfer);
        state->transfer = NULL;
    }
    return status;
}

static ucs_status_t begin_use(sim_t *sim, const predreg_use_t *use,
                              sim_use_t *state)
{
    if (use->kind != UCS_RCACHE_PRED_USE_WHOLE) {
        return begin_in_pieces(sim, use, state);
    }

    return ucs_rcache_pred_begin(sim->domains[use->domain],
                                 (void*)use->address, use->length, use->flags,
                                 &use->context, &state->memh);
}

/* Let the program go on until this time, and after that for as long as the helper's work
 * has kept it from its own */
static void sim_advance_shared(sim_t *sim, uint64_t until)
{
    sim_advance(sim, until);
    sim_advance(sim, until + predreg_world_take_stolen(sim->world));
}

/* Begin a use in memory of the arena.
 * @return whether the arena answers the use. */
static int sim_answer(sim_t *sim, const predreg_use_t *use, sim_use_t *state,
                      predreg_site_t *site, uint64_t begun)
{
    if (sim->served != NULL) {
        state->slab = predreg_served_begin(sim->served, use, site, begun);
    }

    if (state->slab == NULL) {
        return 0;
    }

    ++sim->under_way;
    ++sim->result->answered;
    return 1;
}

static uint64_t sim_begin(void *arg, const predreg_use_t *use, uint64_t now)
{
    sim_t *sim           = arg;
    sim_use_t *state     = &sim->uses[use - sim->timeline->uses];
    predreg_site_t *site = predreg_account_site(&sim->account,
                                                 &use->context);
    ucs_status_t status;
    uint64_t begun;

    sim_advance_shared(sim, now);
    begun = predreg_world_now(sim->world);
    if (sim_answer(sim, use, state, site, begun)) {
        predreg_account_use(&sim->account, site, 1, 0, begun - now);
        sim_progress(sim);
        return begun - now;
    }

    predreg_world_set_fresh(sim->world, use->fresh);
    status = begin_use(sim, use, state);
    predreg_world_set_fresh(sim->world, 0);
    begun  = predreg_world_now(sim->world);
    if (UCS_STATUS_IS_ERR(status)) {
        /* The program copies the data instead */
        ++sim->result->refused;
        sim_advance(sim, begun + predreg_copy_time(use->length));
        begun = predreg_world_now(sim->world);
        predreg_account_wait(&sim->account, site, begun - now);
        return begun - now;
    }

    ++sim->under_way;
    if (status == UCS_INPROGRESS) {
        begun = predreg_transfer_begin(&sim->transfers, state->transfer, use,
                                       site);
    } else {
        predreg_holding_use(&sim->account,
                            predreg_world_holding(sim->world, state->memh),
                            site, begun);
    }

    predreg_account_use(&sim->account, site,
                        !!(sim->begun_as & UCS_RCACHE_PRED_RESULT_HIT),
                        !!(sim->begun_as & UCS_RCACHE_PRED_RESULT_LATE),
                        begun - now);
    sim_progress(sim); /* The program begins to wait for the message, and a program
                          that waits makes progress */
    return begun - now;
}

static uint64_t sim_end(void *arg, const predreg_use_t *use, uint64_t now)
{
    sim_t *sim       = arg;
    sim_use_t *state = &sim->uses[use - sim->timeline->uses];
    uint64_t ended;

    sim_advance_shared(sim, now);
    sim_progress(sim); /* The program finds the end of the use in progress */
    ended = predreg_world_now(sim->world);
    if (state->slab != NULL) {
        --sim->under_way;
        predreg_served_end(sim->served, state->slab, ended);
        state->slab = NULL;
    } else if (state->transfer != NULL) {
        --sim->under_way;
        predreg_transfer_end(&sim->transfers, state->transfer);
        free(state->transfer);
        state->transfer = NULL; /* The program has not waited for the registration of
                                   the pieces */
    } else if (state->memh != NULL) {
        --sim->under_way;
        predreg_holding_unuse(&sim->account,
                              predreg_world_holding(sim->world, state->memh),
                              ended);
        ucs_rcache_pred_end(sim->domains[use->domain], state->memh);
        state->memh = NULL;
        ended       = predreg_world_now(sim->world);
    }

    predreg_account_wait(&sim->account,
                         predreg_account_site(&sim->account, &use->context),
                         ended - now);
    return ended - now;
}

static void sim_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
{
    sim_t *sim = arg;

    sim_advance(sim, now);
    ucs_rcache_pred_unmapped(sim->pred, unmap->start, unmap->end);
    if (sim->served != NULL) {
        predreg_served_unmap(sim->served, unmap,
                             predreg_world_now(sim->world));
    }
}

static void sim_map(void *arg, const predreg_map_t *map, uint64_t now)
{
    sim_t *sim = arg;

    if (sim->served != NULL) {
        sim_advance(sim, now);
        predreg_served_map(sim->served, map, predreg_world_now(sim->world));
    }
}

static ucs_status_t sim_create_pred(sim_t *sim,
                                    const predreg_replay_params_t *params)
{
    ucs_rcache_pred_params_t cache = params->cache;

    sim->sink       = (ucs_rcache_pred_sink_t){ .event = on_event, .arg = sim };
    sim->user_sink  = cache.sink;
    cache.ops       = &predreg_world_ops;
    cache.arg       = sim->world;
    cache.sink      = &sim->sink;
    cache.page_size = PREDREG_PAGE_SIZE;
    if (params->shared &&
        (cache.helper == UCS_RCACHE_PRED_HELPER_CONSERVATIVE)) {
        /* Without an idle processor, the program does the work of a conservative helper.
         * A cache finds this out only after a while, but in a recording of a part of a
         * longer run it has found this out before */
        cache.helper = UCS_RCACHE_PRED_HELPER_PROGRESS;
    }
    return ucs_rcache_pred_create(&cache, &sim->pred);
}

static ucs_status_t sim_create_domains(sim_t *sim)
{
    unsigned num = sim->timeline->num_domains;
    ucs_status_t status;
    char name[32];

    sim->domains = predreg_alloc(num, sizeof(*sim->domains));
    for (; sim->num_domains < num; ++sim->num_domains) {
        snprintf(name, sizeof(name), "domain %u", sim->num_domains);
        status = ucs_rcache_pred_domain_create(sim->pred, name, sim->world,
                                               &sim->domains[sim->num_domains]);
        if (status != UCS_OK) {
            return status;
        }
    }

    return UCS_OK;
}

/* Whether the cache has a helper's thread. Beside other ranks, it answers them also where
 * the program does the helper's work */
static int needs_helper(const sim_t *sim, const predreg_replay_params_t *params)
{
    return (ucs_rcache_pred_get_mode(sim->pred) == UCS_RCACHE_PRED_MODE_THREAD) ||
           ((params->cache.node != NULL) &&
            (params->cache.policy == UCS_RCACHE_PRED_POLICY_PREDICT));
}

static ucs_status_t sim_create(sim_t *sim,
                               const predreg_replay_params_t *params)
{
    ucs_status_t status;

    sim->uses  = predreg_alloc(sim->timeline->num_uses, sizeof(*sim->uses));
    sim->world = predreg_world_create(sim->timeline, params, &sim->account);
    if (params->limit > 0) {
        sim->served = predreg_served_create(params, &sim->account);
    }

    predreg_transfers_init(&sim->transfers, &sim->account, sim->world);
    status = sim_create_pred(sim, params);
    if (status != UCS_OK) {
        return status;
    }

    status = sim_create_domains(sim);
    if ((status == UCS_OK) && needs_helper(sim, params)) {
        predreg_world_start_helper(sim->world, sim->pred);
    }
    return status;
}

/* Free all existing parts of the simulation */
static void sim_destroy(sim_t *sim)
{
    while (sim->num_domains > 0) {
        ucs_rcache_pred_domain_destroy(sim->domains[--sim->num_domains]);
    }
    free(sim->domains);

    if (sim->pred != NULL) {
        ucs_rcache_pred_destroy(sim->pred);
    }

    predreg_world_destroy(sim->world);
    if (sim->served != NULL) {
        predreg_served_destroy(sim->served);
    }

    predreg_account_cleanup(&sim->account);
    free(sim->uses);
}

static void sim_run(sim_t *sim, ucs_rcache_pred_stats_t *stats)
{
    const predreg_player_t player = {
        .arg          = sim,
        .begin        = sim_begin,
        .end          = sim_end,
        .unmap        = sim_unmap,
        .map          = sim_map,
        .counts_fresh = 1
    };
    uint64_t duration;

    sim_advance_shared(sim, predreg_timeline_play(sim->timeline, &player));
    duration = predreg_world_now(sim->world);
    ucs_rcache_pred_get_stats(sim->pred, stats);

    sim->user_sink      = NULL; /* The caller's sink gets no event after the end of the
                                   program */
    sim->result->helper = predreg_world_finish(sim->world);
    if (sim->served != NULL) {
        predreg_served_finish(sim->served, duration, sim->result);
    }

    predreg_account_result(&sim->account, duration);
}

ucs_status_t predreg_sim_replay(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                predreg_replay_result_t *result,
                                ucs_rcache_pred_stats_t *stats)
{
    sim_t sim = { .timeline = timeline, .result = result };
    ucs_status_t status;

    predreg_account_init(&sim.account, result);
    status = sim_create(&sim, params);
    if (status == UCS_OK) {
        sim_run(&sim, stats);
        result->early     = stats->early;
        result->wasted    = stats->wasted;
        result->forgotten = stats->forgotten;
        memcpy(result->prediction_errors, stats->prediction_errors,
               sizeof(result->prediction_errors));
    }
    sim_destroy(&sim);
    return status;
}
