/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "record.h"
#include "environment.h"
#include "start.h"
#include "trace_folder.h"

#include <tools/predreg/common/message.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_FOLDER "predreg.traces"


typedef struct {
    const char *folder;
    int        force;
    int        is_new; /* Whether the folder was made for this job */
} record_opts_t;


static void usage(void)
{
    printf("usage: ucx_predreg record [OPTIONS] [--] COMMAND [ARGS...]\n"
           "\n"
           "Run COMMAND as ucx_predreg run does, and write a trace of each "
           "rank\nto a folder: what it communicated from which buffers, and "
           "what was\nregistered for it.\n"
           "\n"
           "  -o DIR              the folder (" DEFAULT_FOLDER "); it is "
           "made if need be,\n"
           "                      and must not have traces in it\n"
           "  --force             remove the traces that are in it\n"
           PREDREG_RUN_HELP);
}

static void add_option(void *arg, int option, const char *value)
{
    record_opts_t *opts = arg;

    if (option == 'o') {
        opts->folder = value;
    } else {
        opts->force = 1;
    }
}

/* Remove the folder, if it was made for a job that does not start */
static void cancel(void *arg)
{
    const record_opts_t *opts = arg;

    if (opts->is_new) {
        rmdir(opts->folder); /* Others may have put something in it */
    }
}

static int prepare(void *arg)
{
    record_opts_t *opts = arg;
    char *absolute;
    int status;

    status = predreg_trace_folder_prepare(opts->folder, opts->force,
                                          &opts->is_new);
    if (status != 0) {
        return status;
    }

    absolute = predreg_env_absolute_path("-o", opts->folder);
    if (absolute == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    predreg_env_set(PREDREG_KNOB_TRACE, absolute);
    free(absolute);
    return 0;
}

/* Remove traces of an earlier job. This is called when this job is sure to
 * start */
static int start(void *arg)
{
    const record_opts_t *opts = arg;

    return opts->force ? predreg_trace_folder_clear(opts->folder) : 0;
}

int predreg_record(int argc, char **argv)
{
    static const struct option options[] = {
        PREDREG_RUN_LONG_OPTIONS,
        {"force", no_argument, NULL, 'f'},
        {NULL, 0, NULL, 0}
    };
    record_opts_t opts            = {DEFAULT_FOLDER, 0, 0};
    const predreg_runner_t runner = {
        .name          = "record",
        .short_options = PREDREG_RUN_SHORT_OPTIONS "o:",
        .long_options  = options,
        .arg           = &opts,
        .usage         = usage,
        .option        = add_option,
        .prepare       = prepare,
        .cancel        = cancel,
        .start         = start
    };

    return predreg_run_command(argc, argv, &runner);
}
