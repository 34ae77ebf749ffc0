/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_RUN_H_
#define PREDREG_RUN_RUN_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file run.h
 *
 * `ucx_predreg run`, a program with predictive memory registration, and `ucx_predreg
 * record`, the same with traces. Only main() calls these, from its table of
 * sub-commands.
 */

/**
 * Carry out the sub-command.
 *
 * @param [in] argv  Its name, for messages of getopt_long(), and its arguments.
 *
 * @return the exit status of the program. If all went well, the
 *         program has become the command and this does not return.
 */
int predreg_run(int argc, char **argv);

int predreg_record(int argc, char **argv);

END_C_DECLS

#endif
