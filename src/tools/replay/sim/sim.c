/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"
#include "world.h"

#include <tools/replay/program/play.h>

#include <ucs/datastruct/list.h>
#include <ucs/sys/math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The policies predict and on-demand, by the library's own code: the program of
 * a timeline uses a cache in a world of virtual time.
 */

/* Pieces of a use that are registered at a time, as many as fly at a time in
 * src/uct/ib/predreg/transfer.c */
#define MAX_PIECES 2

/* A program that waits for messages makes progress all the time. Here it does
 * so every so often, ns: a helper thread polls no more often either (POLL_MIN
 * of helper.c) */
#define PROGRESS_INTERVAL 1000000


/* A use in pieces: a transfer at constant speed, which lasts as long as the
 * use */
typedef struct pieces_use {
    ucs_rcache_pred_pieces_t  super;
    const predreg_use_t     *use;
    predreg_site_t          *site;
    uint64_t                begun;
    uint64_t                next;       /* Start of what is left */
    ucs_rcache_pred_piece_t pieces[MAX_PIECES]; /* In flight, oldest first */
    unsigned                num_pieces;
    uint64_t                lands;      /* When the oldest one does; INF: at the
                                           end of the use */
    ucs_list_link_t         link;       /* In sim->in_pieces */
} pieces_use_t;

/* Both NULL: the use has not begun, was refused, or is over */
typedef struct sim_use {
    void       *memh;
    pieces_use_t *pieces;
} sim_use_t;

typedef struct sim {
    const predreg_timeline_t *timeline;
    predreg_account_t        *account;
    predreg_world_t          *world;
    ucs_rcache_pred_sink_t   sink;
    const ucs_rcache_pred_sink_t *watcher; /* Of the caller; NULL: none */
    ucs_rcache_pred_t        *pred;
    ucs_rcache_pred_domain_t **domains;
    unsigned                 num_domains;  /* There are already */
    sim_use_t                *uses;        /* As those of the timeline */
    size_t                   under_way;    /* Uses */
    ucs_list_link_t          in_pieces;  /* Uses in pieces, by lands */
    uint64_t                 progressed;   /* Time of the last progress */
    int                      does_progress; /* Does the helper's work */
    unsigned                 result;       /* Of the last begin of a use */
    ucs_status_t             status;       /* UCS_ERR_NO_MEMORY: pieces are
                                              missing */
} sim_t;


static void on_event(void *arg, const ucs_rcache_pred_event_t *event)
{
    sim_t *sim = arg;

    if (event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) {
        sim->result = event->result;
    }

    if (sim->watcher != NULL) {
        sim->watcher->event(sim->watcher->arg, event);
    }
}

static void sim_progress(sim_t *sim)
{
    if (sim->does_progress) {
        ucs_rcache_pred_progress(sim->pred);
        sim->progressed = predreg_world_now(sim->world);
    }
}

/* Insert by when its oldest piece lands */
static void pieces_insert(sim_t *sim, pieces_use_t *pieces)
{
    pieces_use_t *other;

    ucs_list_for_each(other, &sim->in_pieces, link) {
        if (other->lands > pieces->lands) {
            break;
        }
    }
    ucs_list_insert_before(&other->link, &pieces->link);
}

/* The piece that reaches to the end of the use lands when it ends */
static void pieces_set_landing(pieces_use_t *pieces)
{
    const predreg_use_t *use             = pieces->use;
    const ucs_rcache_pred_piece_t *piece = &pieces->pieces[0];
    uint64_t moved;

    pieces->lands = UINT64_MAX;
    if (pieces->num_pieces > 0) {
        moved = piece->start + piece->length - use->address;
        if (moved < use->length) {
            pieces->lands = pieces->begun + (unsigned __int128)moved *
                                        (use->end - use->begin) / use->length;
        }
    }
}

/* Register the next piece of what is left, if there is room.
 * @return whether another one may follow. */
