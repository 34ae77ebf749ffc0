/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"
#include "show.h"
#include "view.h"

#include <tools/predreg/common/message.h>

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PREDREG_EXIT_NO_PROCESS 1

#define PREDREG_INTERVAL_MIN 0.1
#define PREDREG_INTERVAL_MAX 86400.

/* Control sequences of ECMA-48, which all terminals know */
#define PREDREG_TERM_CLEAR      "\033[H\033[2J"
#define PREDREG_TERM_HOME       "\033[H"
#define PREDREG_TERM_CLEAR_LINE "\033[K"
#define PREDREG_TERM_CLEAR_REST "\033[J"


typedef struct {
    int           json;
    int           screen;    /* Redraw a terminal */
    double        interval;  /* Seconds */
    unsigned long count;     /* 0: no end */
    pid_t         *pids;     /* What was asked for */
    unsigned      num_pids;  /* 0: all there are */
} predreg_stat_opts_t;

static void predreg_stat_usage(void)
{
    printf("usage: ucx_predreg stat [OPTIONS] [PID...]\n"
           "\n"
           "Show what running processes have registered; without PIDs, all of\n"
           "this user on this node. On a terminal the table is redrawn every\n"
           "second until interrupted; elsewhere it is printed once, if not\n"
           "told otherwise.\n"
           "\n"
           "  --json        one JSON object a process on a line, once\n"
           "  --interval S  repeat every S seconds, 0.1 to 86400\n"
           "  --count N     end after N times\n"
           "  --help        this text\n"
           "\n"
           "The exit status is 1 if there is no such process, or one of those\n"
           "given cannot be shown, and 2 if an argument is bad.\n");
}

static int predreg_parse_interval(const char *arg, double *interval_p)
{
    char *end;

    *interval_p = strtod(arg, &end);
    if ((end == arg) || (*end != '\0') ||
        !(*interval_p >= PREDREG_INTERVAL_MIN) ||
        !(*interval_p <= PREDREG_INTERVAL_MAX)) {
        predreg_error("--interval: '%s'; accepted: seconds from 0.1 to 86400",
                      arg);
        return -1;
    }

    return 0;
}

static int predreg_has_pid(const predreg_stat_opts_t *opts, pid_t pid)
{
    unsigned i;

    for (i = 0; i < opts->num_pids; ++i) {
        if (opts->pids[i] == pid) {
            return 1;
        }
    }

    return 0;
}

static int predreg_parse_pids(char **args, predreg_stat_opts_t *opts)
{
    unsigned num = 0;
    pid_t pid;

    while (args[num] != NULL) {
        ++num;
    }

    opts->pids = predreg_check_memory(calloc(num + 1, sizeof(*opts->pids)));
    for (; *args != NULL; ++args) {
        pid = predreg_stat_number(*args, PREDREG_PID_MAX);
        if (pid == 0) {
            predreg_error("'%s' is no process; accepted: process ids, 1 to %ld",
                          *args, PREDREG_PID_MAX);
            return -1;
        }

        if (!predreg_has_pid(opts, pid)) {
            opts->pids[opts->num_pids++] = pid;
        }
    }

    return 0;
}

static int predreg_is_screen(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && (term != NULL) && strcmp(term, "dumb");
}

static int predreg_stat_parse(int argc, char **argv, predreg_stat_opts_t *opts)
{
    enum { OPT_JSON = 256, OPT_INTERVAL, OPT_COUNT };
    static const struct option options[] = {
        {"json", no_argument, NULL, OPT_JSON},
        {"interval", required_argument, NULL, OPT_INTERVAL},
        {"count", required_argument, NULL, OPT_COUNT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int repeat = 0;
    int option;

    opts->interval = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case OPT_JSON:
            opts->json = 1;
            break;
        case OPT_INTERVAL:
            if (predreg_parse_interval(optarg, &opts->interval) != 0) {
                return PREDREG_EXIT_USAGE;
            }
            repeat = 1;
            break;
        case OPT_COUNT:
            opts->count = predreg_stat_number(optarg, LONG_MAX);
            if (opts->count == 0) {
                predreg_error("--count: '%s'; accepted: whole numbers from 1",
                              optarg);
                return PREDREG_EXIT_USAGE;
            }
            break;
        case 'h':
            predreg_stat_usage();
            exit(EXIT_SUCCESS);
        default:
            predreg_error("stat --help lists what is accepted");
            return PREDREG_EXIT_USAGE;
        }
    }

    opts->screen = !opts->json && predreg_is_screen();
    if ((opts->count == 0) && !repeat && !opts->screen) {
        opts->count = 1;
    }

    return (predreg_parse_pids(argv + optind, opts) == 0) ? 0 :
                                                            PREDREG_EXIT_USAGE;
}


