/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domain.h"

#include <uct/ib/predreg/compat/rcache.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>

#include <stdio.h>
#include <stdlib.h>


/* Registered memory, in UCX's cache structure */
typedef struct region {
    uct_predreg_rcache_region_t super;
    uct_predreg_owner_t         owner;  /* Owner of memh */
    /* Written during the registration, before any other thread can find the region */
    uct_mem_h                   memh;
    unsigned                    access; /* Bits of UCT_MD_MEM_ACCESS_ALL of the
                                           registration */
} region_t;

/* What a use asks for. UCS hands the request on to rcache_mem_reg() */
typedef struct request {
    const uint8_t                 *address;
    unsigned                      flags;
    const uct_md_mem_reg_params_t *params; /* NULL: flags only */
} request_t;

struct uct_predreg_kept {
    uct_predreg_domain_t  *domain;
    uct_predreg_rcache_t  rcache;
};


static region_t *region_of(ucs_rcache_region_t *super)
{
    return ucs_container_of(super, region_t, super.super);
}

/* Invalidate a region at the end of a use. In versions of UCX where UCP's completion must
 * be called before the end of the use returns (waits_for_invalidation), the completion is
 * called even if other uses of the region have not ended. The region stays for these
 * uses, which may access the memory anyway. */
static void region_invalidate(uct_predreg_kept_t *kept, region_t *region,
                              void *comp)
{
    int is_awaited = !kept->domain->core->compat->waits_for_invalidation;

    ucs_rcache_region_invalidate(kept->rcache.ucs, &region->super.super,
                                 uct_predreg_invalidated,
                                 is_awaited ? comp : NULL);
    if (!is_awaited) {
        uct_predreg_invalidated(comp);
    }
}

static ucs_status_t region_end(uct_predreg_owner_t *owner, uct_predreg_domain_t *domain,
                               const uct_md_mem_dereg_params_t *params)
{
    region_t *region         = ucs_container_of(owner, region_t, owner);
    uct_predreg_kept_t *kept = uct_predreg_kept_of(domain);

    if (uct_predreg_is_invalidation(params)) {
        region_invalidate(kept, region, params->comp);
    }
    ucs_rcache_region_put(kept->rcache.ucs, &region->super.super);
    return UCS_OK;
}

/* Register a region with @a flags, and with the other parameters of the request. The
 * region may begin before the requested memory, or end behind it. */
static ucs_status_t
region_register(uct_predreg_kept_t *kept, const request_t *request,
                const ucs_pgt_region_t *range, unsigned flags,
                uct_mem_h *memh_p)
{
    uct_md_mem_reg_params_t params;
    ptrdiff_t before;

    if (request->params == NULL) {
        return uct_predreg_pass_mem_reg(kept->domain, (void*)range->start,
                                        range->end - range->start, flags,
                                        memh_p);
    }

    before = request->address - (const uint8_t*)range->start;
    uct_predreg_compat_copy_params(request->params, &params);
    params.flags = flags;
    if (params.field_mask & UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET) {
        if ((before > 0) && (params.dmabuf_offset < (size_t)before)) {
            return UCS_ERR_INVALID_ADDR;
        }
        params.dmabuf_offset -= before;
    } else if ((params.field_mask & UCT_MD_MEM_REG_FIELD_DMABUF_FD) &&
               (before != 0)) {
        return UCS_ERR_INVALID_ADDR; /* The region would begin before the dmabuf, since the
                                        use begins where the dmabuf does */
    }

    return uct_predreg_pass_mem_reg_v2(kept->domain, (void*)range->start,
                                       range->end - range->start, &params,
                                       memh_p);
}

static ucs_status_t
rcache_mem_reg(void *context, ucs_rcache_t *rcache, void *arg,
               ucs_rcache_region_t *super, uint16_t rcache_flags)
{
    uct_predreg_kept_t *kept = context;
    region_t *region         = region_of(super);
    const request_t *request = arg;
    unsigned flags           = request->flags;
    ucs_status_t status;

    region->access = flags & UCT_MD_MEM_ACCESS_ALL;
    if (rcache_flags & UCS_RCACHE_MEM_REG_HIDE_ERRORS) {
        flags |= UCT_MD_MEM_FLAG_HIDE_ERRORS;
    }

    status = region_register(kept, request, &super->super, flags,
                             &region->memh);
    if (status != UCS_OK) {
        return status;
    }

    region->owner.end = region_end;
    status            = uct_predreg_own(kept->domain, region->memh, &region->owner);
    if (status != UCS_OK) {
        (void)uct_predreg_dereg_handle(kept->domain, region->memh);
    }
    return status;
}

