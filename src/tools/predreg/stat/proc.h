/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_PROC_H_
#define PREDREG_STAT_PROC_H_

#include "status.h"

#include <ucs/host/live.h>

BEGIN_C_DECLS

/** @file proc.h
 *
 * Finding the live counters of a running process. Called by view.c; calls
 * <ucs/host/live.h>, which reads them.
 */

/** A process whose counters were found. */
typedef struct predreg_stat_proc {
    pid_t                        pid;    /**< As it is called here */
    uint64_t                     looked; /**< When: CLOCK_MONOTONIC, ns */
    uint64_t                     age;    /**< Of the record then, ns */
    ucs_rcache_pred_live_state_t record; /**< As of now; what the kernel counts
                                              as pinned is its own figure */
} predreg_stat_proc_t;


/**
 * Look at a process.
 *
 * @param [out] proc   Valid if it is PREDREG_LOOK_OK.
 * @param [out] why_p  What to tell the user if it is not; to be freed. NULL:
 *                     nothing.
 */
predreg_look_t predreg_stat_look(const predreg_system_t *system, pid_t pid,
                                 predreg_stat_proc_t *proc, char **why_p);

END_C_DECLS

#endif
