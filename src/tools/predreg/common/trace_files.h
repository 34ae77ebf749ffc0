/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRACE_FILES_H_
#define PREDREG_TRACE_FILES_H_

#include <trace/trace.h>

BEGIN_C_DECLS

/** @file trace_files.h
 *
 * Loads the traces that a sub-command is given: a folder, in which each process
 * of a job has a file, or a single file. Every sub-command that reads traces
 * calls this; it calls the reader of traces below src/trace.
 */

/** How the names of traces in a folder end. */
#define PREDREG_TRACE_SUFFIX ".trace"


/**
 * What is done with a trace once it is loaded. The function has to free it.
 *
 * @return UCS_OK if the next trace is to be loaded.
 */
typedef ucs_status_t predreg_trace_func_t(ucs_rcache_trace_t *trace, void *arg);


/**
 * Get the only argument that a sub-command takes besides its options, once
 * getopt has read these: a file or a folder.
 *
 * @param [in] command  Name of the sub-command, for the message.
 * @return NULL if there is none or there are several. That has been printed.
 */
const char *predreg_only_input(const char *command, int argc,
                               char *const *argv);

/**
 * Load a trace, or all traces in a folder, which are the files named *.trace,
 * one after another, in the order of their names. If @a func frees each trace,
 * there is only one in memory at a time, so that jobs may be of any size. If
 * two traces are of the same rank, a warning is printed at the end.
 *
 * Traces of a folder that cannot be read are left out with a warning, unless
 * there are no others; so is what is no file, such as a pipe.
 *
 * @param [out] left_out_p  How many were left out; may be NULL.
 *
 * @return UCS_ERR_NO_ELEM if there is no trace, or the status of one that could
 *         not be loaded if there is no other; then the reason has been printed.
 *         Else the first status of @a func that is not UCS_OK.
 */
ucs_status_t predreg_traces_each(const char *path, predreg_trace_func_t *func,
                                 void *arg, size_t *left_out_p);

/** Warn that a trace does not take part, after the reason was printed. */
void predreg_warn_left_out(const char *path);

/** Warn that two traces are of the same rank. */
void predreg_warn_same_rank(long rank, const char *first, const char *second);

/** @return the rank of the process in its job, or -1 if it has none. */
long predreg_trace_rank(const ucs_rcache_trace_t *trace);

/**
 * Compare two traces for qsort(): by rank, then by the name of the file. Those
 * without a rank (-1) come last.
 */
int predreg_trace_compare(long rank_a, const char *path_a, long rank_b,
                          const char *path_b);

END_C_DECLS

#endif
