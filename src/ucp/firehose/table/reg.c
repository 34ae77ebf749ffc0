/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "local_int.h"

#include <stdlib.h>


ucp_fh_reg_t *
ucp_fh_reg_find(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket,
                const ucp_fh_span_t *span)
{
    ucp_fh_span_t part   = ucp_fh_span_clip(span, table->params.shift,
                                            &(ucp_fh_run_t){bucket, 1});
    ucp_fh_reg_t *oldest = NULL;
    ucp_fh_reg_t *reg;

    ucs_hlist_for_each(reg, ucp_fh_regs(table, bucket), hash) {
        if ((reg->bucket == bucket) && ucp_fh_span_is_within(&part, &reg->span) &&
            ((oldest == NULL) || (reg->number < oldest->number))) {
            oldest = reg;
        }
    }

    return oldest;
}

ucp_fh_reg_t *ucp_fh_reg_add(ucp_fh_local_t *table, ucp_fh_bucket_t bucket,
                             const ucp_fh_span_t *span)
{
    ucp_fh_reg_t *reg = malloc(sizeof(*reg));

    if (reg == NULL) {
        return NULL;
    }

    *reg = (ucp_fh_reg_t){
        .bucket = bucket,
        .span   = ucp_fh_span_clip(span, table->params.shift,
                                   &(ucp_fh_run_t){bucket, 1}),
        .number = table->next_number++,
        .state  = UCP_FH_REG_QUEUED
    };
    ucs_list_head_init(&reg->grants);
    ucs_list_head_init(&reg->waiters);
    ucp_fh_buckets_add(&table->regs, &table->num_regs, bucket, &reg->hash);
    ucs_list_add_tail(&table->to_pin, &reg->link);
    return reg;
}

void ucp_fh_reg_destroy(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    ucp_fh_buckets_remove(&table->regs, &table->num_regs, reg->bucket,
                          &reg->hash);
    if (!reg->is_kept) {
        ucp_fh_reg_gone(table, reg, UCS_OK);
    }
    free(reg);
}

ucp_fh_withdraw_t *
ucp_fh_reg_next_withdraw(const ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                         const ucp_fh_withdraw_t *withdraw)
{
    ucp_fh_run_t run              = {reg->bucket, 1};
    const ucp_fh_withdraw_t *next = withdraw;

    do {
        next = ucp_fh_withdraw_next(table, next, &run);
    } while ((next != NULL) && !ucp_fh_span_overlaps(&next->span, &reg->span));

    return (ucp_fh_withdraw_t*)next;
}

void ucp_fh_reg_gone(ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                     ucs_status_t status)
{
    ucp_fh_withdraw_t *withdraw, *next;

    next = ucp_fh_reg_next_withdraw(table, reg, NULL);
    while ((withdraw = next) != NULL) {
        next = ucp_fh_reg_next_withdraw(table, reg, withdraw);
        if (status != UCS_OK) {
            withdraw->result = status;
        }
        if (--withdraw->num_left == 0) {
            ucp_fh_places_remove(&table->withdraws, &withdraw->place);
            ucp_fh_comp_end(&withdraw->comp, &table->ended, withdraw->result);
        }
    }
}

void ucp_fh_reg_idle(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    if (reg->is_withdrawn) {
        ucs_list_add_tail(&table->doomed, &reg->link);
        return;
    }

    ucs_list_add_tail(&table->victims, &reg->link);
    ++table->num_victims;
    table->keeps_victims = 0;
}

void ucp_fh_reg_revive(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    ucs_list_del(&reg->link);
    --table->num_victims;
}

/* A registration is about to get a use or a firehose: it is no victim any more. It is not
 * withdrawn, since no pin of withdrawn memory is let in */
static void count(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    if (!ucp_fh_reg_is_used(reg) && (reg->state == UCP_FH_REG_PINNED)) {
        ucp_fh_reg_revive(table, reg);
    }
}

/* A registration has lost a use or a firehose, maybe the last one */
static void uncount(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    if (ucp_fh_reg_is_used(reg)) {
        return;
    }

    if (reg->state == UCP_FH_REG_PINNED) {
        ucp_fh_reg_idle(table, reg);
    } else if (reg->state == UCP_FH_REG_QUEUED) {
        ucs_list_del(&reg->link);
        ucp_fh_reg_destroy(table, reg);
    }
}

void ucp_fh_reg_use(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    count(table, reg);
    table->num_local += (reg->uses++ == 0);
}

void ucp_fh_reg_unuse(ucp_fh_local_t *table, ucp_fh_reg_t *reg)
{
    table->num_local -= (--reg->uses == 0);
    uncount(table, reg);
}

ucp_fh_grant_t *ucp_fh_grant_find(const ucp_fh_local_t *table, uint32_t peer,
                                  ucp_fh_bucket_t bucket)
{
    ucs_hlist_head_t *head = ucs_bucket(
            &table->grants, ucp_fh_bucket_key(peer, bucket));
    ucp_fh_grant_t *grant;

    ucs_hlist_for_each(grant, head, hash) {
        if ((grant->peer == peer) && (grant->reg->bucket == bucket)) {
            return grant;
        }
    }

    return NULL;
}

ucs_status_t
ucp_fh_grant_add(ucp_fh_local_t *table, uint32_t peer, ucp_fh_reg_t *reg)
{
    ucp_fh_holder_t *holder = &table->holders[peer];
    ucp_fh_grant_t *grant   = malloc(sizeof(*grant));

    if (grant == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    grant->peer = peer;
    grant->reg  = reg;
    count(table, reg);
    ++reg->num_grants;
    ucs_list_add_tail(&reg->grants, &grant->reg_link);
    ucs_list_add_tail(&holder->grants, &grant->peer_link);
    if (++holder->num_grants == 1) {
        ucs_list_add_tail(&table->holding, &holder->holding);
    }
    ucp_fh_buckets_add(&table->grants, &table->num_grants,
                       ucp_fh_bucket_key(peer, reg->bucket), &grant->hash);
    return UCS_OK;
}

void ucp_fh_grant_drop(ucp_fh_local_t *table, ucp_fh_grant_t *grant)
{
    ucp_fh_holder_t *holder = &table->holders[grant->peer];
    ucp_fh_reg_t *reg       = grant->reg;

    ucp_fh_buckets_remove(&table->grants, &table->num_grants,
                          ucp_fh_bucket_key(grant->peer, reg->bucket),
                          &grant->hash);
    ucs_list_del(&grant->reg_link);
    ucs_list_del(&grant->peer_link);
    if (--holder->num_grants == 0) {
        ucs_list_del(&holder->holding);
    }
    free(grant);
    --reg->num_grants;
    uncount(table, reg);
}
