/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SUMMARY_H_
#define UCT_PREDREG_SUMMARY_H_

#include "knobs.h"

#include <ucs/rcache_pred/stats.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file summary.h
 *
 * The summary that a process prints when it exits (UCX_RCACHE_PRED_SUMMARY).
 */

/** Keep standard error as it is now for a summary: later its number may be that of a
 *  file of the program. To be called by one thread, before the functions below. */
void uct_predreg_summary_keep_stderr(void);

/**
 * Print the numbers of a snapshot. This function uses nothing else of the core.
 *
 * @param [in] ucx     Version of the process's UCX, such as "1.18.1".
 * @param [in] settings  What was taken over from UCX's own caches, as text; empty:
 *                       nothing but UCX's defaults.
 * @param [in] format  UCT_PREDREG_SUMMARY_TEXT or UCT_PREDREG_SUMMARY_JSON.
 * @param [in] path    File that the summary is appended to; NULL or empty:
 *                     standard error as it was kept, if the program has not closed
 *                     it everywhere. If the file cannot be written to, is a
 *                     symbolic link or belongs to another user, a warning is
 *                     logged, and the summary goes to standard error.
 */
void uct_predreg_summary_print(const ucs_rcache_pred_snapshot_t *snapshot,
                               const char *ucx, const char *settings,
                               uct_predreg_summary_format_t format,
                               const char *path);

/**
 * Print the summary of a process in which nothing was managed: as text, it says
 * so instead of numbers that are all 0.
 *
 * @param [in] num_domains  How many memory domains UCX has opened, none of
 *                          which could be managed.
 * @param [in] managed      What has domains that are managed, in words that may
 *                          follow "none of".
 */
void uct_predreg_summary_print_none(const ucs_rcache_pred_snapshot_t *snapshot,
                                    const char *ucx,
                                    unsigned num_domains, const char *managed,
                                    uct_predreg_summary_format_t format,
                                    const char *path);

END_C_DECLS

#endif
