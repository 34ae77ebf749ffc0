/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "command.h"
#include "job.h"
#include "output.h"
#include "scale.h"

#include <tools/predreg/common/message.h>

#include <stdio.h>
#include <stdlib.h>

#define NSEC_PER_SEC 1e9


/* Warn of events that are missing in the traces */
static void warn_damage(const predreg_job_t *job)
{
    const ucs_rcache_trace_t *trace;
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        trace = job->ranks[i].trace;
        if (trace->lost > 0) {
            predreg_error("warning: %s: %lu events were lost, the program is "
                          "replayed without them", trace->path, trace->lost);
        }
        if (trace->truncated) {
            predreg_error("warning: %s: its end is missing, the program is "
                          "replayed up to there", trace->path);
        }
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

static const char *cost_source(int given, int known)
{
    return given ? "as given" : known ? "as recorded" :
                                        "a guess: none was recorded";
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

/* Print, for each rank, its program and what its registrations cost */
static void print_job(const predreg_job_t *job,
                      const predreg_replay_opts_t *opts)
{
    const predreg_timeline_t *timeline;
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        timeline = job->ranks[i].timeline;
        printf("rank %ld: %zu uses in %.4f s, without %.4f s of waits\n",
               job->ranks[i].number, timeline->num_uses,
               timeline->duration / NSEC_PER_SEC,
               timeline->waited / NSEC_PER_SEC);
        print_damage(&job->ranks[i].damage);
        print_cost("registration:",
                   opts->reg_given ? &opts->reg : &timeline->reg,
                   cost_source(opts->reg_given, timeline->reg_known));
        print_cost("deregistration:",
                   opts->dereg_given ? &opts->dereg : &timeline->dereg,
                   cost_source(opts->dereg_given, timeline->dereg_known));
    }
    printf("\n");
}

static void print_results(const predreg_job_t *job,
                          const predreg_replay_opts_t *opts,
                          const predreg_replay_result_t *results)
{
    const predreg_replay_result_t *total = &results[job->num_ranks];
    size_t i;

    if (opts->json) {
        predreg_replay_print_json(total, &job->damage, job->num_ranks,
                                  PREDREG_ALL_RANKS);
    } else {
        predreg_replay_print_row(total, PREDREG_ALL_RANKS);
    }

    for (i = 0; opts->per_rank && (i < job->num_ranks); ++i) {
        if (opts->json) {
            predreg_replay_print_json(&results[i], &job->ranks[i].damage, 1,
                                      job->ranks[i].number);
        } else {
            predreg_replay_print_row(&results[i], job->ranks[i].number);
        }
    }
}

static void print_summary(const predreg_job_t *job,
                          predreg_replay_result_t **results)
{
    const predreg_replay_result_t *predict, *clairvoyant;

    predict     = results[PREDREG_REPLAY_PREDICT];
    clairvoyant = results[PREDREG_REPLAY_CLAIRVOYANT];
    if ((predict != NULL) && (clairvoyant != NULL)) {
        predreg_replay_print_excess(&predict[job->num_ranks],
                                    &clairvoyant[job->num_ranks]);
    }
}

static void free_results(const predreg_job_t *job,
                         predreg_replay_result_t *results)
{
    size_t i;

    for (i = 0; i <= job->num_ranks; ++i) {
        predreg_replay_result_cleanup(&results[i]);
    }
    free(results);
}

/* Replay the job under each policy, and print the results */
static int replay_job(const predreg_job_t *job,
                      const predreg_replay_opts_t *opts)
{
    predreg_replay_result_t *results[PREDREG_REPLAY_LAST] = {NULL};
    ucs_status_t status                                   = UCS_OK;
    unsigned policy;

    if (!opts->json) {
        print_job(job, opts);
        if (opts->num_ranks == 0) {
            predreg_replay_print_head();
        }
    }

    for (policy = 0; (policy < PREDREG_REPLAY_LAST) && (status == UCS_OK);
         ++policy) {
        if (!opts->policies[policy]) {
            continue;
        }

        results[policy] = predreg_check_memory(
                calloc(job->num_ranks + 1, sizeof(*results[policy])));
        status          = predreg_job_replay(job, policy, opts,
                                             results[policy]);
        if ((status == UCS_OK) && (opts->num_ranks == 0)) {
            print_results(job, opts, results[policy]);
        } else if (status != UCS_OK) {
            predreg_error("replay: %s cannot be replayed: %s",
                          predreg_policies[policy].name,
                          ucs_status_string(status));
            free(results[policy]);
            results[policy] = NULL;
        }
    }

    if ((status == UCS_OK) && (opts->num_ranks > 0)) {
        status = predreg_replay_scale(job, opts, results);
    } else if ((status == UCS_OK) && !opts->json) {
        print_summary(job, results);
    }

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (results[policy] != NULL) {
            free_results(job, results[policy]);
        }
    }
    return (status == UCS_OK) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int predreg_replay_command(int argc, char **argv)
{
    predreg_replay_opts_t opts;
    predreg_job_t job;
    int status;

    status = predreg_replay_opts_parse(argc, argv, &opts);
    if (status != 0) {
        goto out_cleanup_opts;
    }

    status = EXIT_FAILURE;
    if (predreg_job_load(opts.num_paths, opts.paths, &job) == UCS_OK) {
        warn_damage(&job);
        status = replay_job(&job, &opts);
    }
    predreg_job_cleanup(&job);

out_cleanup_opts:
    predreg_replay_opts_cleanup(&opts);
    return status;
}
