/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calibrate.h"
#include "output.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/info/find.h>
#include <tools/predreg/info/options.h>
#include <tools/predreg/run/find_library.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static void usage(void)
{
    printf("usage: ucx_predreg calibrate [OPTIONS] [--] [COMMAND [ARGS...]]\n"
           "\n"
           "Measure what it takes here to register a small buffer and to copy\n"
           "it, and say from how many sends on registering it pays. With\n"
           "UCX_RCACHE_PRED_EAGER=y each process measures that for itself.\n"
           "COMMAND is not run: this is about the UCX that it would load, as\n"
           "with info.\n"
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

/* Print why there is no result, or only a part of one.
 * @return the exit status. */
static int complain(const predreg_facts_t *facts)
{
    const predreg_probe_t *asked = &facts->asked;
    const predreg_probe_t *tried = &facts->rehearsal;

    if (asked->end[0] != '\0') {
        predreg_error("UCX %s while %s", asked->end, asked->stage);
    } else if (asked->error[0] != '\0') {
        predreg_error("%s", asked->error);
    } else if (predreg_facts_num_managed(facts) == 0) {
        predreg_error("no memory domain of UCX is managed here, so that there "
                      "is nothing to calibrate");
    } else if (!facts->is_rehearsed) {
        predreg_error("UCX is not started with the library");
    } else if (predreg_facts_outcome(facts) == PREDREG_OUTCOME_ASIDE) {
        predreg_error("the library steps aside");
    } else if (tried->end[0] != '\0') {
        predreg_error("UCX %s while %s", tried->end, tried->stage);
    } else if (tried->error[0] != '\0') {
        predreg_error("%s", tried->error);
    } else if (tried->no_cost[0] != '\0') {
        predreg_error("UCP does not register %s", tried->no_cost);
    } else if (!tried->has_small) {
        predreg_error("UCP uses no memory domain that is managed");
    } else if (predreg_facts_outcome(facts) != PREDREG_OUTCOME_MANAGED) {
        predreg_error("UCX does not work with the library");
    } else {
        return EXIT_SUCCESS;
    }

    predreg_error("'ucx_predreg info' says more");
    return EXIT_FAILURE;
}

/* Print errors, one a line; the text is changed */
static void print_lines(char *text)
{
    char *line, *saveptr;

    for (line = strtok_r(text, "\n", &saveptr); line != NULL;
         line = strtok_r(NULL, "\n", &saveptr)) {
        predreg_error("%s", line);
    }
}

int predreg_calibrate_from(const char *folder, int argc, char **argv)
{
    predreg_facts_t facts = {0};
    predreg_info_opts_t opts;
    int status;

    status = predreg_info_parse_as("calibrate", usage, argc, argv, &opts);
    if (status != 0) {
        return status;
    }

    status = predreg_facts_find(folder, opts.library, 1, opts.command, &facts);
    if (status != 0) {
        return status;
    }

    if (facts.knob_errors[0] != '\0') {
        print_lines(facts.knob_errors);
        status = PREDREG_EXIT_USAGE;
        goto out;
    }

    if (opts.json) {
        predreg_calibrate_print_json(&facts);
    } else {
        predreg_calibrate_print_text(&facts);
    }
    status = complain(&facts);

out:
    predreg_facts_cleanup(&facts);
    return status;
}

int predreg_calibrate(int argc, char **argv)
{
    char *folder = predreg_executable_folder();
    int status;

    status = predreg_calibrate_from((folder == NULL) ? PREDREG_BINDIR : folder,
                                    argc, argv);
    free(folder);
    return status;
}
