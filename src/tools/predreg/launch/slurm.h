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
 * Variables for the ranks of Slurm's srun, which get the environment of srun
 * unless --export or SLURM_EXPORT_ENV lists what they are to get. Called by
 * launcher.c, and by the part that sets the environment.
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
 * What Slurm is to export to the ranks, on its command line or in
 * SLURM_EXPORT_ENV, so that they get our variables too. Without either they get
 * the whole environment.
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
