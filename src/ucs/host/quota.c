/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "quota.h"

#include <math.h>


/* Processor time that all threads of the group but the helper's have used so far, ns;
 * UINT64_MAX if the system does not tell */
static uint64_t used_by_others(const ucs_rcache_pred_quota_t *quota, uint64_t busy)
{
    uint64_t used = ucs_rcache_pred_cgroup_usage(&quota->group);

    return ((used == UINT64_MAX) || (used < busy)) ? UINT64_MAX : (used - busy);
}

void ucs_rcache_pred_quota_init(ucs_rcache_pred_quota_t *quota, const char *root,
                                uint64_t now)
{
    ucs_rcache_pred_cgroup_quota(root, &quota->group);
    quota->time = now;
    quota->used = isinf(quota->group.cpus) ? UINT64_MAX : used_by_others(quota, 0);
}

double ucs_rcache_pred_quota_look(ucs_rcache_pred_quota_t *quota, uint64_t busy,
                                  uint64_t now)
{
    double left = 0;
    uint64_t used;

    if (isinf(quota->group.cpus)) {
        return INFINITY;
    }

    used = used_by_others(quota, busy);
    if ((used != UINT64_MAX) && (quota->used != UINT64_MAX) && (now > quota->time) &&
        (used >= quota->used)) {
        left = quota->group.cpus -
               ((double)(used - quota->used) / (now - quota->time));
    }
    quota->time = now;
    quota->used = used;
    return left;
}
