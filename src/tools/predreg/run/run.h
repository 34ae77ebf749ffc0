/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_H_
#define PREDREG_RUN_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file run.h
 *
 * The sub-commands `run` and `record` (run.c), their options (options.c), and two parts
 * shared with stat and info: the library, commands, and values of LD_PRELOAD (find.c), and
 * the ways of launchers to pass variables on to ranks (launcher.c).
 */

/** Name of the environment variable. */
#define PREDREG_PRELOAD "LD_PRELOAD"

/** Base name of the library to be preloaded. */
#define PREDREG_LIBRARY "libuct_predreg.so"


/** @return the folder of this program, to be freed. */
char *predreg_executable_folder(void);

/**
 * Find another folder of the installation, also if the whole installation was moved.
 *
 * @param [in] folder  Folder of this program.
 * @param [in] other   Configured path of the other folder.
 *
 * @return the path of the other folder, to be freed.
 */
char *predreg_relative_folder(const char *folder, const char *other);

/**
 * Find the library to preload.
 *
 * @param [in]  folder    Folder of this program.
 * @param [in]  wanted    Path given by the user. NULL: look for the library in three
 *                        places: in the build tree, if @a folder is part of one; then in
 *                        the installation of @a folder; then in the configured folder of
 *                        libraries.
 * @param [out] status_p  If the library is not found, the exit status; the reason has
 *                        been printed.
 *
 * @return an absolute path to be freed, or NULL.
 */
char *predreg_find_library(const char *folder, const char *wanted,
                           int *status_p);

/** @return the file that execvp() would execute under this name, to be freed: a name
 *  without a slash is looked for in PATH. NULL: there is none. */
char *predreg_find_command(const char *name);


/**
 * Make a value of LD_PRELOAD: first the library, then the present value. Other files in
 * the present value that have the name of the library are left out. Libraries of
 * sanitizers stay in front of the library: such a library ends a program in which it is
 * not the first.
 *
 * @param [in] present  Present value; may be NULL.
 * @return a string to be freed.
 */
char *predreg_preload_join(const char *library, const char *present);

/** @return whether a value of LD_PRELOAD names our library, in any folder. */
int predreg_preload_has_library(const char *present);

/**
 * Put our library in front of the value of LD_PRELOAD that a user gave to a launcher.
 *
 * @param [in] our_value   Our value, which does not have the user's: libraries of
 *                         sanitizers, then our library, then libraries of the
 *                         environment. The user's value replaces those of the
 *                         environment.
 * @return a string to be freed.
 */
char *predreg_preload_merge(const char *our_value, const char *user_value);


typedef enum {
    PREDREG_LAUNCHER_NONE,    /**< A program, or an unknown launcher */
    PREDREG_LAUNCHER_ASK,     /**< Several launchers have this name: the output of
                                   --version tells which */
    PREDREG_LAUNCHER_OPENMPI, /**< mpirun of Open MPI or PRRTE: -x NAME=VALUE */
    PREDREG_LAUNCHER_HYDRA,   /**< mpiexec of MPICH: -genv NAME VALUE */
    PREDREG_LAUNCHER_SRUN     /**< Slurm: the environment, and --export */
} predreg_launcher_t;

/** Time limit for a launcher to print its version, ms. A launcher that takes longer is
 *  started like a program that is no launcher. */
#define PREDREG_VERSION_TIMEOUT 10000

/** The variable of Slurm that is like --export. */
#define PREDREG_SLURM_EXPORT "SLURM_EXPORT_ENV"


/** @return the kind of launcher by the name of a command, with or without a folder. */
predreg_launcher_t predreg_launcher_by_name(const char *command);

/** @return the kind of launcher by its output under --version. */
predreg_launcher_t predreg_launcher_by_version(const char *text);

/**
 * Run a command with --version, and recognise the launcher by its output: several
 * launchers are called mpiexec. After the timeout, in ms, end the command and print a
 * message.
 *
 * @return the launcher, or PREDREG_LAUNCHER_NONE if the output is of none.
 */
predreg_launcher_t predreg_launcher_ask(const char *command, int timeout);