static int pieces_add(sim_t *sim, pieces_use_t *pieces)
{
    ucs_rcache_pred_piece_t *piece = &pieces->pieces[pieces->num_pieces];
    uint64_t left                  = pieces->use->address + pieces->use->length -
                                     pieces->next;
    ucs_status_t status;

    if ((left == 0) || (pieces->num_pieces == MAX_PIECES)) {
        return 0;
    }

    status = ucs_rcache_pred_piece_reg(&pieces->super, pieces->next, left,
                                       pieces->use->flags, piece);
    if (status != UCS_OK) {
        return 0;
    }

    predreg_holding_use(sim->account,
                        predreg_world_holding(sim->world, piece->memh),
                        pieces->site, predreg_world_now(sim->world));
    pieces->next += piece->length;
    ++pieces->num_pieces;
    return 1;
}

/* The oldest piece has landed */
static void pieces_release(sim_t *sim, pieces_use_t *pieces)
{
    ucs_rcache_pred_piece_t piece = pieces->pieces[0];

    --pieces->num_pieces;
    memmove(&pieces->pieces[0], &pieces->pieces[1],
            pieces->num_pieces * sizeof(pieces->pieces[0]));
    predreg_holding_unuse(sim->account,
                          predreg_world_holding(sim->world, piece.memh),
                          predreg_world_now(sim->world));
    ucs_rcache_pred_piece_dereg(pieces->super.domain, &piece);
}

/* The first piece is waited for; the others are registered while it flies.
 * @return when the program goes on. */
static uint64_t pieces_begin(sim_t *sim, pieces_use_t *pieces,
                           const predreg_use_t *use, predreg_site_t *site)
{
    int more;

    pieces->use   = use;
    pieces->site  = site;
    pieces->next  = use->address;
    more        = pieces_add(sim, pieces);
    pieces->begun = predreg_world_now(sim->world);
    while (more) {
        more = pieces_add(sim, pieces);
    }

    pieces_set_landing(pieces);
    pieces_insert(sim, pieces);
    return pieces->begun;
}

static void pieces_advance(sim_t *sim, pieces_use_t *pieces)
{
    pieces_release(sim, pieces);
    pieces_add(sim, pieces);
    ucs_list_del(&pieces->link);
    pieces_set_landing(pieces);
    pieces_insert(sim, pieces);
}

static void pieces_end(sim_t *sim, pieces_use_t *pieces)
{
    ucs_list_del(&pieces->link);
    ucs_rcache_pred_end_in_pieces(&pieces->super);
    while (pieces->num_pieces > 0) {
        pieces_release(sim, pieces);
    }
    free(pieces);
}

/* When something is to be done before the next event: a piece lands, or progress
 * is made, which it is while there are uses; without, the program computes */
static uint64_t sim_next_step(sim_t *sim, uint64_t *landing_p)
{
    uint64_t progress = UINT64_MAX;

    *landing_p = ucs_list_is_empty(&sim->in_pieces) ?
                 UINT64_MAX :
                 ucs_list_head(&sim->in_pieces, pieces_use_t, link)->lands;
    if (sim->does_progress && (sim->under_way > 0)) {
        progress = sim->progressed + PROGRESS_INTERVAL;
    }
    return ucs_min(*landing_p, progress);
}

/* The program goes on until then */
static void sim_advance(sim_t *sim, uint64_t until)
{
    uint64_t step, landing;

    for (step = sim_next_step(sim, &landing); step <= until;
         step = sim_next_step(sim, &landing)) {
        predreg_world_advance(sim->world, step);
        if (step == landing) {
            pieces_advance(sim, ucs_list_head(&sim->in_pieces, pieces_use_t, link));
        } else {
            sim_progress(sim);
        }
    }

    predreg_world_advance(sim->world, until);
}

