/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_VIEW_H_
#define PREDREG_STAT_VIEW_H_

#include "proc.h"

/** @file view.h  What is seen of the processes at one time. */

/** Largest pid of Linux (PID_MAX_LIMIT) */
#define PREDREG_PID_MAX ((1l << 22) - 1)

typedef struct predreg_view {
    predreg_stat_proc_t *procs;  /**< In the order they are shown */
    unsigned            num_procs;
    char                **texts; /**< What is to be said of others */
    unsigned            num_texts;
} predreg_view_t;

/**
 * Look at some processes, or all.
 *
 * @param [in] num_pids  0: all that this user may look at.
 * @return whether all that were asked for are there; or of all, any.
 */
int predreg_view_take(predreg_view_t *view, const pid_t *pids,
                      unsigned num_pids);

void predreg_view_cleanup(predreg_view_t *view);

/** @return the process, or NULL. */
const predreg_stat_proc_t *predreg_view_find(const predreg_view_t *view,
                                             pid_t pid);

int predreg_view_says(const predreg_view_t *view, const char *text);

/** A whole number, and nothing else. @return 0 if it is none or above max. */
long predreg_stat_number(const char *text, long max);

#endif
