/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "opts.h"
#include "knob_opt.h"
#include "policy_opt.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/number.h>
#include <tools/replay/models/pattern.h>

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most ranks of a job. No job has so many, and numbers computed from it are
 * far from overflowing */
#define MAX_RANKS 16777216u


/* Print an option of the help and, to the right of it, what it means, in lines
 * of 80 characters */
static void print_option(const char *option, const char *text)
{
    const unsigned left = 24, right = 80;
    unsigned column     = left;
    size_t length;

    printf("  %-*s", left - 2, option);
    for (; *text != '\0'; text += length + strspn(text + length, " ")) {
        length = strcspn(text, " ");
        if ((column > left) && (column + 1 + length > right)) {
            printf("\n%*s", left, "");
            column = left;
        }
        column += printf("%s%.*s", (column > left) ? " " : "", (int)length,
                         text);
    }
    printf("\n");
}

static void usage(void)
{
    char *policies, *knobs, *text;

    printf("usage: ucx_predreg replay [OPTIONS] FOLDER|FILE...\n"
           "\n"
           "Play what was recorded again, under other policies: what memory "
           "they "
           "register,\nand how long the program waits.\n"
           "\n");

    policies = predreg_policy_opt_accepted();
    text     = predreg_format("%s; all unless given. Limits are half of what "
                              "leave-pinned needs unless given", policies);
    print_option("--policy P[,P...]", text);
    free(text);
    free(policies);

    knobs = predreg_knob_opt_accepted();
    text  = predreg_format("as UCX_RCACHE_PRED_KNOB: %s; may be repeated",
                           knobs);
    print_option("--set KNOB=VALUE", text);
    free(text);
    free(knobs);

    printf("  --reg-cost OP,PAGE    what a registration takes, and each of its "
           "pages, ns;\n"
           "                        as recorded unless given\n"
           "  --dereg-cost OP,PAGE  likewise, a deregistration\n"
           "  --shared-processor    no processor is idle: the program does the "
           "helper's work\n"
           "                        while it waits\n"
           "  --curve               memory against run time: predict with "
           "budgets of 0, 0.2, 0.5,\n"
           "                        1, 2 and 5 %% and inf, and which of them "
           "to use\n"
           "  --window N            uses that periodicity compares, 2 to 4096; "
           "32 unless given\n"
           "  --per-rank            also say it of each rank\n"
           "  --ranks N             say it of a job of N ranks, which do as "
           "those "
           "recorded\n"
           "  --ranks-per-node N    there; as many as were recorded unless "
           "given\n"
           "  --cores-per-node N    there; helpers share those that no rank "
           "has. "
           "Each helper\n"
           "                        has one of its own unless given\n"
           "  --node-max BYTES      there; for how long a node would need "
           "more\n"
           "  --json                one JSON object a line\n"
           "  --help                this text\n");
}

/* Read a cost that is written as OP,PAGE */
static int parse_cost(const char *option, const char *arg, predreg_cost_t *cost)
{
    const char *whole = arg;
    char *end;

    cost->op = strtod(arg, &end);
    if ((end != arg) && (*end == ',')) {
        arg        = end + 1;
        cost->page = strtod(arg, &end);
        if ((end != arg) && (*end == '\0') &&
            predreg_replay_cost_is_valid(cost)) {
            return 0;
        }
    }

    predreg_error("--%s: '%s'; accepted: OP,PAGE, ns an operation and a page, "
                  "each "
                  "from 0 to %g, as in 10000,50", option, whole,
                  PREDREG_REPLAY_MAX_COST);
    return -1;
}

/* Read a number that must be in a range */
static int parse_number(const char *option, const char *arg, unsigned min,
                        unsigned max, unsigned *number_p)
{
    unsigned long number;
    char *end;

    errno  = 0;
    number = strtoul(arg, &end, 10);
    if (!isdigit((unsigned char)*arg) || (*end != '\0') || (errno != 0) ||
        (number < min) || (number > max)) {
        predreg_error("--%s: '%s'; accepted: %u to %u", option, arg, min, max);
        return -1;
    }

    *number_p = number;
    return 0;
}

static int parse_bytes(const char *option, const char *arg, uint64_t *bytes_p)
{
    *bytes_p = predreg_bytes(arg);
    if (*bytes_p == 0) {
        predreg_error("--%s: '%s'; accepted: a number of bytes from 1, as in "
                      "512m", option, arg);
        return -1;
    }

    return 0;
}

/* Check that the options about a larger job come only if such a job is asked
 * for */
static int check_ranks(const predreg_replay_opts_t *opts)
{
    unsigned ranks_per_node = opts->ranks_per_node;

    if ((opts->num_ranks == 0) &&
        ((ranks_per_node > 0) || (opts->cores_per_node > 0) ||
         (opts->node_max > 0))) {
        predreg_error("--ranks-per-node, --cores-per-node and --node-max are "
                      "of "
                      "the job that --ranks asks for");
        return -1;
    }

    if ((opts->curve || opts->per_rank) && (opts->num_ranks > 0)) {
        predreg_error("%s is of the job that was recorded, and --ranks of a "
                      "larger one: accepted is one of the two",
                      opts->curve ? "--curve" : "--per-rank");
        return -1;
    }

    if ((opts->cores_per_node > 0) && (ranks_per_node == 0)) {
        predreg_error("--cores-per-node needs --ranks-per-node");
        return -1;
    }

    if ((opts->cores_per_node > 0) && (opts->cores_per_node < ranks_per_node)) {
        predreg_error("--cores-per-node: %u; accepted: at least one for each "
                      "of "
                      "the %u ranks of a node", opts->cores_per_node,
                      ranks_per_node);
        return -1;
    }

    return 0;
}

