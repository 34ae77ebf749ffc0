/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "account.h"

#include <tools/replay/program/costs.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <stdlib.h>

#define NSEC_PER_SEC 1e9


void predreg_account_init(predreg_account_t *account,
                          predreg_replay_result_t *result)
{
    *account = (predreg_account_t){ .result = result };
}

void predreg_account_cleanup(predreg_account_t *account)
{
    predreg_site_t *site;

    free(account->helper_ops);
    kh_foreach_value(&account->sites, site, free(site));
    kh_destroy_inplace(predreg_sites, &account->sites);
    predreg_ledger_cleanup(&account->ledger);
}

predreg_site_t *predreg_account_site(predreg_account_t *account,
                                     const ucs_rcache_pred_context_t *context)
{
    predreg_pair_t key = { context->caller, context->stack };
    predreg_site_t *site;
    khiter_t iter;
    int ret;

    iter = predreg_kh_put(predreg_sites, &account->sites, key, &ret);
    if (ret == UCS_KH_PUT_KEY_PRESENT) {
        return kh_val(&account->sites, iter);
    }

    site                          = predreg_alloc(1, sizeof(*site));
    site->sum.caller              = context->caller;
    site->sum.stack               = context->stack;
    kh_val(&account->sites, iter) = site;
    return site;
}

void predreg_account_wait(predreg_account_t *account, predreg_site_t *site,
                          uint64_t waited)
{
    account->result->waited += waited;
    site->sum.waited        += waited;
}

void predreg_account_use(predreg_account_t *account, predreg_site_t *site,
                         int hit, int late, uint64_t waited)
{
    predreg_replay_result_t *result = account->result;

    ++result->uses;
    result->hits += hit;
    result->late += late;
    ++site->sum.uses;
    site->sum.hits += hit;
    site->sum.late += late;
    predreg_account_wait(account, site, waited);
}

void predreg_account_helper(predreg_account_t *account, uint64_t begin,
                            uint64_t end, int is_reg)
{
    *predreg_add(account->helper_ops,
                 account->num_helper_ops) = (predreg_helper_op_t){
        .time     = begin,
        .duration = end - begin,
        .is_reg   = is_reg
    };
}

void predreg_account_add(predreg_account_t *account, predreg_site_t *site,
                         int64_t begin, int64_t end, uint64_t bytes,
                         predreg_cause_t cause)
{
    if (end > begin) {
        predreg_ledger_add(&account->ledger, begin, end, bytes, cause);
        site->byte_ns += (unsigned __int128)bytes * (uint64_t)(end - begin);
    }
}

/* End the present state of a registration: from the begin of the state until now, the
 * memory was registered for this cause. The bytes times this time count for the uses from
 * the site. If the site is NULL, the memory has had no use yet, and they count for the
 * first use, if one comes. */
static void holding_enter(predreg_account_t *account,
                          predreg_holding_t *holding, predreg_cause_t cause,
                          predreg_site_t *site, uint64_t now)
{
    unsigned __int128 byte_ns = (unsigned __int128)holding->bytes *
                                (now - holding->since);

    predreg_ledger_attribute(&account->ledger, now - holding->since,
                             holding->bytes, cause);
    if (site != NULL) {
        site->byte_ns   += holding->unused + byte_ns;
        holding->unused  = 0;
    } else {
        holding->unused += byte_ns;
    }
}

static void holding_set_state(predreg_holding_t *holding,
                              predreg_holding_state_t state, uint64_t now)
{
    holding->state = state;
    holding->since = now;
}

void predreg_holding_reg(predreg_account_t *account, predreg_holding_t *holding,
                         uint64_t address, uint64_t length, uint64_t now)
{
    *holding = (predreg_holding_t){
        .bytes = ucs_rcache_pred_pages(address, length,
                                       PREDREG_PAGE_SIZE) *
                 PREDREG_PAGE_SIZE,
        .begin = now
    };
    holding_set_state(holding, PREDREG_HOLDING_REG, now);
    ++account->result->regs;
}

void predreg_holding_registered(predreg_account_t *account,
                                predreg_holding_t *holding, uint64_t now)
{
    holding_enter(account, holding, PREDREG_CAUSE_REG, NULL, now);
    holding_set_state(holding, PREDREG_HOLDING_IDLE, now);
}

