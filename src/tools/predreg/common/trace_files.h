/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRACE_FILES_H_
#define PREDREG_TRACE_FILES_H_

#include <tools/trace/trace.h>
#include <ucs/reuse/costs.h>

#include <dirent.h>

BEGIN_C_DECLS

/** @file trace_files.h
 *
 * Loads the traces given to a sub-command: folders, in which each process of a job has
 * a file, and single files. dump, replay and report call these functions, which call
 * the reader of traces below src/tools/trace.
 */

/** End of the names of traces in a folder. */
#define PREDREG_TRACE_SUFFIX ".trace"

/** A list of files. Initialize with zeros. */
typedef struct {
    char   **list;
    size_t num;
} predreg_paths_t;


/** Append a copy of a path. */
void predreg_paths_add(predreg_paths_t *paths, const char *path);

/** Warn of each file of the list: the file is left out. */
void predreg_paths_warn(const predreg_paths_t *paths);

void predreg_paths_cleanup(predreg_paths_t *paths);


/**
 * Use a trace after it was loaded, and free the trace.
 *
 * @param [in] input  Index of the path to which the trace belongs.
 * @return UCS_OK if the next trace is to be loaded; UCS_ERR_INVALID_PARAM if the trace
 *         is to be left out, and the reason has been printed.
 */
typedef ucs_status_t predreg_trace_func_t(ucs_rcache_trace_t *trace, unsigned input,
                                          void *arg);


/** List the files of a folder that are named like traces, by name, as scandir() does. */
int predreg_trace_names(const char *folder, struct dirent ***entries_p);

/**
 * Load traces one after another: each file given, and in each folder given the files
 * named *.trace, in the order of their names. If @a func frees each trace, only one
 * trace is in memory at a time, so jobs may be of any size. If two traces are of the
 * same rank, a warning is printed at the end.
 *
 * An unreadable trace is left out if there are others. An entry of a folder that is no
 * regular file, such as a pipe, is left out, too.
 *
 * @param [in,out] left_out  Gets the traces left out; NULL: warn of them at the end,
 *                           if other traces were used.
 *
 * @return UCS_ERR_NO_ELEM if a path is missing, or is a folder without traces;
 *         UCS_ERR_IO_ERROR if no trace can be read; UCS_ERR_INVALID_PARAM if no trace
 *         is left; any other status but UCS_OK of @a func, at once. The reason has been
 *         printed, but for that of @a func.
 */
ucs_status_t predreg_traces_each(char *const *paths, unsigned num_paths,
                                 predreg_trace_func_t *func, void *arg,
                                 predreg_paths_t *left_out);

/** @return the rank of the process in its job, or -1 if it has none. */
long predreg_trace_rank(const ucs_rcache_trace_t *trace);

/**
 * Get the costs of small sends on the machine of a trace, as the recorded process has
 * measured them.
 *
 * @param [out] costs  Undefined unless this returns 1.
 * @return whether the trace has costs, and they are not damaged.
 */
int predreg_trace_costs(const ucs_rcache_trace_t *trace, ucs_reuse_costs_t *costs);

END_C_DECLS

#endif
