/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_OPENMPI_H_
#define PREDREG_LAUNCH_OPENMPI_H_

#include "args.h"

BEGIN_C_DECLS

/** @file openmpi.h
 *
 * Sets variables for the ranks of Open MPI's mpirun, and of PRRTE's, which
 * takes the same options: -x NAME=VALUE. launcher.c calls this.
 */

/**
 * Copy a command with all variables set for each of its programs.
 *
 * @param [in] argv  The command, up to a NULL.
 *
 * @return 0, or -1 if there is no memory.
 */
int predreg_openmpi_args(predreg_args_t *args, char *const *argv);


/** @return 1 if the launcher ignores its options that set variables, so that
 *  the variables have to be in its own environment. */
int predreg_openmpi_ignores_vars(char *const *argv);

END_C_DECLS

#endif
