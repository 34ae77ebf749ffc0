/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"

#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/common/number.h>
#include <tools/predreg/launch/launcher.h>
#include <tools/predreg/run/environment.h>

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_SET, OPT_LIBRARY };


static void info_usage(void)
{
    printf("usage: ucx_predreg info [OPTIONS] [--] [COMMAND [ARGS...]]\n"
           "\n"
           "Say what prediction would do here, before a job runs: which UCX\n"
           "COMMAND would load, what would be managed, what a registration\n"
           "costs, and what is in the way. COMMAND is not run. Without it, or\n"
           "if it is a launcher such as mpirun, this is about a program that\n"
           "looks for libucp.so.0 where this program does.\n"
           "\n"
           "  --json           one JSON object\n"
           "  --set KNOB=VALUE as if UCX_RCACHE_PRED_KNOB was set; may be\n"
           "                   repeated\n"
           "  --library PATH   about this libuct_predreg.so\n"
           "  --help           this text\n"
           "\n"
           "The exit status is 0 if memory would be managed, 1 if it would\n"
           "not, 2 if an argument is bad, and 127 if there is no COMMAND of\n"
           "that name.\n");
}

/* Set a knob in the environment, as --set says. Whether it is accepted is one of
 * the things to be told later. @return 0, or -1, and the reason was printed. */
static int set_knob(const char *arg)
{
    const char *value;
    char *name, *variable;

    name = predreg_knob_split(arg, "WINDOW=2", &value);
    if (name == NULL) {
        return -1;
    }

    variable = predreg_format(PREDREG_KNOB_PREFIX "%s", name);
    predreg_env_set(variable, value);
    free(variable);
    free(name);
    return 0;
}

int predreg_info_parse_as(const char *name, void (*usage)(void), int argc,
                          char **argv, predreg_info_opts_t *opts)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, OPT_JSON},
        {"set", required_argument, NULL, OPT_SET},
        {"library", required_argument, NULL, OPT_LIBRARY},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int option;

    memset(opts, 0, sizeof(*opts));
    while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
        switch (option) {
        case OPT_JSON:
            opts->json = 1;
            break;
        case OPT_SET:
            if (set_knob(optarg) != 0) {
                return PREDREG_EXIT_USAGE;
            }
            break;
        case OPT_LIBRARY:
            opts->library = optarg;
            break;
        case 'h':
            usage();
            exit(EXIT_SUCCESS);
        default:
            predreg_error("%s --help lists what is accepted", name);
            return PREDREG_EXIT_USAGE;
        }
    }

    opts->command = argv + optind;
    return 0;
}

int predreg_info_parse(int argc, char **argv, predreg_info_opts_t *opts)
{
    return predreg_info_parse_as("info", info_usage, argc, argv, opts);
}

unsigned predreg_info_processes(char *const *command)
{
    static const char *const names[] = {"-np", "-n", "-c", "--np", "--n",
                                        "--ntasks"};
    long number;
    unsigned i;

    if ((command[0] == NULL) ||
        (predreg_launcher_by_name(command[0]) == PREDREG_LAUNCHER_NONE)) {
        return 1;
    }

    for (; command[1] != NULL; ++command) {
        for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
            if (!strcmp(command[0], names[i])) {
                number = predreg_number(command[1], INT_MAX);
                return (number > 0) ? number : 1;
            }
        }
    }

    return 1;
}

int predreg_info_chooses_pml(char *const *command)
{
    for (; *command != NULL; ++command) {
        if (!strcmp(*command, "pml") || !strcmp(*command, "spml")) {
            return 1;
        }
    }

    return 0;
}
