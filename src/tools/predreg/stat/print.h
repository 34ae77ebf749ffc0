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
 * Printing a view of processes: as a table, on a terminal that is redrawn, or
 * as JSON. Called by stat.c.
 */

/** Make room for what is drawn on a terminal. */
void predreg_stat_print_clear(void);


/**
 * Print a view as the options say.
 *
 * @param [in] before  The one printed before it: rates are of the time since
 *                     then, and what was said then is not said again.
 */
void predreg_stat_print(const predreg_stat_opts_t *opts,
                        const predreg_view_t *view,
                        const predreg_view_t *before);

END_C_DECLS

#endif
