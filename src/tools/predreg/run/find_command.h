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
 * Finds the command to run. start.c and the sub-command info call this.
 */

/** @return the file that execvp() would execute under this name, which is looked
 *  for in PATH if there is no slash in it; to be freed. NULL: there is none. */
char *predreg_find_command(const char *name);

/** @return 1 if predreg_find_command() finds one. */
int predreg_has_command(const char *name);

END_C_DECLS

#endif
