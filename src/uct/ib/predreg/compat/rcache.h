/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_RCACHE_H_
#define UCT_PREDREG_RCACHE_H_

#include <ucs/memory/rcache.h>

BEGIN_C_DECLS

/** @file rcache.h
 *
 * UCS's registration cache, of which 1.17 changed the parameters, the lookup
 * and the regions, and 1.18 the operations. What is not here is the same in all
 * versions: ucs_rcache_destroy(), ucs_rcache_region_put() and
 * ucs_rcache_region_invalidate(), and of a region, its range of addresses.
 *
 * md/kept.c calls this. The functions are as thread safe as those of UCS.
 */

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
