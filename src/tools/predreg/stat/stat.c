/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <tools/predreg/common/command.h>
#include <ucs/base/clock.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/** @file stat.c
 *
 * The loop of `stat`: take a view, print it, wait. Rates are of the time between two
 * views.
 */

#define EXIT_NO_PROCESS 1

#define INTERVAL_MIN    0.1
#define INTERVAL_MAX    86400.

/* Control sequences of ECMA-48, which all terminals understand, to redraw the table in
 * place */
#define TERM_CLEAR      "\033[H\033[2J"
#define TERM_HOME       "\033[H"
#define TERM_CLEAR_LINE "\033[K"
#define TERM_CLEAR_REST "\033[J"


static int read_interval(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_stat_opts_t *opts = arg;
    char *end;

    opts->repeats  = 1;
    opts->interval = strtod(value, &end);
    if ((end == value) || (*end != '\0') ||
        !(opts->interval >= INTERVAL_MIN) || !(opts->interval <= INTERVAL_MAX)) {
        return predreg_error("--interval: '%s'; accepted: seconds from 0.1 to 86400",
                             value);
    }

    return 0;
}

static int read_count(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_stat_opts_t *opts = arg;

    opts->count = predreg_number(value, LONG_MAX);
    if (opts->count == 0) {
        return predreg_error("--count: '%s'; accepted: whole numbers from 1", value);
    }

    return 0;
}

static int read_columns(const predreg_option_t *option, const char *value, void *arg)
{
    return predreg_stat_columns(value, &((predreg_stat_opts_t*)arg)->columns);
}

static int parse_pids(char **args, predreg_stat_opts_t *opts)
{
    unsigned i, num;
    pid_t pid;

    for (num = 0; args[num] != NULL; ++num);
    opts->pids = predreg_alloc(num + 1, sizeof(*opts->pids));
    for (; *args != NULL; ++args) {
        pid = predreg_number(*args, PREDREG_PID_MAX);
        if (pid == 0) {
            return predreg_error("'%s' is no process; accepted: process ids, 1 to %ld",
                                 *args, PREDREG_PID_MAX);
        }

        for (i = 0; (i < opts->num_pids) && (opts->pids[i] != pid); ++i);
        if (i == opts->num_pids) {
            opts->pids[opts->num_pids++] = pid;
        }
    }

    return 0;
}

static const predreg_option_t list[] = {
    {"json", 0, NULL, "one JSON object a process on a line; on a terminal, too, once if "
     "not told otherwise", predreg_option_flag, offsetof(predreg_stat_opts_t, json)},
    {"columns", 0, "NAME[,NAME...]", "show these columns of the table, and not those that "
     "have something", read_columns, 0},
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

    return parse_pids(argv + optind, opts);
}

void predreg_stat_opts_cleanup(predreg_stat_opts_t *opts)
{
    free(opts->pids);
}

/* @param [in] width  Width of a line. */
static void put_table(const predreg_stat_opts_t *opts, const predreg_view_t *view,
                      const predreg_view_t *before, int width, unsigned height,
                      const char *end)
{
    ucs_string_buffer_t strb = UCS_STRING_BUFFER_INITIALIZER;
    time_t now               = time(NULL);
    struct tm tm;
    char text[16];

    localtime_r(&now, &tm);
    strftime(text, sizeof(text), "%H:%M:%S", &tm);
    ucs_string_buffer_appendf(&strb, "%s  ", text);
    predreg_stat_title(view->procs, view->num_procs, &strb);
    printf("%.*s%s\n", width, ucs_string_buffer_cstr(&strb), end);
    ucs_string_buffer_reset(&strb);
    predreg_stat_table(view, before, opts->columns, width, height, end, &strb);
    printf("%s", ucs_string_buffer_cstr(&strb));
    ucs_string_buffer_cleanup(&strb);
}

/* Draw the table on a terminal, over the table that was drawn before */
static void draw(const predreg_stat_opts_t *opts, const predreg_view_t *view,
                 const predreg_view_t *before)
{
    unsigned width = 80, height = 24;
    struct winsize size;
    unsigned i;

    if ((ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) && (size.ws_col > 0) &&
        (size.ws_row > 0)) {
        width  = size.ws_col;
        height = size.ws_row;
    }

    /* The height of the table: the terminal also shows the title, the names of columns,
     * the texts, the line that tells of more processes, and a line for the cursor */
    height = (height > view->num_texts + 4) ? (height - view->num_texts - 4) :
                                              1;
    printf(TERM_HOME);
    put_table(opts, view, before, width, height, TERM_CLEAR_LINE);
    for (i = 0; i < view->num_texts; ++i) {
        printf("%.*s" TERM_CLEAR_LINE "\n", (int)width,
               view->texts[i]);
    }
    printf(TERM_CLEAR_REST);
}

static void put_json(const predreg_view_t *view)
{
    ucs_string_buffer_t line = UCS_STRING_BUFFER_INITIALIZER;
    uint64_t now                 = ucs_clock_ns(CLOCK_REALTIME);
    unsigned i;

    for (i = 0; i < view->num_procs; ++i) {
        predreg_stat_json(&view->procs[i], now / 1000000, &line);
        puts(ucs_string_buffer_cstr(&line));
        ucs_string_buffer_reset(&line);
    }
    ucs_string_buffer_cleanup(&line);
}

void predreg_stat_print(const predreg_stat_opts_t *opts,
                        const predreg_view_t *view,
                        const predreg_view_t *before)
{
    unsigned i;

    if (opts->screen) {
        draw(opts, view, before);
    } else if (opts->json) {
        put_json(view);
    } else if (view->num_procs > 0) {
        put_table(opts, view, before, INT_MAX, UINT_MAX, "");
    }
    fflush(stdout);

    /* The texts of a view are problems. Print a problem only if the view before did not
     * have the same text */
    for (i = 0; (i < view->num_texts) && !opts->screen; ++i) {
        if (!predreg_view_says(before, view->texts[i])) {
            predreg_error("%s", view->texts[i]);
        }
    }
}

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

/* Look at the processes and print them, as often as the user asked for. @return the exit
 * status. */
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

        /* At the first look it is an error if a process that the user has named shows no
         * counters, or if no process shows any. Later it is no error, since the process
         * has ended */
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
        printf(TERM_CLEAR);
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
