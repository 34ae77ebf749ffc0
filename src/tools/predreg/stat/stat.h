/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_STAT_H_
#define PREDREG_STAT_STAT_H_

#include "options.h"
#include "view.h"

BEGIN_C_DECLS

/** @file stat.h
 *
 * `ucx_predreg stat`: what running processes have registered.
 * Only main() calls it, from its table of sub-commands.
 */

/**
 * Carry out the sub-command.
 *
 * @param [in] argv  Its name, for messages of getopt_long(), and its arguments.
 *
 * @return the exit status of the program.
 */
int predreg_stat(int argc, char **argv);

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
