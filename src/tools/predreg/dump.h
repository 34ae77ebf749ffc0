/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMAND_DUMP_H_
#define PREDREG_COMMAND_DUMP_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file dump.h
 *
 * `ucx_predreg dump`: traces as text.
 * Only main() calls it, from its table of sub-commands.
 */

/**
 * Carry out the sub-command.
 *
 * @param [in] argv  Its name, for messages of getopt_long(), and its arguments.
 *
 * @return the exit status of the program.
 */
int predreg_dump(int argc, char **argv);

END_C_DECLS

#endif
