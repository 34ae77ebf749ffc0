/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay_int.h"

#include <tools/predreg/common/command.h>

#include <ucs/sys/math.h>

#include <stdio.h>
#include <stdlib.h>

/** @file command.c
 *
 * Describes the job on top, prints the table of policies or of budgets, and ends with
 * sentences on what to set.
 */

#define NSEC_PER_SEC 1e9

/* The most ranks that are described, and the most damaged traces that are named, one by
 * one */
#define MAX_DESCRIBED 16


/* Warn of missing parts of a trace, if @a is_named. @return whether parts are missing. */
static int warn_rank(const predreg_rank_t *rank, int is_named)
{
    if (is_named && (rank->damage.lost > 0)) {
        predreg_error("warning: %s: %lu events were lost, the program is "
                      "replayed without them", rank->path, rank->damage.lost);
    }

    if (is_named && rank->damage.truncated) {
        predreg_error("warning: %s: its end is missing, the program is "
                      "replayed up to there", rank->path);
    }

    return (rank->damage.lost > 0) || rank->damage.truncated;
}

/* Warn on standard error of missing parts of the traces */
static void warn_damage(const predreg_job_t *job)
{
    size_t num_damaged = 0;
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        num_damaged += warn_rank(&job->ranks[i], num_damaged < MAX_DESCRIBED);
    }

    if (num_damaged > MAX_DESCRIBED) {
        predreg_error("warning: the same is so of %zu further traces",
                      num_damaged - MAX_DESCRIBED);
    }

    if (!job->aligned && (job->num_ranks > 1)) {
        predreg_error("warning: the traces do not tell when they began: all "
                      "ranks are taken to have begun at the same time");
    }
}

/* Costs of one operation in some ranks */
typedef struct {
    predreg_cost_t  least;
    predreg_cost_t  most;
    size_t          guessed; /* Number of ranks whose costs are a guess, at least in part */
    predreg_known_t known;   /* How much the trace of the last rank says of the costs */
} costs_t;

static void costs_add(costs_t *costs, const predreg_cost_t *cost,
                      predreg_known_t known, int is_first)
{
    if (is_first) {
        costs->least = costs->most = *cost;
    }

    costs->least.op    = ucs_min(costs->least.op, cost->op);
    costs->least.page  = ucs_min(costs->least.page, cost->page);
    costs->most.op     = ucs_max(costs->most.op, cost->op);
    costs->most.page   = ucs_max(costs->most.page, cost->page);
    costs->guessed    += (known != PREDREG_KNOWN_ALL);
    costs->known       = known;
}

static void print_costs(const char *name, const costs_t *costs,
                        const predreg_given_cost_t *given, size_t num_ranks)
{
    static const char *sources[] = {
        [PREDREG_KNOWN_NOT]  = "a guess: none was recorded",
        [PREDREG_KNOWN_SIZE] = "as recorded; a page is a guess: all had one "
                               "size",
        [PREDREG_KNOWN_ALL]  = "as recorded"
    };
    const predreg_cost_t *cost   = given->is_given ? &given->cost : &costs->least;

    if (given->is_given || (num_ranks == 1)) {
        printf("  %-16s %.3f us and %.3f ns a page, %s\n", name, cost->op / 1e3,
               cost->page, given->is_given ? "as given" : sources[costs->known]);
        return;
    }

    printf("  %-16s %.3f to %.3f us and %.3f to %.3f ns a page", name,
           costs->least.op / 1e3, costs->most.op / 1e3, costs->least.page,
           costs->most.page);
    if (costs->guessed == 0) {
        printf(", as recorded\n");
    } else {
        printf(", in %zu of %zu ranks a guess: none was recorded, or all of "
               "one size\n", costs->guessed, num_ranks);
    }
}

static void print_damage(size_t num_ranks, size_t num_damaged, uint64_t lost,
                         int truncated)
{
    if (num_ranks > 1) {
        if (num_damaged > 0) {
            printf("  %-16s %zu, with %lu events lost%s\n", "damaged traces:",
                   num_damaged, lost, truncated ? ", or their end missing" : "");
        }
        return;
    }

    if (lost > 0) {
        printf("  %-16s %lu events were lost\n", "damaged trace:", lost);
    }
    if (truncated) {
        printf("  %-16s its end is missing\n", "damaged trace:");
    }
}

