/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_START_H_
#define PREDREG_RUN_START_H_

#include <getopt.h>

/** @file start.h
 *
 * What the subcommands share that run a program with the library.
 */

#define PREDREG_KNOB_PREFIX "UCX_RCACHE_PRED_"
#define PREDREG_KNOB_TRACE  PREDREG_KNOB_PREFIX "TRACE"


/* Options that all of them have */
enum {
    PREDREG_RUN_POLICY = 256,
    PREDREG_RUN_SUMMARY,
    PREDREG_RUN_OUTPUT,
    PREDREG_RUN_SET,
    PREDREG_RUN_LIBRARY
};

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


/** A subcommand: what it has besides. */
typedef struct predreg_runner {
    const char          *name;
    const char          *short_options;
    const struct option *long_options;
    void                (*usage)(void);
    /** One of its own options was given. NULL: it has none. */
    void                (*option)(int option, const char *value);
    /** The arguments are good; what is set here is known to all ranks. @return 0
     *  or the exit status, having said why. NULL: nothing. */
    int                 (*prepare)(void);
    /** The library and the command are there: this is the last thing before it
     *  runs. @return as prepare. NULL: nothing. */
    int                 (*start)(void);
} predreg_runner_t;

/** Become the command that the arguments name. @return if that failed, the exit
 *  status. */
int predreg_run_command(int argc, char **argv, const predreg_runner_t *runner);

/** Set a variable of the environment. */
void predreg_set(const char *name, const char *value);

/**
 * A path as ranks that run in another folder find it.
 *
 * @param [in] what  Option it was given with, for messages.
 * @return a string to be freed, or NULL, having said why.
 */
char *predreg_absolute_path(const char *what, const char *path);

#endif
