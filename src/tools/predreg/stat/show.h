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
 * The counters of processes as lines of text. Pure. Called by print.c.
 */

/** Names of the columns; no newline. */
void predreg_stat_header(ucs_string_buffer_t *line);

/**
 * A process as a line of a table; no newline.
 *
 * @param [in] before  The process some time ago: rates are of the time since.
 *                     NULL: of its whole run.
 */
void predreg_stat_row(const predreg_stat_proc_t *proc,
                      const predreg_stat_proc_t *before,
                      ucs_string_buffer_t *line);

/** All processes together; no newline. */
void predreg_stat_title(const predreg_stat_proc_t *procs, unsigned num_procs,
                        ucs_string_buffer_t *line);

/** A process as a JSON object; no newline.
 *  @param [in] time_ms  Now, ms since 1970. */
void predreg_stat_json(const predreg_stat_proc_t *proc, uint64_t time_ms,
                       ucs_string_buffer_t *line);

END_C_DECLS

#endif
