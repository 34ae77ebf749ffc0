/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "local_int.h"

#include <stdlib.h>


ucp_fh_serve_t *
ucp_fh_serve_make(uint32_t peer, const ucp_fh_bucket_t *unpins,
                  uint32_t num_unpins, const ucp_fh_bucket_t *pins,
                  uint32_t num_pins)
{
    ucp_fh_serve_t *serve;
    uint32_t i;

    serve = malloc(sizeof(*serve) + (num_pins * sizeof(*serve->pins)));
    if (serve == NULL) {
        return NULL;
    }

    *serve = (ucp_fh_serve_t){
        .peer       = peer,
        .num_unpins = num_unpins,
        .num_pins   = num_pins,
        .unpins     = unpins
    };
    for (i = 0; i < num_pins; ++i) {
        ucp_fh_pin_init(&serve->pins[i], &(ucp_fh_run_t){pins[i], 1}, peer);
        serve->pins[i].serve = serve;
    }
    return serve;
}

/* Take back the firehoses that a peer gives back. @return UCS_ERR_INVALID_PARAM if the
 * peer does not have one of these firehoses, or cannot know of it, since its bucket is
 * not pinned yet */
static ucs_status_t
take_back(ucp_fh_local_t *table, const ucp_fh_serve_t *serve)
{
    ucp_fh_grant_t *grant;
    uint32_t i;

    for (i = 0; i < serve->num_unpins; ++i) {
        grant = ucp_fh_grant_find(table, serve->peer, serve->unpins[i]);
        if ((grant == NULL) || (grant->reg->state != UCP_FH_REG_PINNED)) {
            return UCS_ERR_INVALID_PARAM;
        }
        ucp_fh_grant_drop(table, grant);
    }

    return UCS_OK;
}

ucs_status_t ucp_fh_local_serve(ucp_fh_local_t *table, ucp_fh_serve_t *serve)
{
    ucs_status_t status, pinned;
    uint32_t i;

    if (table->holders[serve->peer].has_failed) {
        return UCS_ERR_UNREACHABLE;
    }

    /* One more than there are pins, so that the message cannot end while pins begin */
    serve->num_left = serve->num_pins + 1;
    status          = take_back(table, serve);
    for (i = 0; (status == UCS_OK) && (i < serve->num_pins); ++i) {
        pinned = ucp_fh_pin_begin(table, &serve->pins[i]);
        if (pinned != UCS_INPROGRESS) {
            ucp_fh_pin_end(table, &serve->pins[i], pinned);
        }
    }

    --serve->num_left;
    ucp_fh_pin_settle(table);
    return (status != UCS_OK) ? status :
           (serve->num_left == 0) ? UCS_OK : UCS_INPROGRESS;
}

const ucp_fh_reg_t *
ucp_fh_serve_reg(const ucp_fh_local_t *table, const ucp_fh_serve_t *serve,
                 uint32_t index)
{
    const ucp_fh_pin_t *pin = &serve->pins[index];
    const ucp_fh_grant_t *grant;

    grant = (pin->comp.status != UCS_OK) ?
                    NULL :
                    ucp_fh_grant_find(table, serve->peer, pin->run.first);
    return ((grant == NULL) || (grant->reg->state != UCP_FH_REG_PINNED)) ?
                   NULL : grant->reg;
}

static void fail_pins(ucp_fh_local_t *table, ucs_list_link_t *pins,
                      uint32_t peer)
{
    ucp_fh_pin_t *pin, *next;

    ucs_list_for_each_safe(pin, next, pins, link) {
        if (pin->peer == peer) {
            ucp_fh_pin_fail(table, pin, UCS_ERR_UNREACHABLE);
        }
    }
}

void ucp_fh_local_fail_peer(ucp_fh_local_t *table, uint32_t peer)
{
    ucp_fh_holder_t *holder = &table->holders[peer];

    holder->has_failed = 1;
    fail_pins(table, &table->queue, peer);
    fail_pins(table, &table->active, peer);
    while (!ucs_list_is_empty(&holder->grants)) {
        ucp_fh_grant_drop(table, ucs_list_head(&holder->grants, ucp_fh_grant_t,
                                               peer_link));
    }
    ucp_fh_pin_settle(table);
}


ucs_status_t ucp_fh_local_expose(ucp_fh_local_t *table,
                                 ucp_fh_exposed_t *exposed,
                                 const ucp_fh_span_t *span)
{
    ucp_fh_run_t run;

    (void)ucp_fh_run_cover(table->params.shift, span->start,
                           span->end - span->start, &run);
    if (ucp_fh_withdraw_next(table, NULL, &run) != NULL) {
        return UCS_ERR_BUSY;
    }

    exposed->span = *span;
    ucp_fh_places_add(&table->exposed, &exposed->place, &run);
    return UCS_OK;
}

/* A withdrawn registration that could not be unpinned is to be unpinned once more.
 * Earlier withdrawals of its memory that are still under way have to count the
 * registration again */
