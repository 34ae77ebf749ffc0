/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_STAT_H_
#define UCT_PREDREG_STAT_H_

#include <ucs/stat/stats.h>
#include <uct/ib/predreg/core/state.h>

BEGIN_C_DECLS

/** @file stat/stat.h
 *
 * What others see of the process: its counters while it runs, and the summary at its end.
 */

/*
 * A snapshot of all numbers of the process, for the live counters, the summary and the
 * trace. Any thread.
 */

void uct_predreg_snapshot(uct_predreg_core_t *core,
                          ucs_rcache_pred_snapshot_t *snapshot);


/*
 * The live counters of the process, for other processes (ucx_predreg stat) and UCX's
 * virtual file system.
 */

/** Make the live counters, unless they exist already. If that fails, other
 *  processes do not see this one, and the next call tries again. To be called
 *  under core.lock, before the first domain enters the table. */
void uct_predreg_live_start(uct_predreg_core_t *core);

/** Take the live counters out of UCX's virtual file system, which must not read
 *  them any more once the process exits. */
void uct_predreg_live_stop(uct_predreg_core_t *core);

/** Forget the live counters in a forked child: they are the parent's. */
void uct_predreg_live_reset(uct_predreg_core_t *core);

/** Show the present values of the counters to other processes. Any thread may call the
 *  function, which waits for nobody. @a core: an uct_predreg_core_t, as an argument of the
 *  caches that publish. */
void uct_predreg_publish(void *core);


/*
 * The summary at the exit of the process (UCX_RCACHE_PRED_SUMMARY).
 */

/** Keep the present standard error for a summary: later the program may give its
 *  descriptor to another file. To be called by one thread, before the function below. */
void uct_predreg_summary_keep_stderr(void);

/**
 * Print the numbers of a snapshot. This function uses nothing else of the core.
 *
 * @param [in] ucx     Version of the process's UCX, such as "1.18.1".
 * @param [in] settings  The settings that the library has taken over from UCX's own
 *                       caches, as text; empty: all are UCX's defaults.
 * @param [in] nothing  Why nothing was managed, printed in place of numbers that are all
 *                      0; NULL: something was managed.
 * @param [in] format  UCT_PREDREG_SUMMARY_TEXT or UCT_PREDREG_SUMMARY_JSON.
 * @param [in] path    File that the summary is appended to; NULL or empty:
 *                     standard error as it was kept, if the program has not closed
 *                     it everywhere. If the file cannot be written to, is a
 *                     symbolic link or belongs to another user, a warning is
 *                     logged, and the summary goes to standard error.
 */
void uct_predreg_summary_print(const ucs_rcache_pred_snapshot_t *snapshot,
                               const char *ucx, const char *settings,
                               const char *nothing,
                               uct_predreg_summary_format_t format,
                               const char *path);

END_C_DECLS

#endif
