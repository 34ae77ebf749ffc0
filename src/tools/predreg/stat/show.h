/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_SHOW_H_
#define PREDREG_STAT_SHOW_H_

#include "proc.h"

#include <ucs/datastruct/string_buffer.h>

BEGIN_C_DECLS

/** @file show.h
 *
 * Writes the counters of processes as lines of text. These functions have no
 * side effects but on the line. print.c calls them.
 */

/** Append the names of the columns, without a newline. */
void predreg_stat_header(ucs_string_buffer_t *line);

/**
 * Append a process as a row of the table, without a newline.
 *
 * @param [in] before  The same process at an earlier time, since which rates
 *                     are computed. NULL: rates are those of its whole run.
 */
void predreg_stat_row(const predreg_stat_proc_t *proc,
                      const predreg_stat_proc_t *before,
                      ucs_string_buffer_t *line);

/** Append a line about all processes together, without a newline. */
void predreg_stat_title(const predreg_stat_proc_t *procs, unsigned num_procs,
                        ucs_string_buffer_t *line);

/** Append a process as a JSON object, without a newline.
 *  @param [in] time_ms  Now, ms since 1970. */
void predreg_stat_json(const predreg_stat_proc_t *proc, uint64_t time_ms,
                       ucs_string_buffer_t *line);

END_C_DECLS

#endif
