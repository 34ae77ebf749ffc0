/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_SLURM_H_
#define PREDREG_LAUNCH_SLURM_H_

#include "args.h"

BEGIN_C_DECLS

/** @file slurm.h
 *
 * Sets variables for the ranks of Slurm's srun. The ranks get the environment
 * of srun, unless --export or SLURM_EXPORT_ENV lists the variables that they
 * get. launcher.c calls this, and so does the code that sets the environment.
 */

/**
 * Copy a command with all variables added to the lists of its --export options.
 *
 * @param [in] argv  The command, up to a NULL.
 *
 * @return 0, or -1 if there is no memory.
 */
int predreg_slurm_args(predreg_args_t *args, char *const *argv);


/**
 * Make the list of variables that Slurm exports to the ranks, for --export or
 * SLURM_EXPORT_ENV, so that they get our variables, too. If neither is given,
 * the ranks get the whole environment and need no list.
 *
 * @param [in] value   Present list.
 * @param [in] vars    "NAME=VALUE" up to a NULL, which have to be in the
 *                     environment as well; one of them is LD_PRELOAD.
 * @param [in] prefix  Put before the new list.
 *
 * @return the new list, to be freed, or NULL if there is no memory.
 */
char *predreg_slurm_export(const char *value, char *const *vars,
                           const char *prefix);

END_C_DECLS

#endif
