/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCHER_H_
#define PREDREG_LAUNCHER_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file launcher.h
 *
 * How variables reach the ranks of a parallel program. Every launcher has its
 * own way; all functions here are pure: they start nothing and read no
 * environment. Strings and vectors they return are the caller's to free, and
 * NULL means that there was no memory.
 */

typedef enum {
    PREDREG_LAUNCHER_NONE,    /**< A program, or a launcher we do not know */
    PREDREG_LAUNCHER_ASK,     /**< Known by its version only */
    PREDREG_LAUNCHER_OPENMPI, /**< mpirun of Open MPI or PRRTE: -x NAME=VALUE */
    PREDREG_LAUNCHER_HYDRA,   /**< mpiexec of MPICH: -genv NAME VALUE */
    PREDREG_LAUNCHER_SRUN     /**< Slurm: the environment, and --export */
} predreg_launcher_t;


/** What can be told from the name of a command, with or without a folder. */
predreg_launcher_t predreg_launcher_by_name(const char *command);


/** What can be told from what a command prints when asked for its version. */
predreg_launcher_t predreg_launcher_by_version(const char *text);


/**
 * @return 1 if LD_PRELOAD has to be in the environment of the command for the
 *         ranks to get it, 0 if its arguments say it, so that the launcher
 *         itself stays as it is.
 */
int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv);


/**
 * The arguments a command is to be started with.
 *
 * What the user has said on the command line stays in force: a variable set
 * there is not set again, and libraries preloaded there are preloaded after
 * ours.
 *
 * @param [in] kind  Not @ref PREDREG_LAUNCHER_ASK.
 * @param [in] argv  The command, up to a NULL.
 * @param [in] vars  "NAME=VALUE" up to a NULL; one of them is LD_PRELOAD.
 *
 * @return a vector up to a NULL. Its strings may be those of @a argv and @a
 *         vars.
 */
char **predreg_launcher_args(predreg_launcher_t kind, char *const *argv,
                             char *const *vars);

END_C_DECLS

#endif
