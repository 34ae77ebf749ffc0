/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PRESSURE_H_
#define UCS_RCACHE_PRED_PRESSURE_H_

#include <ucs/host/cgroup.h>
#include <ucs/sys/compiler_def.h>

#include <limits.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file pressure.h
 *
 * Whether memory is short: how long processes have waited for memory (Linux,
 * Documentation/accounting/psi.rst, and "memory.pressure" of cgroup-v2.rst). One thread
 * at a time, but not in memory hooks. No descriptor is kept between two looks.
 *
 * Several sources tell: the control groups with a limit on memory that this process is
 * in, while they have nearly reached it, since their processes share the memory that is
 * short; and the node, while it has little memory left. So a group which waits because of
 * its own limit changes nothing for the processes of other groups.
 *
 * Where the kernel does not tell how long processes wait, the pages that were read back
 * from swap are counted instead, each as the time of such a read.
 */

/** How many groups with a limit are watched, from the lowest on */
#define UCS_RCACHE_PRED_PRESSURE_GROUPS 3

typedef struct ucs_rcache_pred_pressure_source {
    char       file[PATH_MAX];
    const char *format;        /**< The line of the file, with one number */
    uint64_t   unit;           /**< Unit of the number, ns */
    uint64_t   waited;         /**< How long processes had waited at the last look, ns */
} ucs_rcache_pred_pressure_source_t;

typedef struct ucs_rcache_pred_pressure {
    const char                        *root; /**< The folder of proc and sys */
    unsigned                          num_groups;
    ucs_rcache_pred_cgroup_memory_t   groups[UCS_RCACHE_PRED_PRESSURE_GROUPS];
    ucs_rcache_pred_pressure_source_t sources[UCS_RCACHE_PRED_PRESSURE_GROUPS + 1];
                                             /**< Of the groups, and of the node */
    uint64_t                          time;  /**< Time of the last look, ns */
} ucs_rcache_pred_pressure_t;


/** Begin to watch whether memory is short. Earlier waits do not count.
 *
 * @param [in] root  The folder that has proc and sys: "" is the system's, and tests hand
 *                   in others. Stays in use.
 * @param [in] now   The time, ns. */
void ucs_rcache_pred_pressure_init(ucs_rcache_pred_pressure_t *pressure,
                                   const char *root, uint64_t now);

/** @return the part of the time since the last look, 0 to 1, in which a process of a full
 *          group, or of a node with little memory left, has waited for memory; 0 where
 *          the system does not tell.
 *
 * @param [in] now  The time, ns, by the clock of the call before. */
double ucs_rcache_pred_pressure_look(ucs_rcache_pred_pressure_t *pressure,
                                     uint64_t now);

/** @return whether anybody gains memory that is not registered any more: the kernel can
 *          take anonymous memory away only if there is room in a swap device, and if the
 *          control groups of this process let it have room there. */
int ucs_rcache_pred_pressure_can_gain(const ucs_rcache_pred_pressure_t *pressure);

/** @return how many pages the calling thread has waited for so far that were not in memory.
 *          Any thread. */
uint64_t ucs_rcache_pred_pressure_faults(void *unused);

END_C_DECLS

#endif
