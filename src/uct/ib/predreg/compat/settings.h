/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SETTINGS_H_
#define UCT_PREDREG_SETTINGS_H_

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file settings.h
 *
 * The settings of UCX's registration caches: whoever takes the place of a cache
 * takes over what a site has set of it. Up to 1.15 they are those of a domain
 * (UCX_IB_RCACHE_*), from 1.16 on those of UCP (UCX_RCACHE_*). The names and what
 * they mean are the same in 1.13 to 1.23 (uct_md.c up to 1.15, ucs/memory/rcache.c
 * from 1.16 on).
 *
 * Pure: uses nothing of the core. md/ucx_caches.c reads them, md/open.c and
 * md/kept.c use them.
 */

typedef struct uct_predreg_settings {
    uint64_t max_bytes;      /**< RCACHE_MAX_SIZE, bytes; UINT64_MAX: inf */
    uint64_t max_regions;    /**< RCACHE_MAX_REGIONS; UINT64_MAX: inf */
    uint64_t max_unreleased; /**< RCACHE_MAX_UNRELEASED, bytes */
    unsigned event_priority; /**< RCACHE_MEM_PRIO */
    int      purge_on_fork;  /**< RCACHE_PURGE_ON_FORK */
    double   overhead;       /**< RCACHE_OVERHEAD, seconds; negative: auto */
} uct_predreg_settings_t;

/** Those of the cache of a component, or of UCP. */
typedef struct uct_predreg_cache_settings {
    char                   component[UCT_COMPONENT_NAME_MAX]; /**< Empty: UCP's */
    uct_predreg_settings_t values;
} uct_predreg_cache_settings_t;

/** So many caches have settings: that of UCP, and those of components that are
 *  managed, of which few have one. */
#define UCT_PREDREG_SETTINGS_CACHES 8

/** Get a setting of a configuration as text. @return whether it has this
 *  setting. */
typedef int (*uct_predreg_settings_get_t)(void *arg, const char *name,
                                          char *value, size_t max);


/** Set all to what UCX's cache of an ib domain has by default. */
void uct_predreg_settings_init(uct_predreg_settings_t *settings);

/**
 * Read the settings that a configuration has. What it lacks, or has as text that
 * UCX does not write, stays as it is.
 *
 * @param [in]    prefix  What a variable has before the name of a setting, such
 *                        as "UCX_IB_".
 * @param [inout] told    The variables whose values are not UCX's defaults are
 *                        appended, as "NAME=VALUE, NAME=VALUE (no effect)",
 *                        unless they are there already.
 * @param [in]    max     Room of that text, bytes: the rest is cut off.
 */
void uct_predreg_settings_read(uct_predreg_settings_t *settings,
                               const char *prefix,
                               uct_predreg_settings_get_t get, void *arg,
                               char *told, size_t max);

/** Find the settings of a cache in a list. @param component  Empty: that of UCP.
 *  @return NULL if they are not there. */
uct_predreg_cache_settings_t *
uct_predreg_settings_find(uct_predreg_cache_settings_t *list, unsigned count,
                          const char *component);

/** Get the settings by which the domains of a component are managed: those of its
 *  own cache or, if it has none, of UCP's. */
void uct_predreg_settings_of(uct_predreg_cache_settings_t *list, unsigned count,
                             const char *component,
                             uct_predreg_settings_t *values);

END_C_DECLS

#endif
