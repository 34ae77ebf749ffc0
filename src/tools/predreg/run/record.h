/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_RECORD_H_
#define PREDREG_RUN_RECORD_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file record.h
 *
 * `ucx_predreg record`: a program with predictive memory registration, which
 * writes traces. Only main() calls it, from its table of sub-commands.
 */

/**
 * Carry out the sub-command.
 *
 * @param [in] argv  Its name, for messages of getopt_long(), and its arguments.
 *
 * @return the exit status of the program. If all went well, the
 *         program has become the command and this does not return.
 */
int predreg_record(int argc, char **argv);

END_C_DECLS

#endif
