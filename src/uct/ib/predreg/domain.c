/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"
#include "posted.h"

#include <ucs/debug/log_def.h>
#include <ucs/memory/memtype_cache.h>

#include <errno.h>
#include <string.h>

/* The component whose domains pin memory for a network adapter */
#define MANAGED_COMPONENT "ib"

/* Flags of uses that come and go. Anything else asks for something special: UCX
 * pins its own pools with LOCK and keeps them. */
#define MANAGED_FLAGS (UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS)

/* What UCX reports for a registration that its own cache answers (1.13:
 * RCACHE_OVERHEAD of the domain), seconds. Reporting the same keeps UCP's choice
 * of protocols what it is without this library. */
#define HIT_COST 180e-9


/* Managed is only memory of the host: no unmap event tells when memory of a
 * device goes */
static int is_host_memory(const void *address, size_t length)
{
    ucs_memory_info_t info;

    switch (ucs_memtype_cache_lookup(address, length, &info)) {
    case UCS_OK:
        return info.type == UCS_MEMORY_TYPE_HOST;
    case UCS_ERR_NO_ELEM:
        return 1; /* Only memory of devices is in that cache */
    default:
        return !uct_predreg_core.devices; /* Switched off */
    }
}

/* Errors of ibv_reg_mr that no room would mend. UCX 1.13 returns an I/O error
 * for all of them; any other one may mean that there is no room. */
static int is_bad_memory(int error)
{
    return (error == EFAULT) || (error == EINVAL) || (error == EACCES) ||
           (error == EPERM) || (error == EOPNOTSUPP);
}

static ucs_status_t domain_mem_reg(void *arg, void *address, size_t length,
                                   unsigned flags, void **memh_p)
{
    ucs_status_t status;

    if (!is_host_memory(address, length)) {
        return UCS_ERR_UNSUPPORTED;
    }

    errno  = 0;
    status = uct_predreg_core.real.uct_md_mem_reg(arg, address, length, flags,
                                                  memh_p);
    return ((status == UCS_ERR_IO_ERROR) && !is_bad_memory(errno)) ?
           UCS_ERR_NO_MEMORY : status;
}

static ucs_status_t domain_mem_dereg(void *arg, void *memh)
{
    return uct_predreg_core.real.uct_md_mem_dereg(arg, memh);
}

const ucs_rcache_pred_ops_t uct_predreg_pred_ops = {
    .now       = ucs_rcache_pred_thread_now,
    .wait      = ucs_rcache_pred_thread_wait,
    .wake      = ucs_rcache_pred_thread_wake,
    .mem_reg   = domain_mem_reg,
    .mem_dereg = domain_mem_dereg,
    .seat      = uct_predreg_seat
};

/* @return NULL if the domain is neither managed nor watched */
static UCS_F_ALWAYS_INLINE uct_predreg_domain_t *domain_find(uct_md_h md)
{
    uct_predreg_domain_t *domain;

    for (domain = uct_predreg_core.domains;
         domain < uct_predreg_core.domains + UCT_PREDREG_MAX_DOMAINS;
         ++domain) {
        /* Relaxed: see uct_predreg_domain_t */
        if (atomic_load_explicit(&domain->md, memory_order_relaxed) == md) {
            return domain;
        }
    }

    return NULL;
}

static void domain_add(uct_md_h md, const char *name)
{
    uct_predreg_domain_t *domain = domain_find(NULL);
    ucs_status_t status;

    if (domain == NULL) {
        ucs_warn("%s is not managed: there are %d managed domains already",
                 name, UCT_PREDREG_MAX_DOMAINS);
        return;
    }

    domain->super = NULL;
    if (uct_predreg_core.pred != NULL) {
        uct_predreg_helper_start();
        status = ucs_rcache_pred_domain_create(uct_predreg_core.pred, name, md,
                                               &domain->super);
        if (status != UCS_OK) {
            ucs_warn("%s is not managed: %s", name, ucs_status_string(status));
            return;
        }
    }
    ++uct_predreg_core.num_opened;

    /* Relaxed: see uct_predreg_domain_t */
    atomic_store_explicit(&domain->md, md, memory_order_relaxed);
    ucs_debug("%s: %s", name, uct_predreg_policy_names[uct_predreg_policy()]);
}

