/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/info/options.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_SET, OPT_LIBRARY };


static void usage(void)
{
    printf("usage: ucx_predreg calibrate [OPTIONS] [--] [COMMAND [ARGS...]]\n"
           "\n"
           "Measure what it takes here to register a small buffer and to copy\n"
           "it, and say from how many sends on registering it pays. The result\n"
           "is kept for the library, which sends without the copy what pays if\n"
           "UCX_RCACHE_PRED_EAGER=y. COMMAND is not run: this is about the UCX\n"
           "that it would load, as with info.\n"
           "\n"
           "  --json           one JSON object\n"
           "  --set KNOB=VALUE as if UCX_RCACHE_PRED_KNOB was set; may be\n"
           "                   repeated\n"
           "  --library PATH   with this libuct_predreg.so\n"
           "  --help           this text\n"
           "\n"
           "The exit status is 0 if there is a result, 1 if there is none, 2 if\n"
           "an argument is bad, and 127 if there is no COMMAND of that name.\n");
}

int predreg_calibrate_parse(int argc, char **argv,
                            predreg_calibrate_opts_t *opts)
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
            if (predreg_info_set_knob(optarg) != 0) {
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
            predreg_error("calibrate --help lists what is accepted");
            return PREDREG_EXIT_USAGE;
        }
    }

    opts->command = argv + optind;
    return 0;
}
