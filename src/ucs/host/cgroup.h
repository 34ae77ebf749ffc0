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
 * The control groups of this process, as far as they are about memory and processor
 * time (Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst,
 * scheduler/sched-bwc.rst), where they are mounted by convention: groups of version
 * 2 in /sys/fs/cgroup, groups of version 1 in /sys/fs/cgroup/memory and so on. Any
 * thread, but not in memory hooks.
 *
 * Each function takes the folder that has proc and sys: "" is the system's, and
 * tests hand in others.
 */

/** @return the limit, bytes, on the memory that this process has together with
 *  the other processes of its group: the least limit of its groups and the
 *  groups above; UINT64_MAX if there is none. */
uint64_t ucs_rcache_pred_cgroup_limit(const char *root);

/** The quota of processor time of the groups of a process. */
typedef struct ucs_rcache_pred_cgroup_quota {
    double   cpus;            /**< Processors that all processes of the group
                                   together may use on average; INFINITY: all
                                   processors */
    char     usage[PATH_MAX]; /**< The file with the processor time that the
                                   processes of the group have used. If nobody
                                   counts the time of this group alone, the file
                                   counts other processes, too; empty: there is
                                   no such file */
    unsigned usage_nsec;      /**< Unit of the time in the file, ns */
} ucs_rcache_pred_cgroup_quota_t;

/** Find the least quota of the groups of this process and the groups above. */
void ucs_rcache_pred_cgroup_quota(const char *root,
                                  ucs_rcache_pred_cgroup_quota_t *quota);

/** @return the processor time that the group of a quota has used so far, ns; UINT64_MAX if
 *          the system does not tell. */
uint64_t ucs_rcache_pred_cgroup_usage(const ucs_rcache_pred_cgroup_quota_t *quota);

/** Find the path of a file of this process's group of version 2.
 *
 * @param [out] file  The path, whether there is such a file or not; empty if
 *                    the process is in no group of version 2. */
void ucs_rcache_pred_cgroup_find(const char *root, const char *name,
                                 char file[PATH_MAX]);

/** A group with a limit on memory. */
typedef struct ucs_rcache_pred_cgroup_memory {
    int  version;          /**< 1 or 2 */
    char folder[PATH_MAX]; /**< With the group's files */
    char waits[PATH_MAX];  /**< The file "memory.pressure" of the group, whether there is
                                such a file or not. Groups of version 1 have none: that of
                                the group of version 2 with the same path, or of this
                                process */
} ucs_rcache_pred_cgroup_memory_t;

/** Find the groups with a limit on memory, of those in which this process is: its own group
 *  and those above, from the lowest on.
 *  @param [in] max  How many groups there is room for; those above are left out.
 *  @return their number. */
unsigned ucs_rcache_pred_cgroup_find_memory(const char *root,
                                            ucs_rcache_pred_cgroup_memory_t *groups,
                                            unsigned max);

/** @return whether a group has nearly reached its limit on memory, so that its processes
 *          wait because of that limit. */
int ucs_rcache_pred_cgroup_is_full(const ucs_rcache_pred_cgroup_memory_t *group);

/** @return whether a group lets its memory go to swap: it has no limit on swap, or has not
 *          reached the limit. */
int ucs_rcache_pred_cgroup_can_swap(const ucs_rcache_pred_cgroup_memory_t *group);


/* How much of the group's quota of processor time is left. Once the quota is
 * used up, the kernel stops the threads of the group: processors are idle then,
 * but a helper must not use them. One thread at a time */

typedef struct ucs_rcache_pred_quota {
    ucs_rcache_pred_cgroup_quota_t group;
    uint64_t                       time; /**< Time of the last look,
                                              CLOCK_MONOTONIC, ns */
    uint64_t                       used; /**< Processor time that the group but
                                              its helper had used by then, ns;
                                              UINT64_MAX: not known */
} ucs_rcache_pred_quota_t;


/** Find the quota, and begin to watch it.
 *  @param [in] root  As for @ref ucs_rcache_pred_cgroup_quota. */
void ucs_rcache_pred_quota_init(ucs_rcache_pred_quota_t *quota, const char *root,
                                uint64_t now);

/**
 * Look how much of the quota is left.
 *
 * @param [in] busy  Processor time of the helper so far, ns, which does not count.
 *
 * @return how many processors of the quota the processes of the group have left
 *         unused since the last look, on average; INFINITY if there is no
 *         quota; 0 if the system does not tell the used time. Less than 0 after
 *         a burst, for which the kernel has let the group use time that was
 *         left before.
 */
double ucs_rcache_pred_quota_look(ucs_rcache_pred_quota_t *quota, uint64_t busy,
                                  uint64_t now);


END_C_DECLS

#endif
