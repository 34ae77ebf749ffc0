/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucx.h"

#include <uct/ib/predreg/core/job.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

/* Loads libucp_windows.so, and has for it what it cannot do by itself: see
 * predreg_windows_env_t. It is linked with UCP, so it calls the one that the core works
 * with */

#define LIBRARY "libucp_windows.so"


static ucs_status_t
map(ucp_context_h context, const ucp_mem_map_params_t *params,
    ucp_mem_h *memh_p, unsigned *num_p)
{
    return predreg_map_window(predreg_ucx(PREDREG_CALLER), context, params,
                              memh_p, num_p);
}

static ucs_status_t pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                         size_t *length_p, uint64_t *parts_p)
{
    unsigned ucx              = predreg_ucx(PREDREG_CALLER);
    predreg_packing_t packing = {};
    ucs_status_t status;

    predreg_packing = &packing;
    status          = PREDREG_REAL(ucx, ucp_rkey_pack)(context, memh, packed_p,
                                                       length_p);
    predreg_packing = NULL;
    *parts_p        = packing.parts;
    return status;
}

static int is_in_progress(void)
{
    return predreg_in_progress > 0;
}

static void begin_whole(void *buffer, size_t length)
{
    predreg_whole.address = buffer;
    predreg_whole.length  = length;
}

static int end_whole(void)
{
    int is_refused = (predreg_whole.length == 0);

    predreg_whole.length = 0;
    return is_refused;
}

static void load(void)
{
    static predreg_windows_env_t env = {
        .map            = map,
        .pack           = pack,
        .is_in_progress = is_in_progress,
        .begin_whole    = begin_whole,
        .end_whole      = end_whole
    };
    predreg_windows_init_func_t init = NULL;
    const predreg_windows_t *windows;
    char path[PATH_MAX];
    void *handle;

    if (!predreg_is_bound_to(PREDREG_UCP_LIBRARY, PREDREG_UCP_FUNCTION)) {
        PREDREG_COMPLAIN("windows are pinned: another UCX than that of "
                         PREDREG_UCP_LIBRARY " was loaded for all to use");
        return;
    }

    handle = predreg_sibling(LIBRARY, path, sizeof(path)) ?
             dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle != NULL) {
        init = (predreg_windows_init_func_t)dlsym(handle, PREDREG_WINDOWS_INIT);
    }

    if (init == NULL) {
        PREDREG_COMPLAIN("windows are pinned: cannot load " LIBRARY ": %s",
                         (handle == NULL) ? dlerror() :
                         "it belongs to another version");
        return;
    }

    env.num_procs = uct_predreg_job_size();
    env.index     = uct_predreg_job_rank();
    windows       = init(&env);
    atomic_store_explicit(&predreg_windows_table, windows,
                          memory_order_release);
}

void predreg_windows_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
}
