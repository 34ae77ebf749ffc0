/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "open.h"
#include "cache.h"
#include "domain.h"
#include "foreign.h"
#include "register.h"
#include "watch.h"

#include <uct/ib/predreg/core/counters.h>
#include <uct/ib/predreg/core/live.h>
#include <uct/ib/predreg/core/record.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>

#include <ucs/debug/log_def.h>

#include <limits.h>


static void domain_add(uct_md_h md, const char *name)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(NULL);
    ucs_status_t status;

    if (domain == NULL) {
        ucs_warn("%s is not managed: there are %d managed domains already",
                 name, UCT_PREDREG_MAX_DOMAINS);
        return;
    }

    if (uct_predreg_core.num_opened == 0) {
        uct_predreg_live_start();
    }

    domain->super  = NULL;
    domain->number = uct_predreg_core.num_opened;
    atomic_store_explicit(&domain->whole, 0, memory_order_relaxed);
    if (uct_predreg_core.pred != NULL) {
        uct_predreg_helper_start();
        status = ucs_rcache_pred_domain_create(uct_predreg_core.pred, name, md,
                                               &domain->super);
        if (status != UCS_OK) {
            ucs_warn("%s is not managed: %s", name, ucs_status_string(status));
            return;
        }
        domain->number = ucs_rcache_pred_domain_get_number(domain->super);
        atomic_fetch_add_explicit(&uct_predreg_core.num_managed, 1,
                                  memory_order_relaxed);
    } else {
        uct_predreg_watch_open();
    }
    uct_predreg_record_domain(domain->number, name);
    ++uct_predreg_core.num_opened;

    /* Relaxed: see uct_predreg_domain_t */
    atomic_store_explicit(&domain->md, md, memory_order_relaxed);
    uct_predreg_publish(NULL);
    ucs_debug("%s: %s", name,
              ucs_rcache_pred_policy_names[uct_predreg_policy()]);
}

void uct_predreg_md_opened(uct_md_h md, const char *name)
{
    uct_predreg_md_facts_t facts;

    /* In a forked child, uct_predreg_is_managing() also makes the cache */
    if (!uct_predreg_is_managing() &&
        (uct_predreg_core.knobs.policy !=
         UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    if (uct_predreg_core.compat->md_facts(&uct_predreg_core.real, md, &facts) !=
        UCS_OK) {
        return;
    }

    if (facts.has_devices) {
        atomic_store_explicit(&uct_predreg_devices, 1, memory_order_relaxed);
    }

    if (!facts.is_managed) {
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
    domain = uct_predreg_domain_find(md);
    if (domain != NULL) {
        uct_predreg_note_pinned();
        if (domain->super != NULL) {
            ucs_rcache_pred_domain_destroy(domain->super);
            atomic_fetch_sub_explicit(&uct_predreg_core.num_managed, 1,
                                      memory_order_relaxed);
        }
        atomic_store_explicit(&domain->md, NULL, memory_order_relaxed);
        uct_predreg_publish(NULL);
    }
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

void uct_predreg_md_query(uct_md_h md, uct_md_attr_t *attr)
{
    const uct_predreg_compat_t *compat = uct_predreg_core.compat;
    uct_predreg_domain_t *domain       = uct_predreg_domain_find(md);

    if ((domain != NULL) && (domain->super != NULL) &&
        (uct_predreg_policy() == UCS_RCACHE_PRED_POLICY_PREDICT)) {
        compat->set_reg_cost(attr, compat->hit_cost);
    }
}

static ucs_status_t iface_wrap(uct_iface_h iface, uct_worker_h worker)
{
    const uct_predreg_real_t *real = &uct_predreg_core.real;
    const uct_predreg_env_t env    = {
        .progress_register   = real->uct_worker_progress_register_safe,
        .progress_unregister = real->uct_worker_progress_unregister_safe,
        .now                 = ucs_rcache_pred_thread_now,
        .now_arg             = uct_predreg_core.thread
    };

    return uct_predreg_iface_wrap(iface, worker, &env);
}

static int has_bounds(void)
{
    const uct_predreg_knobs_t *knobs = &uct_predreg_core.knobs;

    return (uct_predreg_max_bytes() != UINT64_MAX) ||
           (knobs->max_regions != ULONG_MAX) ||
           (knobs->node_max_pinned != SIZE_MAX) ||
           (knobs->node_max_regions != ULONG_MAX);
}

void uct_predreg_iface_opened(uct_md_h md, uct_worker_h worker,
                              uct_iface_h iface)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    if ((domain == NULL) || (domain->super == NULL)) {
        return;
    }

    pthread_mutex_lock(&uct_predreg_core.lock);
    if (iface_wrap(iface, worker) != UCS_OK) {
        if (!atomic_load_explicit(&domain->whole, memory_order_relaxed) &&
            has_bounds()) {
            ucs_warn("messages cannot be moved in pieces with this transport: "
                     "what does not fit the bounds on pinned memory will fail");
        }
        /* Relaxed: a pieces handle that another thread is given meanwhile does
         * no harm, because nobody can use this interface yet */
        atomic_store_explicit(&domain->whole, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&uct_predreg_core.lock);
}