static void try_again(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    ucp_fh_withdraw_t *withdraw = NULL;

    reg->is_kept = 0;
    while ((withdraw = ucp_fh_reg_next_withdraw(table, reg, withdraw)) != NULL) {
        ++withdraw->num_left;
    }
}

/* Withdraw a registration: it gets no further uses, and is unpinned once nobody uses
 * it */
static void withdraw_reg(ucp_fh_local_t *table, ucp_fh_withdraw_t *withdraw,
                         ucp_fh_reg_t *reg)
{
    int is_victim = (reg->state == UCP_FH_REG_PINNED) &&
                    !ucp_fh_reg_is_used(reg) && !reg->is_withdrawn;

    ++withdraw->num_left;
    if (reg->is_kept) {
        try_again(table, reg);
    }

    reg->is_withdrawn = 1;
    if (is_victim) {
        ucp_fh_reg_revive(table, reg);
        ucp_fh_reg_idle(table, reg);
    }
}

static void withdraw_regs(ucp_fh_local_t *table, ucp_fh_withdraw_t *withdraw)
{
    const ucp_fh_run_t *run = &withdraw->place.run;
    ucp_fh_bucket_t bucket  = run->first;
    ucp_fh_reg_t *reg;

    for (; bucket < ucp_fh_run_end(run); ++bucket) {
        ucs_hlist_for_each(reg, ucp_fh_regs(table, bucket), hash) {
            if ((reg->bucket == bucket) &&
                ucp_fh_span_overlaps(&withdraw->span, &reg->span)) {
                withdraw_reg(table, withdraw, reg);
            }
        }
    }
}

uint32_t ucp_fh_local_next_holder(ucp_fh_local_t *table)
{
    ucp_fh_holder_t *holder = ucp_fh_list_pop(&table->asked, ucp_fh_holder_t, asked);

    if (holder == NULL) {
        return UCP_FH_LOCAL;
    }

    ucs_list_head_init(&holder->asked);
    return holder - table->holders;
}

static void ask(ucp_fh_local_t *table, ucp_fh_holder_t *holder)
{
    if (ucs_list_is_empty(&holder->asked)) {
        ucs_list_add_tail(&table->asked, &holder->asked);
    }
}

/* Make table->asked the list of the peers with firehoses on a run */
static void ask_holders(ucp_fh_local_t *table, const ucp_fh_run_t *run)
{
    ucp_fh_bucket_t bucket = run->first;
    ucp_fh_grant_t *grant;
    ucp_fh_reg_t *reg;

    while (ucp_fh_local_next_holder(table) != UCP_FH_LOCAL) {
    }

    for (; bucket < ucp_fh_run_end(run); ++bucket) {
        ucs_hlist_for_each(reg, ucp_fh_regs(table, bucket), hash) {
            if (reg->bucket != bucket) {
                continue;
            }
            ucs_list_for_each(grant, &reg->grants, reg_link) {
                ask(table, &table->holders[grant->peer]);
            }
        }
    }
}

ucs_status_t ucp_fh_local_withdraw(ucp_fh_local_t *table,
                                   ucp_fh_withdraw_t *withdraw,
                                   const ucp_fh_span_t *span)
{
    ucp_fh_run_t *run   = &withdraw->place.run;
    ucs_status_t status = UCS_OK;

    (void)ucp_fh_run_cover(table->params.shift, span->start,
                           span->end - span->start, run);
    withdraw->span     = *span;
    withdraw->num_left = 0;
    withdraw->result   = UCS_OK;
    withdraw_regs(table, withdraw);
    ask_holders(table, run);
    if (withdraw->num_left > 0) {
        ucp_fh_places_add(&table->withdraws, &withdraw->place, run);
        status = UCS_INPROGRESS;
    }

    /* Queued pins that want the withdrawn memory fail now rather than later */
    ucp_fh_pin_settle(table);
    return status;
}

/* @return the peer with most firehoses, or NULL if no peer has any */
static ucp_fh_holder_t *find_largest(ucp_fh_local_t *table)
{
    ucp_fh_holder_t *largest = NULL;
    ucp_fh_holder_t *holder;

    ucs_list_for_each(holder, &table->holding, holding) {
        if ((largest == NULL) || (holder->num_grants > largest->num_grants)) {
            largest = holder;
        }
    }

    return largest;
}

int ucp_fh_local_pick_recall(ucp_fh_local_t *table, ucp_fh_run_t *run)
{
    ucp_fh_holder_t *holder = find_largest(table);
    ucp_fh_grant_t *grant;

    if (holder == NULL) {
        return 0;
    }

    /* Make the firehose the last one of its peer's list, so that the next pick is another
     * firehose: the peer may use this one for long */
    grant = ucs_list_extract_head(&holder->grants, ucp_fh_grant_t, peer_link);
    ucs_list_add_tail(&holder->grants, &grant->peer_link);
    *run = (ucp_fh_run_t){grant->reg->bucket, 1};
    ask_holders(table, run);
    return 1;
}
