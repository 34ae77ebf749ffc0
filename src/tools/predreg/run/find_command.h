/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FIND_COMMAND_H_
#define PREDREG_FIND_COMMAND_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file find_command.h
 *
 * Finds out whether there is a command to run. start.c calls this.
 */

/** @return 1 if execvp() would find a file to execute under this name, which is
 *  looked for in PATH if there is no slash in it. */
int predreg_has_command(const char *name);

END_C_DECLS

#endif
