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
 * The options that `run` and `record` have in common. Most of them set knobs in
 * the environment. Called by start.c; run.c and record.c describe themselves
 * with what is here.
 */

/** What getopt_long() returns for the common options. Those that a sub-command
 *  has besides are characters. */
enum {
    PREDREG_RUN_POLICY = 256,
    PREDREG_RUN_SUMMARY,
    PREDREG_RUN_OUTPUT,
    PREDREG_RUN_SET,
    PREDREG_RUN_LIBRARY
};

/** Options end at the command, whose own options are not ours. */
#define PREDREG_RUN_SHORT_OPTIONS "+h"
#define PREDREG_RUN_LONG_OPTIONS \
    {"policy", required_argument, NULL, PREDREG_RUN_POLICY}, \
    {"summary", optional_argument, NULL, PREDREG_RUN_SUMMARY}, \
    {"output", required_argument, NULL, PREDREG_RUN_OUTPUT}, \
    {"set", required_argument, NULL, PREDREG_RUN_SET}, \
    {"library", required_argument, NULL, PREDREG_RUN_LIBRARY}, \
    {"help", no_argument, NULL, 'h'}

/** Their description, for the usage. */
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


/** A sub-command that runs a program: what it has of its own. Each function may
 *  be NULL but for usage, and those that return a status have said why it is
 *  not 0. */
typedef struct predreg_runner {
    const char          *name;
    const char          *short_options;
    const struct option *long_options;
    void                *arg;         /**< For its functions */
    void                (*usage)(void);

    /** One of its own options was given. */
    void                (*option)(void *arg, int option, const char *value);

    /** The arguments are good; knobs that are set here are known to all ranks.
     *  @return 0 or the exit status. */
    int                 (*prepare)(void *arg);

    /** The library and the command are there; this is the last thing before the
     *  command runs. @return 0 or the exit status. */
    int                 (*start)(void *arg);
} predreg_runner_t;


/** What was asked for, besides what is in the environment. */
typedef struct predreg_run_opts {
    const char *library; /**< NULL: look for it */
    const char *output;  /**< File of the summary, or NULL */
    int        summary;  /**< A summary is printed */
} predreg_run_opts_t;


/**
 * Read the options, set the knobs they stand for, and prepare the sub-command.
 * What was in the environment before is checked like the options, so that a
 * mistake is found before a job is started. Ends the program if help is asked
 * for.
 *
 * @param [out] opts  What was asked for.
 *
 * @return 0, and optind is the index of the command in @a argv; or the exit
 *         status, and what is wrong was said.
 */
int predreg_run_parse(int argc, char **argv, const predreg_runner_t *runner,
                      predreg_run_opts_t *opts);

END_C_DECLS

#endif
