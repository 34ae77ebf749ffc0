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
 * The traces that a sub-command is given: those of a job, which are one file a
 * process in a folder, or a single file. Called by every sub-command that reads
 * traces; calls the reader of traces below src/trace.
 */

/** Ending of the names of traces in a folder. */
#define PREDREG_TRACE_SUFFIX ".trace"


typedef struct predreg_traces {
    ucs_rcache_trace_t **traces; /**< By rank, those without one last; then by
                                      name */
    size_t             num_traces;
} predreg_traces_t;


/**
 * Load a trace, or all that are in a folder: files named *.trace. If two of
 * them are of the same rank, this is warned of.
 *
 * @return UCS_ERR_NO_ELEM if there is none, or the status of the first one that
 *         could not be loaded. What is wrong was said.
 */
ucs_status_t predreg_traces_load(const char *path, predreg_traces_t *traces);

void predreg_traces_cleanup(predreg_traces_t *traces);

/** @return the rank of the process in its job, or -1 if it has none. */
long predreg_trace_rank(const ucs_rcache_trace_t *trace);

END_C_DECLS

#endif
