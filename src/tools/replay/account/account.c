/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "account.h"

#include <tools/replay/program/costs.h>
#include <ucs/base/hash.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/datastruct/khash.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

#define NSEC_PER_SEC 1e9

/* How many operations of the helper the first allocation has room for */
#define MIN_HELPER_OPS 256


typedef struct site_key {
    uint64_t caller;
    uint64_t stack;
} site_key_t;

#define SITE_HASH(_key) \
    kh_int64_hash_func((_key).caller ^ ucs_rcache_pred_hash_word((_key).stack))
#define SITE_EQUAL(_a, _b) \
    (((_a).caller == (_b).caller) && ((_a).stack == (_b).stack))

KHASH_INIT(sites, site_key_t, predreg_site_t*, 1, SITE_HASH, SITE_EQUAL)

typedef struct helper_ops {
    predreg_helper_op_t *ops;
    size_t              count;
    size_t              capacity;
} helper_ops_t;

struct predreg_account {
    predreg_ledger_t *ledger;
    khash_t(sites)   sites;
    predreg_site_t   no_site; /* Counts for sites that there is no memory for */
    ucs_status_t     status;  /* UCS_ERR_NO_MEMORY if there was no memory for a
                                 site or an operation of the helper */
    uint64_t         uses;
    uint64_t         hits;
    uint64_t         late;
    uint64_t         refused;
    uint64_t         regs;
    uint64_t         waited;
    helper_ops_t     helper_ops;
};


