/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_CACHE_H_
#define TEST_NATIVE_CACHE_H_

#include "settings.h"

#include <uct/api/uct.h>

/** @file cache.h
 *
 * The cache of registrations that a domain of cma has in the native rig where
 * domains of ib have one: up to UCX 1.15 (ib_md.c), see SETTINGS_CACHE. Memory is
 * pinned in it (pin.h).
 *
 * Any thread may call these functions, as UCX permits it for its cache.
 */

/** Create the cache with these settings. */
ucs_status_t cache_create(const settings_t *settings, ucs_rcache_t **cache_p);

/** Register memory, or find it registered. The flags are those of
 *  uct_md_mem_reg(). */
ucs_status_t cache_get(ucs_rcache_t *cache, void *address, size_t length,
                       unsigned flags, uct_mem_h *memh_p);

/** End a use of what cache_get() has given. Unless the function is NULL, the
 *  memory is not found any more, and the function is called when its last use has
 *  ended. */
void cache_put(ucs_rcache_t *cache, uct_mem_h memh,
               ucs_rcache_invalidate_comp_func_t invalidated, void *arg);

#endif
