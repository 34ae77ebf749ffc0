/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"
#include "view.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/number.h>

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MIN 0.1
#define INTERVAL_MAX 86400.


static void usage(void)
{
    printf("usage: ucx_predreg stat [OPTIONS] [PID...]\n"
           "\n"
           "Show what running processes have registered; without PIDs, all of\n"
           "this user on this node. On a terminal the table is redrawn every\n"
           "second until interrupted; elsewhere it is printed once, if not\n"
           "told otherwise.\n"
           "\n"
           "  --json        one JSON object a process on a line; on a\n"
           "                terminal, too, once if not told otherwise\n"
           "  --interval S  repeat every S seconds, 0.1 to 86400\n"
           "  --count N     end after N times\n"
           "  --help        this text\n"
           "\n"
           "The exit status is 1 if there is no such process, or one of those\n"
           "given cannot be shown, and 2 if an argument is bad.\n");
}

static int parse_interval(const char *arg, double *interval_p)
{
    char *end;

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

static int parse_count(const char *arg, unsigned long *count_p)
{
    *count_p = predreg_number(arg, LONG_MAX);
    if (*count_p == 0) {
        predreg_error("--count: '%s'; accepted: whole numbers from 1", arg);
        return -1;
    }

    return 0;
}

enum { OPT_JSON = 256, OPT_INTERVAL, OPT_COUNT };

/* @return 0, or -1 if the option is wrong, and the reason has been printed */
static int parse_option(int option, const char *arg, predreg_stat_opts_t *opts,
                        int *repeat_p)
{
    switch (option) {
    case OPT_JSON:
        opts->json = 1;
        return 0;
    case OPT_INTERVAL:
        *repeat_p = 1;
        return parse_interval(arg, &opts->interval);
    case OPT_COUNT:
        return parse_count(arg, &opts->count);
    case 'h':
        usage();
        exit(EXIT_SUCCESS);
    default:
        predreg_error("stat --help lists what is accepted");
        return -1;
    }
}

int predreg_stat_parse(int argc, char **argv, int is_screen,
                       predreg_stat_opts_t *opts)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, OPT_JSON},
        {"interval", required_argument, NULL, OPT_INTERVAL},
        {"count", required_argument, NULL, OPT_COUNT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int repeat = 0;
    int option;

    memset(opts, 0, sizeof(*opts));
    opts->interval = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (parse_option(option, optarg, opts, &repeat) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    opts->screen = !opts->json && is_screen;
    if ((opts->count == 0) && !repeat && !opts->screen) {
        opts->count = 1;
    }

    return (parse_pids(argv + optind, opts) == 0) ? 0 : PREDREG_EXIT_USAGE;
}

void predreg_stat_opts_cleanup(predreg_stat_opts_t *opts)
{
    free(opts->pids);
}
