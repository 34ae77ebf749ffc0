/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_rank.h"

#include <tools/base/memory.h>
#include <tools/predreg/common/command.h>
#include <tools/predreg/common/trace_files.h>
#include <tools/replay/replay.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>


/* The results of a rank */
typedef struct {
    predreg_replay_result_t results[PREDREG_REPLAY_LAST];
    unsigned                num_results;
    predreg_replay_result_t bounds[PREDREG_MAX_TRIED];
    unsigned                num_bounds;
    predreg_budgets_t       budgets;
    predreg_outcome_t       curve[PREDREG_BUDGETS_MAX];
} played_rank_t;


/* Whether a policy shows nothing of its own */
static int is_left_out(const predreg_timeline_t *timeline, unsigned policy,
                       const uct_predreg_knobs_t *knobs)
{
    if (predreg_policies[policy].is_bounded) {
        return (knobs->max_pinned == SIZE_MAX) && (knobs->max_regions == ULONG_MAX);
    }

    /* The arena serves large mappings only: for a program without any, the policy arena
     * has the result of predict */
    return predreg_policies[policy].is_extra ||
           ((policy == PREDREG_REPLAY_ARENA) && (timeline->num_maps == 0));
}

/* Replay a rank under every policy */
static ucs_status_t play_policies(const predreg_timeline_t *timeline,
                                  const uct_predreg_knobs_t *knobs,
                                  played_rank_t *played)
{
    predreg_replay_params_t params;
    ucs_status_t status;
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (is_left_out(timeline, policy, knobs)) {
            continue;
        }

        predreg_progress_part(predreg_policies[policy].name);
        predreg_replay_params_default(timeline, policy, &params);
        uct_predreg_knobs_to_params(knobs, &params.cache);
        status = predreg_replay(timeline, &params,
                                &played->results[played->num_results]);
        if (status == UCS_OK) {
            ++played->num_results;
        } else if (status != UCS_ERR_UNSUPPORTED) {
            return status;
        }
    }

    return UCS_OK;
}

/* Replay a rank with several bounds on UCX's own cache */
static ucs_status_t play_bounds(const predreg_timeline_t *timeline,
                                played_rank_t *played)
{
    uint64_t peak = 0;
    uint64_t limits[PREDREG_MAX_TRIED];
    predreg_replay_params_t params;
    ucs_status_t status;
    unsigned i, count;

    for (i = 0; i < played->num_results; ++i) {
        if (played->results[i].policy == PREDREG_REPLAY_LEAVE_PINNED) {
            peak = played->results[i].pinned.peak_bytes;
        }
    }

    predreg_replay_params_default(timeline, PREDREG_REPLAY_LRU, &params);
    count = predreg_bounds_to_try(peak, limits);
    for (i = 0; i < count; ++i) {
        predreg_progress_part("bounds");
        params.limit = limits[i];
        status       = predreg_replay(timeline, &params, &played->bounds[i]);
        if (status != UCS_OK) {
            return status;
        }
        ++played->num_bounds;
    }

    return UCS_OK;
}

/* The replays of predict with each budget, in which the helper runs on the program's
 * processor. They take as long as the rest of a report (2.6 of 4.9 s of a processor for a
 * trace of 300 000 uses), so a child process plays them at the same time, and writes the
 * outcomes into a pipe */
typedef struct {
    predreg_replay_params_t params;
    pid_t                   child; /* -1: no child was started */
    int                     fd;    /* End of the pipe for reading */
} curve_t;

static ucs_status_t play_budget(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                double rate, predreg_outcome_t *outcome)
{
    predreg_replay_params_t changed = *params;
    predreg_replay_result_t result;
    ucs_status_t status;

    memset(outcome, 0, sizeof(*outcome));
    changed.cache.budget = rate;
    status               = predreg_replay(timeline, &changed, &result);
    if (status == UCS_OK) {
        predreg_outcome_add(outcome, &result);
        predreg_replay_result_cleanup(&result);
    }

    return status;
}

/* Play the budgets in the child. The kernel ends the child when the parent ends. After an
 * error the child stops without a message: the parent plays the same budget again, and
 * prints the error */
static void child_main(const predreg_timeline_t *timeline, const curve_t *curve,
                       const predreg_budgets_t *budgets, int fd)
{
    int null = open("/dev/null", O_WRONLY);
    predreg_outcome_t outcome;
    unsigned i;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    for (i = 0; (null >= 0) && (i < budgets->num); ++i) {
        if ((play_budget(timeline, &curve->params, budgets->rates[i],
                         &outcome) != UCS_OK) ||
            (write(fd, &outcome, sizeof(outcome)) != sizeof(outcome))) {
            break;
        }
    }
    _exit(EXIT_SUCCESS);
}

