/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_OPTIONS_H_
#define PREDREG_RUN_OPTIONS_H_

#include <ucs/sys/compiler_def.h>

#include <getopt.h>

BEGIN_C_DECLS

/** @file options.h
 *
 * Reads the options that `run` and `record` have in common. Most of them set
 * knobs in the environment. start.c calls this; run.c and record.c describe
 * themselves with the types below.
 */

/** What getopt_long() returns for the common options. For the other options of
 *  a sub-command it returns characters. */
enum {
    PREDREG_RUN_POLICY = 256,
    PREDREG_RUN_SUMMARY,
    PREDREG_RUN_OUTPUT,
    PREDREG_RUN_SET,
    PREDREG_RUN_LIBRARY
};

/** The "+" ends the options at the command, whose own options are not read. */
#define PREDREG_RUN_SHORT_OPTIONS "+h"
#define PREDREG_RUN_LONG_OPTIONS \
    {"policy", required_argument, NULL, PREDREG_RUN_POLICY}, \
    {"summary", optional_argument, NULL, PREDREG_RUN_SUMMARY}, \
    {"output", required_argument, NULL, PREDREG_RUN_OUTPUT}, \
    {"set", required_argument, NULL, PREDREG_RUN_SET}, \
    {"library", required_argument, NULL, PREDREG_RUN_LIBRARY}, \
    {"help", no_argument, NULL, 'h'}

/** Description of the common options, for the usage. */
#define PREDREG_RUN_HELP \
    "  --policy P          predict (default), on-demand, leave-pinned\n" \
    "  --summary[=FORMAT]  print a summary a rank at exit, as text\n" \
    "                      (default) or json\n" \
    "  --output FILE       append the summary to FILE instead of\n" \
    "                      standard error\n" \
    "  --set KNOB=VALUE    set UCX_RCACHE_PRED_KNOB; may be repeated\n" \
    "  --library PATH      preload this libuct_predreg.so\n" \
    "  --help              this text\n" \
    "\n" \
    "The exit status is that of COMMAND; 2 if an argument is bad, 126\n" \
    "or 127 if COMMAND or the library cannot be used.\n"


/** The parts in which sub-commands that run a program differ. Each function but
 *  usage may be NULL. A function that returns a status other than 0 has printed
 *  the reason. */
typedef struct predreg_runner {
    const char          *name;
    const char          *short_options;
    const struct option *long_options;
    void                *arg;         /**< Argument of its functions */
    void                (*usage)(void);

    /** Called for each option that only this sub-command has. */
    void                (*option)(void *arg, int option, const char *value);

    /** Called when all arguments have been accepted. All ranks get the knobs
     *  that it sets.
     *  @return 0 or the exit status. */
    int                 (*prepare)(void *arg);

    /** Called after prepare(), whatever that returned, if the command does not
     *  run, to remove what was made for it. */
    void                (*cancel)(void *arg);

    /** Called just before the command runs, when the library and the command
     *  have been found. @return 0 or the exit status. */
    int                 (*start)(void *arg);
} predreg_runner_t;


/** Options that are not passed on in the environment. */
typedef struct predreg_run_opts {
    const char *library;  /**< Path of the library; NULL: look for it */
    const char *output;   /**< File of the summary, or NULL */
    int        is_new;    /**< Whether that file was made for this command */
    int        summary;   /**< Whether a summary is printed */
    int        no_format; /**< Index of the argument after a --summary without
                               a format; 0: there is no such option */
} predreg_run_opts_t;


/**
 * Read the options, set the knobs they stand for, and prepare the sub-command.
 * Knobs that were in the environment before are checked like the options, so
 * that a mistake is found before a job is started. If help is asked for, this
 * prints it and ends the program.
 *
 * @param [out] opts  The options.
 *
 * @return 0, and optind is the index of the command in @a argv; or the exit
 *         status, and the reason has been printed.
 */
int predreg_run_parse(int argc, char **argv, const predreg_runner_t *runner,
                      predreg_run_opts_t *opts);

/** Remove what was made for the command, which does not run. */
void predreg_run_cancel(const predreg_runner_t *runner,
                        const predreg_run_opts_t *opts);

END_C_DECLS

#endif
