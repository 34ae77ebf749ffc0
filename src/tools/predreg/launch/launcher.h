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
 * Passes variables on to the ranks of a parallel program, which every launcher
 * does in its own way. All functions here but predreg_launcher_ask() are pure: they start
 * nothing, and read of the environment the list of Open MPI alone. The caller frees the
 * strings and vectors that they return, or leaves them to the end of the program.
 */

typedef enum {
    PREDREG_LAUNCHER_NONE,    /**< A program, or an unknown launcher */
    PREDREG_LAUNCHER_ASK,     /**< Only its version tells what it is */
    PREDREG_LAUNCHER_OPENMPI, /**< mpirun of Open MPI or PRRTE: -x NAME=VALUE */
    PREDREG_LAUNCHER_HYDRA,   /**< mpiexec of MPICH: -genv NAME VALUE */
    PREDREG_LAUNCHER_SRUN     /**< Slurm: the environment, and --export */
} predreg_launcher_t;

/** How long a launcher may take to tell its version, ms. One that takes longer
 *  is started like any program. */
#define PREDREG_VERSION_TIMEOUT 10000


/** @return the kind of launcher that the name of a command tells, with or
 *  without a folder. */
predreg_launcher_t predreg_launcher_by_name(const char *command);

/** @return the kind of launcher that the output of --version tells. */
predreg_launcher_t predreg_launcher_by_version(const char *text);

/**
 * Run a command with --version, and recognise it by its output: several launchers are
 * called mpiexec. If it takes longer than the timeout, in ms, it is ended, and a message
 * is printed.
 *
 * @return the launcher, or PREDREG_LAUNCHER_NONE if the output does not tell.
 */
predreg_launcher_t predreg_launcher_ask(const char *command, int timeout);

/**
 * @return 1 if LD_PRELOAD has to be in the environment of the command for the
 *         ranks to get it; 0 if the arguments of the command set it for the
 *         ranks, so that the library is not preloaded into the launcher itself.
 */
int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv);

/**
 * Make the arguments that a command is to be started with.
 *
 * The user's command line stays in force: a variable that it sets is not set
 * again, and libraries that it preloads are preloaded after ours.
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

/**
 * Make the list of variables that Slurm exports to the ranks, for --export or
 * SLURM_EXPORT_ENV, so that they get our variables, too. If neither is given,
 * the ranks get the whole environment and need no list.
 *
 * @param [in] value   Present list.
 * @param [in] vars    As above; they have to be in the environment as well.
 */
char *predreg_slurm_export(const char *value, char *const *vars);

END_C_DECLS

#endif
