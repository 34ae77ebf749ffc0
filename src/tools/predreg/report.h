/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMAND_REPORT_H_
#define PREDREG_COMMAND_REPORT_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file report.h
 *
 * `ucx_predreg report`: a comparison of policies on an HTML page.
 * Only main() calls it, from its table of sub-commands.
 */

/**
 * Carry out the sub-command.
 *
 * @param [in] argv  Its name, for messages of getopt_long(), and its arguments.
 *
 * @return the exit status of the program.
 */
int predreg_report(int argc, char **argv);

END_C_DECLS

#endif