/* Choose all policies if none is named; for a curve, those that the report
 * draws beside it, and always the two that it is made of and compared with */
static void default_policies(predreg_replay_opts_t *opts)
{
    unsigned policy;

    for (policy = 0; !opts->policies_given && (policy < PREDREG_REPLAY_LAST);
         ++policy) {
        opts->policies[policy] = !opts->curve ||
                                 (policy == PREDREG_REPLAY_ON_DEMAND) ||
                                 (policy == PREDREG_REPLAY_CLAIRVOYANT);
    }

    if (opts->curve) {
        opts->policies[PREDREG_REPLAY_PREDICT]      = 1;
        opts->policies[PREDREG_REPLAY_LEAVE_PINNED] = 1;
        predreg_budgets_list(opts->knobs.budget / 100, &opts->budgets);
    }
}

enum {
    OPT_POLICY = 256,
    OPT_SET,
    OPT_REG_COST,
    OPT_DEREG_COST,
    OPT_SHARED_PROCESSOR,
    OPT_CURVE,
    OPT_WINDOW,
    OPT_RANKS,
    OPT_RANKS_PER_NODE,
    OPT_CORES_PER_NODE,
    OPT_NODE_MAX,
    OPT_JSON,
    OPT_PER_RANK
};

/* @return -1 if the option is wrong, and the reason has been printed. */
static int parse_option(int option, const char *arg,
                        predreg_replay_opts_t *opts)
{
    switch (option) {
    case OPT_POLICY:
        opts->policies_given = 1;
        return predreg_policy_opt_parse(arg, opts->policies, opts->limits);
    case OPT_SET:
        return predreg_knob_opt_parse(arg, &opts->knobs);
    case OPT_REG_COST:
        opts->reg_given = 1;
        return parse_cost("reg-cost", arg, &opts->reg);
    case OPT_DEREG_COST:
        opts->dereg_given = 1;
        return parse_cost("dereg-cost", arg, &opts->dereg);
    case OPT_SHARED_PROCESSOR:
        opts->shared_processor = 1;
        return 0;
    case OPT_CURVE:
        opts->curve = 1;
        return 0;
    case OPT_WINDOW:
        return parse_number("window", arg, PREDREG_PATTERN_MIN_COMPARED,
                            PREDREG_PATTERN_MAX_COMPARED, &opts->window);
    case OPT_RANKS:
        return parse_number("ranks", arg, 1, MAX_RANKS, &opts->num_ranks);
    case OPT_RANKS_PER_NODE:
        return parse_number("ranks-per-node", arg, 1, MAX_RANKS,
                            &opts->ranks_per_node);
    case OPT_CORES_PER_NODE:
        return parse_number("cores-per-node", arg, 1, MAX_RANKS,
                            &opts->cores_per_node);
    case OPT_NODE_MAX:
        return parse_bytes("node-max", arg, &opts->node_max);
    case OPT_JSON:
        opts->json = 1;
        return 0;
    case OPT_PER_RANK:
        opts->per_rank = 1;
        return 0;
    case 'h':
        usage();
        exit(EXIT_SUCCESS);
    default:
        predreg_error("replay --help lists what is accepted");
        return -1;
    }
}

int predreg_replay_opts_parse(int argc, char **argv,
                              predreg_replay_opts_t *opts)
{
    static const struct option options[] = {
        {"policy", required_argument, NULL, OPT_POLICY},
        {"set", required_argument, NULL, OPT_SET},
        {"reg-cost", required_argument, NULL, OPT_REG_COST},
        {"dereg-cost", required_argument, NULL, OPT_DEREG_COST},
        {"shared-processor", no_argument, NULL, OPT_SHARED_PROCESSOR},
        {"curve", no_argument, NULL, OPT_CURVE},
        {"window", required_argument, NULL, OPT_WINDOW},
        {"ranks", required_argument, NULL, OPT_RANKS},
        {"ranks-per-node", required_argument, NULL, OPT_RANKS_PER_NODE},
        {"cores-per-node", required_argument, NULL, OPT_CORES_PER_NODE},
        {"node-max", required_argument, NULL, OPT_NODE_MAX},
        {"json", no_argument, NULL, OPT_JSON},
        {"per-rank", no_argument, NULL, OPT_PER_RANK},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int option;

    memset(opts, 0, sizeof(*opts));
    if (uct_predreg_knobs_default(&opts->knobs) != UCS_OK) {
        return EXIT_FAILURE;
    }

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (parse_option(option, optarg, opts) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    if (check_ranks(opts) != 0) {
        return PREDREG_EXIT_USAGE;
    }

    if (optind == argc) {
        predreg_error("replay: what was recorded is missing; accepted: folders "
                      "of traces, or traces");
        return PREDREG_EXIT_USAGE;
    }

    default_policies(opts);
    opts->num_paths = argc - optind;
    opts->paths     = argv + optind;
    return 0;
}

void predreg_replay_opts_cleanup(predreg_replay_opts_t *opts)
{
    uct_predreg_knobs_cleanup(&opts->knobs);
}
