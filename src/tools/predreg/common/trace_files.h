/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRACE_FILES_H_
#define PREDREG_TRACE_FILES_H_

#include <tools/trace/trace.h>

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
 * Use a trace after it was loaded. The function owns the trace from now on, and has to
 * free the trace at once or later.
 *
 * @param [in] input  Index of the path, of those given by the user, that has the trace.
 * @return UCS_OK to go on with the next trace; UCS_ERR_INVALID_PARAM to leave out this
 *         trace, and go on (the reason has been printed); any other status ends the
 *         loading.
 */
typedef ucs_status_t predreg_trace_func_t(ucs_rcache_trace_t *trace, unsigned input,
                                          void *arg);


/**
 * @param [in] by_content  1: what a file of a name that the recorder gives has in it, if
 *                         anything, has to begin as a trace does; 0: the name suffices.
 * @return whether a file is a trace. One of another name has to begin as a trace does.
 */
int predreg_is_trace(const char *path, int by_content);

/** List the files of a folder that are named like traces, by name, as scandir() does. */
int predreg_trace_names(const char *folder, struct dirent ***entries_p);

/**
 * Load traces one after another: each file given ("-": standard input), and in each
 * folder given the files named *.trace, in the order of their names. If @a func frees each
 * trace at once, only one trace is in memory at a time, so jobs may be of any size. If two
 * traces are of the same rank, a warning is printed at the end.
 *
 * A trace that cannot be read is left out if other traces can be. An entry of a folder
 * that is no regular file, such as a pipe, is left out, too.
 *
 * @param [in,out] left_out  Gets the traces left out. NULL: the function warns of these
 *                           traces at the end, if it has used other traces.
 *
 * @return UCS_ERR_NO_ELEM if a path is missing, or is a folder without traces;
 *         UCS_ERR_IO_ERROR if no trace can be read; UCS_ERR_INVALID_PARAM if @a func has
 *         refused all traces. The reason has been printed. If @a func returns any other
 *         error, the function returns the same error at once, and prints nothing.
 */
ucs_status_t predreg_traces_each(char *const *paths, unsigned num_paths,
                                 predreg_trace_func_t *func, void *arg,
                                 predreg_paths_t *left_out);

/** @return the rank of the process in its job, or -1 if it has none. */
long predreg_trace_rank(const ucs_rcache_trace_t *trace);

END_C_DECLS

#endif
