/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "cache.h"
#include "pin.h"

#if SETTINGS_CACHE

#include <ucm/api/ucm.h>

#include <stdio.h>
#include <unistd.h>

/* Memory that is registered */
typedef struct region {
    ucs_rcache_region_t super;
    pin_t               *pin;
} region_t;


static ucs_status_t
rcache_mem_reg(void *context, ucs_rcache_t *rcache, void *arg,
               ucs_rcache_region_t *super, uint16_t rcache_flags)
{
    region_t *region      = ucs_derived_of(super, region_t);
    const unsigned *flags = arg;
    int silent            = (rcache_flags & UCS_RCACHE_MEM_REG_HIDE_ERRORS) ||
                            (*flags & UCT_MD_MEM_FLAG_HIDE_ERRORS);

    return pin_memory((void*)super->super.start,
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

ucs_status_t cache_create(const settings_t *settings, ucs_rcache_t **cache_p)
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
        .ops                = &ops
    };

    settings_to_rcache(settings, &params);
    return ucs_rcache_create(&params, "cma", NULL, cache_p);
}

ucs_status_t cache_get(ucs_rcache_t *cache, void *address, size_t length,
                       unsigned flags, uct_mem_h *memh_p)
{
    ucs_rcache_region_t *region;
    ucs_status_t status;

    status = ucs_rcache_get(cache, address, length, PROT_READ | PROT_WRITE,
                            &flags, &region);
    if (status == UCS_OK) {
        *memh_p = region;
    }
    return status;
}

void cache_put(ucs_rcache_t *cache, uct_mem_h memh,
               ucs_rcache_invalidate_comp_func_t invalidated, void *arg)
{
    if (invalidated != NULL) {
        ucs_rcache_region_invalidate(cache, memh, invalidated, arg);
    }
    ucs_rcache_region_put(cache, memh);
}

#endif
