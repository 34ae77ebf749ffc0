/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "device.h"
#include "domain.h"
#include "register.h"

#include <uct/ib/predreg/compat/rcache.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/completion.h>

#include <ucm/api/ucm.h>
#include <ucs/datastruct/khash.h>
#include <ucs/debug/log_def.h>

#include <stdio.h>
#include <stdlib.h>

/* What UCX's cache of an ib domain has by default (uct_md.c, ib_md.c) */
#define EVENT_PRIORITY 1000
#define MAX_UNRELEASED (512ul << 20)


/* Memory that is registered, in UCX's cache structure */
typedef struct region {
    uct_predreg_rcache_region_t super;
    uct_mem_h                   memh;
} region_t;

/* Regions by their handle */
KHASH_MAP_INIT_INT64(device_regions, region_t*)

struct uct_predreg_devices {
    uct_predreg_domain_t    *domain;
    uct_predreg_rcache_t    rcache;
    pthread_mutex_t         lock;     /* Protects the table. The lock of rcache
                                         may be held when it is taken. */
    khash_t(device_regions) regions;
};


static region_t *region_of(ucs_rcache_region_t *super)
{
    return ucs_container_of(super, region_t, super.super);
}

static int region_add(uct_predreg_devices_t *devices, region_t *region)
{
    khiter_t iter;
    int ret;

    pthread_mutex_lock(&devices->lock);
    iter = kh_put(device_regions, &devices->regions, (uintptr_t)region->memh,
                  &ret);
    if (ret != UCS_KH_PUT_FAILED) {
        kh_val(&devices->regions, iter) = region;
    }
    pthread_mutex_unlock(&devices->lock);
    return ret != UCS_KH_PUT_FAILED;
}

static void region_remove(uct_predreg_devices_t *devices, region_t *region)
{
    khiter_t iter;

    pthread_mutex_lock(&devices->lock);
    iter = kh_get(device_regions, &devices->regions, (uintptr_t)region->memh);
    kh_del(device_regions, &devices->regions, iter);
    pthread_mutex_unlock(&devices->lock);
}

static region_t *region_find(uct_predreg_devices_t *devices, uct_mem_h memh)
{
    region_t *region = NULL;
    khiter_t iter;

    pthread_mutex_lock(&devices->lock);
    iter = kh_get(device_regions, &devices->regions, (uintptr_t)memh);
    if (iter != kh_end(&devices->regions)) {
        region = kh_val(&devices->regions, iter);
    }
    pthread_mutex_unlock(&devices->lock);
    return region;
}

static void region_deregister(uct_predreg_devices_t *devices, region_t *region)
{
    const uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH,
        .memh       = region->memh
    };

    (void)uct_predreg_pass_mem_dereg(devices->domain, &params);
}

static ucs_status_t
rcache_mem_reg(void *context, ucs_rcache_t *rcache, void *arg,
               ucs_rcache_region_t *super, uint16_t rcache_flags)
{
    uct_predreg_devices_t *devices = context;
    region_t *region               = region_of(super);
    unsigned flags                 = *(const unsigned*)arg;
    ucs_status_t status;

    if (rcache_flags & UCS_RCACHE_MEM_REG_HIDE_ERRORS) {
        flags |= devices->domain->core->compat->quiet_flag;
    }

    status = uct_predreg_pass_mem_reg(devices->domain,
                                      (void*)super->super.start,
                                      super->super.end - super->super.start,
                                      flags, &region->memh);
    if ((status == UCS_OK) && !region_add(devices, region)) {
        region_deregister(devices, region);
        status = UCS_ERR_NO_MEMORY;
    }
    return status;
}

static void rcache_mem_dereg(void *context, ucs_rcache_t *rcache,
                             ucs_rcache_region_t *super)
{
    uct_predreg_devices_t *devices = context;
    region_t *region               = region_of(super);

    region_remove(devices, region);
    region_deregister(devices, region);
}

static void rcache_dump_region(void *context, ucs_rcache_t *rcache,
                               ucs_rcache_region_t *super, char *buf,
                               size_t max)
{
    snprintf(buf, max, "memh %p", region_of(super)->memh);
}

uct_predreg_devices_t *uct_predreg_devices_create(uct_predreg_domain_t *domain,
                                                  const char *name)
{
    uct_predreg_devices_t *devices           = calloc(1, sizeof(*devices));
    const uct_predreg_rcache_params_t params = {
        .name           = "predreg_devices",
        .region_size    = sizeof(region_t),
        .mem_reg        = rcache_mem_reg,
        .mem_dereg      = rcache_mem_dereg,
        .dump_region    = rcache_dump_region,
        .context        = devices,
        .events         = UCM_EVENT_VM_UNMAPPED | UCM_EVENT_MEM_TYPE_FREE,
        .event_priority = EVENT_PRIORITY,
        .max_unreleased = MAX_UNRELEASED
    };
    ucs_status_t status;

    if (devices == NULL) {
        return NULL;
    }

    devices->domain = domain;
    pthread_mutex_init(&devices->lock, NULL);
    kh_init_inplace(device_regions, &devices->regions);
    status = uct_predreg_rcache_init(&devices->rcache, &params);
    if (status != UCS_OK) {
        ucs_debug("%s: memory of devices is registered for each use: %s", name,
                  ucs_status_string(status));
        free(devices);
        return NULL;
    }
    return devices;
}

void uct_predreg_devices_destroy(uct_predreg_devices_t *devices)
{
    if (devices == NULL) {
        return;
    }

    ucs_rcache_destroy(devices->rcache.ucs);
    kh_destroy_inplace(device_regions, &devices->regions);
    pthread_mutex_destroy(&devices->lock);
    free(devices);
}

ucs_status_t uct_predreg_devices_reg(uct_predreg_devices_t *devices,
                                     void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p)
{
    ucs_rcache_region_t *region;
    ucs_status_t status;

    status = uct_predreg_rcache_get(&devices->rcache, address, length,
                                    PROT_READ | PROT_WRITE, &flags, &region);
    if (status == UCS_OK) {
        *memh_p = region_of(region)->memh;
    }
    return status;
}

static void invalidation_done(void *arg)
{
    uct_predreg_completion_invoke(arg, UCS_OK);
}

ucs_status_t
uct_predreg_devices_dereg(uct_predreg_devices_t *devices,
                          const uct_md_mem_dereg_params_t *params)
{
    region_t *region = region_find(devices, params->memh);

    if (region == NULL) {
        return UCS_ERR_NO_ELEM;
    }

    if ((params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
        (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE)) {
        ucs_rcache_region_invalidate(devices->rcache.ucs, &region->super.super,
                                     invalidation_done, params->comp);
    }
    ucs_rcache_region_put(devices->rcache.ucs, &region->super.super);
    return UCS_OK;
}
