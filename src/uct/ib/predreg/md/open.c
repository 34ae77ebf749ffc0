/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"
#include "domain.h"

#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/base/hash.h>
#include <ucs/debug/log_def.h>
#include <ucs/host/cgroup.h>
#include <ucs/sys/string.h>

#include <limits.h>
#include <string.h>


/* Make the cache of the process and the state of its helper (core->thread). If the cache
 * cannot be made, the state stays for the next attempt */
static ucs_status_t pred_create(uct_predreg_core_t *core)
{
    const uct_predreg_knobs_t *knobs = &core->knobs;
    ucs_rcache_pred_params_t params;
    ucs_rcache_pred_t *pred;
    ucs_status_t status;

    status = (core->thread == NULL) ? ucs_rcache_pred_thread_create(&core->thread) :
                                      UCS_OK;
    if (status != UCS_OK) {
        return status;
    }

    status = uct_predreg_node_join_bounds(knobs);
    if (status != UCS_OK) {
        return status;
    }

    uct_predreg_addons_call(core, observe, core);
    uct_predreg_knobs_to_params(knobs, &params);
    params.ops       = &uct_predreg_pred_ops;
    params.sink      = (core->observer == NULL) ? NULL : &core->observer->super;
    params.arg       = core;
    params.node      = uct_predreg_node();
    params.max_bytes = uct_predreg_max_bytes(&core->knobs);
    status           = ucs_rcache_pred_create(&params, &pred);
    if (status != UCS_OK) {
        uct_predreg_node_leave();
        return status;
    }

    core->pred = pred;
    if (uct_predreg_policy(core) != knobs->policy) {
        ucs_debug("there is no helper: %s is %s",
                  ucs_rcache_pred_policy_names[knobs->policy],
                  ucs_rcache_pred_policy_names[uct_predreg_policy(core)]);
    }
    return UCS_OK;
}

int uct_predreg_is_managing(uct_predreg_core_t *core)
{
    int managing;

    if ((core->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) ||
        ucs_relaxed_load(&core->aside)) {
        return 0;
    }

    uct_predreg_core_lock(core);
    managing = (core->pred != NULL) || (pred_create(core) == UCS_OK);
    uct_predreg_core_unlock(core);
    return managing;
}

static ucs_rcache_pred_time_t poll_cache(void *pred)
{
    return ucs_rcache_pred_poll(pred);
}

/* Under prediction, join the processes of the node before the process opens its first
 * domain, and start the helper thread, unless it runs or the user leaves the helper's
 * work to UCP's progress. Under a bound of the node there is a thread all the same: it
 * gives up memory for others while the program computes. If the thread cannot start,
 * memory is registered on demand. To be called under core.lock, when the cache exists */
static void helper_start(uct_predreg_core_t *core)
{
    ucs_status_t status;

    /* Under the policy on-demand, the thread that ends a use deregisters the memory: a
     * helper would have nothing to do */
    if (uct_predreg_policy(core) != UCS_RCACHE_PRED_POLICY_PREDICT) {
        return;
    }

    if (core->num_opened == 0) {
        uct_predreg_node_join();
    }

    if ((core->knobs.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) &&
        (core->knobs.node_max_pinned == UINT64_MAX) &&
        (core->knobs.node_max_regions == UINT64_MAX)) {
        return;
    }

    if ((core->num_opened == 0) && (uct_predreg_node() != NULL)) {
        ucs_rcache_pred_thread_share(core->thread,
                                     ucs_rcache_pred_node_wakeups(uct_predreg_node()));
    }
    status = ucs_rcache_pred_thread_start(core->thread, "predreg", poll_cache,
                                          core->pred);
    if (status != UCS_OK) {
        ucs_warn("the helper thread cannot start (%s): memory is registered on "
                 "demand", ucs_status_string(status));
        ucs_rcache_pred_without_helper(core->pred);
    }
}


/* @return a number for a device and the job that uses it: the processes of a job are in
 *         one control group, and what one job learns of the device is not for another one.
 *         A group for each of the job's tasks does not count (Slurm, "task_N") */
static uint64_t device_number(const char *name)
{
    char group[PATH_MAX];
    char *last;

    ucs_rcache_pred_cgroup_find("", "", group);
    last = strstr(group, "/task_");
    if (last != NULL) {
        *last = '\0';
    }
    return ucs_rcache_pred_node_device_name(ucs_hash_text(UCS_HASH_TEXT_FIRST, name),
                                            ucs_hash_text(UCS_HASH_TEXT_FIRST, group));
}

