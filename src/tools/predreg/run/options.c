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
#include <unistd.h>


static int check_choice(const char *what, const char *value,
                        const char *const *accepted)
{
    const char *const *choice;

    for (choice = accepted; *choice != NULL; ++choice) {
        if (!strcasecmp(value, *choice)) { /* Ignores the case of letters, as
                                              UCX does */
            return 0;
        }
    }

    fprintf(stderr, "ucx_predreg: %s: unknown value '%s'; accepted:", what,
            value);
    for (choice = accepted; *choice != NULL; ++choice) {
        fprintf(stderr, "%s %s", (choice == accepted) ? "" : ",", *choice);
    }
    fputc('\n', stderr);
    return -1;
}

static int set_output(const char *path)
{
    char *absolute;
    int fd;

    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
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

/* Read the options. One that sets a knob changes the environment at once */
static int parse_options(int argc, char **argv, const predreg_runner_t *runner,
                         predreg_run_opts_t *opts)
{
    int option;

    while ((option = getopt_long(argc, argv, runner->short_options,
                                 runner->long_options, NULL)) != -1) {
        switch (option) {
        case PREDREG_RUN_POLICY:
            predreg_env_set(PREDREG_KNOB_POLICY, optarg);
            break;
        case PREDREG_RUN_SUMMARY:
            predreg_env_set(PREDREG_KNOB_SUMMARY, optarg ? optarg : "text");
            break;
        case PREDREG_RUN_OUTPUT:
            opts->output = optarg;
            break;
        case PREDREG_RUN_SET:
            if (predreg_env_set_knob(optarg) != 0) {
                return PREDREG_EXIT_USAGE;
            }
            break;
        case PREDREG_RUN_LIBRARY:
            opts->library = optarg;
            break;
        case 'h':
            runner->usage();
            exit(EXIT_SUCCESS);
        case '?':
            predreg_error("%s --help lists what is accepted", runner->name);
            return PREDREG_EXIT_USAGE;
        default:
            runner->option(runner->arg, option, optarg);
            break;
        }
    }

    return 0;
}

/* Check the knobs, whether an option or the environment has set them. Those
 * that have options of their own are checked in the words of these. */
static int check_knobs(predreg_run_opts_t *opts)
{
    static const char *const policies[]  = {"predict", "on-demand",
                                            "leave-pinned", NULL};
    static const char *const summaries[] = {"text", "json", NULL};
    const char *policy                   = getenv(PREDREG_KNOB_POLICY);
    const char *summary                  = getenv(PREDREG_KNOB_SUMMARY);

    if ((policy != NULL) && check_choice("policy", policy, policies)) {
        return -1;
    }

    opts->summary = (summary != NULL) && strcasecmp(summary, "n");
    if (opts->summary && check_choice("summary", summary, summaries)) {
        return -1;
    }

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

    if (check_knobs(opts) != 0) {
        return PREDREG_EXIT_USAGE;
    }

    if (opts->output != NULL) {
        if (!opts->summary) {
            predreg_env_set(PREDREG_KNOB_SUMMARY, "text");
            opts->summary = 1;
        }
        if (set_output(opts->output) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    return (runner->prepare == NULL) ? 0 : runner->prepare(runner->arg);
}