/* Describe a rank, or several in one paragraph */
static void print_paragraph(const predreg_rank_t *ranks, size_t num_ranks,
                            const predreg_replay_opts_t *opts)
{
    uint64_t num_uses = 0, duration = 0, waited = 0, lost = 0;
    size_t num_damaged = 0;
    int truncated      = 0;
    costs_t reg = {}, dereg = {};
    const predreg_rank_t *rank;

    predreg_for_each(rank, ranks, num_ranks) {
        num_uses    += rank->num_uses;
        duration     = ucs_max(duration, rank->duration);
        waited       = ucs_max(waited, rank->waited);
        lost        += rank->damage.lost;
        truncated   |= rank->damage.truncated;
        num_damaged += (rank->damage.lost > 0) || rank->damage.truncated;
        costs_add(&reg, &rank->reg, rank->reg_known, rank == ranks);
        costs_add(&dereg, &rank->dereg, rank->dereg_known, rank == ranks);
    }

    if (num_ranks == 1) {
        printf("rank %ld: %lu uses in %.4f s, without %.4f s of waits\n",
               ranks->number, num_uses, duration / NSEC_PER_SEC,
               waited / NSEC_PER_SEC);
    } else {
        printf("%zu ranks: %lu uses in up to %.4f s, without up to %.4f s of "
               "waits\n", num_ranks, num_uses, duration / NSEC_PER_SEC,
               waited / NSEC_PER_SEC);
    }
    print_damage(num_ranks, num_damaged, lost, truncated);
    print_costs("registration:", &reg, &opts->reg, num_ranks);
    print_costs("deregistration:", &dereg, &opts->dereg, num_ranks);
}

/* Print what is replayed, above the table. If there are many ranks, summarise them,
 * unless the user asks for each of them */
static void print_ranks(const predreg_job_t *job, const predreg_replay_opts_t *opts)
{
    size_t i;

    if ((job->num_ranks > MAX_DESCRIBED) && !opts->per_rank) {
        print_paragraph(job->ranks, job->num_ranks, opts);
    } else {
        for (i = 0; i < job->num_ranks; ++i) {
            print_paragraph(&job->ranks[i], 1, opts);
        }
    }

    if (job->damage.left_out > 0) {
        printf("left out: %zu traces that cannot be read\n",
               job->damage.left_out);
    }
    if (job->in_arena) {
        printf("recorded with an arena: without it, the program would have other memory, and "
               "the\n  other policies other figures%s\n",
               opts->policies_given ? "" : ", which are left out");
    }
    printf("\n");
}

static predreg_budget_point_t
point_of(const predreg_job_t *job, const predreg_replay_result_t *results)
{
    const predreg_replay_result_t *total = &results[job->num_ranks];

    return (predreg_budget_point_t){
        .memory = total->pinned_avg_bytes,
        .time   = total->duration
    };
}

/* @return the index of the budget to use, or the number of budgets if none is better
 * than leave-pinned. */
static unsigned choose(const predreg_job_t *job,
                       const predreg_budgets_t *budgets)
{
    predreg_budget_point_t points[PREDREG_BUDGETS_MAX], pinned;
    unsigned i;

    pinned = point_of(job, job->results[PREDREG_REPLAY_LEAVE_PINNED]);
    for (i = 0; i < budgets->num; ++i) {
        points[i] = point_of(job, predreg_job_budget_results(job, budgets, i));
    }

    return predreg_budgets_choose(budgets, points, &pinned);
}

/* Print a row, or a line of JSON, for each budget */
static void print_curve(const predreg_job_t *job, const predreg_replay_opts_t *opts)
{
    const predreg_budgets_t *budgets = &opts->budgets;
    unsigned chosen                  = choose(job, budgets);
    char name[PREDREG_BUDGET_NAME_MAX], label[32];
    unsigned i;

    for (i = 0; i < budgets->num; ++i) {
        snprintf(label, sizeof(label), "predict %s",
                 predreg_budget_name(budgets->rates[i], name));
        predreg_replay_print_results(job, opts, label,
                                     (i == chosen) ? PREDREG_RECOMMENDED :
                                                     PREDREG_NOT_RECOMMENDED,
                                     predreg_job_budget_results(job, budgets,
                                                                i));
    }
}

