/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SUMMARY_H_
#define UCT_PREDREG_SUMMARY_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file summary.h
 *
 * What a process prints when it exits (UCX_RCACHE_PRED_SUMMARY).
 */

/** Print it, if it is asked for and the process ever had a managed or watched
 *  domain. If the file cannot be written to, a warning says so, and the summary
 *  goes to standard error. */
void uct_predreg_summary_print(void);

END_C_DECLS

#endif