/* Count the keys of a domain's device together with the other processes of the job, and
 * keep to the number of them that the user has set */
static void count_keys(uct_predreg_domain_t *domain)
{
    unsigned long keys           = domain->core->knobs.keys;
    ucs_rcache_pred_node_t *node = uct_predreg_node();

    if ((keys == ULONG_MAX) || (node == NULL)) {
        return;
    }

    domain->device = ucs_rcache_pred_node_device(node, device_number(domain->name));
    if (domain->device == UCS_RCACHE_PRED_NODE_DEVICES) {
        return;
    }

    domain->node = node;
    if (keys > 0) {
        ucs_rcache_pred_node_fix_keys(node, domain->device, keys);
    }
}

/* Have the cache keep to the user's settings for UCX's own cache of the domain, and to the
 * keys that the processes of the job may have */
static void domain_limit(uct_predreg_domain_t *domain)
{
    ucs_rcache_pred_limits_t limits;

    count_keys(domain);
    uct_predreg_refused_init(domain);
    limits = (ucs_rcache_pred_limits_t){
        .max_bytes     = domain->settings.max_bytes,
        .max_regions   = domain->settings.max_regions,
        .keeps_at_fork = !domain->settings.purge_on_fork,
        .node          = domain->node,
        .device        = domain->device
    };
    ucs_rcache_pred_domain_limit(domain->cache, &limits);
}

static void domain_add(uct_predreg_core_t *core, uct_md_h md, const char *name,
                       const uct_predreg_md_facts_t *facts)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_new(core, md);
    ucs_status_t status;

    if (domain == NULL) {
        ucs_warn("%s is not managed: out of memory", name);
        return;
    }

    ucs_strncpy_safe(domain->name, name, sizeof(domain->name));
    domain->number = core->num_opened;
    uct_predreg_settings_of(core->settings, core->num_settings,
                            facts->component, &domain->settings);
    if (core->pred != NULL) {
        helper_start(core);
        status = ucs_rcache_pred_domain_create(core->pred, name, domain,
                                               &domain->cache);
        if (status != UCS_OK) {
            ucs_warn("%s is not managed: %s", name, ucs_status_string(status));
            return;
        }
        domain_limit(domain);
        domain->number = ucs_rcache_pred_domain_get_number(domain->cache);
        ucs_relaxed_add(&core->num_managed, 1);
    } else {
        uct_predreg_addons_call(core, observe, core);
    }
    uct_predreg_addons_call(core, domain_opened, core, domain, facts->component);
    if (core->num_opened == 0) {
        /* From here on other threads take snapshots, and look at the node for that */
        uct_predreg_live_start(core);
    }
    ++core->num_opened;

    uct_predreg_domain_add(domain);
    uct_predreg_publish(core);
    ucs_debug("%s: %s", name,
              ucs_rcache_pred_policy_names[uct_predreg_policy(core)]);
}

/* Whether to keep all memory of an unmanaged domain registered: UCP's cache, which would
 * keep it, is off, and the version of UCX says so of the component */
static int keeps_all(const uct_predreg_core_t *core, const char *component)
{
    const char *const *name = core->compat->kept_components;

    /* Relaxed: see state.h */
    if ((name == NULL) || !ucs_relaxed_load(&core->ucp_cache_is_off)) {
        return 0;
    }

    while ((*name != NULL) && strcmp(*name, component)) {
        ++name;
    }
    return *name != NULL;
}

/* Enter an unmanaged domain whose memory stays registered into the table. If the cache of
 * the domain cannot be made, the domain stays out, and UCX registers memory for each
 * use */
static void kept_domain_add(uct_predreg_core_t *core, uct_md_h md,
                            const char *name,
                            const uct_predreg_md_facts_t *facts)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_new(core, md);
    uct_predreg_kept_t *kept;

    if (domain == NULL) {
        return;
    }

    uct_predreg_settings_of(core->settings, core->num_settings,
                            facts->component, &domain->settings);
    kept = uct_predreg_kept_create(domain);
    if (kept != NULL) {
        ucs_relaxed_store(&domain->kept, kept);
        uct_predreg_domain_add(domain);
        ucs_debug("%s: registrations are kept", name);
    }
}