static void rcache_mem_dereg(void *context, ucs_rcache_t *rcache,
                             ucs_rcache_region_t *super)
{
    uct_predreg_kept_t *kept = context;
    region_t *region         = region_of(super);

    uct_predreg_disown(kept->domain, region->memh);
    (void)uct_predreg_dereg_handle(kept->domain, region->memh);
}

static void rcache_dump_region(void *context, ucs_rcache_t *rcache,
                               ucs_rcache_region_t *super, char *buf,
                               size_t max)
{
    snprintf(buf, max, "memh %p", region_of(super)->memh);
}

uct_predreg_kept_t *uct_predreg_kept_create(uct_predreg_domain_t *domain)
{
    uct_predreg_kept_t *kept                 = calloc(1, sizeof(*kept));
    const uct_predreg_rcache_params_t params = {
        .name        = "predreg_kept",
        .region_size = sizeof(region_t),
        .mem_reg     = rcache_mem_reg,
        .mem_dereg   = rcache_mem_dereg,
        .dump_region = rcache_dump_region,
        .context     = kept,
        .settings    = &domain->settings
    };
    ucs_status_t status;

    if (kept == NULL) {
        return NULL;
    }

    kept->domain = domain;
    status       = uct_predreg_rcache_init(&kept->rcache, &params);
    if (status != UCS_OK) {
        ucs_debug("memory that could be kept is registered for each use: %s",
                  ucs_status_string(status));
        free(kept);
        return NULL;
    }
    return kept;
}

uct_predreg_kept_t *uct_predreg_kept_of(uct_predreg_domain_t *domain)
{
    /* Acquire: pairs with the release in uct_predreg_kept_need() */
    return atomic_load_explicit(&domain->kept, memory_order_acquire);
}

/* Whether making the domain's cache has failed. Relaxed: a thread that misses the failure
 * of another thread asks again under core.lock */
static int is_refused(const uct_predreg_domain_t *domain)
{
    return ucs_relaxed_load(&domain->is_kept_refused);
}

uct_predreg_kept_t *uct_predreg_kept_need(uct_predreg_domain_t *domain)
{
    uct_predreg_core_t *core = domain->core;
    uct_predreg_kept_t *kept = uct_predreg_kept_of(domain);

    if (ucs_likely(kept != NULL) || (domain->cache == NULL) ||
        is_refused(domain)) {
        return kept;
    }

    uct_predreg_core_lock(core);
    kept = uct_predreg_kept_of(domain);
    if ((kept == NULL) && !is_refused(domain)) {
        kept = uct_predreg_kept_create(domain);
        atomic_store_explicit(&domain->kept, kept, memory_order_release);
        if (kept == NULL) {
            ucs_relaxed_store(&domain->is_kept_refused, 1);
            ucs_warn("memory of devices, and what is registered without pinning it, is "
                     "registered for each use: it could not be kept");
        }
    }
    uct_predreg_core_unlock(core);
    return kept;
}

void uct_predreg_kept_destroy(uct_predreg_kept_t *kept)
{
    if (kept == NULL) {
        return;
    }

    ucs_rcache_destroy(kept->rcache.ucs);
    free(kept);
}

/* Whether a region serves a use with the access in @a flags. Some versions of UCP
 * register memory for the access of the present use only, and their own cache compares
 * the access of a registration with that of each use (ucp_memh_find_slow() of ucp_mm.c,
 * UCX 1.18) */
static int region_covers(const uct_predreg_kept_t *kept, const region_t *region,
                         unsigned flags)
{
    return !kept->domain->core->compat->ucp_cache_hides_uses ||
           !(flags & UCT_MD_MEM_ACCESS_ALL & ~region->access);
}

ucs_status_t uct_predreg_kept_reg(uct_predreg_kept_t *kept, void *address,
                                  size_t length, unsigned flags,
                                  const uct_md_mem_reg_params_t *params,
                                  uct_mem_h *memh_p)
{
    request_t request = {
        .address = address,
        .flags   = flags,
        .params  = params
    };
    ucs_rcache_region_t *super;
    region_t *region;
    ucs_status_t status;

    for (;;) {
        status = uct_predreg_rcache_get(&kept->rcache, address, length,
                                        PROT_READ | PROT_WRITE, &request,
                                        &super);
        if ((status != UCS_OK) && (params != NULL)) {
            return uct_predreg_pass_mem_reg_v2(kept->domain, address, length,
                                               params, memh_p);
        }
        if (status != UCS_OK) {
            return status;
        }

        region = region_of(super);
        if (region_covers(kept, region, flags)) {
            *memh_p = region->memh;
            return UCS_OK;
        }

        /* Register the region anew, for the access of the old registration as well: else
         * two kinds of uses would have the region registered in turn */
        request.flags |= region->access;
        ucs_rcache_region_invalidate(kept->rcache.ucs, super,
                                     uct_predreg_invalidated, NULL);
        ucs_rcache_region_put(kept->rcache.ucs, super);
    }
}
