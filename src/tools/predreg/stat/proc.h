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
 * Finds the live counters of a running process. view.c calls this; it calls
 * <ucs/host/live.h>, which reads them.
 */

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
