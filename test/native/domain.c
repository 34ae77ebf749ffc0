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
#include "pin.h"

#include <ucm/api/ucm.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_DOMAINS 64

/* What a domain of ib reports of the cost of a registration by default, seconds:
 * with the cache, RCACHE_OVERHEAD (uct_md.c); without it, MEM_REG_OVERHEAD and,
 * for each byte, MEM_REG_GROWTH (ib_md.c) */
#define HIT_OVERHEAD 180e-9
#define REG_OVERHEAD 16e-6
#define REG_GROWTH   0.06e-9

/* Memory that is registered, in UCX's cache */
typedef struct region {
    ucs_rcache_region_t super;
    pin_t               *pin;
} region_t;

struct domain {
    uct_md_h          md;
    ucs_rcache_t      *rcache;  /* NULL: memory is registered at each use */
    ucs_linear_func_t reg_cost;
};

/* Each place is written by whoever opens or closes its domain; NULL: free. A
 * thread gets a domain from the one that opened it, and so sees the place */
static _Atomic(domain_t*) domains[MAX_DOMAINS];


static ucs_status_t
pin_or_complain(void *address, size_t length, int silent, pin_t **pin_p)
{
    ucs_status_t status = pin_memory(address, length, pin_p);
    int error           = errno;

    if (status != UCS_OK) {
        ucs_log(silent ? UCS_LOG_LEVEL_DEBUG : UCS_LOG_LEVEL_ERROR,
                "native rig: cannot register %zu bytes at %p: %s", length,
                address, strerror(error));
        errno = error;
    }
    return status;
}

static ucs_status_t
rcache_mem_reg(void *context, ucs_rcache_t *rcache, void *arg,
               ucs_rcache_region_t *super, uint16_t rcache_flags)
{
    region_t *region      = ucs_derived_of(super, region_t);
    const unsigned *flags = arg;
    int silent            = (rcache_flags & UCS_RCACHE_MEM_REG_HIDE_ERRORS) ||
                            (*flags & UCT_MD_MEM_FLAG_HIDE_ERRORS);

    return pin_or_complain((void*)super->super.start,
                           super->super.end - super->super.start, silent,
                           &region->pin);
}

static void rcache_mem_dereg(void *context, ucs_rcache_t *rcache,
                             ucs_rcache_region_t *super)
{
    (void)pin_release(ucs_derived_of(super, region_t)->pin);
}

static void rcache_dump_region(void *context, ucs_rcache_t *rcache,
                               ucs_rcache_region_t *super, char *buf,
                               size_t max)
{
    snprintf(buf, max, "pin %p", ucs_derived_of(super, region_t)->pin);
}

static ucs_status_t use_rcache(domain_t *domain, const settings_t *settings)
{
    static const ucs_rcache_ops_t ops = {
        .mem_reg     = rcache_mem_reg,
        .mem_dereg   = rcache_mem_dereg,
        .dump_region = rcache_dump_region
    };
    ucs_rcache_params_t params = {
        .region_struct_size = sizeof(region_t),
        .max_alignment      = sysconf(_SC_PAGESIZE),
        .ucm_events         = UCM_EVENT_VM_UNMAPPED,
        .ops                = &ops,
        .context            = domain
    };

    settings_to_rcache(settings, &params);
    domain->reg_cost = ucs_linear_func_make(HIT_OVERHEAD, 0);
    return ucs_rcache_create(&params, "cma", NULL, &domain->rcache);
}

static ucs_status_t
choose_method(domain_t *domain, const settings_t *settings)
{
    const char *method;
    unsigned i;

    for (i = 0; i < settings->reg_methods.count; ++i) {
        method = settings->reg_methods.names[i];
        if (!strcasecmp(method, "rcache") &&
            (use_rcache(domain, settings) == UCS_OK)) {
            ucs_debug("native rig: using registration cache");
            return UCS_OK;
        }

        if (!strcasecmp(method, "direct")) {
            domain->rcache   = NULL;
            domain->reg_cost = ucs_linear_func_make(REG_OVERHEAD, REG_GROWTH);
            ucs_debug("native rig: using direct registration");
            return UCS_OK;
        }
    }

    return UCS_ERR_UNSUPPORTED;
}

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

    if (domain->rcache != NULL) {
        ucs_rcache_destroy(domain->rcache);
    }
    free(domain);
    account_closed();
}

void domain_query(const domain_t *domain, uct_md_attr_t *attr)
{
    attr->cap.flags |= UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH |
                       UCT_MD_FLAG_NEED_RKEY;
    attr->reg_cost   = domain->reg_cost;
}

ucs_status_t domain_mem_reg(domain_t *domain, void *address, size_t length,
                            unsigned flags, uct_mem_h *memh_p)
{
    ucs_rcache_region_t *region;
    ucs_status_t status;

    account_use();
    if (domain->rcache == NULL) {
        return pin_or_complain(address, length,
                               flags & UCT_MD_MEM_FLAG_HIDE_ERRORS,
                               (pin_t**)memh_p);
    }

    status = ucs_rcache_get(domain->rcache, address, length,
                            PROT_READ | PROT_WRITE, &flags, &region);
    if (status == UCS_OK) {
        *memh_p = region;
    }
    return status;
}

/* Tell a completion that the invalidation it waits for is done */
static void invalidation_done(void *arg)
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

    if (domain->rcache == NULL) {
        status = pin_release(params->memh);
        if (invalidate) {
            invalidation_done(params->comp);
        }
        return status;
    }

    if (invalidate) {
        ucs_rcache_region_invalidate(domain->rcache, params->memh,
                                     invalidation_done, params->comp);
    }
    ucs_rcache_region_put(domain->rcache, params->memh);
    return UCS_OK;
}
