/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_RCACHE_H_
#define UCT_PREDREG_RCACHE_H_

#include <ucs/memory/rcache.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file rcache.h
 *
 * UCX's registration caches: their settings, and UCS's structure, which keeps what this library
 * registers once (md/kept.c).
 *
 * Settings: this library takes the place of a cache, and takes over what a site has set of the
 * cache. Up to 1.15 the settings are those of a domain (UCX_IB_RCACHE_*), from 1.16 on those of
 * UCP (UCX_RCACHE_*). The names and what they mean are the same in 1.13 to 1.23 (uct_md.c up to
 * 1.15, ucs/memory/rcache.c from 1.16 on). Pure.
 *
 * The structure: 1.17 changed the parameters, the lookup and the regions, and 1.18 the
 * operations. What is not here is the same in all versions: ucs_rcache_destroy(),
 * ucs_rcache_region_put() and ucs_rcache_region_invalidate(), and of a region, its range of
 * addresses. The functions are as thread safe as those of UCS.
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


/** A region in any version: it has 8 bytes more since 1.17. */
typedef struct uct_predreg_rcache_region {
    ucs_rcache_region_t super;
    uint64_t            room[2];
} uct_predreg_rcache_region_t;


/** What a cache is made of. The operations are those of ucs_rcache_ops_t. */
typedef struct uct_predreg_rcache_params {
    const char   *name;
    size_t       region_size;    /**< Of a structure that begins with a region,
                                      bytes */
    ucs_status_t (*mem_reg)(void *context, ucs_rcache_t *rcache, void *arg,
                            ucs_rcache_region_t *region, uint16_t flags);
    void         (*mem_dereg)(void *context, ucs_rcache_t *rcache,
                              ucs_rcache_region_t *region);
    void         (*dump_region)(void *context, ucs_rcache_t *rcache,
                                ucs_rcache_region_t *region, char *buf,
                                size_t max);
    void         *context;       /**< For the operations */
    int          events;         /**< Events of UCM after which a region is
                                      invalid */
    int          event_priority; /**< Of their handler */
    int          purge_on_fork;  /**< Whether nothing is kept at a fork */
    unsigned long max_regions;   /**< While there are more, idle ones give way */
    size_t       max_size;       /**< While they have more bytes, likewise */
    size_t       max_unreleased; /**< So many bytes of invalid regions may wait
                                      to be deregistered */
} uct_predreg_rcache_params_t;


typedef struct uct_predreg_rcache {
    ucs_rcache_t *ucs;    /**< The cache, for functions of UCS */
    void         *ops[4]; /**< Its operations, as its version wants them */
} uct_predreg_rcache_t;


/** Make a cache, see ucs_rcache_create(). It is destroyed by
 *  ucs_rcache_destroy(). */
ucs_status_t uct_predreg_rcache_init(uct_predreg_rcache_t *rcache,
                                     const uct_predreg_rcache_params_t *params);

/** Find memory, or register it, see ucs_rcache_get(). */
ucs_status_t uct_predreg_rcache_get(uct_predreg_rcache_t *rcache, void *address,
                                    size_t length, int prot, void *arg,
                                    ucs_rcache_region_t **region_p);

END_C_DECLS

#endif
