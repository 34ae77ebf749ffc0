/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_INFO_H_
#define PREDREG_INFO_INFO_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file info.h
 *
 * The sub-command that says what prediction would do. main.c calls this. */

/**
 * Find out what would happen, and print it.
 *
 * @param [in] argv  The name for messages, then options and a command.
 * @return the exit status: 0 if memory would be managed, 1 if not.
 */
int predreg_info(int argc, char **argv);

/** As predreg_info(), if this program was in another folder, in which
 *  ucx_predreg is. */
int predreg_info_from(const char *folder, int argc, char **argv);

END_C_DECLS

#endif