void uct_predreg_md_opened(uct_md_h md, const char *name)
{
    uct_md_attr_t attr;
    ucs_status_t status;

    /* Makes the cache, if this is a forked child */
    if (!uct_predreg_is_managing() &&
        (uct_predreg_core.knobs.policy !=
         UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    status = uct_predreg_core.real.uct_md_query(md, &attr);
    if ((status == UCS_OK) &&
        (attr.cap.detect_mem_types & ~UCS_BIT(UCS_MEMORY_TYPE_HOST))) {
        uct_predreg_core.devices = 1;
    }

    if ((status != UCS_OK) || !(attr.cap.flags & UCT_MD_FLAG_REG) ||
        strcmp(attr.component_name, MANAGED_COMPONENT)) {
        return;
    }

    pthread_mutex_lock(&uct_predreg_core.lock);
    domain_add(md, name);
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

void uct_predreg_md_closing(uct_md_h md)
{
    uct_predreg_domain_t *domain;

    pthread_mutex_lock(&uct_predreg_core.lock);
    domain = domain_find(md);
    if (domain != NULL) {
        uct_predreg_summary_note_pinned();
        if (domain->super != NULL) {
            ucs_rcache_pred_domain_destroy(domain->super);
        }
        atomic_store_explicit(&domain->md, NULL, memory_order_relaxed);
    }
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

void uct_predreg_md_query(uct_md_h md, uct_md_attr_t *attr)
{
    uct_predreg_domain_t *domain = domain_find(md);

    if ((domain != NULL) && (domain->super != NULL) &&
        (uct_predreg_policy() == UCS_RCACHE_PRED_POLICY_PREDICT)) {
        attr->reg_cost = ucs_linear_func_make(HIT_COST, 0);
    }
}

void uct_predreg_iface_opened(uct_md_h md, const uct_iface_params_t *params)
{
    uct_predreg_domain_t *domain = domain_find(md);

    if ((domain != NULL) &&
        (params->field_mask & UCT_IFACE_PARAM_FIELD_DEVICE) &&
        (params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE)) {
        ucs_debug("%s/%s uses managed memory domain %p",
                  params->mode.device.tl_name, params->mode.device.dev_name,
                  md);
    }
}

static void count_passed(unsigned flags, size_t length)
{
    /* Relaxed: numbers */
    if (flags & UCT_MD_MEM_FLAG_LOCK) {
        atomic_fetch_add_explicit(&uct_predreg_core.pool_bytes, length,
                                  memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&uct_predreg_core.passed_uses, 1,
                                  memory_order_relaxed);
    }
}

static ucs_status_t pass_mem_reg(uct_md_h md, void *address, size_t length,
                                 unsigned flags, uct_mem_h *memh_p)
{
    return uct_predreg_core.real.uct_md_mem_reg(md, address, length, flags,
                                                memh_p);
}

ucs_status_t uct_predreg_mem_reg(uct_md_h md, void *address, size_t length,
                                 unsigned flags, uct_mem_h *memh_p)
{
    uct_predreg_domain_t *domain = domain_find(md);
    ucs_rcache_pred_context_t context;
    ucs_status_t status;

    if (domain == NULL) {
        return pass_mem_reg(md, address, length, flags, memh_p);
    }

    /* Bad arguments are for UCT to complain about */
    if (ucs_unlikely((domain->super == NULL) || (flags & ~MANAGED_FLAGS) ||
                     !(flags & UCT_MD_MEM_ACCESS_ALL) || (length == 0) ||
                     (address == NULL))) {
        count_passed(flags, length);
        return pass_mem_reg(md, address, length, flags, memh_p);
    }

    uct_predreg_posted_get(address, &context);
    status = ucs_rcache_pred_begin(domain->super, address, length, flags,
                                   &context, memh_p);
    if (ucs_unlikely(status == UCS_ERR_UNSUPPORTED)) {
        return pass_mem_reg(md, address, length, flags, memh_p);
    }

    return status;
}

static void invalidation_done(void *arg)
{
    uct_completion_t *comp = arg;

    /* As uct_invoke_completion(), which is not installed: the first error is
     * kept, and the last of count calls back. There is no error here. */
    if (--comp->count == 0) {
        comp->func(comp);
    }
}

ucs_status_t uct_predreg_mem_dereg(uct_md_h md,
                                   const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_domain_t *domain = domain_find(md);
    ucs_status_t status          = UCS_ERR_NO_ELEM;

    if ((domain != NULL) && (domain->super != NULL)) {
        if (ucs_unlikely((params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
                         (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE))) {
            status = ucs_rcache_pred_invalidate(domain->super, params->memh,
                                                invalidation_done,
                                                params->comp);
        } else {
            status = ucs_rcache_pred_end(domain->super, params->memh);
        }
    }

    /* Not one of ours: a pool of UCX, or registered before it was managed */
    if (status == UCS_ERR_NO_ELEM) {
        status = uct_predreg_core.real.uct_md_mem_dereg_v2(md, params);
    }

    return status;
}
