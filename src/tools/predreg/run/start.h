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
 * Running a command with the library. Called by run.c and record.c.
 */

/**
 * Become the command that the arguments name, with the library preloaded into
 * its ranks.
 *
 * @return if that failed, the exit status; the reason was said.
 */
int predreg_run_command(int argc, char **argv, const predreg_runner_t *runner);

END_C_DECLS

#endif
