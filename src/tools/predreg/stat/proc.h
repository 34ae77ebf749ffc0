/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_PROC_H_
#define PREDREG_STAT_PROC_H_

#include <ucs/host/live.h>

#include <sys/types.h>

BEGIN_C_DECLS

/** @file proc.h
 *
 * Finds the live counters of a running process. view.c calls this; it calls
 * <ucs/host/live.h>, which reads them.
 */

/** The functions of the system that are used here. Tests have functions of
 *  their own. */
typedef struct predreg_system {
    const char *proc;                          /**< "/proc" */
    uid_t      (*user)(void);                  /**< geteuid() */
    int        (*signal)(pid_t pid, int sig);  /**< kill() */
    int        (*open)(const char *path);      /**< Open a file of another
                                                    process for reading; -1 and
                                                    errno if that fails */
} predreg_system_t;

/** The system that this program runs on. */
extern const predreg_system_t predreg_system;


/** The result of looking at a process. */
typedef enum {
    PREDREG_LOOK_OK,
    PREDREG_LOOK_GONE,    /**< There is no such process, or no longer */
    PREDREG_LOOK_FOREIGN, /**< It belongs to another user */
    PREDREG_LOOK_DENIED,  /**< The kernel does not let this user look */
    PREDREG_LOOK_NONE,    /**< It shows no counters */
    PREDREG_LOOK_HEIR,    /**< A fork has made it, and it shows the counters of its
                               parent */
    PREDREG_LOOK_BAD      /**< Its counters cannot be read */
} predreg_look_t;


/** A process whose counters were found. */
typedef struct predreg_stat_proc {
    pid_t                        pid;    /**< In the name space of this
                                              program */
    uint64_t                     looked; /**< When it was looked at:
                                              CLOCK_MONOTONIC, ns */
    uint64_t                     age;    /**< How old the state was then, ns */
    ucs_rcache_pred_live_state_t state; /**< What its live counters show; but
                                              kernel_pinned is the kernel's
                                              present count */
} predreg_stat_proc_t;


/**
 * Look at a process.
 *
 * @param [out] proc   Valid if this returns PREDREG_LOOK_OK.
 * @param [out] why_p  If it returns anything else, what to tell the user, to be
 *                     freed by the caller; NULL: nothing.
 */
predreg_look_t predreg_stat_look(const predreg_system_t *system, pid_t pid,
                                 predreg_stat_proc_t *proc, char **why_p);

END_C_DECLS

#endif
