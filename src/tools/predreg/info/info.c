/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>

#include <getopt.h>
#include <stdlib.h>

#define EXIT_NOTHING 1


/* Set the variable of a knob without checking its value: the library in the probe refuses a
 * wrong value, and info prints the refusal with its other findings */
static int read_set(const predreg_option_t *option, const char *value, void *opts)
{
    return predreg_knob_set_variable(value, 0);
}

static const predreg_option_t list[] = {
    {"json", 0, NULL, "one JSON object", predreg_option_flag,
     offsetof(predreg_info_opts_t, json)},
    {"set", 0, "KNOB=VALUE", "as if UCX_RCACHE_PRED_KNOB was set; may be repeated",
     read_set, 0},
    {"library", 0, "PATH", "with this libuct_predreg.so", predreg_option_string,
     offsetof(predreg_info_opts_t, library)},
    {NULL}
};

int predreg_info_parse(const char *command, const char *intro, const char *end, int argc,
                       char **argv, predreg_info_opts_t *opts)
{
    const predreg_options_t options = {
        .command = command,
        .usage   = "[OPTIONS] [--] [COMMAND [ARGS...]]",
        .intro   = intro,
        .end     = end,
        .list    = list,
        .runs    = 1
    };
    int status;

    *opts         = (predreg_info_opts_t){};
    status        = predreg_options_read(&options, argc, argv, opts);
    opts->command = argv + optind;
    return status;
}

int predreg_info_from(const char *folder, int argc, char **argv)
{
    predreg_facts_t facts       = {};
    predreg_problems_t problems = {};
    predreg_info_opts_t opts;
    int status;

    status = predreg_info_parse(
            "info",
            "Say what prediction would do here, before a job runs: which UCX\n"
            "COMMAND would load, what would be managed, what a registration\n"
            "costs, and what is in the way. COMMAND is not run. Without it, or\n"
            "if it is a launcher such as mpirun, this is about a program that\n"
            "looks for libucp.so.0 where this program does.\n",
            "The exit status is 0 if memory would be managed, 1 if it would\n"
            "not, 2 if an argument is bad, and 127 if there is no COMMAND of\n"
            "that name.\n", argc, argv, &opts);
    if (status != 0) {
        return status;
    }

    status = predreg_facts_find(folder, &opts, PREDREG_PROBE_START, &facts);
    if (status != 0) {
        return status;
    }

    predreg_host_find((facts.target.kind == PREDREG_TARGET_LAUNCHER) ?
                      facts.command : NULL, &facts.host);
    predreg_judge(&facts, &problems);
    if (opts.json) {
        predreg_info_print_json(&facts, &problems);
    } else {
        predreg_info_print_text(&facts, &problems);
    }

    status = (problems.num_stops == 0) ? EXIT_SUCCESS : EXIT_NOTHING;
    predreg_problems_cleanup(&problems);
    predreg_facts_cleanup(&facts);
    return status;
}

int predreg_info(int argc, char **argv)
{
    return predreg_info_from(NULL, argc, argv);
}
