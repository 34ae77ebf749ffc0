/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"
#include "environment.h"

#include <tools/predreg/common/message.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>


/* Whether a value is one of several, in letters of any case, as in UCX */
static int is_choice(const char *value, const char *const *accepted)
{
    const char *const *choice;

    for (choice = accepted; *choice != NULL; ++choice) {
        if (!strcasecmp(value, *choice)) {
            return 1;
        }
    }

    return 0;
}

static int check_choice(const char *what, const char *value,
                        const char *const *accepted)
{
    const char *const *choice;

    if (is_choice(value, accepted)) {
        return 0;
    }

    fprintf(stderr, "ucx_predreg: %s: unknown value '%s'; accepted:", what,
            value);
    for (choice = accepted; *choice != NULL; ++choice) {
        fprintf(stderr, "%s %s", (choice == accepted) ? "" : ",", *choice);
    }
    fputc('\n', stderr);
    return -1;
}

/* Have the summary written to a file, which is made if need be */
static int set_output(const char *path, int *is_new_p)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    char *absolute;
    int fd;

    fd        = open(path, flags | O_EXCL, 0666);
    *is_new_p = (fd >= 0);
    if ((fd < 0) && (errno == EEXIST)) {
        fd = open(path, flags, 0666);
    }

    if (fd < 0) {
        predreg_error("--output: cannot write to '%s': %s; accepted: a file "
                      "in a folder that can be written to", path,
                      strerror(errno));
        return -1;
    }
    close(fd);

    absolute = predreg_env_absolute_path("--output", path);
    if (absolute == NULL) {
        return -1;
    }

    predreg_env_set(PREDREG_KNOB_OUTPUT, absolute);
    free(absolute);
    return 0;
}

static const char *const formats[] = {"text", "json", "n", NULL};


static int set_policy(const char *policy)
{
    static const char *const accepted[] = {"predict", "on-demand",
                                           "leave-pinned", NULL};

    if (check_choice("--policy", policy, accepted) != 0) {
        return -1;
    }

    predreg_env_set(PREDREG_KNOB_POLICY, policy);
    return 0;
}

static int set_summary(const char *format)
{
    if (check_choice("--summary", format, formats) != 0) {
        return -1;
    }

    predreg_env_set(PREDREG_KNOB_SUMMARY, format);
    return 0;
}

/* If an option that there is not is a knob, say how knobs are set */
static void tell_of_knob(const char *arg)
{
    const char *name = arg + strspn(arg, "-");
    char *knob       = predreg_format("%.*s", (int)strcspn(name, "="), name);
    char *nearest, *p;

    for (p = knob; *p != '\0'; ++p) {
        *p = (*p == '-') ? '_' : *p;
    }

    nearest = predreg_knob_nearest(knob);
    if ((nearest != NULL) && !strcasecmp(nearest, knob)) {
        predreg_error("%s is a knob; accepted: --set %s=VALUE", nearest,
                      nearest);
    }
    free(nearest);
    free(knob);
}

/* Do what an option of the runner's own says.
 * @return 0, or the exit status, and the reason has been printed. */
static int own_option(int option, const predreg_runner_t *runner)
{
    switch (option) {
    case 'h':
        runner->usage();
        exit(EXIT_SUCCESS);
    case '?':
        predreg_error("%s --help lists what is accepted", runner->name);
        return PREDREG_EXIT_USAGE;
    default:
        runner->option(runner->arg, option, optarg);
        return 0;
    }
}

/* Read the options. One that sets a knob is checked in its own words, and
 * changes the environment at once */
static int parse_options(int argc, char **argv, const predreg_runner_t *runner,
                         predreg_run_opts_t *opts)
{
    int status = 0;
    int option;

    while ((status == 0) &&
           ((option = getopt_long(argc, argv, runner->short_options,
                                  runner->long_options, NULL)) != -1)) {
        switch (option) {
        case PREDREG_RUN_POLICY:
            status = (set_policy(optarg) == 0) ? 0 : PREDREG_EXIT_USAGE;
            break;
        case PREDREG_RUN_SUMMARY:
            opts->no_format = (optarg == NULL) ? optind : 0;
            status          = (set_summary(optarg ? optarg : "text") == 0) ?
                              0 : PREDREG_EXIT_USAGE;
            break;
        case PREDREG_RUN_OUTPUT:
            opts->output = optarg;
            break;
        case PREDREG_RUN_SET:
            status = (predreg_env_set_knob(optarg) == 0) ?
                     0 : PREDREG_EXIT_USAGE;
            break;
        case PREDREG_RUN_LIBRARY:
            opts->library = optarg;
            break;
        case '?':
            tell_of_knob(argv[optind - 1]);
            /* Fall through */
        default:
            status = own_option(option, runner);
            break;
        }
    }

    return status;
}

/* Check the values of all knobs, which are in the environment: the options of the
 * command line have been put there as well. */
static int check_knobs(predreg_run_opts_t *opts)
{
    const char *summary = getenv(PREDREG_KNOB_SUMMARY);

    opts->summary = (summary != NULL) && strcasecmp(summary, "n");
    return predreg_knob_check_environment();
}

int predreg_run_parse(int argc, char **argv, const predreg_runner_t *runner,
                      predreg_run_opts_t *opts)
{
    int status;

    memset(opts, 0, sizeof(*opts));
    status = parse_options(argc, argv, runner, opts);
    if (status != 0) {
        return status;
    }

    if (argv[optind] == NULL) {
        predreg_error("no command to run; accepted: ucx_predreg %s [OPTIONS] "
                      "COMMAND [ARGS...]", runner->name);
        return PREDREG_EXIT_USAGE;
    }

    if ((opts->no_format == optind) && is_choice(argv[optind], formats)) {
        predreg_error("--summary: its format follows an equals sign; accepted: "
                      "--summary=%s COMMAND, or --summary -- COMMAND",
                      argv[optind]);
        return PREDREG_EXIT_USAGE;
    }

    if (check_knobs(opts) != 0) {
        return PREDREG_EXIT_USAGE;
    }

    if (opts->output != NULL) {
        if (!opts->summary) {
            predreg_env_set(PREDREG_KNOB_SUMMARY, "text");
            opts->summary = 1;
        }
        if (set_output(opts->output, &opts->is_new) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    status = (runner->prepare == NULL) ? 0 : runner->prepare(runner->arg);
    if (status != 0) {
        predreg_run_cancel(runner, opts);
    }
    return status;
}

void predreg_run_cancel(const predreg_runner_t *runner,
                        const predreg_run_opts_t *opts)
{
    struct stat st;

    if (runner->cancel != NULL) {
        runner->cancel(runner->arg);
    }

    if (opts->is_new && (stat(opts->output, &st) == 0) && (st.st_size == 0)) {
        unlink(opts->output);
    }
}
