/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose.h"

#include <ucp/windows/preload.h>
#include <ucs/base/align.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/md.h>

#include <ucs/debug/log_def.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WINDOWS_LIBRARY "libucp_windows.so"

/* The libucp that libucp_windows.so is linked with, and a function of every version of
 * libucp that nobody overrides: where the loader finds the function tells which libucp a
 * library would get */
#define UCP_LIBRARY  "libucp.so.0"
#define UCP_FUNCTION "ucp_request_check_status"


/* The core that the hooks work for: hooks get no state as an argument. Written when the
 * core starts */
static uct_predreg_core_t *core_of_hooks;

/* The number of requests to all Firehoses of the process, and how many of them were hits,
 * which needed no message to the peer. Relaxed: the numbers guard no other data. A
 * forked child clears both while it has a single thread */
static _Atomic(uint64_t) num_requests;
static _Atomic(uint64_t) num_hits;


/* @return how many bytes of the node's bound this process may pin, if each rank of the
 * job on the node gets the same share; UINT64_MAX: the node has no bound */
static uint64_t get_node_share(const uct_predreg_core_t *core, size_t page)
{
    uint64_t node = core->knobs.node_max_pinned;

    if (node == SIZE_MAX) {
        return UINT64_MAX;
    }

    node /= uct_predreg_job_local_size();
    return node - ucs_min(node, ucs_rcache_pred_pieces_reserve(page));
}

uint64_t uct_predreg_firehose_room(uct_predreg_core_t *core, unsigned domains)
{
    size_t page   = ucs_page_size();
    uint64_t max  = uct_predreg_max_bytes(&core->knobs);
    uint64_t node = get_node_share(core, page);

    if (domains == 0) {
        /* Relaxed: UCP opens the domains of a context before the context is
         * used */
        domains = ucs_relaxed_load(&core->num_managed);
    }

    if ((core->pred == NULL) || (domains == 0) ||
        ((max == UINT64_MAX) && (node == UINT64_MAX))) {
        return UINT64_MAX;
    }

    max -= ucs_rcache_pred_bound_reserve(max, page);
    return ucs_min(max, node) / domains;
}

void uct_predreg_firehose_count(uint64_t requests, uint64_t hits)
{
    ucs_relaxed_add(&num_requests, requests);
    ucs_relaxed_add(&num_hits, hits);
}

static void count(uct_predreg_core_t *core, ucs_rcache_pred_snapshot_t *snapshot)
{
    snapshot->firehose_requests = ucs_relaxed_load(&num_requests);
    snapshot->firehose_hits     = ucs_relaxed_load(&num_hits);
}

static void fork_child(uct_predreg_core_t *core)
{
    atomic_init(&num_requests, 0);
    atomic_init(&num_hits, 0);
}


/* The hooks */

/* What the preloaded library lets libucp_windows.so call. The first call of windows() sets the
 * pointer, and each other call sets it to the same address; hence relaxed */
static _Atomic(const predreg_windows_env_t*) preloaded;

/* The functions of libucp_windows.so; NULL: it could not be loaded */
static const predreg_windows_t *loaded;

/* Whether the loader would bind libucp_windows.so to the libucp that it is linked with. If
 * not, the loader finds another one first, in the program or in a library of global
 * scope */
static int is_bound_to_ucp(void)
{
    const void *first = dlsym(RTLD_DEFAULT, UCP_FUNCTION);
    void *ucp         = dlopen(UCP_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    int is_bound      = (first == NULL);

    if (ucp != NULL) {
        is_bound |= (dlsym(ucp, UCP_FUNCTION) == first);
        dlclose(ucp);
    }
    return is_bound;
}

/* Find libucp_windows.so in the folder of the core. @return 0 if the path is too long */
static int find_library(char path[PATH_MAX])
{
    const char *slash;
    Dl_info info;

    return dladdr(&loaded, &info) &&
           ((slash = strrchr(info.dli_fname, '/')) != NULL) &&
           (snprintf(path, PATH_MAX, "%.*s/" WINDOWS_LIBRARY,
                     (int)(slash - info.dli_fname), info.dli_fname) < PATH_MAX);
}

static void load(void)
{
    static predreg_windows_env_t env;
    predreg_windows_init_func_t init = NULL;
    char path[PATH_MAX];
    void *handle;

    if (!is_bound_to_ucp()) {
        ucs_warn("windows are pinned: another UCX than that of " UCP_LIBRARY
                 " was loaded for all to use");
        return;
    }

    handle = find_library(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle != NULL) {
        init = (predreg_windows_init_func_t)dlsym(handle, PREDREG_WINDOWS_INIT);
    }

    if (init == NULL) {
        ucs_warn("windows are pinned: cannot load " WINDOWS_LIBRARY ": %s",
                 (handle == NULL) ? dlerror() : "it belongs to another version");
        return;
    }

    env           = *ucs_relaxed_load(&preloaded);
    env.num_procs = uct_predreg_job_size();
    env.index     = core_of_hooks->rank;
    loaded        = init(&env);
}

static const predreg_windows_t *windows(const predreg_windows_env_t *env)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    uct_predreg_core_t *core   = core_of_hooks;

    if (core->knobs.windows != UCT_PREDREG_WINDOWS_FIREHOSE) {
        return NULL;
    }

    if ((core->pred != NULL) && uct_predreg_is_managing(core)) {
        ucs_relaxed_store(&preloaded, env);
        (void)pthread_once(&once, load);
        return loaded;
    }

    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_warn("UCX_RCACHE_PRED_WINDOWS=firehose: memory is pinned as a "
                 "whole, since no memory is managed (POLICY, COMPONENTS, caches "
                 "of UCX)");
    }
    return NULL;
}

static uint64_t room(unsigned domains)
{
    return uct_predreg_firehose_room(core_of_hooks, domains);
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    core_of_hooks         = core;
    hooks->windows        = windows;
    hooks->firehose_room  = room;
    hooks->firehose_count = uct_predreg_firehose_count;
}

const uct_predreg_addon_t uct_predreg_firehose_addon = {
    .start      = start,
    .count      = count,
    .fork_child = fork_child
};
