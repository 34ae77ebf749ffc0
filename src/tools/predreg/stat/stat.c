/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"
#include "options.h"
#include "print.h"
#include "view.h"

#include <tools/predreg/common/message.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXIT_NO_PROCESS 1


/* @return whether the output is a terminal that can be redrawn */
static int is_screen(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && (term != NULL) && strcmp(term, "dumb");
}

static void sleep_for(double seconds)
{
    struct timespec wait;

    wait.tv_sec  = seconds;
    wait.tv_nsec = (seconds - wait.tv_sec) * 1e9;
    nanosleep(&wait, NULL);
}

/* Look at the processes and print them, as often as the user asked for. @return
 * the exit status */
static int look_repeatedly(const predreg_stat_opts_t *opts)
{
    predreg_view_t before = {0};
    int status            = 0;
    predreg_view_t view;
    unsigned long i;

    for (i = 0; ((opts->count == 0) || (i < opts->count)) && !ferror(stdout);
         ++i) {
        if (i > 0) {
            sleep_for(opts->interval);
        }

        /* A process that is not there at the first look was never there, which
         * is an error. Later it has ended, which is none. */
        if (!predreg_view_take(&view, &predreg_system, opts->pids,
                               opts->num_pids) && (i == 0)) {
            status = EXIT_NO_PROCESS;
        }

        predreg_stat_print(opts, &view, &before);
        predreg_view_cleanup(&before);
        before = view;
        if ((opts->num_pids > 0) && (view.num_procs == 0)) {
            break; /* All processes have ended, and will not come back */
        }
    }

    predreg_view_cleanup(&before);
    return status;
}

int predreg_stat(int argc, char **argv)
{
    predreg_stat_opts_t opts;
    int status;

    status = predreg_stat_parse(argc, argv, is_screen(), &opts);
    if (status != 0) {
        goto out;
    }

    if (opts.screen) {
        predreg_stat_print_clear();
    }

    status = look_repeatedly(&opts);
    if (ferror(stdout)) {
        predreg_error("the output cannot be written: %s", strerror(errno));
        status = EXIT_NO_PROCESS;
    }

out:
    predreg_stat_opts_cleanup(&opts);
    return status;
}
