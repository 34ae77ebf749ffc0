/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_PRINT_H_
#define PREDREG_STAT_PRINT_H_

#include "options.h"
#include "view.h"

BEGIN_C_DECLS

/** @file print.h
 *
 * Prints a view of processes: as a table, on a terminal that is redrawn, or as
 * JSON. stat.c calls this.
 */

/** Clear the terminal that views will be drawn on. */
void predreg_stat_print_clear(void);


/**
 * Print a view as the options say.
 *
 * @param [in] before  The view that was printed before this one: rates cover
 *                     the time since then, and texts that were printed then are
 *                     not printed again.
 */
void predreg_stat_print(const predreg_stat_opts_t *opts,
                        const predreg_view_t *view,
                        const predreg_view_t *before);

END_C_DECLS

#endif