/* What fits a line of the terminal; no width: all */
static void predreg_put_line(ucs_string_buffer_t *line, int width,
                             const char *end)
{
    if (width > 0) {
        printf("%.*s", width, ucs_string_buffer_cstr(line));
    } else {
        printf("%s", ucs_string_buffer_cstr(line));
    }
    printf("%s\n", end);
    ucs_string_buffer_reset(line);
}

static void predreg_put_title(const predreg_view_t *view, int width,
                              const char *end, ucs_string_buffer_t *line)
{
    time_t now = time(NULL);
    struct tm tm;
    char text[16];

    localtime_r(&now, &tm);
    strftime(text, sizeof(text), "%H:%M:%S", &tm);
    ucs_string_buffer_appendf(line, "%s  ", text);
    predreg_stat_title(view->procs, view->num_procs, line);
    predreg_put_line(line, width, end);
}

static void predreg_put_table(const predreg_view_t *view,
                              const predreg_view_t *before, int width,
                              unsigned height, const char *end)
{
    ucs_string_buffer_t line = UCS_STRING_BUFFER_INITIALIZER;
    unsigned i;

    predreg_put_title(view, width, end, &line);
    predreg_stat_header(&line);
    predreg_put_line(&line, width, end);
    for (i = 0; (i < view->num_procs) && (i < height); ++i) {
        predreg_stat_row(&view->procs[i],
                         predreg_view_find(before, view->procs[i].pid), &line);
        predreg_put_line(&line, width, end);
    }
    ucs_string_buffer_cleanup(&line);
}

/* On a terminal, in place of what was there before */
static void predreg_draw(const predreg_view_t *view,
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

    /* Besides title, names, and a line for the cursor */
    height = (height > view->num_texts + 3) ? (height - view->num_texts - 3) :
                                              1;
    printf(PREDREG_TERM_HOME);
    predreg_put_table(view, before, width, height, PREDREG_TERM_CLEAR_LINE);
    for (i = 0; i < view->num_texts; ++i) {
        printf("%.*s" PREDREG_TERM_CLEAR_LINE "\n", (int)width,
               view->texts[i]);
    }
    printf(PREDREG_TERM_CLEAR_REST);
}

static void predreg_put_json(const predreg_view_t *view)
{
    ucs_string_buffer_t line = UCS_STRING_BUFFER_INITIALIZER;
    struct timespec now;
    unsigned i;

    clock_gettime(CLOCK_REALTIME, &now);
    for (i = 0; i < view->num_procs; ++i) {
        predreg_stat_json(&view->procs[i],
                          now.tv_sec * 1000ul + now.tv_nsec / 1000000, &line);
        predreg_put_line(&line, 0, "");
    }
    ucs_string_buffer_cleanup(&line);
}

static void predreg_show(const predreg_stat_opts_t *opts,
                         const predreg_view_t *view,
                         const predreg_view_t *before)
{
    unsigned i;

    if (opts->screen) {
        predreg_draw(view, before);
    } else if (opts->json) {
        predreg_put_json(view);
    } else if (view->num_procs > 0) {
        predreg_put_table(view, before, 0, UINT_MAX, "");
    }
    fflush(stdout);

    /* Once, and not for as long as it holds */
    for (i = 0; (i < view->num_texts) && !opts->screen; ++i) {
        if (!predreg_view_says(before, view->texts[i])) {
            predreg_error("%s", view->texts[i]);
        }
    }
}

static void predreg_sleep(double seconds)
{
    struct timespec wait;

    wait.tv_sec  = seconds;
    wait.tv_nsec = (seconds - wait.tv_sec) * 1e9;
    nanosleep(&wait, NULL);
}

int predreg_stat(int argc, char **argv)
{
    predreg_stat_opts_t opts = {0};
    predreg_view_t before    = {0};
    predreg_view_t view;
    unsigned long i;
    int status;

    status = predreg_stat_parse(argc, argv, &opts);
    if (status != 0) {
        goto out;
    }

    if (opts.screen) {
        printf(PREDREG_TERM_CLEAR);
    }

    for (i = 0; ((opts.count == 0) || (i < opts.count)) && !ferror(stdout);
         ++i) {
        if (i > 0) {
            predreg_sleep(opts.interval);
        }

        /* Processes that end while they are watched are no error */
        if (!predreg_view_take(&view, opts.pids, opts.num_pids) && (i == 0)) {
            status = PREDREG_EXIT_NO_PROCESS;
        }

        predreg_show(&opts, &view, &before);
        predreg_view_cleanup(&before);
        before = view;
        if ((opts.num_pids > 0) && (view.num_procs == 0)) {
            break; /* They do not come back */
        }
    }

    if (ferror(stdout)) {
        predreg_error("the output cannot be written: %s", strerror(errno));
        status = PREDREG_EXIT_NO_PROCESS;
    }

out:
    predreg_view_cleanup(&before);
    free(opts.pids);
    return status;
}