static void start_curve(const predreg_timeline_t *timeline,
                        const uct_predreg_knobs_t *knobs, curve_t *curve,
                        predreg_budgets_t *budgets)
{
    int fds[2] = {-1, -1};

    predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT,
                                  &curve->params);
    uct_predreg_knobs_to_params(knobs, &curve->params.cache);
    curve->params.shared = 1;
    predreg_budgets_list(curve->params.cache.budget, budgets);
    fflush(NULL); /* The child gets a copy of what is buffered, and would write it
                     again */
    curve->child = (pipe2(fds, O_CLOEXEC) == 0) ? fork() : -1;
    if (curve->child == 0) {
        child_main(timeline, curve, budgets, fds[1]);
    }

    close(fds[1]);
    curve->fd = fds[0];
}

/* Read the outcomes of the budgets that the child has played, and play the other budgets
 * here; without a child, play all budgets here */
static ucs_status_t finish_curve(const predreg_timeline_t *timeline,
                                 const curve_t *curve,
                                 const predreg_budgets_t *budgets,
                                 predreg_outcome_t *outcomes)
{
    ucs_status_t status = UCS_OK;
    ssize_t length      = sizeof(*outcomes);
    unsigned i;

    for (i = 0; (i < budgets->num) && (status == UCS_OK); ++i) {
        predreg_progress_part("budgets");
        if (length == sizeof(*outcomes)) {
            /* The child never waits for this read: the pipe has room for all outcomes */
            length = read(curve->fd, &outcomes[i], sizeof(*outcomes));
        }
        if (length != sizeof(*outcomes)) {
            status = play_budget(timeline, &curve->params, budgets->rates[i],
                                 &outcomes[i]);
        }
    }

    return status;
}

static void end_curve(const curve_t *curve)
{
    close(curve->fd);
    if (curve->child > 0) {
        kill(curve->child, SIGKILL);
        while ((waitpid(curve->child, NULL, 0) < 0) && (errno == EINTR)) {
        }
    }
}

static ucs_status_t play_rank(const predreg_timeline_t *timeline,
                              const uct_predreg_knobs_t *knobs,
                              played_rank_t *played)
{
    ucs_status_t status;
    curve_t curve;

    memset(played, 0, sizeof(*played));
    start_curve(timeline, knobs, &curve, &played->budgets);
    status = play_policies(timeline, knobs, played);
    if (status == UCS_OK) {
        status = play_bounds(timeline, played);
    }
    if (status == UCS_OK) {
        status = finish_curve(timeline, &curve, &played->budgets,
                              played->curve);
    }

    end_curve(&curve);
    return status;
}

static void cleanup_played(played_rank_t *played)
{
    unsigned i;

    for (i = 0; i < played->num_results; ++i) {
        predreg_replay_result_cleanup(&played->results[i]);
    }
    for (i = 0; i < played->num_bounds; ++i) {
        predreg_replay_result_cleanup(&played->bounds[i]);
    }
}

ucs_status_t predreg_report_play(predreg_report_t *report,
                                 const ucs_rcache_trace_t *trace,
                                 const predreg_timeline_t *timeline,
                                 const predreg_cost_t *own_reg,
                                 const uct_predreg_knobs_t *knobs)
{
    ucs_reuse_costs_t small;
    predreg_evidence_t evidence;
    played_rank_t played;
    ucs_status_t status;

    predreg_evidence_find(timeline, &evidence);
    status = play_rank(timeline, knobs, &played);
    if (status == UCS_OK) {
        status = predreg_report_add(report, &(predreg_report_rank_t){
            .trace          = trace,
            .timeline       = timeline,
            .evidence       = &evidence,
            .results        = played.results,
            .num_results    = played.num_results,
            .bounds         = played.bounds,
            .num_bounds     = played.num_bounds,
            .budgets        = &played.budgets,
            .curve          = played.curve,
            .own_reg        = own_reg,
            .known_regions  = knobs->known_regions,
            .small_costs    = predreg_trace_costs(trace, &small) ? &small : NULL,
            .eager_fraction = knobs->eager_fraction / 100
        });
    }

    cleanup_played(&played);
    return status;
}
