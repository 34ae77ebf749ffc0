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
#include <tools/predreg/common/options.h>
#include <ucs/base/number.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* The most ranks of a job. No job has so many, and numbers computed from it are
 * far from overflowing */
#define MAX_RANKS 16777216u


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

    if (!ucs_number_parse(arg, 0, &number) || (number < min) || (number > max)) {
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

static int read_policies(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_replay_opts_t *opts = arg;

    opts->policies_given = 1;
    return predreg_policy_opt_parse(value, opts->policies, opts->limits);
}

static int read_knob(const predreg_option_t *option, const char *value, void *opts)
{
    return predreg_knob_opt_parse(value, &((predreg_replay_opts_t*)opts)->knobs);
}

static int read_reg(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_replay_opts_t *opts = arg;

    opts->reg_given = 1;
    return parse_cost(option->name, value, &opts->reg);
}

static int read_dereg(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_replay_opts_t *opts = arg;

    opts->dereg_given = 1;
    return parse_cost(option->name, value, &opts->dereg);
}

static int read_ranks(const predreg_option_t *option, const char *value, void *opts)
{
    return parse_number(option->name, value, 1, MAX_RANKS,
                        (unsigned*)((char*)opts + option->offset));
}

static int read_bytes(const predreg_option_t *option, const char *value, void *opts)
{
    return parse_bytes(option->name, value, &((predreg_replay_opts_t*)opts)->node_max);
}

int predreg_replay_opts_parse(int argc, char **argv,
                              predreg_replay_opts_t *opts)
{
#define FIELD(_name) offsetof(predreg_replay_opts_t, _name)
    char *policies = predreg_append(predreg_policy_opt_accepted(),
                                    "; all unless given. Limits are half of what "
                                    "leave-pinned needs unless given");
    char *knobs    = predreg_append(predreg_knob_opt_accepted(),
                                    ": as UCX_RCACHE_PRED_KNOB; may be repeated");
    const predreg_option_t list[]   = {
        {"policy", 0, "P[,P...]", policies, read_policies, 0},
        {"set", 0, "KNOB=VALUE", knobs, read_knob, 0},
        {"reg-cost", 0, "OP,PAGE", "what a registration takes, and each of its pages, ns; "
         "as recorded unless given", read_reg, 0},
        {"dereg-cost", 0, "OP,PAGE", "likewise, a deregistration", read_dereg, 0},
        {"shared-processor", 0, NULL, "no processor is idle: the program does the helper's "
         "work while it waits", predreg_option_flag, FIELD(shared_processor)},
        {"curve", 0, NULL, "memory against run time: predict with budgets of 0, 0.2, 0.5, "
         "1, 2 and 5 % and inf, and which of them to use", predreg_option_flag,
         FIELD(curve)},
        {"per-rank", 0, NULL, "also say it of each rank", predreg_option_flag,
         FIELD(per_rank)},
        {"ranks", 0, "N", "say it of a job of N ranks, which do as those recorded",
         read_ranks, FIELD(num_ranks)},
        {"ranks-per-node", 0, "N", "there; as many as were recorded unless given",
         read_ranks, FIELD(ranks_per_node)},
        {"cores-per-node", 0, "N", "there; helpers share those that no rank has. Each "
         "helper has one of its own unless given", read_ranks, FIELD(cores_per_node)},
        {"node-max", 0, "BYTES", "there; for how long a node would need more", read_bytes, 0},
        {"json", 0, NULL, "one JSON object a line", predreg_option_flag, FIELD(json)},
        {NULL}
    };
    const predreg_options_t options = {
        .command = "replay",
        .usage   = "[OPTIONS] FOLDER|FILE...",
        .intro   = "Play what was recorded again, under other policies: what memory they\n"
                   "register, and how long the program waits.\n",
        .list    = list
    };
    int status;

    memset(opts, 0, sizeof(*opts));
    if (uct_predreg_knobs_default(&opts->knobs) != UCS_OK) {
        return EXIT_FAILURE;
    }

    status = predreg_options_read(&options, argc, argv, opts);
    free(policies);
    free(knobs);
    if (status != 0) {
        return status;
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