/* Print in words the budget to use, and how to set it */
static void print_advice(const predreg_job_t *job, const predreg_replay_opts_t *opts)
{
    unsigned chosen = choose(job, &opts->budgets);
    char name[PREDREG_BUDGET_NAME_MAX];

    if (chosen == opts->budgets.num) {
        printf("\nno budget saves memory within %g %% of leave-pinned's run "
               "time\n", 100 * PREDREG_COSTS_PART);
    } else {
        printf("\nleast memory within %g %% of leave-pinned's run time:\n"
               "  ucx_predreg run --set BUDGET=%s -- COMMAND\n",
               100 * PREDREG_COSTS_PART,
               predreg_budget_name(opts->budgets.rates[chosen], name));
    }
}

static void print_summary(const predreg_job_t *job)
{
    const predreg_replay_result_t *predict, *clairvoyant;

    predict     = job->results[PREDREG_REPLAY_PREDICT];
    clairvoyant = job->results[PREDREG_REPLAY_CLAIRVOYANT];
    if (predict != NULL) {
        predreg_replay_print_forgotten(&predict[job->num_ranks]);
    }
    if ((predict != NULL) && (clairvoyant != NULL)) {
        predreg_replay_print_excess(&predict[job->num_ranks],
                                    &clairvoyant[job->num_ranks]);
    }
}

/* Whether a policy is worth a row. Without mappings for an arena, the policy arena is
 * the same as predict. Recorded with an arena, the program has mappings that it would not
 * have under another policy */
static int has_row(const predreg_job_t *job, const predreg_replay_opts_t *opts,
                   predreg_replay_policy_t policy)
{
    const predreg_replay_result_t *results = job->results[policy];

    if ((results == NULL) ||
        (opts->curve && (policy == PREDREG_REPLAY_PREDICT))) {
        return 0;
    }

    return opts->policies_given ||
           ((policy == PREDREG_REPLAY_ARENA) ?
            (results[job->num_ranks].bound_bytes > 0) : !job->in_arena);
}

static void print_gain(const predreg_job_t *job, int is_json)
{
    const predreg_replay_result_t *pinned, *predict, *arena;
    predreg_gain_t gain = {0};
    size_t i;

    pinned  = job->results[PREDREG_REPLAY_LEAVE_PINNED];
    predict = job->results[PREDREG_REPLAY_PREDICT];
    arena   = job->results[PREDREG_REPLAY_ARENA];
    if ((pinned == NULL) || (predict == NULL) || (arena == NULL)) {
        return;
    }

    for (i = 0; i < job->num_ranks; ++i) {
        predreg_gain_add(&gain, &pinned[i], &predict[i], &arena[i], job->in_arena);
    }
    predreg_replay_print_gain(&gain, is_json);
}

static void print_table(const predreg_job_t *job,
                        const predreg_replay_opts_t *opts)
{
    int has_curve = opts->curve && !job->in_arena;
    unsigned policy;

    if (!opts->json) {
        predreg_replay_print_head();
    }

    if (has_curve) {
        print_curve(job, opts);
    }

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (has_row(job, opts, policy)) {
            predreg_replay_print_results(job, opts,
                                         predreg_policies[policy].name,
                                         PREDREG_NO_BUDGET, job->results[policy]);
        }
    }

    if (!opts->json && !job->in_arena) {
        print_summary(job);
    }
    print_gain(job, opts->json);
    predreg_replay_print_sends(&job->sends, opts->json);

    if (has_curve && !opts->json) {
        print_advice(job, opts);
    }
}

static ucs_status_t print_job(const predreg_job_t *job,
                              const predreg_replay_opts_t *opts)
{
    ucs_status_t status = UCS_OK;

    warn_damage(job);
    if (!opts->json) {
        print_ranks(job, opts);
    }

    if (opts->num_ranks > 0) {
        status = predreg_replay_scale(job, opts);
    } else {
        print_table(job, opts);
    }
    return status;
}

int predreg_replay_command(int argc, char **argv)
{
    predreg_job_t job = {};
    predreg_replay_opts_t opts;
    ucs_status_t result;
    int status;

    status = predreg_replay_opts_parse(argc, argv, &opts);
    if (status == 0) {
        result = predreg_job_replay(&opts, &job);
        if (result == UCS_OK) {
            result = print_job(&job, &opts);
        }
        status = (result == UCS_OK) ? EXIT_SUCCESS : EXIT_FAILURE;
        predreg_job_cleanup(&job);
    }

    predreg_replay_opts_cleanup(&opts);
    return status;
}
