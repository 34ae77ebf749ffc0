/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domain.h"
#include "memlock.h"

#include <ucs/base/align.h>
#include <ucs/base/clock.h>
#include <ucs/base/strb.h>
#include <ucs/host/cgroup.h>
#include <ucs/host/lack.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* For how long an answer of the kernel stands, ns. To ask takes some 0.2 ms */
#define EPOCH 100000000

/* Only the limit is asked for, and not what foreign registrations leave of it */
static const uct_predreg_memlock_t memlock = {.sys = &uct_predreg_memlock_linux};


/* The kernel says how many objects of the device the processes of the group may have: keep
 * to as many keys as there are objects beside those that are no keys of the job */
static void know_objects(const uct_predreg_domain_t *domain,
                         const ucs_rcache_pred_lack_t *objects)
{
    ucs_rcache_pred_node_keys_t keys;
    uint64_t others;

    if ((domain->node == NULL) || (objects->max == UINT64_MAX)) {
        return;
    }

    ucs_rcache_pred_node_get_keys(domain->node, domain->device, &keys);
    others = (objects->used > keys.keys) ? (objects->used - keys.keys) : 0;
    ucs_rcache_pred_node_know_keys(domain->node, domain->device,
                                   (objects->max > others) ? (objects->max - others) : 1,
                                   ucs_monotonic_ns());
}

void uct_predreg_refused_init(uct_predreg_domain_t *domain)
{
    ucs_rcache_pred_lack_t objects;
    char group[PATH_MAX];
    size_t length;

    ucs_relaxed_store(&domain->ask_time, 0);
    ucs_relaxed_store(&domain->lack, UCS_RCACHE_PRED_SHORT_OF_UNKNOWN);
    ucs_rcache_pred_cgroup_find("", "", group);
    length = strlen(group);
    if ((length > 0) && (group[length - 1] == '/')) {
        group[length - 1] = '\0';
    }

    domain->group = strdup(group);
    ucs_rcache_pred_lack_objects(group, domain->name, &objects);
    know_objects(domain, &objects);
}

void uct_predreg_refused_cleanup(uct_predreg_domain_t *domain)
{
    free(domain->group);
    domain->group = NULL;
}

int uct_predreg_may_lack_keys(const uct_predreg_domain_t *domain)
{
    return ucs_relaxed_load(&domain->lack) == UCS_RCACHE_PRED_SHORT_OF_NOTHING;
}

/* @return whether nobody in the job has told yet of this kind of lack */
static int is_first(const uct_predreg_domain_t *domain,
                    ucs_rcache_pred_lack_kind_t kind)
{
    static _Atomic(unsigned) told; /* One bit a kind, for processes without a node; relaxed,
                                      any thread that registers */

    return (domain->node != NULL) ?
           ucs_rcache_pred_node_tells_first(domain->node, domain->device, kind) :
           !(ucs_relaxed_or(&told, UCS_BIT(kind)) & UCS_BIT(kind));
}

/* Append what the processes have of the device */
static void append_held(const uct_predreg_domain_t *domain, ucs_string_buffer_t *text)
{
    ucs_rcache_pred_node_keys_t keys;

    if (domain->node == NULL) {
        ucs_string_buffer_appendf(text, "it has %" PRIu64 " registrations",
                                  ucs_relaxed_load(&domain->core->keys_now));
        return;
    }

    ucs_rcache_pred_node_get_keys(domain->node, domain->device, &keys);
    ucs_string_buffer_appendf(text, "this job has %" PRIu64 " registrations in %u processes "
                              "of the node, all jobs of the user %" PRIu64, keys.keys,
                              keys.procs, keys.all);
}

/* Warn the user: name the limit of the kernel for which the device has refused memory, how
 * much of the limit is used, and the setting to raise */
static void tell(const uct_predreg_domain_t *domain, uint64_t bytes,
                 ucs_rcache_pred_lack_t *lack)
{
    char used[32], max[32];
    UCS_STRB(held, 160);

    append_held(domain, &held);
    switch (lack->kind) {
    case UCS_RCACHE_PRED_SHORT_OF_LOCKED:
        ucs_memunits_to_str(lack->used, used, sizeof(used));
        ucs_memunits_to_str(lack->max, max, sizeof(max));
        ucs_warn("%s refused to register %" PRIu64 " bytes: the process has pinned %s, and may "
                 "pin %s (%s). Raise 'ulimit -l'", domain->name, bytes, used, max,
                 ucs_string_buffer_cstr(&held));
        break;
    case UCS_RCACHE_PRED_SHORT_OF_OBJECTS:
        ucs_warn("%s refused to register %" PRIu64 " bytes: control group %.*s has %" PRIu64
                 " objects of it, and may have %" PRIu64 " (%s). Raise hca_object in rdma.max "
                 "of the group", domain->name, bytes, (int)lack->group, domain->group,
                 lack->used, lack->max, ucs_string_buffer_cstr(&held));
        break;
    default:
        ucs_rcache_pred_lack_count_mappings("", lack);
        ucs_warn("%s refused to register %" PRIu64 " bytes: the process has %" PRIu64
                 " mappings, and may have %" PRIu64 " (%s). Raise 'sysctl vm.max_map_count'",
                 domain->name, bytes, lack->used, lack->max,
                 ucs_string_buffer_cstr(&held));
        break;
    }
}

static uint64_t bytes_of(const void *address, size_t length)
{
    return ucs_rcache_pred_pages((uintptr_t)address, length, ucs_page_size()) *
           ucs_page_size();
}

/* Ask the kernel why the device has refused memory, and keep its answer */
static void ask(uct_predreg_domain_t *domain, uint64_t bytes)
{
    const ucs_rcache_pred_lack_query_t query = {
        .root       = "",
        .group      = (domain->group == NULL) ? "" : domain->group,
        .device     = domain->name,
        .max_locked = uct_predreg_memlock_limit(&memlock),
        .bytes      = bytes
    };
    ucs_rcache_pred_lack_t lack;

    ucs_rcache_pred_lack_find(&query, &lack);
    ucs_relaxed_store(&domain->lack, lack.kind);
    if (lack.kind == UCS_RCACHE_PRED_SHORT_OF_OBJECTS) {
        know_objects(domain, &lack);
    }

    if ((lack.kind != UCS_RCACHE_PRED_SHORT_OF_NOTHING) &&
        is_first(domain, lack.kind)) {
        tell(domain, bytes, &lack);
    }
}

void uct_predreg_ask_why_refused(uct_predreg_domain_t *domain, const void *address,
                                 size_t length)
{
    uint64_t now  = ucs_monotonic_ns();
    uint64_t next = ucs_relaxed_load(&domain->ask_time);

    if ((now >= next) && ucs_relaxed_cas(&domain->ask_time, &next, now + EPOCH)) {
        ask(domain, bytes_of(address, length));
    }
}