void predreg_holding_use(predreg_account_t *account, predreg_holding_t *holding,
                         predreg_site_t *site, uint64_t now)
{
    if (holding->uses++ > 0) {
        return; /* The memory was in use already, and the idle time has ended */
    }

    holding_enter(account, holding,
                  (holding->site == NULL) ? PREDREG_CAUSE_AHEAD :
                                            PREDREG_CAUSE_KEPT,
                  site, now);
    holding->site = site;
    holding_set_state(holding, PREDREG_HOLDING_USED, now);
}

void predreg_holding_unuse(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now)
{
    if (--holding->uses > 0) {
        return;
    }

    holding_enter(account, holding, PREDREG_CAUSE_USE, holding->site, now);
    holding_set_state(holding, PREDREG_HOLDING_IDLE, now);
}

/* End the idle time of a registration that has no further use */
static void holding_release(predreg_account_t *account,
                            predreg_holding_t *holding, uint64_t now)
{
    holding_enter(account, holding,
                  (holding->site == NULL) ? PREDREG_CAUSE_WASTED :
                                            PREDREG_CAUSE_RELEASE,
                  holding->site, now);
}

void predreg_holding_dereg(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now)
{
    holding_release(account, holding, now);
    holding_set_state(holding, PREDREG_HOLDING_DEREG, now);
}

void predreg_holding_close(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now)
{
    switch (holding->state) {
    case PREDREG_HOLDING_REG:
        holding_enter(account, holding, PREDREG_CAUSE_REG, NULL, now);
        break;
    case PREDREG_HOLDING_IDLE:
        holding_release(account, holding, now);
        break;
    case PREDREG_HOLDING_USED:
        holding_enter(account, holding, PREDREG_CAUSE_USE, holding->site, now);
        break;
    case PREDREG_HOLDING_DEREG:
        holding_enter(account, holding, PREDREG_CAUSE_DEREG, holding->site,
                      now);
        break;
    }

    predreg_ledger_hold(&account->ledger, holding->begin, now, holding->bytes);
}

PREDREG_COMPARE(site_compare, predreg_replay_site_t, caller, stack)
PREDREG_COMPARE(helper_op_compare, predreg_helper_op_t, time)

static void list_sites(predreg_account_t *account)
{
    predreg_replay_result_t *result = account->result;
    predreg_replay_site_t *sites;
    predreg_site_t *site;

    result->num_sites = kh_size(&account->sites);
    sites             = predreg_alloc(result->num_sites, sizeof(*sites));
    result->sites     = sites;
    kh_foreach_value(&account->sites, site, {
        *sites              = site->sum;
        sites->byte_seconds = site->byte_ns / NSEC_PER_SEC;
        ++sites;
    });
    qsort(result->sites, result->num_sites, sizeof(*sites), site_compare);
}

void predreg_account_result(predreg_account_t *account, uint64_t duration)
{
    predreg_replay_result_t *result = account->result;

    predreg_ledger_sum(&account->ledger, &result->pinned);
    list_sites(account);

    /* From now on the result owns the array */
    result->helper_ops     = account->helper_ops;
    result->num_helper_ops = account->num_helper_ops;
    account->helper_ops    = NULL;
    if (result->num_helper_ops > 0) {
        qsort(result->helper_ops, result->num_helper_ops,
              sizeof(*result->helper_ops), helper_op_compare);
    }

    result->duration         = duration;
    result->pinned_avg_bytes = predreg_sum_average(&result->pinned, duration);
}

/* @return what stands for a bound in the result of a replay: the bound, or 0 if there is no
 * bound */
static uint64_t bound(uint64_t max)
{
    return (max == UINT64_MAX) ? 0 : max;
}

void predreg_replay_result_bounds(predreg_replay_result_t *result, uint64_t max_bytes,
                                  uint64_t max_regions)
{
    result->bound_bytes   = bound(max_bytes);
    result->bound_regions = bound(max_regions);
}

void predreg_replay_result_cleanup(predreg_replay_result_t *result)
{
    free(result->helper_ops);
    free(result->sites);
    predreg_sum_cleanup(&result->pinned);
}

void predreg_replay_result_shrink(predreg_replay_result_t *result)
{
    predreg_sum_t *sum = &result->pinned;

    free(result->helper_ops);
    free(result->sites);
    result->helper_ops     = NULL;
    result->num_helper_ops = 0;
    result->sites          = NULL;
    result->num_sites      = 0;

    if (sum->num_steps > 0) {
        sum->curve = predreg_check_memory(
                realloc(sum->curve, sum->num_steps * sizeof(*sum->curve)));
    }
}
