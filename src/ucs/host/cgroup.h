/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CGROUP_H_
#define UCS_RCACHE_PRED_CGROUP_H_

#include <ucs/sys/compiler_def.h>

#include <limits.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file cgroup.h
 *
 * The control groups of this process, as far as they are about memory and
 * processor time (Linux, Documentation/admin-guide/cgroup-v2.rst,
 * cgroup-v1/memory.rst, scheduler/sched-bwc.rst). They are
 * looked for where they are mounted by convention: groups of version 2 in
 * /sys/fs/cgroup, those of version 1 in /sys/fs/cgroup/memory and so on. Any thread,
 * but not in memory hooks.
 *
 * Each function takes a folder that has proc and sys; "" is that of the system,
 * others are for tests.
 */

/** @return how much memory this process and the others of its group may have,
 *          bytes: the least of what its groups and those above them set;
 *          UINT64_MAX if none sets any. */
uint64_t ucs_rcache_pred_cgroup_limit(const char *root);

/** What processor time the groups of a process allow. */
typedef struct ucs_rcache_pred_cgroup_quota {
    double   cpus;            /**< How many processors this process and the others of
                                   the group may use on average; INFINITY: as many as
                                   there are */
    char     usage[PATH_MAX]; /**< The file of what they have used, or more processes if
                                   these are in no accounting group of their own; empty if
                                   nobody counts it */
    unsigned usage_nsec;      /**< Its unit, ns */
} ucs_rcache_pred_cgroup_quota_t;

/** Find the least quota of the groups of this process and those above them. */
void ucs_rcache_pred_cgroup_quota(const char *root,
                                  ucs_rcache_pred_cgroup_quota_t *quota);

/** @return the processor time that the group of a quota has used so far, ns; UINT64_MAX if
 *          the system does not tell. */
uint64_t ucs_rcache_pred_cgroup_usage(const ucs_rcache_pred_cgroup_quota_t *quota);

/** Find a file of this process's group of version 2.
 *
 * @param [out] file  Its path, whether it is there or not; empty if there is no
 *                    such group. */
void ucs_rcache_pred_cgroup_find(const char *root, const char *name,
                                 char file[PATH_MAX]);

END_C_DECLS

#endif
