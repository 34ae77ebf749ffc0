/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_LACK_H_
#define UCS_RCACHE_PRED_LACK_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file lack.h
 *
 * What was short when a device refused to register memory. The device says ENOMEM or
 * EAGAIN whatever it is. The kernel can be asked for its own limits; nobody can be asked
 * for the keys and the memory of the device, so these are what is left.
 *
 * Any thread, also one with a small stack, but not in memory hooks: files are read, and
 * memory is allocated. Takes some 0.2 ms.
 */

typedef enum ucs_rcache_pred_lack_kind {
    UCS_RCACHE_PRED_SHORT_OF_NOTHING,  /**< Of nothing that the kernel tells: of keys, or
                                            of memory of the device */
    UCS_RCACHE_PRED_SHORT_OF_LOCKED,   /**< Memory that the process may lock */
    UCS_RCACHE_PRED_SHORT_OF_OBJECTS,  /**< Objects of RDMA that the control group may
                                            have */
    UCS_RCACHE_PRED_SHORT_OF_MAPPINGS, /**< Mappings that a process may have: under fork
                                            protection a registration splits some */
    UCS_RCACHE_PRED_SHORT_OF_UNKNOWN   /**< Nobody has asked yet */
} ucs_rcache_pred_lack_kind_t;

/** A limit, and what there is of it. */
typedef struct ucs_rcache_pred_lack {
    ucs_rcache_pred_lack_kind_t kind;
    uint64_t                        used;
    uint64_t                        max;  /**< UINT64_MAX: there is no limit */
    size_t                          group; /**< Length of the path of the group whose limit
                                                it is, the beginning of query.group */
} ucs_rcache_pred_lack_t;

/** What to ask for. */
typedef struct ucs_rcache_pred_lack_query {
    const char *root;       /**< The folder that has proc; "" is the system's, and tests
                                 hand in others */
    const char *group;      /**< Folder of the process's control group of version 2, see
                                 @ref ucs_rcache_pred_cgroup_find; empty: none */
    const char *device;     /**< Name of the RDMA device */
    uint64_t   max_locked;  /**< Bytes that the process may have pinned; UINT64_MAX: any
                                 number */
    uint64_t   bytes;       /**< Bytes of the pages that could not be registered */
} ucs_rcache_pred_lack_query_t;


/** Find out what was short for a registration that was refused just now. For mappings,
 *  used and max are not filled in, see @ref ucs_rcache_pred_lack_count_mappings. */
void ucs_rcache_pred_lack_find(const ucs_rcache_pred_lack_query_t *query,
                               ucs_rcache_pred_lack_t *lack);

/**
 * Find how many objects of the device the processes of the group may have: registrations,
 * queues and others together. Of the group and those above it which have a limit, it is
 * the one with the least left (Linux, Documentation/admin-guide/cgroup-v2.rst, RDMA).
 *
 * @param [in]  device  NULL: the first device that has a limit.
 * @param [out] lack    Filled in but for kind. There may be no limit.
 */
void ucs_rcache_pred_lack_objects(const char *group, const char *device,
                                  ucs_rcache_pred_lack_t *lack);

/** Count the mappings of the process, and read how many it may have. Takes 50 ms where
 *  there are 65530. */
void ucs_rcache_pred_lack_count_mappings(const char *root,
                                         ucs_rcache_pred_lack_t *lack);

END_C_DECLS

#endif
