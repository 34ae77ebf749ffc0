/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "domain.h"
#include "account.h"
#include "cache.h"
#include "pin.h"

#include <ucs/debug/log_def.h>
#include <ucs/memory/memory_type.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define MAX_DOMAINS 64

/* What a domain of ib that has a cache reports of the cost of a registration by
 * default, seconds: RCACHE_OVERHEAD (uct_md.c) */
#define HIT_OVERHEAD 180e-9

/* Memory that the domain registers */
#define MEM_TYPES UCS_BIT(UCS_MEMORY_TYPE_HOST)

struct domain {
    uct_md_h          md;
    ucs_rcache_t      *cache;   /* NULL: memory is registered at each use */
    ucs_linear_func_t reg_cost;
    unsigned long     retries;  /* How often it is registered again after EAGAIN */
};

/* Each place is written by whoever opens or closes its domain; NULL: free. A
 * thread gets a domain from the one that opened it, and so sees the place */
static _Atomic(domain_t*) domains[MAX_DOMAINS];


#if SETTINGS_CACHE
static ucs_status_t
choose_method(domain_t *domain, const settings_t *settings)
{
    const char *method;
    unsigned i;

    for (i = 0; i < settings->reg_methods.count; ++i) {
        method = settings->reg_methods.names[i];
        if (!strcasecmp(method, "rcache") &&
            (cache_create(settings, &domain->cache) == UCS_OK)) {
            domain->reg_cost = ucs_linear_func_make(HIT_OVERHEAD, 0);
            ucs_debug("native rig: using registration cache");
            return UCS_OK;
        }

        if (!strcasecmp(method, "direct")) {
            domain->cache    = NULL;
            domain->reg_cost = settings->reg_cost;
            ucs_debug("native rig: using direct registration");
            return UCS_OK;
        }
    }

    return UCS_ERR_UNSUPPORTED;
}
#else
static ucs_status_t
choose_method(domain_t *domain, const settings_t *settings)
{
    domain->cache    = NULL;
    domain->reg_cost = settings->reg_cost;
    return UCS_OK;
}
#endif

ucs_status_t domain_add(uct_md_h md, const settings_t *settings)
{
    domain_t *domain = calloc(1, sizeof(*domain));
    domain_t *free_place;
    ucs_status_t status;
    unsigned i;

    if (domain == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    pin_start();
    domain->md = md;
#if SETTINGS_RETRIES
    domain->retries = settings->reg_retries;
#endif
    status     = choose_method(domain, settings);
    if (status != UCS_OK) {
        free(domain);
        return status;
    }

    for (i = 0; i < MAX_DOMAINS; ++i) {
        free_place = NULL;
        if (atomic_compare_exchange_strong(&domains[i], &free_place, domain)) {
            account_opened();
            return UCS_OK;
        }
    }

    fprintf(stderr, "native rig: more than %d domains\n", MAX_DOMAINS);
    abort();
}

domain_t *domain_find(uct_md_h md)
{
    domain_t *domain;
    unsigned i;

    for (i = 0; i < MAX_DOMAINS; ++i) {
        domain = domains[i];
        if ((domain != NULL) && (domain->md == md)) {
            return domain;
        }
    }

    return NULL;
}

void domain_remove(domain_t *domain)
{
    unsigned i;

    for (i = 0; i < MAX_DOMAINS; ++i) {
        if (domains[i] == domain) {
            domains[i] = NULL;
        }
    }

    if (domain->cache != NULL) {
        ucs_rcache_destroy(domain->cache);
    }
    free(domain);
    account_closed();
}

#define MD_FLAGS (UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH | \
                  UCT_MD_FLAG_NEED_RKEY)

void domain_query(const domain_t *domain, uct_md_attr_t *attr)
{
    attr->cap.flags         |= MD_FLAGS;
    attr->cap.reg_mem_types |= MEM_TYPES;
    attr->reg_cost           = domain->reg_cost;
}

#if UCT_API >= UCT_VERSION(1, 14)
void domain_query_v2(const domain_t *domain, attr_v2_t *attr)
{
    if (attr->field_mask & UCS_BIT(ATTR_V2_FLAGS)) {
        attr->flags |= MD_FLAGS;
    }

    if (attr->field_mask & UCS_BIT(ATTR_V2_REG_MEM_TYPES)) {
        attr->reg_mem_types |= MEM_TYPES;
    }

#if UCT_API >= UCT_VERSION(1, 15)
    if (attr->field_mask & UCS_BIT(ATTR_V2_REG_NONBLOCK_MEM_TYPES)) {
        attr->reg_nonblock_mem_types = 0;
    }
#endif

    if (attr->field_mask & UCS_BIT(ATTR_V2_CACHE_MEM_TYPES)) {
        attr->cache_mem_types |= MEM_TYPES;
    }

    if (attr->field_mask & UCS_BIT(ATTR_V2_REG_COST)) {
        attr->reg_cost = domain->reg_cost;
    }
}
#endif

ucs_status_t domain_mem_reg(domain_t *domain, void *address, size_t length,
                            uint64_t flags, uct_mem_h *memh_p)
{
    int silent            = !!(flags & UCT_MD_MEM_FLAG_HIDE_ERRORS);
    unsigned long retries = 0;
    ucs_status_t status;

    account_use();
#if SETTINGS_CACHE
    if (domain->cache != NULL) {
        return cache_get(domain->cache, address, length, flags, memh_p);
    }
#endif

    /* As uct_ib_reg_mr() (ib_md.c) */
    do {
        status = pin_memory(address, length, silent, (pin_t**)memh_p);
    } while ((status != UCS_OK) && (errno == EAGAIN) &&
             (retries++ < domain->retries));
    return status;
}

/* Tell a completion that the invalidation it waits for is done */
static void invalidated(void *arg)
{
    uct_completion_t *comp = arg;

    if (--comp->count == 0) {
        comp->func(comp);
    }
}

ucs_status_t domain_mem_dereg(domain_t *domain,
                              const uct_md_mem_dereg_params_t *params)
{
    int invalidate = (params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
                     (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE);
    ucs_status_t status;

#if SETTINGS_CACHE
    if (domain->cache != NULL) {
        cache_put(domain->cache, params->memh, invalidate ? invalidated : NULL,
                  params->comp);
        return UCS_OK;
    }
#endif

    status = pin_release(params->memh);
    if (invalidate) {
        invalidated(params->comp);
    }
    return status;
}
