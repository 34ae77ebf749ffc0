/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 *
 * periodicity [WINDOW] TRACE: how precise the periodicity-based predictor is on a
 * recorded program, and how many of its uses are hits, beside predict
 * (Figures 5 and 6 (b) of the paper).
 */

#include "pattern.h"
#include "periodicity.h"

#include <tools/trace/trace.h>

#include <stdio.h>
#include <stdlib.h>

/* The programs in test/apps have patterns of 2 to 18 uses. Nearly twice as many uses
 * are enough to find these with some to spare, and few enough to learn a pattern in a
 * few iterations */
#define COMPARED "32"


static void print(const char *name, const predreg_replay_result_t *result)
{
    uint64_t sum = 0;
    unsigned error;

    for (error = 0; error < UCS_RCACHE_PRED_ERROR_CLASSES; ++error) {
        sum += result->prediction_errors[error];
    }

    printf("%-11s %9lu", name, sum);
    sum = 0;
    for (error = 0; error + 1 < UCS_RCACHE_PRED_ERROR_CLASSES; ++error) {
        sum += result->prediction_errors[error];
        printf(" %9lu", sum);
    }
    printf(" %9lu %9lu\n", result->hits, result->uses);
}

/* Play a program under both, and print what came of it */
static ucs_status_t play(const predreg_timeline_t *timeline, unsigned compared)
{
    predreg_replay_params_t params;
    predreg_replay_result_t result;
    ucs_status_t status;

    predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT, &params);
    status = predreg_replay(timeline, &params, &result);
    if (status != UCS_OK) {
        return status;
    }

    printf("            predicted    0.5 %%       1 %%       5 %%      10 %%      "
           "25 %%      hits      uses\n");
    print("predict", &result);
    predreg_replay_result_cleanup(&result);

    status = periodicity_replay(timeline, &params, compared, &result);
    if (status == UCS_OK) {
        print("periodicity", &result);
        predreg_replay_result_cleanup(&result);
    }
    return status;
}

static ucs_status_t play_file(const char *path, unsigned compared)
{
    predreg_timeline_t *timeline;
    ucs_rcache_trace_t *trace;
    ucs_status_t status;

    status = ucs_rcache_trace_load(path, &trace);
    if (status != UCS_OK) {
        return status;
    }

    status = predreg_timeline_create(trace, 0, &timeline);
    if (status != UCS_OK) {
        goto out_free_trace;
    }

    status = play(timeline, compared);
    predreg_timeline_destroy(timeline);

out_free_trace:
    ucs_rcache_trace_free(trace);
    return status;
}

int main(int argc, char **argv)
{
    const char *window = (argc == 3) ? argv[1] : COMPARED;
    unsigned long compared;
    ucs_status_t status;
    char *end;

    compared = strtoul(window, &end, 10);
    if ((argc < 2) || (argc > 3) || (*end != '\0') ||
        (compared < PREDREG_PATTERN_MIN_COMPARED) ||
        (compared > PREDREG_PATTERN_MAX_COMPARED)) {
        fprintf(stderr, "usage: periodicity [WINDOW] TRACE; WINDOW: %d to %d\n",
                PREDREG_PATTERN_MIN_COMPARED, PREDREG_PATTERN_MAX_COMPARED);
        return EXIT_FAILURE;
    }

    status = play_file(argv[argc - 1], compared);
    if (status != UCS_OK) {
        fprintf(stderr, "periodicity: %s: %s\n", argv[argc - 1],
                ucs_status_string(status));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
