/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_PROC_H_
#define PREDREG_STAT_PROC_H_

#include <ucs/host/live.h>

#include <sys/types.h>

/** @file proc.h  Finding the counters of running processes. */

/** A process whose counters were found. */
typedef struct predreg_stat_proc {
    pid_t                         pid;    /**< As it is called here */
    uint64_t                      looked; /**< When: CLOCK_MONOTONIC, ns */
    uint64_t                      age;    /**< Of the record then, ns */
    ucs_rcache_pred_live_record_t record; /**< As of now; what the kernel counts
                                               as pinned is its own figure */
} predreg_stat_proc_t;


typedef enum {
    PREDREG_LOOK_OK,
    PREDREG_LOOK_GONE,    /**< Is not, or no longer */
    PREDREG_LOOK_FOREIGN, /**< Belongs to another user */
    PREDREG_LOOK_DENIED,  /**< The kernel does not let us look */
    PREDREG_LOOK_NONE,    /**< Shows no counters */
    PREDREG_LOOK_HEIR,    /**< Shows those of a process it was forked from */
    PREDREG_LOOK_BAD      /**< They cannot be read */
} predreg_look_t;

/**
 * Look at a process.
 *
 * @param [out] why_p  What to tell the user if it is not PREDREG_LOOK_OK; to be
 *                     freed. NULL: nothing.
 */
predreg_look_t predreg_stat_look(pid_t pid, predreg_stat_proc_t *proc,
                                 char **why_p);

#endif
