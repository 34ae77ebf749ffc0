/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay_int.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/** @file opts.c
 *
 * Knobs, policies and limits come from the tables of the library and of the replay, as
 * do the lists of accepted values in messages and in the help.
 */

/* The most ranks of a larger job. No real job has more, and with this limit no number
 * computed from the ranks comes close to overflow */
#define MAX_RANKS 16777216u


static int read_knob(const predreg_option_t *option, const char *arg, void *opts)
{
    return predreg_knob_replay(arg, &((predreg_replay_opts_t*)opts)->knobs);
}

static const predreg_limit_kind_t *limit_kind(unsigned policy)
{
    return &predreg_limit_kinds[predreg_policies[policy].limit];
}

/* @return a list of all policies, or only of the policies with a limit (with_limit is 1),
 *         as in "predict, lru[=BYTES]"; to be freed. */
static char *list_policies(int with_limit)
{
    char *list = predreg_format("%s", "");
    unsigned policy;
    int has_limit;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        has_limit = (predreg_policies[policy].limit != PREDREG_LIMIT_NONE);
        if (has_limit || !with_limit) {
            list = predreg_list(list, predreg_policies[policy].name);
        }
        if (has_limit) {
            list = predreg_append(list, "[=%s]", limit_kind(policy)->placeholder);
        }
    }

    return list;
}

/* Read the number behind the equals sign of a policy.
 * @param [in] whole  POLICY=LIMIT, for messages. */
static int parse_limit(const char *whole, unsigned policy, const char *number,
                       predreg_replay_opts_t *opts)
{
    char *accepted;

    if (predreg_policies[policy].limit == PREDREG_LIMIT_NONE) {
        accepted = list_policies(1);
        predreg_error("--policy: '%s'; only %s have a limit", whole, accepted);
        free(accepted);
        return PREDREG_EXIT_USAGE;
    }

    if ((policy == PREDREG_REPLAY_ARENA) &&
        (uct_predreg_knobs_set(&opts->knobs, "ARENA", number) != UCS_OK)) {
        return PREDREG_EXIT_USAGE;
    }

    opts->limits[policy] = predreg_bytes(number);
    if (opts->limits[policy] == 0) {
        return predreg_error("--policy: '%s'; accepted: a number from 1, as in %s=%s",
                             whole, predreg_policies[policy].name,
                             limit_kind(policy)->example);
    }

    return 0;
}

/* Read one policy, which the user writes as POLICY or as POLICY=LIMIT, and choose it */
static int parse_policy(const char *arg, predreg_replay_opts_t *opts)
{
    size_t length   = strcspn(arg, "=");
    unsigned policy = predreg_policy_find(arg, length);
    char *accepted;

    if (policy == PREDREG_REPLAY_LAST) {
        accepted = list_policies(0);
        predreg_error("--policy: '%s'; accepted: %s", arg, accepted);
        free(accepted);
        return PREDREG_EXIT_USAGE;
    }

    if (opts->policies[policy]) {
        return predreg_error("--policy: '%s' is given twice",
                             predreg_policies[policy].name);
    }

    opts->policies[policy] = 1;
    return (arg[length] == '\0') ?
           0 : parse_limit(arg, policy, &arg[length + 1], opts);
}

/* Read a list of policies. The option may be given several times */
static int read_policies(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_replay_opts_t *opts = arg;
    char *copy                  = predreg_format("%s", value);
    char *rest                  = copy;
    int ret                     = 0;
    char *name;

    opts->policies_given = 1;
    while ((ret == 0) && ((name = strsep(&rest, ",")) != NULL)) {
        ret = parse_policy(name, opts);
    }
    free(copy);
    return ret;
}

/* @return the field that an option sets */
static void *field(const predreg_option_t *option, void *opts)
{
    return (char*)opts + option->offset;
}

/* Read a cost, written as OP,PAGE */
static int read_cost(const predreg_option_t *option, const char *value, void *opts)
{
    predreg_given_cost_t *given = field(option, opts);
    char *end;

    given->is_given = 1;
    given->cost.op  = strtod(value, &end);
    if ((end != value) && (*end == ',') && (end[1] != '\0')) {
        given->cost.page = strtod(end + 1, &end);
        if ((*end == '\0') && predreg_replay_cost_is_valid(&given->cost)) {
            return 0;
        }
    }

    return predreg_error("--%s: '%s'; accepted: OP,PAGE, ns an operation and a page, "
                         "each from 0 to %g, as in 10000,50", option->name, value,
                         PREDREG_REPLAY_MAX_COST);
}

static int read_ranks(const predreg_option_t *option, const char *value, void *opts)
{
    unsigned *number_p = field(option, opts);

    *number_p = predreg_number(value, MAX_RANKS);
    if (*number_p == 0) {
        return predreg_error("--%s: '%s'; accepted: 1 to %u", option->name, value,
                             MAX_RANKS);
    }

    return 0;
}

