/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_VARLIST_H_
#define PREDREG_LAUNCH_VARLIST_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file varlist.h
 *
 * Lists of variables that launchers take as one argument, "NAME" or "NAME=VALUE"
 * with a character between them. slurm.c and openmpi.c use this.
 */

/**
 * Add our variables to a list. Those that it has keep the user's value; to
 * LD_PRELOAD our library is added.
 *
 * @param [in] value        The list.
 * @param [in] vars         Our variables, "NAME=VALUE" up to a NULL.
 * @param [in] prefix       What the result begins with, in front of the list.
 * @param [in] separator    The character between two of the list.
 * @param [in] with_values  Whether our values are added with the names; without
 *                          them, they have to be in the launcher's environment.
 *                          The value of LD_PRELOAD is added in either case if the
 *                          list has one.
 * @return the list, to be freed; NULL if there is no memory.
 */
char *predreg_varlist_add(const char *value, char *const *vars,
                          const char *prefix, char separator, int with_values);

END_C_DECLS

#endif
