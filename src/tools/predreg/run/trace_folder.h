/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_TRACE_FOLDER_H_
#define PREDREG_RUN_TRACE_FOLDER_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file trace_folder.h
 *
 * Prepares the folder that the ranks of a job write their traces to. If traces
 * of an earlier job stayed in it, they would be taken for ranks of this job.
 * record.c calls this.
 */

/**
 * Make a folder if it does not exist, and check that it can be written to and
 * contains no traces, or only those that @ref predreg_trace_folder_clear may
 * remove. This function removes nothing.
 *
 * @param [in]  force     Whether the folder may contain traces. It may not
 *                        contain other files that are named like traces.
 * @param [out] is_new_p  Whether this function has made the folder.
 *
 * @return 0 or the exit status; the reason was said.
 */
int predreg_trace_folder_prepare(const char *folder, int force, int *is_new_p);


/**
 * Remove the traces that are in a folder which has been prepared.
 *
 * @return 0 or the exit status; the reason was said.
 */
int predreg_trace_folder_clear(const char *folder);

END_C_DECLS

#endif