ucs_status_t predreg_account_create(predreg_account_t **account_p)
{
    predreg_account_t *account = calloc(1, sizeof(*account));
    ucs_status_t status;

    if (account == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = predreg_ledger_create(&account->ledger);
    if (status != UCS_OK) {
        free(account);
        return status;
    }

    account->status = UCS_OK;
    *account_p      = account;
    return UCS_OK;
}

void predreg_account_destroy(predreg_account_t *account)
{
    predreg_site_t *site;

    free(account->helper_ops.ops);
    kh_foreach_value(&account->sites, site, free(site));
    kh_destroy_inplace(sites, &account->sites);
    predreg_ledger_destroy(account->ledger);
    free(account);
}

predreg_site_t *predreg_account_site(predreg_account_t *account,
                                     const ucs_rcache_pred_context_t *context)
{
    site_key_t key = { .caller = context->caller, .stack = context->stack };
    predreg_site_t *site;
    khiter_t iter;
    int ret;

    iter = kh_get(sites, &account->sites, key);
    if (iter != kh_end(&account->sites)) {
        return kh_val(&account->sites, iter);
    }

    site = calloc(1, sizeof(*site));
    if (site == NULL) {
        goto err;
    }

    iter = kh_put(sites, &account->sites, key, &ret);
    if (ret < 0) {
        goto err_free;
    }

    site->sum.caller              = key.caller;
    site->sum.stack               = key.stack;
    kh_val(&account->sites, iter) = site;
    return site;

err_free:
    free(site);
err:
    account->status = UCS_ERR_NO_MEMORY;
    return &account->no_site;
}

void predreg_account_wait(predreg_account_t *account, predreg_site_t *site,
                          uint64_t waited)
{
    account->waited  += waited;
    site->sum.waited += waited;
}

void predreg_account_use(predreg_account_t *account, predreg_site_t *site,
                         int hit, int late, uint64_t waited)
{
    ++account->uses;
    account->hits += hit;
    account->late += late;
    ++site->sum.uses;
    site->sum.hits += hit;
    site->sum.late += late;
    predreg_account_wait(account, site, waited);
}

void predreg_account_refused(predreg_account_t *account, predreg_site_t *site,
                             uint64_t waited)
{
    ++account->refused;
    predreg_account_wait(account, site, waited);
}

static int helper_ops_make_room(helper_ops_t *list)
{
    size_t capacity = ucs_max(2 * list->capacity, (size_t)MIN_HELPER_OPS);
    predreg_helper_op_t *ops;

    if (list->count < list->capacity) {
        return 1;
    }

    ops = realloc(list->ops, capacity * sizeof(*ops));
    if (ops == NULL) {
        return 0;
    }

    list->ops      = ops;
    list->capacity = capacity;
    return 1;
}

void predreg_account_helper(predreg_account_t *account, uint64_t begin,
                            uint64_t end, int is_reg)
{
    helper_ops_t *list = &account->helper_ops;

    if (!helper_ops_make_room(list)) {
        account->status = UCS_ERR_NO_MEMORY;
        return;
    }

    list->ops[list->count++] = (predreg_helper_op_t){
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
        predreg_ledger_add(account->ledger, begin, end, bytes, cause);
        site->byte_ns += (unsigned __int128)bytes * (uint64_t)(end - begin);
    }
}

/* A registration is about to change its state: its memory in the present state
 * until now is of this cause. It counts for the uses
 * from the site, or, if that is NULL, for the first use, which may still
 * come. */
static void holding_enter(predreg_account_t *account,
                          predreg_holding_t *holding, predreg_cause_t cause,
                          predreg_site_t *site, uint64_t now)
{
    unsigned __int128 byte_ns = (unsigned __int128)holding->bytes *
                                (now - holding->since);

    predreg_ledger_attribute(account->ledger, now - holding->since,
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
    ++account->regs;
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
        return; /* The use that found the memory idle is still under way */
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

/* Enter the idle time of a registration that is not used again */
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

    predreg_ledger_hold(account->ledger, holding->begin, now, holding->bytes);
}

static int site_compare(const void *a, const void *b)
{
    const predreg_replay_site_t *first = a, *second = b;

    if (first->caller != second->caller) {
        return (first->caller > second->caller) ? 1 : -1;
    }

    return (first->stack > second->stack) - (first->stack < second->stack);
}

static int helper_op_compare(const void *a, const void *b)
{
    const predreg_helper_op_t *first = a, *second = b;

    return (first->time > second->time) - (first->time < second->time);
}

static ucs_status_t account_list_sites(predreg_account_t *account,
                                       predreg_replay_result_t *result)
{
    unsigned num_sites = kh_size(&account->sites);
    predreg_replay_site_t *sites;
    predreg_site_t *site;

    sites = malloc(ucs_max(num_sites, 1u) * sizeof(*sites));
    if (sites == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    result->sites     = sites;
    result->num_sites = num_sites;
    kh_foreach_value(&account->sites, site, {
        *sites              = site->sum;
        sites->byte_seconds = site->byte_ns / NSEC_PER_SEC;
        ++sites;
    });
    qsort(result->sites, num_sites, sizeof(*sites), site_compare);
    return UCS_OK;
}

ucs_status_t predreg_account_result(predreg_account_t *account,
                                    uint64_t duration,
                                    predreg_replay_result_t *result)
{
    ucs_status_t status;

    if (account->status != UCS_OK) {
        return account->status;
    }

    status = predreg_ledger_sum(account->ledger, &result->pinned);
    if (status != UCS_OK) {
        return status;
    }

    status = account_list_sites(account, result);
    if (status != UCS_OK) {
        predreg_sum_cleanup(&result->pinned);
        return status;
    }

    /* From now on the result owns the arrays */
    result->helper_ops     = account->helper_ops.ops;
    result->num_helper_ops = account->helper_ops.count;
    account->helper_ops    = (helper_ops_t){ .ops = NULL };
    if (result->num_helper_ops > 0) {
        qsort(result->helper_ops, result->num_helper_ops,
              sizeof(*result->helper_ops), helper_op_compare);
    }

    result->uses             = account->uses;
    result->hits             = account->hits;
    result->late             = account->late;
    result->refused          = account->refused;
    result->regs             = account->regs;
    result->waited           = account->waited;
    result->duration         = duration;
    result->pinned_avg_bytes = predreg_sum_average(&result->pinned, duration);
    return UCS_OK;
}
