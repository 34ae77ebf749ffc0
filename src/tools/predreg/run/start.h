/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_START_H_
#define PREDREG_RUN_START_H_

#include "options.h"

BEGIN_C_DECLS

/** @file start.h
 *
 * Runs a command with the library. run.c and record.c call this.
 */

/**
 * Become the command that the arguments name, with the library preloaded into
 * its ranks.
 *
 * @return the exit status if that failed, and the reason has been printed.
 *         Otherwise this does not return.
 */
int predreg_run_command(int argc, char **argv, const predreg_runner_t *runner);

END_C_DECLS

#endif
