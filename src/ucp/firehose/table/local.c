/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "local_int.h"

#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <stdlib.h>

/* The hash tables of registrations and firehoses have at first 2^FIRST_BITS places */
#define FIRST_BITS 6


static uint64_t reg_key(const ucs_hlist_link_t *link)
{
    return ((const ucp_fh_reg_t*)link)->bucket;
}

static uint64_t grant_key(const ucs_hlist_link_t *link)
{
    const ucp_fh_grant_t *grant = (const ucp_fh_grant_t*)link;

    return ucp_fh_bucket_key(grant->peer, grant->reg->bucket);
}

static void init_lists(ucp_fh_local_t *table)
{
    uint32_t i;

    ucs_list_head_init(&table->holding);
    ucs_list_head_init(&table->asked);
    ucs_list_head_init(&table->to_pin);
    ucs_list_head_init(&table->victims);
    ucs_list_head_init(&table->doomed);
    ucs_list_head_init(&table->queue);
    ucs_list_head_init(&table->active);
    ucp_fh_places_init(&table->exposed);
    ucp_fh_places_init(&table->withdraws);
    ucs_list_head_init(&table->ended);
    for (i = 0; i < table->params.num_peers; ++i) {
        ucs_list_head_init(&table->holders[i].grants);
        ucs_list_head_init(&table->holders[i].asked);
    }
}

ucs_status_t ucp_fh_local_init(ucp_fh_local_t *table,
                               const ucp_fh_local_params_t *params)
{
    ucs_status_t status;

    if ((params->max_victim >> params->shift) == 0) {
        ucs_error("firehose: MAXVICTIM of %" PRIu64 " bytes; accepted: %" PRIu64
                  " and more, a bucket", params->max_victim,
                  (uint64_t)1 << params->shift);
        return UCS_ERR_INVALID_PARAM;
    }

    *table = (ucp_fh_local_t){.params = *params};
    status = ucp_fh_share(params->m, params->shift, params->num_peers,
                          &table->share);
    if (status != UCS_OK) {
        return status;
    }

    /* M and MAXVICTIM are rounded down to buckets one by one: so max_pinned buckets are
     * not more than M + MAXVICTIM bytes */
    table->max_local  = params->max_victim >> params->shift;
    table->max_pinned = (params->m >> params->shift) + table->max_local;

    status = ucs_buckets_init(&table->regs, FIRST_BITS, reg_key);
    if (status != UCS_OK) {
        return status;
    }

    status = ucs_buckets_init(&table->grants, FIRST_BITS,
                                          grant_key);
    if (status != UCS_OK) {
        goto err_cleanup_regs;
    }

    table->holders = calloc(params->num_peers, sizeof(*table->holders));
    if (table->holders == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err_cleanup_grants;
    }

    init_lists(table);
    return UCS_OK;

err_cleanup_grants:
    ucs_buckets_cleanup(&table->grants);
err_cleanup_regs:
    ucs_buckets_cleanup(&table->regs);
    return status;
}

static void unpin_all(ucp_fh_local_t *table, ucs_list_link_t *regs,
                      const ucp_fh_pin_ops_t *ops)
{
    ucp_fh_reg_t *reg;

    while ((reg = ucp_fh_list_pop(regs, ucp_fh_reg_t, link)) != NULL) {
        /* After an error, the memory stays pinned until the end of the process */
        (void)ops->unpin(ops->arg, reg->handle);
        ucp_fh_reg_destroy(table, reg);
    }
}

void ucp_fh_local_cleanup(ucp_fh_local_t *table, const ucp_fh_pin_ops_t *ops)
{
    ucp_fh_grant_t *grant;
    uint32_t i;

    for (i = 0; i < table->params.num_peers; ++i) {
        while (!ucs_list_is_empty(&table->holders[i].grants)) {
            grant = ucs_list_head(&table->holders[i].grants, ucp_fh_grant_t,
                                  peer_link);
            ucp_fh_grant_drop(table, grant);
        }
    }

    unpin_all(table, &table->victims, ops);
    unpin_all(table, &table->doomed, ops);
    free(table->holders);
    ucs_buckets_cleanup(&table->grants);
    ucs_buckets_cleanup(&table->regs);
}

/* @return the longest part of a pin's run that is pinned already, up to max_local
 *         buckets */
static ucp_fh_run_t longest_hit(const ucp_fh_local_t *table,
                                const ucp_fh_pin_t *pin)
{
    const ucp_fh_run_t *run = &pin->run;
    ucp_fh_run_t longest = {.first = run->first, .num = 0};
    ucp_fh_run_t part    = longest;
    ucp_fh_run_t bucket  = {.num = 1};
    uint64_t i;

    for (i = 0; i < run->num; ++i) {
        bucket.first = run->first + i;
        if (!ucp_fh_run_is_pinned(table, &bucket, &pin->wanted)) {
            part.first = bucket.first + 1;
            part.num   = 0;
        } else if ((++part.num > longest.num) &&
                   (part.num <= table->max_local)) {
            longest = part;
        }
    }

    return longest;
}

ucs_status_t ucp_fh_local_pin(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              const ucp_fh_span_t *span, ucp_fh_form_t form)
{
    unsigned shift   = table->params.shift;
    ucp_fh_run_t run = {};
    ucs_status_t status;

    status = ucp_fh_run_cover(shift, span->start, span->end - span->start, &run);
    ucp_fh_pin_init(pin, &run, UCP_FH_LOCAL);
    pin->wanted = *span;
    if (status != UCS_OK) {
        return status;
    }

    if (form == UCP_FH_FORM_PARTIAL) {
        pin->run    = longest_hit(table, pin);
        pin->wanted = ucp_fh_span_clip(span, shift, &pin->run);
    }

    return (pin->run.num == 0)               ? UCS_ERR_NO_RESOURCE :
           (pin->run.num > table->max_local) ? UCS_ERR_EXCEEDS_LIMIT :
           (form == UCP_FH_FORM_WAIT)        ? ucp_fh_pin_begin(table, pin) :
                                               ucp_fh_pin_hit(table, pin);
}

void ucp_fh_local_release(ucp_fh_local_t *table, ucp_fh_pin_t *pin)
{
    pin->state = UCP_FH_PIN_ENDED;
    ucp_fh_pin_drop(table, pin);
    ucp_fh_pin_settle(table);
}

void *ucp_fh_local_handle(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin)
{
    return (pin->run.num > 1) ?
                   NULL :
                   ucp_fh_reg_find(table, pin->run.first, &pin->span)->handle;
}
