/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PROCID_H_
#define UCS_RCACHE_PRED_PROCID_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>
#include <sys/types.h>

BEGIN_C_DECLS

/** @file procid.h
 *
 * Names of processes that no later process can get, and whether the process of
 * a name is dead. Uses /proc; slot.c and node.c call it. All functions are
 * thread safe.
 */

/**
 * A process by its pid and the time at which it started, in one word so that it
 * can be compared and swapped: pids are recycled, the pair is not. 0: none.
 */
typedef uint64_t ucs_rcache_pred_procid_t;

/** Bits of a pid: Linux gives out none above 2^22 (PID_MAX_LIMIT). The other 42
 *  hold 1394 years of clock ticks at the usual 100 a second. */
#define UCS_RCACHE_PRED_PROCID_PID_BITS 22


/** @return the name of the process with this pid, which started at
 *          @a start_time, clock ticks after boot. */
static inline ucs_rcache_pred_procid_t
ucs_rcache_pred_procid(pid_t pid, uint64_t start_time)
{
    return (start_time << UCS_RCACHE_PRED_PROCID_PID_BITS) | pid;
}

/** @return the pid in the name of a process. */
static inline pid_t ucs_rcache_pred_procid_pid(ucs_rcache_pred_procid_t id)
{
    return id & ((1u << UCS_RCACHE_PRED_PROCID_PID_BITS) - 1);
}


/** What /proc/PID/stat tells of a process, see proc(5). */
typedef struct ucs_rcache_pred_procstat {
    char     state;       /**< Field 3 */
    uint64_t num_threads; /**< Field 20 */
    uint64_t start_time;  /**< Field 22, clock ticks after boot */
} ucs_rcache_pred_procstat_t;


/**
 * Read the line of /proc/PID/stat. Pure.
 *
 * @return UCS_ERR_INVALID_PARAM if it is not one.
 */
ucs_status_t ucs_rcache_pred_procstat_parse(const char *line,
                                            ucs_rcache_pred_procstat_t *stat);

/**
 * @return whether this is not the process that started at @a start_time, or has
 *         given up its memory already. Pure.
 */
int ucs_rcache_pred_procstat_is_dead(const ucs_rcache_pred_procstat_t *stat,
                                     uint64_t start_time);

/** @return the calling process, or 0 if /proc cannot be read. */
ucs_rcache_pred_procid_t ucs_rcache_pred_procid_self(void);

/**
 * @return whether a process is certainly dead. If it cannot be found out, the
 *         process is taken for alive.
 */
int ucs_rcache_pred_procid_is_dead(ucs_rcache_pred_procid_t id);

END_C_DECLS

#endif
