/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "describe.h"

#include <tools/predreg/common/message.h>

#include <ucs/sys/math.h>

#include <stdio.h>

#define NSEC_PER_SEC 1e9

/* Up to so many ranks are described, and damaged traces named, one by one */
#define MAX_DESCRIBED 16


/* @return whether anything is missing. */
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

void predreg_replay_warn_damage(const predreg_job_t *job)
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

static void print_cost(const char *name, const predreg_cost_t *cost,
                       const char *source)
{
    printf("  %-16s %.3f us and %.3f ns a page, %s\n", name, cost->op / 1e3,
           cost->page, source);
}

static const char *cost_source(int given, predreg_known_t known)
{
    static const char *sources[] = {
        [PREDREG_KNOWN_NOT]  = "a guess: none was recorded",
        [PREDREG_KNOWN_SIZE] = "as recorded; a page is a guess: all had one "
                               "size",
        [PREDREG_KNOWN_ALL]  = "as recorded"
    };

    return given ? "as given" : sources[known];
}

static void print_damage(const predreg_damage_t *damage)
{
    if (damage->lost > 0) {
        printf("  %-16s %lu events were lost\n", "damaged trace:",
               damage->lost);
    }
    if (damage->truncated) {
        printf("  %-16s its end is missing\n", "damaged trace:");
    }
}

static void print_rank(const predreg_rank_t *rank,
                       const predreg_replay_opts_t *opts)
{
    printf("rank %ld: %zu uses in %.4f s, without %.4f s of waits\n",
           rank->number, rank->num_uses, rank->duration / NSEC_PER_SEC,
           rank->waited / NSEC_PER_SEC);
    print_damage(&rank->damage);
    print_cost("registration:", opts->reg_given ? &opts->reg : &rank->reg,
               cost_source(opts->reg_given, rank->reg_known));
    print_cost("deregistration:",
               opts->dereg_given ? &opts->dereg : &rank->dereg,
               cost_source(opts->dereg_given, rank->dereg_known));
}

/* Costs of one operation in many ranks */
typedef struct costs {
    predreg_cost_t least;
    predreg_cost_t most;
    size_t         guessed; /* In how many ranks they are a guess, at least in
                               part */
} costs_t;

static void costs_add(costs_t *costs, const predreg_cost_t *cost,
                      predreg_known_t known, int is_first)
{
    if (is_first) {
        costs->least   = costs->most = *cost;
        costs->guessed = 0;
    }

    costs->least.op    = ucs_min(costs->least.op, cost->op);
    costs->least.page  = ucs_min(costs->least.page, cost->page);
    costs->most.op     = ucs_max(costs->most.op, cost->op);
    costs->most.page   = ucs_max(costs->most.page, cost->page);
    costs->guessed    += (known != PREDREG_KNOWN_ALL);
}

static void print_costs(const char *name, const costs_t *costs, int given,
                        const predreg_cost_t *cost, size_t num_ranks)
{
    if (given) {
        print_cost(name, cost, "as given");
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

static void print_all_damage(const predreg_job_t *job)
{
    size_t num_damaged = 0;
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        num_damaged += (job->ranks[i].damage.lost > 0) ||
                       job->ranks[i].damage.truncated;
    }

    if (num_damaged > 0) {
        printf("  %-16s %zu, with %lu events lost%s\n", "damaged traces:",
               num_damaged, job->damage.lost,
               job->damage.truncated ? ", or their end missing" : "");
    }
}

/* Describe all ranks in one paragraph */
static void print_all_ranks(const predreg_job_t *job,
                            const predreg_replay_opts_t *opts)
{
    uint64_t num_uses = 0, duration = 0, waited = 0;
    costs_t reg = { .guessed = 0 }, dereg = { .guessed = 0 };
    const predreg_rank_t *rank;

    for (rank = job->ranks; rank < job->ranks + job->num_ranks; ++rank) {
        num_uses += rank->num_uses;
        duration  = ucs_max(duration, rank->duration);
        waited    = ucs_max(waited, rank->waited);
        costs_add(&reg, &rank->reg, rank->reg_known, rank == job->ranks);
        costs_add(&dereg, &rank->dereg, rank->dereg_known, rank == job->ranks);
    }

    printf("%zu ranks: %lu uses in up to %.4f s, without up to %.4f s of "
           "waits\n", job->num_ranks, num_uses, duration / NSEC_PER_SEC,
           waited / NSEC_PER_SEC);
    print_all_damage(job);
    print_costs("registration:", &reg, opts->reg_given, &opts->reg,
                job->num_ranks);
    print_costs("deregistration:", &dereg, opts->dereg_given, &opts->dereg,
                job->num_ranks);
}

void predreg_replay_print_ranks(const predreg_job_t *job,
                                const predreg_replay_opts_t *opts)
{
    size_t i;

    if ((job->num_ranks > MAX_DESCRIBED) && !opts->per_rank) {
        print_all_ranks(job, opts);
    } else {
        for (i = 0; i < job->num_ranks; ++i) {
            print_rank(&job->ranks[i], opts);
        }
    }

    if (job->damage.left_out > 0) {
        printf("left out: %zu traces that cannot be read\n",
               job->damage.left_out);
    }
    printf("\n");
}
