/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_VIEW_H_
#define PREDREG_STAT_VIEW_H_

#include "proc.h"

BEGIN_C_DECLS

/** @file view.h
 *
 * A view of the processes of this node at one time. stat.c and print.c call
 * this.
 */

/** Largest pid of Linux (PID_MAX_LIMIT) */
#define PREDREG_PID_MAX ((1l << 22) - 1)

/** One look at some processes. */
typedef struct predreg_view {
    predreg_stat_proc_t *procs;  /**< In the order in which they are shown */
    unsigned            num_procs;
    char                **texts; /**< What to tell the user about other
                                      processes */
    unsigned            num_texts;
} predreg_view_t;


/**
 * Look at some processes, or at all.
 *
 * @param [out] view      The view; the caller has to clean it up.
 * @param [in]  num_pids  How many processes are asked for; 0: all that this
 *                        user may look at.
 *
 * @return whether all that were asked for show counters; if none was asked for,
 *         whether any process does.
 */
int predreg_view_take(predreg_view_t *view, const predreg_system_t *system,
                      const pid_t *pids, unsigned num_pids);

void predreg_view_cleanup(predreg_view_t *view);

/** @return the process with this pid, or NULL if the view does not have it. */
const predreg_stat_proc_t *predreg_view_find(const predreg_view_t *view,
                                             pid_t pid);

/** @return whether a text is among those for the user. */
int predreg_view_says(const predreg_view_t *view, const char *text);

END_C_DECLS

#endif