static int read_bytes(const predreg_option_t *option, const char *value, void *opts)
{
    uint64_t *bytes_p = field(option, opts);

    *bytes_p = predreg_bytes(value);
    if (*bytes_p == 0) {
        return predreg_error("--%s: '%s'; accepted: a number of bytes from 1, as in "
                             "512m", option->name, value);
    }

    return 0;
}

/* Refuse options about a larger job without --ranks, and options about the recorded job
 * with --ranks */
static int check_ranks(const predreg_replay_opts_t *opts)
{
    unsigned ranks_per_node = opts->ranks_per_node;

    if ((opts->num_ranks == 0) &&
        ((ranks_per_node > 0) || (opts->cores_per_node > 0) ||
         (opts->node_max > 0))) {
        return predreg_error("--ranks-per-node, --cores-per-node and --node-max are "
                             "of the job that --ranks asks for");
    }

    if ((opts->num_ranks > 0) && predreg_job_has_node_bound(opts)) {
        return predreg_error("--set: NODE_MAX_PINNED and NODE_MAX_REGIONS are of the job "
                             "that was recorded, and --ranks of a larger one: accepted is "
                             "one of the two");
    }

    if ((opts->curve || opts->per_rank) && (opts->num_ranks > 0)) {
        return predreg_error("%s is of the job that was recorded, and --ranks of a "
                             "larger one: accepted is one of the two",
                             opts->curve ? "--curve" : "--per-rank");
    }

    if ((opts->cores_per_node > 0) && (ranks_per_node == 0)) {
        return predreg_error("--cores-per-node needs --ranks-per-node");
    }

    if ((opts->cores_per_node > 0) && (opts->cores_per_node < ranks_per_node)) {
        return predreg_error("--cores-per-node: %u; accepted: at least one for each "
                             "of the %u ranks of a node", opts->cores_per_node,
                             ranks_per_node);
    }

    return 0;
}

/* Whether a policy is played if the user has named none: all policies that are not extra
 * or, with a curve, on-demand and clairvoyant, which a report shows beside the curve as
 * well. Those that show what is possible under a bound need one */
static int is_default(const predreg_replay_opts_t *opts, unsigned policy)
{
    if (predreg_policies[policy].is_bounded) {
        return (opts->knobs.max_pinned != UINT64_MAX) ||
               (opts->knobs.max_regions != UINT64_MAX);
    }

    if (opts->curve) {
        return (policy == PREDREG_REPLAY_ON_DEMAND) ||
               (policy == PREDREG_REPLAY_CLAIRVOYANT);
    }

    return !predreg_policies[policy].is_extra;
}

/* Choose the policies if the user has named none. A curve always needs predict and
 * leave-pinned */
static void default_policies(predreg_replay_opts_t *opts)
{
    unsigned policy;

    for (policy = 0; !opts->policies_given && (policy < PREDREG_REPLAY_LAST);
         ++policy) {
        opts->policies[policy] = is_default(opts, policy);
    }

    if (opts->curve) {
        opts->policies[PREDREG_REPLAY_PREDICT]      = 1;
        opts->policies[PREDREG_REPLAY_LEAVE_PINNED] = 1;
        predreg_budgets_list(opts->knobs.budget / 100, &opts->budgets);
    }
}

int predreg_replay_opts_parse(int argc, char **argv,
                              predreg_replay_opts_t *opts)
{
#define FIELD(_name) offsetof(predreg_replay_opts_t, _name)
    char *policies = predreg_append(list_policies(0),
                                    "; all but merging unless given. Limits are half "
                                    "of what leave-pinned needs unless given");
    char *knobs    = predreg_append(predreg_knob_list_replayed(),
                                    ": as UCX_RCACHE_PRED_KNOB; may be repeated");
    const predreg_option_t list[]   = {
        {"policy", 0, "P[,P...]", policies, read_policies, 0},
        {"set", 0, "KNOB=VALUE", knobs, read_knob, 0},
        {"reg-cost", 0, "OP,PAGE", "what a registration takes, and each of its pages, ns; "
         "as recorded unless given", read_cost, FIELD(reg)},
        {"dereg-cost", 0, "OP,PAGE", "likewise, a deregistration", read_cost, FIELD(dereg)},
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
        {"node-max", 0, "BYTES", "there; for how long a node would need more", read_bytes,
         FIELD(node_max)},
        {"json", 0, NULL, "one JSON object a line", predreg_option_flag, FIELD(json)},
        {NULL}
    };
    const predreg_options_t options = {
        .command = "replay",
        .usage   = "[OPTIONS] FILE|FOLDER|-...",
        .intro   = "Play what was recorded again, under other policies: what memory they\n"
                   "register, and how long the program waits; - is a trace on standard input.\n",
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

    status = check_ranks(opts);
    if (status != 0) {
        return status;
    }

    if (optind == argc) {
        return predreg_error("replay: what was recorded is missing; accepted: folders "
                             "of traces, or traces");
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
