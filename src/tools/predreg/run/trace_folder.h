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
 * The folder that the ranks of a job write their traces to. Traces of an
 * earlier job in it would be taken for ranks of this one. Called by record.c.
 */

/**
 * Make a folder if need be, and check that it can be written to and that no
 * trace is in it, or none but those that @ref predreg_trace_folder_clear may
 * remove. Nothing is removed.
 *
 * @param [in] force  Traces may be in it. Other files that are named like
 *                    traces may not.
 *
 * @return 0 or the exit status; the reason was said.
 */
int predreg_trace_folder_prepare(const char *folder, int force);


/**
 * Remove the traces that are in a folder which has been prepared.
 *
 * @return 0 or the exit status; the reason was said.
 */
int predreg_trace_folder_clear(const char *folder);

END_C_DECLS

#endif
