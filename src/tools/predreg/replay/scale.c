/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay_int.h"

#include <tools/predreg/common/command.h>

#include <stdio.h>

/** @file scale.c
 *
 * Computes a larger job from the results of the recorded ranks, and prints a row or a JSON
 * object for each policy and phase: a phase says how the ranks lie in time.
 */

#define MIB (1024. * 1024.)

#define HEAD \
    "%-12s  %-8s  %10s  %10s  %8s  %10s  %10s  %8s  %10s  %8s  %8s  %10s  %10s\n"


/* Fill in the parameters of the larger job. If no option says otherwise, a node has as
 * many ranks as were recorded */
static void scale_params(const predreg_job_t *job,
                         const predreg_replay_opts_t *opts,
                         predreg_phase_t phase, predreg_scale_params_t *params)
{
    *params = (predreg_scale_params_t){
        .num_ranks      = opts->num_ranks,
        .ranks_per_node = (opts->ranks_per_node == 0) ?
                          job->num_ranks : opts->ranks_per_node,
        .cores_per_node = opts->cores_per_node,
        .node_max       = (opts->node_max == 0) ? UINT64_MAX : opts->node_max,
        .phase          = phase
    };
}

static void print_head(const predreg_job_t *job,
                       const predreg_replay_opts_t *opts)
{
    predreg_scale_params_t params;

    scale_params(job, opts, PREDREG_PHASE_RECORDED, &params);
    printf("%u ranks, %u a node, as the %zu recorded\n\n", params.num_ranks,
           params.ranks_per_node, job->num_ranks);
    printf(HEAD, "policy", "phases", "node avg", "node peak", "avg of", "job avg",
           "job peak", "above", "above by", "helpers", "delayed", "by avg", "by max");
    printf(HEAD, "", "", "MiB", "MiB", "l-p, %", "MiB", "MiB", "% time", "MiB", "cores",
           "% regs", "us", "us");
}

/* Whether the load and the delays of helpers are known: helpers share cores, and
 * register */
static int has_helpers(const predreg_scale_t *scale)
{
    return (scale->idle_cores > 0) && (scale->helper_regs > 0);
}

/* @param [in] pinned Average memory under leave-pinned; 0: not known. */
static void print_row(const predreg_replay_opts_t *opts, const char *policy,
                      predreg_phase_t phase, const predreg_scale_t *scale,
                      double pinned)
{
    printf("%-12s  %-8s  %10.3f  %10.3f", policy, predreg_phase_names[phase],
           scale->node_avg_bytes / MIB, scale->node_peak_bytes / MIB);
    if (pinned > 0) {
        printf("  %8.2f", 100 * scale->node_avg_bytes / pinned);
    } else {
        printf("  %8s", "-");
    }

    printf("  %10.1f  %10.1f", scale->job_avg_bytes / MIB,
           scale->job_peak_bytes / MIB);
    if (opts->node_max > 0) {
        printf("  %8.2f  %10.3f", 100 * scale->above,
               scale->above_avg_bytes / MIB);
    } else {
        printf("  %8s  %10s", "-", "-");
    }

    if (has_helpers(scale)) {
        printf("  %8.4f  %8.2f  %10.1f  %10.1f\n", scale->helper_cores,
               100. * scale->delayed_regs / scale->helper_regs,
               scale->delay_avg / 1e3, scale->delay_max / 1e3);
    } else {
        printf("  %8s  %8s  %10s  %10s\n", "-", "-", "-", "-");
    }
}

static void print_json(const predreg_job_t *job,
                       const predreg_replay_opts_t *opts, const char *policy,
                       const predreg_scale_params_t *params,
                       const predreg_scale_t *scale)
{
    ucs_json_t *json = predreg_json_begin("scale");
    int has_max      = (opts->node_max > 0);
    int has          = has_helpers(scale);

    ucs_json_string(json, "policy", policy);
    ucs_json_string(json, "phases", predreg_phase_names[params->phase]);
    ucs_json_uint(json, "ranks", params->num_ranks);
    JSON_UINT(params, ranks_per_node);
    ucs_json_uint(json, "nodes", scale->num_nodes);
    ucs_json_printf(json, "node_avg_bytes", "%.0f", scale->node_avg_bytes);
    JSON_UINT(scale, node_peak_bytes);
    ucs_json_printf(json, "job_avg_bytes", "%.0f", scale->job_avg_bytes);
    JSON_UINT(scale, job_peak_bytes);
    predreg_json_known(json, "node_max_bytes", has_max, params->node_max, 0);
    predreg_json_known(json, "above", has_max, scale->above, 6);
    predreg_json_known(json, "above_avg_bytes", has_max, scale->above_avg_bytes, 0);
    JSON_UINT(scale, idle_cores);
    predreg_json_known(json, "helper_cores", has, scale->helper_cores, 6);
    predreg_json_known(json, "helper_regs", has, scale->helper_regs, 0);
    predreg_json_known(json, "delayed_regs", has, scale->delayed_regs, 0);
    predreg_json_known(json, "delay_avg_ns", has, scale->delay_avg, 0);
    predreg_json_known(json, "delay_max_ns", has, scale->delay_max, 0);
    predreg_replay_put_damage(json, &job->damage);
    predreg_json_print(json);
}

static ucs_status_t scale_phase(const predreg_job_t *job,
                                const predreg_replay_opts_t *opts,
                                predreg_phase_t phase)
{
    predreg_replay_result_t *const *results = job->results;
    double pinned                           = 0;
    ucs_status_t status                     = UCS_OK;
    predreg_scale_params_t params;
    predreg_scale_t scale;
    unsigned policy;

    scale_params(job, opts, phase, &params);
    if (results[PREDREG_REPLAY_LEAVE_PINNED] != NULL) {
        status = predreg_scale(results[PREDREG_REPLAY_LEAVE_PINNED],
                               job->offsets, job->num_ranks, &params, &scale);
        pinned = scale.node_avg_bytes;
    }

    for (policy = 0; (policy < PREDREG_REPLAY_LAST) && (status == UCS_OK);
         ++policy) {
        if (results[policy] == NULL) {
            continue;
        }

        status = predreg_scale(results[policy], job->offsets, job->num_ranks,
                               &params, &scale);
        if (status != UCS_OK) {
            break;
        }

        if (opts->json) {
            print_json(job, opts, predreg_policies[policy].name, &params,
                       &scale);
        } else {
            print_row(opts, predreg_policies[policy].name, phase, &scale,
                      pinned);
        }
    }

    return status;
}

ucs_status_t predreg_replay_scale(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts)
{
    ucs_status_t status = UCS_OK;
    predreg_phase_t phase;

    if (!opts->json) {
        print_head(job, opts);
    }

    for (phase = 0; (phase < PREDREG_PHASE_LAST) && (status == UCS_OK);
         ++phase) {
        status = scale_phase(job, opts, phase);
    }
    return status;
}