/**
 * @return 1 if LD_PRELOAD has to be in the environment of the launcher, since the ranks
 *         get it from there; 0 if the arguments of the launcher set it for the ranks
 *         only, and the library must not be preloaded into the launcher itself.
 */
int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv);

/**
 * Make the arguments of a command that pass variables on to the ranks.
 *
 * The user's command line stays in force: a variable set there is not set again, and
 * libraries preloaded there are preloaded after ours.
 *
 * @param [in] kind  Not @ref PREDREG_LAUNCHER_ASK.
 * @param [in] argv  The command, up to a NULL.
 * @param [in] vars  "NAME=VALUE" up to a NULL; the first one is LD_PRELOAD.
 *
 * @return a vector up to a NULL, which may contain strings of @a argv and @a vars. The
 *         caller frees the vector, or leaves it to the end of the program.
 */
char **predreg_launcher_args(predreg_launcher_t kind, char *const *argv,
                             char *const *vars);

/**
 * Add our variables to a list of variables for --export or SLURM_EXPORT_ENV. A caller
 * without such a list adds nothing, as the ranks then get the whole environment.
 *
 * @param [in] value   The user's list.
 * @param [in] vars    As for predreg_launcher_args(); each variable has to be in the
 *                     environment as well.
 * @return the list, to be freed.
 */
char *predreg_slurm_export(const char *value, char *const *vars);


/** The options that do not become variables of the environment. */
typedef struct {
    const char *library;  /**< Path of the library; NULL: the program looks for it */
    const char *summary_file; /**< NULL: there is none */
    int        is_new;    /**< Whether the file of the summary was made for this command */
    int        summary;   /**< Whether a summary is printed */
    int        no_format; /**< Index of the argument after a --summary without
                               a format; 0: there is no such option */
    const char *folder;   /**< Folder of traces; NULL: nothing is recorded */
    int        is_new_folder; /**< Whether the folder was made for this command */
    int        force;     /**< Whether to remove the traces in the folder */
} predreg_run_opts_t;

/**
 * Read the options, set their knobs in the environment, and make the file of the summary
 * and the folder of traces. The knobs that were in the environment before are checked
 * like the options, so a mistake is found before a job starts. If help is asked for,
 * print it and end the program.
 *
 * @param [in]  records  1: the sub-command is `record`; 0: it is `run`.
 *
 * @return 0, and optind is the index of the command in @a argv; or the exit status: the
 *         reason has been printed, and a file or folder that was made has been removed.
 */
int predreg_run_parse(int argc, char **argv, int records, predreg_run_opts_t *opts);

/** Remove the new file and folder of a command that does not run. */
void predreg_run_cancel(const predreg_run_opts_t *opts);

/**
 * Make a folder for traces if it does not exist. Check that files can be written to it,
 * and that it contains no traces: they would be taken for ranks of this job.
 *
 * @param [in]  force     Whether the folder may contain traces. If another file has a
 *                        name like that of a trace, the folder is refused in any case.
 * @param [out] is_new_p  Whether this function has made the folder.
 *
 * @return 0 or the exit status; the reason has been printed.
 */
int predreg_trace_folder_prepare(const char *folder, int force, int *is_new_p);

/** Remove the traces in a prepared folder.
 *  @return 0 or the exit status; the reason has been printed. */
int predreg_trace_folder_clear(const char *folder);


/** Remove all knobs from the environment, for a command without the library: UCX would
 *  warn of these variables as unused. */
void predreg_env_unset_knobs(void);

/**
 * List the variables for the environment of the ranks.
 *
 * @param [in] library  Path of the library, to be the first in LD_PRELOAD.
 *
 * @return a vector of "NAME=VALUE" up to a NULL: LD_PRELOAD first, then every
 *         knob in the environment. The caller may free it and its strings, or leave
 *         them to the end of the program.
 */
char **predreg_env_vars(const char *library);

/**
 * Set a variable to a path, made absolute for ranks in other folders.
 *
 * @param [in] what  Option with the path, for messages.
 * @return 0 or the exit status; the reason has been printed.
 */
int predreg_env_set_path(const char *what, const char *name, const char *path);

END_C_DECLS

#endif
