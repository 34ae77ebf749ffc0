/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_QUOTA_H_
#define UCS_RCACHE_PRED_QUOTA_H_

#include "cgroup.h"

BEGIN_C_DECLS

/** @file quota.h
 *
 * How much of its quota of processor time the control group of this process leaves: a
 * processor that is idle since the quota is used up is none that a helper may use. One
 * thread at a time; not in memory hooks.
 */

typedef struct ucs_rcache_pred_quota {
    ucs_rcache_pred_cgroup_quota_t group;
    uint64_t                       time; /**< Of the last look, CLOCK_MONOTONIC, ns */
    uint64_t                       used; /**< By others than the helper until then, ns */
} ucs_rcache_pred_quota_t;


/** Find the quota, and begin to watch it.
 *  @param [in] root  As of @ref ucs_rcache_pred_cgroup_quota. */
void ucs_rcache_pred_quota_init(ucs_rcache_pred_quota_t *quota, const char *root,
                                uint64_t now);

/**
 * Look how much of the quota is left.
 *
 * @param [in] busy  Processor time that the helper has used so far, ns: it does not
 *                   count.
 *
 * @return how many processors more than they have used since the last look the processes
 *         of the group may use on average; INFINITY if there is no quota; 0 if the system
 *         does not tell what was used. Less than 0 for a while, if they have used time that
 *         was left before.
 */
double ucs_rcache_pred_quota_look(ucs_rcache_pred_quota_t *quota, uint64_t busy,
                                  uint64_t now);

END_C_DECLS

#endif
