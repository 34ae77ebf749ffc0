/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_HYDRA_H_
#define PREDREG_LAUNCH_HYDRA_H_

#include "args.h"

BEGIN_C_DECLS

/** @file hydra.h
 *
 * Sets variables for the ranks of MPICH's mpiexec: -genv NAME VALUE. launcher.c
 * calls this.
 */

/**
 * Copy a command with all variables set.
 *
 * @param [in] argv  The command, up to a NULL.
 *
 * @return 0, or -1 if there is no memory.
 */
int predreg_hydra_args(predreg_args_t *args, char *const *argv);

END_C_DECLS

#endif
