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
 * UCX's registration caches: their settings, and UCS's structure, which keeps one-time
 * registrations of this library (md/kept.c).
 *
 * Settings: this library takes the place of a cache of UCX, and takes over the settings
 * that a site has given the cache. Up to 1.15 the settings are those of a domain
 * (UCX_IB_RCACHE_*), from 1.16 on those of UCP (UCX_RCACHE_*). Names and meaning are the
 * same in 1.13 to 1.23 (uct_md.c up to 1.15, ucs/memory/rcache.c from 1.16 on). The
 * functions have no state.
 *
 * The structure: 1.17 changed the parameters, the lookup and the regions, and 1.18 the
 * operations. Some parts are the same in all versions, and so are used directly:
 * ucs_rcache_destroy(), ucs_rcache_region_put(), ucs_rcache_region_invalidate(), and the
 * range of addresses of a region. The functions below are as thread safe as UCS's.
 */

typedef struct uct_predreg_settings {
    uint64_t max_bytes;      /**< RCACHE_MAX_SIZE, bytes; UINT64_MAX: inf */
    uint64_t max_regions;    /**< RCACHE_MAX_REGIONS; UINT64_MAX: inf */
    uint64_t max_unreleased; /**< RCACHE_MAX_UNRELEASED, bytes */
    unsigned event_priority; /**< RCACHE_MEM_PRIO */
    int      purge_on_fork;  /**< RCACHE_PURGE_ON_FORK */
    double   overhead;       /**< RCACHE_OVERHEAD, seconds; negative: auto */
} uct_predreg_settings_t;

/** Settings of the cache of a component, or of UCP. */
typedef struct uct_predreg_cache_settings {
    char                   component[UCT_COMPONENT_NAME_MAX]; /**< Empty: UCP's */
    uct_predreg_settings_t values;
} uct_predreg_cache_settings_t;

/** The most caches whose settings the library keeps: UCP's, and those of managed
 *  components with a cache, which are few. */
#define UCT_PREDREG_SETTINGS_CACHES 8

/** Get a setting of a configuration as text. @return whether the configuration has the
 *  setting. */
typedef int (*uct_predreg_settings_get_t)(void *arg, const char *name,
                                          char *value, size_t max);


/** Set all to the defaults of UCX's cache of an ib domain. */
void uct_predreg_settings_init(uct_predreg_settings_t *settings);

/**
 * Read the settings of a configuration. A missing setting, or one with a text that UCX
 * does not write, leaves its value unchanged.
 *
 * @param [in]    prefix  Begin of a variable before the name of a setting, such as
 *                        "UCX_IB_".
 * @param [inout] told    Variables with other values than UCX's defaults are appended, as
 *                        "NAME=VALUE, NAME=VALUE (no effect)", unless they are there
 *                        already.
 * @param [in]    max     Room of told, bytes: the rest is cut off.
 */
void uct_predreg_settings_read(uct_predreg_settings_t *settings,
                               const char *prefix,
                               uct_predreg_settings_get_t get, void *arg,
                               char *told, size_t max);

/** Find the settings of a cache in a list. @param component  Empty: UCP's cache. @return
 *  NULL if the list does not have the cache. */
uct_predreg_cache_settings_t *
uct_predreg_settings_find(uct_predreg_cache_settings_t *list, unsigned count,
                          const char *component);

/** Get the settings for domains of a component: the settings of the component's cache; if
 *  the list lacks them, of UCP's cache; if it lacks both, UCX's defaults. */
void uct_predreg_settings_of(uct_predreg_cache_settings_t *list, unsigned count,
                             const char *component,
                             uct_predreg_settings_t *values);


/** A region in any version: 1.17 added 8 bytes. */
typedef struct uct_predreg_rcache_region {
    ucs_rcache_region_t super;
    uint64_t            room[2];
} uct_predreg_rcache_region_t;


/** Parameters of a cache. The operations are those of ucs_rcache_ops_t. */
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
    void         *context;       /**< Handed to the operations */
    const uct_predreg_settings_t *settings;
} uct_predreg_rcache_params_t;


typedef struct uct_predreg_rcache {
    ucs_rcache_t *ucs;    /**< The cache, for functions of UCS */
    void         *ops[4]; /**< Its operations, as this version of UCS has them */
} uct_predreg_rcache_t;


/** Make a cache, see ucs_rcache_create(). ucs_rcache_destroy() destroys the cache. */
ucs_status_t uct_predreg_rcache_init(uct_predreg_rcache_t *rcache,
                                     const uct_predreg_rcache_params_t *params);

/** Find or register memory, see ucs_rcache_get(). */
ucs_status_t uct_predreg_rcache_get(uct_predreg_rcache_t *rcache, void *address,
                                    size_t length, int prot, void *arg,
                                    ucs_rcache_region_t **region_p);

END_C_DECLS

#endif