/* Begin a use that can do without a registration */
static ucs_status_t begin_in_pieces(sim_t *sim, const predreg_use_t *use,
                               sim_use_t *state)
{
    ucs_status_t status;

    state->pieces = calloc(1, sizeof(*state->pieces));
    if (state->pieces == NULL) {
        sim->status = UCS_ERR_NO_MEMORY;
        return UCS_ERR_NO_MEMORY;
    }

    state->pieces->super.last_resort =
            (use->kind == UCS_RCACHE_PRED_USE_LAST_RESORT);
    status = ucs_rcache_pred_begin_in_pieces(sim->domains[use->domain],
                                        (void*)use->address, use->length,
                                        use->flags, &use->context,
                                        &state->pieces->super, &state->memh);
    if (status != UCS_INPROGRESS) {
        free(state->pieces);
        state->pieces = NULL;
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

static uint64_t sim_begin(void *arg, const predreg_use_t *use, uint64_t now)
{
    sim_t *sim           = arg;
    sim_use_t *state     = &sim->uses[use - sim->timeline->uses];
    predreg_site_t *site = predreg_account_site(sim->account, &use->context);
    ucs_status_t status;
    uint64_t begun;

    sim_advance(sim, now);
    status = begin_use(sim, use, state);
    begun  = predreg_world_now(sim->world);
    if (UCS_STATUS_IS_ERR(status)) {
        predreg_account_refused(sim->account, site, begun - now);
        return begun - now; /* It goes another way, by copying */
    }

    ++sim->under_way;
    if (status == UCS_INPROGRESS) {
        begun = pieces_begin(sim, state->pieces, use, site);
    } else {
        predreg_holding_use(sim->account,
                            predreg_world_holding(sim->world, state->memh),
                            site, begun);
    }

    predreg_account_use(sim->account, site,
                        !!(sim->result & UCS_RCACHE_PRED_RESULT_HIT),
                        !!(sim->result & UCS_RCACHE_PRED_RESULT_LATE),
                        begun - now);
    sim_progress(sim); /* From here on it waits for the message */
    return begun - now;
}

static uint64_t sim_end(void *arg, const predreg_use_t *use, uint64_t now)
{
    sim_t *sim       = arg;
    sim_use_t *state = &sim->uses[use - sim->timeline->uses];
    uint64_t ended;

    sim_advance(sim, now);
    sim_progress(sim); /* Which finds that the use has ended */
    ended = predreg_world_now(sim->world);
    if (state->pieces != NULL) {
        --sim->under_way;
        pieces_end(sim, state->pieces); /* While the program goes on */
        state->pieces = NULL;
    } else if (state->memh != NULL) {
        --sim->under_way;
        predreg_holding_unuse(sim->account,
                              predreg_world_holding(sim->world, state->memh),
                              ended);
        ucs_rcache_pred_end(sim->domains[use->domain], state->memh);
        state->memh = NULL;
        ended       = predreg_world_now(sim->world);
    }

    predreg_account_wait(sim->account,
                         predreg_account_site(sim->account, &use->context),
                         ended - now);
    return ended - now;
}

static void sim_unmap(void *arg, const predreg_unmap_t *unmap, uint64_t now)
{
    sim_t *sim = arg;

    sim_advance(sim, now);
    ucs_rcache_pred_unmapped(sim->pred, unmap->start, unmap->end);
}

static ucs_status_t sim_create_pred(sim_t *sim,
                                    const predreg_sim_params_t *params)
{
    ucs_rcache_pred_sink_t sink    = { .event = on_event, .arg = sim };
    ucs_rcache_pred_params_t cache = params->cache;
    ucs_status_t status;

    sim->sink    = sink;
    sim->watcher = cache.sink;
    cache.ops    = &predreg_world_ops;
    cache.arg    = sim->world;
    cache.sink   = &sim->sink;
    cache.node   = NULL;
    status       = ucs_rcache_pred_create(&cache, &sim->pred);
    if (status != UCS_OK) {
        return status;
    }

    sim->does_progress = (ucs_rcache_pred_get_mode(sim->pred) ==
                          UCS_RCACHE_PRED_MODE_PROGRESS);
    return UCS_OK;
}

static ucs_status_t sim_create_domains(sim_t *sim)
{
    char name[32];
    ucs_status_t status;

    sim->domains = calloc(sim->timeline->num_domains, sizeof(*sim->domains));
    if (sim->domains == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    while (sim->num_domains < sim->timeline->num_domains) {
        snprintf(name, sizeof(name), "domain %u", sim->num_domains);
        status = ucs_rcache_pred_domain_create(sim->pred, name, sim->world,
                                               &sim->domains[sim->num_domains]);
        if (status != UCS_OK) {
            return status;
        }
        ++sim->num_domains;
    }

    return UCS_OK;
}

static ucs_status_t sim_create(sim_t *sim,
                               const predreg_sim_params_t *params)
{
    ucs_status_t status;

    ucs_list_head_init(&sim->in_pieces);
    sim->uses = calloc(ucs_max(sim->timeline->num_uses, 1ul),
                       sizeof(*sim->uses));
    if (sim->uses == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = predreg_account_create(&sim->account);
    if (status != UCS_OK) {
        return status;
    }

    status = predreg_world_create(params, sim->account, &sim->world);
    if (status != UCS_OK) {
        return status;
    }

    status = sim_create_pred(sim, params);
    if (status != UCS_OK) {
        return status;
    }

    status = sim_create_domains(sim);
    if ((status != UCS_OK) ||
        (ucs_rcache_pred_get_mode(sim->pred) != UCS_RCACHE_PRED_MODE_THREAD)) {
        return status;
    }

    return predreg_world_start_helper(sim->world, sim->pred);
}

/* Whatever there is of it */
static void sim_destroy(sim_t *sim)
{
    while (sim->num_domains > 0) {
        ucs_rcache_pred_domain_destroy(sim->domains[--sim->num_domains]);
    }
    free(sim->domains);

    if (sim->pred != NULL) {
        ucs_rcache_pred_destroy(sim->pred);
    }

    if (sim->world != NULL) {
        predreg_world_destroy(sim->world);
    }

    if (sim->account != NULL) {
        predreg_account_destroy(sim->account);
    }
    free(sim->uses);
}

static ucs_status_t sim_run(sim_t *sim, ucs_rcache_pred_stats_t *stats,
                            predreg_replay_result_t *result)
{
    const predreg_player_t player = {
        .arg   = sim,
        .begin = sim_begin,
        .end   = sim_end,
        .unmap = sim_unmap
    };
    ucs_status_t status, finished;
    uint64_t duration;

    status = predreg_timeline_play(sim->timeline, &player, &duration);
    if (status == UCS_OK) {
        predreg_world_advance(sim->world, duration);
        duration = predreg_world_now(sim->world);
        ucs_rcache_pred_get_stats(sim->pred, stats);
    }

    sim->watcher = NULL; /* What follows is no part of the program */
    finished     = predreg_world_finish(sim->world, &result->helper);
    if (status == UCS_OK) {
        status = (finished == UCS_OK) ? sim->status : finished;
    }

    return (status == UCS_OK) ?
           predreg_account_result(sim->account, duration, result) : status;
}

ucs_status_t predreg_sim_replay(const predreg_timeline_t *timeline,
                                const predreg_sim_params_t *params,
                                predreg_replay_result_t *result,
                                ucs_rcache_pred_stats_t *stats)
{
    sim_t sim = { .timeline = timeline, .status = UCS_OK };
    ucs_status_t status;

    status = sim_create(&sim, params);
    if (status != UCS_OK) {
        goto out;
    }

    status = sim_run(&sim, stats, result);
    if (status != UCS_OK) {
        goto out;
    }

    result->early  = stats->early;
    result->wasted = stats->wasted;
    memcpy(result->prediction_errors, stats->prediction_errors,
           sizeof(result->prediction_errors));
out:
    sim_destroy(&sim);
    return status;
}
