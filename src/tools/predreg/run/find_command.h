/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FIND_COMMAND_H_
#define PREDREG_FIND_COMMAND_H_

/** @file find_command.h */

/** Whether execvp() would find a file to execute under this name, which is
 *  looked for in PATH if there is no slash in it. */
int predreg_has_command(const char *name);

#endif
