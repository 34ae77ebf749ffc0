/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_curve.h"

#include <tools/replay/replay.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>


/* The most points: those of two curves */
#define MAX_POINTS (2 * PREDREG_BUDGETS_MAX)


/* What the two processes share. The points of the second curve come after those
 * of the first */
typedef struct {
    atomic_uint       next; /* The point that nobody has begun with. Relaxed:
                               nothing else depends on it */
    atomic_int        is_done[MAX_POINTS];  /* Released after the outcome is
                                               written */
    predreg_outcome_t outcomes[MAX_POINTS]; /* Each is written by the process
                                               that took its point */
} shared_t;

struct predreg_report_curve {
    const predreg_timeline_t *timeline;
    predreg_replay_params_t  params;
    predreg_budgets_t        budgets;
    uint64_t                 larger_regions; /* In the second curve; 0: there is
                                                none */
    unsigned                 num_points;
    shared_t                 *shared;
    pid_t                    child; /* -1: there is none */
};


static ucs_status_t play(const predreg_report_curve_t *curve, unsigned i)
{
    predreg_outcome_t *outcome     = &curve->shared->outcomes[i];
    unsigned num_budgets           = curve->budgets.num;
    predreg_replay_params_t params = curve->params;
    predreg_replay_result_t result;
    ucs_status_t status;

    if (i >= num_budgets) {
        params.cache.known_regions = curve->larger_regions;
    }

    status = predreg_budgets_play(curve->timeline, &params,
                                  curve->budgets.rates[i % num_budgets],
                                  &result);
    if (status != UCS_OK) {
        return status;
    }

    memset(outcome, 0, sizeof(*outcome));
    predreg_outcome_add(outcome, &result);
    predreg_replay_result_cleanup(&result);
    atomic_store_explicit(&curve->shared->is_done[i], 1, memory_order_release);
    return UCS_OK;
}

/* Play points as long as there are some that nobody has begun with */
static ucs_status_t play_some(const predreg_report_curve_t *curve)
{
    ucs_status_t status = UCS_OK;
    unsigned i;

    while (status == UCS_OK) {
        i = atomic_fetch_add_explicit(&curve->shared->next, 1,
                                      memory_order_relaxed);
        if (i >= curve->num_points) {
            break;
        }
        status = play(curve, i);
    }

    return status;
}

/* Play in the child, which ends with its parent. What it does not play, the
 * parent does, which then also says why it cannot be played */
static void child_main(const predreg_report_curve_t *curve)
{
    int null = open("/dev/null", O_WRONLY);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        play_some(curve);
    }
    _exit(EXIT_SUCCESS);
}

ucs_status_t predreg_report_curve_start(const predreg_timeline_t *timeline,
                                        uint64_t larger_regions,
                                        predreg_report_curve_t **curve_p)
{
    predreg_report_curve_t *curve;
    ucs_status_t status;

    curve = calloc(1, sizeof(*curve));
    if (curve == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT,
                                           &curve->params);
    if (status != UCS_OK) {
        goto err_free;
    }

    curve->shared = mmap(NULL, sizeof(*curve->shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (curve->shared == MAP_FAILED) {
        status = UCS_ERR_NO_MEMORY;
        goto err_free;
    }

    curve->params.shared  = 1;
    curve->timeline       = timeline;
    curve->larger_regions = larger_regions;
    predreg_budgets_list(curve->params.cache.budget, &curve->budgets);
    curve->num_points     = curve->budgets.num *
                            ((larger_regions > 0) ? 2 : 1);
    fflush(NULL); /* The child must not write again what is buffered */
    /* If no child can be made, this process plays all points itself */
    curve->child = fork();
    if (curve->child == 0) {
        child_main(curve);
    }

    *curve_p = curve;
    return UCS_OK;

err_free:
    free(curve);
    return status;
}

static void wait_for_child(predreg_report_curve_t *curve)
{
    while ((curve->child > 0) && (waitpid(curve->child, NULL, 0) < 0) &&
           (errno == EINTR)) {
    }
    curve->child = -1;
}

ucs_status_t predreg_report_curve_finish(predreg_report_curve_t *curve,
                                         predreg_budgets_t *budgets,
                                         predreg_outcome_t *outcomes,
                                         predreg_outcome_t *larger)
{
    const size_t size = curve->budgets.num * sizeof(*outcomes);
    ucs_status_t status;
    unsigned i;

    status = play_some(curve);
    wait_for_child(curve);
    for (i = 0; (i < curve->num_points) && (status == UCS_OK); ++i) {
        /* The child may have been killed, or have had no memory, before it
         * finished the point that it had begun with */
        if (!atomic_load_explicit(&curve->shared->is_done[i],
                                  memory_order_acquire)) {
            status = play(curve, i);
        }
    }

    *budgets = curve->budgets;
    memcpy(outcomes, curve->shared->outcomes, size);
    if (curve->larger_regions > 0) {
        memcpy(larger, curve->shared->outcomes + curve->budgets.num, size);
    }
    return status;
}

void predreg_report_curve_destroy(predreg_report_curve_t *curve)
{
    if (curve->child > 0) {
        kill(curve->child, SIGKILL);
        wait_for_child(curve);
    }
    munmap(curve->shared, sizeof(*curve->shared));
    free(curve);
}