void uct_predreg_md_opened(uct_predreg_core_t *core, uct_md_h md,
                           const char *name, unsigned count)
{
    uct_predreg_md_facts_t facts;

    ucs_relaxed_add(&core->num_seen, 1);
    ucs_relaxed_raise(&core->max_domains, count);

    /* In a forked child, the first call of uct_predreg_is_managing() makes a new cache */
    if (!uct_predreg_is_managing(core) &&
        (core->knobs.policy != UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    if (uct_predreg_compat_md_facts(&core->real, md, &facts) != UCS_OK) {
        return;
    }

    if (facts.has_devices) {
        ucs_relaxed_store(&uct_predreg_devices, 1);
    }

    uct_predreg_core_lock(core);
    if (uct_predreg_is_managed_component(&core->knobs, facts.component)) {
        if (facts.can_register) {
            domain_add(core, md, name, &facts);
        }
    } else if (keeps_all(core, facts.component)) {
        kept_domain_add(core, md, name, &facts);
    }
    uct_predreg_core_unlock(core);
}

void uct_predreg_md_closing(uct_predreg_core_t *core, uct_md_h md)
{
    uct_predreg_domain_t *domain;

    uct_predreg_core_lock(core);
    domain = uct_predreg_domain_find(md);
    if (domain != NULL) {
        uct_predreg_note_pinned(core);
        /* Relaxed: nobody uses the domain any more */
        uct_predreg_kept_destroy(ucs_relaxed_load(&domain->kept));
        uct_predreg_addons_call(core, domain_closing, core, domain);
        if (domain->cache != NULL) {
            ucs_rcache_pred_domain_destroy(domain->cache);
            ucs_relaxed_sub(&core->num_managed, 1);
        }
        uct_predreg_domain_remove(domain);
        uct_predreg_publish(core);
    } else {
        uct_predreg_domain_disown(md);
    }
    uct_predreg_core_unlock(core);
}

/* Whether most registrations in a domain are hits in a cache of this library. @param
 * cost_p Filled with the cost of a hit then, seconds. */
static int is_cached(uct_predreg_core_t *core, uct_md_h md, double *cost_p)
{
    const uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    if ((domain == NULL) ||
        (!uct_predreg_domain_keeps_all(domain) &&
         ((domain->cache == NULL) ||
          (uct_predreg_policy(core) != UCS_RCACHE_PRED_POLICY_PREDICT)))) {
        return 0;
    }

    *cost_p = (domain->settings.overhead < 0) ? core->compat->hit_cost :
                                                domain->settings.overhead;
    return 1;
}

void uct_predreg_md_query(uct_predreg_core_t *core, uct_md_h md,
                          uct_md_attr_t *attr)
{
    double cost;

    if (is_cached(core, md, &cost)) {
        uct_predreg_compat_set_reg_cost(attr, cost);
    }
}

void uct_predreg_md_query_v2(uct_predreg_core_t *core, uct_md_h md,
                             uct_md_attr_v2_t *attr)
{
    double cost;

    if (is_cached(core, md, &cost)) {
        uct_predreg_compat_set_reg_cost_v2(core->compat, attr, cost);
    }
}

static ucs_status_t iface_wrap(const uct_predreg_core_t *core,
                               uct_iface_h iface, uct_worker_h worker)
{
    const uct_predreg_real_t *real = &core->real;
    const uct_predreg_env_t env    = {
        .progress_register   = real->uct_worker_progress_register_safe,
        .progress_unregister = real->uct_worker_progress_unregister_safe,
        .now                 = ucs_rcache_pred_thread_now,
        .now_arg             = core->thread
    };

    return uct_predreg_iface_wrap(iface, worker, &env);
}

void uct_predreg_iface_opened(uct_predreg_core_t *core, uct_md_h md,
                              uct_worker_h worker, uct_iface_h iface)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    if ((domain == NULL) || (domain->cache == NULL)) {
        return;
    }

    uct_predreg_core_lock(core);
    if (iface_wrap(core, iface, worker) != UCS_OK) {
        if (!ucs_relaxed_load(&domain->whole) && uct_predreg_has_bounds(&core->knobs)) {
            ucs_warn("messages cannot be moved in pieces with this transport: "
                     "what does not fit the bounds on pinned memory will fail");
        }
        /* Relaxed: a pieces handle given to another thread meanwhile does no harm,
         * because nobody can use the interface yet */
        ucs_relaxed_store(&domain->whole, 1);
    }
    uct_predreg_core_unlock(core);
}
