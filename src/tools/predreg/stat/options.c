/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"
#include "view.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/number.h>
#include <tools/predreg/common/options.h>

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#define INTERVAL_MIN 0.1
#define INTERVAL_MAX 86400.


static int read_interval(const predreg_option_t *option, const char *arg, void *opts)
{
    double *interval_p = &((predreg_stat_opts_t*)opts)->interval;
    char *end;

    ((predreg_stat_opts_t*)opts)->repeats = 1;
    *interval_p = strtod(arg, &end);
    if ((end == arg) || (*end != '\0') ||
        !(*interval_p >= INTERVAL_MIN) ||
        !(*interval_p <= INTERVAL_MAX)) {
        predreg_error("--interval: '%s'; accepted: seconds from 0.1 to 86400",
                      arg);
        return -1;
    }

    return 0;
}

static int has_pid(const predreg_stat_opts_t *opts, pid_t pid)
{
    unsigned i;

    for (i = 0; i < opts->num_pids; ++i) {
        if (opts->pids[i] == pid) {
            return 1;
        }
    }

    return 0;
}

static int parse_pids(char **args, predreg_stat_opts_t *opts)
{
    unsigned num = 0;
    pid_t pid;

    while (args[num] != NULL) {
        ++num;
    }

    opts->pids = predreg_check_memory(calloc(num + 1, sizeof(*opts->pids)));
    for (; *args != NULL; ++args) {
        pid = predreg_number(*args, PREDREG_PID_MAX);
        if (pid == 0) {
            predreg_error("'%s' is no process; accepted: process ids, 1 to %ld",
                          *args, PREDREG_PID_MAX);
            return -1;
        }

        if (!has_pid(opts, pid)) {
            opts->pids[opts->num_pids++] = pid;
        }
    }

    return 0;
}

static int read_count(const predreg_option_t *option, const char *arg, void *opts)
{
    unsigned long *count_p = &((predreg_stat_opts_t*)opts)->count;

    *count_p = predreg_number(arg, LONG_MAX);
    if (*count_p == 0) {
        predreg_error("--count: '%s'; accepted: whole numbers from 1", arg);
        return -1;
    }

    return 0;
}

static const predreg_option_t list[] = {
    {"json", 0, NULL, "one JSON object a process on a line; on a terminal, too, once if "
     "not told otherwise", predreg_option_flag, offsetof(predreg_stat_opts_t, json)},
    {"interval", 0, "S", "repeat every S seconds, 0.1 to 86400", read_interval, 0},
    {"count", 0, "N", "end after N times", read_count, 0},
    {NULL}
};

static const predreg_options_t options = {
    .command = "stat",
    .usage   = "[OPTIONS] [PID...]",
    .intro   = "Show what running processes have registered; without PIDs, all of\n"
               "this user on this node. On a terminal the table is redrawn every\n"
               "second until interrupted; elsewhere it is printed once, if not\n"
               "told otherwise.\n",
    .end     = "The exit status is 1 if there is no such process, or one of those\n"
               "given cannot be shown, and 2 if an argument is bad.\n",
    .list    = list
};

int predreg_stat_parse(int argc, char **argv, int is_screen,
                       predreg_stat_opts_t *opts)
{
    int status;

    *opts  = (predreg_stat_opts_t){.interval = 1};
    status = predreg_options_read(&options, argc, argv, opts);
    if (status != 0) {
        return status;
    }

    opts->screen = !opts->json && is_screen;
    if ((opts->count == 0) && !opts->repeats && !opts->screen) {
        opts->count = 1;
    }

    return (parse_pids(argv + optind, opts) == 0) ? 0 : PREDREG_EXIT_USAGE;
}

void predreg_stat_opts_cleanup(predreg_stat_opts_t *opts)
{
    free(opts->pids);
}
