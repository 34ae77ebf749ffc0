/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"
#include "start.h"

#include <stdio.h>


static void usage(void)
{
    printf("usage: ucx_predreg run [OPTIONS] [--] COMMAND [ARGS...]\n"
           "\n"
           "Run COMMAND (a program, or mpirun, mpiexec or srun with its\n"
           "arguments) with predictive memory registration in all ranks.\n"
           "\n"
           PREDREG_RUN_HELP);
}

int predreg_run(int argc, char **argv)
{
    static const struct option options[] = {
        PREDREG_RUN_LONG_OPTIONS,
        {NULL, 0, NULL, 0}
    };
    static const predreg_runner_t runner = {
        .name          = "run",
        .short_options = PREDREG_RUN_SHORT_OPTIONS,
        .long_options  = options,
        .usage         = usage
    };

    return predreg_run_command(argc, argv, &runner);
}
