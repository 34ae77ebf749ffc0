/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "job_curves.h"

#include <ucs/sys/math.h>

#include <string.h>


/* Take the period of the middle of the program. If a policy makes the program
 * slower, it comes later there and takes longer. How much later is known for
 * the whole program only, so that what is seen may be a neighbouring part of
 * the program. */
static void curve_zoom(report_curve_t *curve, const report_curves_t *curves,
                       const predreg_evidence_t *evidence, double slower,
                       const predreg_sum_t *pinned)
{
    double begin = evidence->period_begin * slower -
                   (curves->zoom - curves->period * slower) / 2;

    curve->zoom_begin = ucs_max(begin, 0);
    predreg_curve_columns(pinned->curve, pinned->num_steps, curve->zoom_begin,
                          curve->zoom_begin + curves->zoom, curve->zoom,
                          PREDREG_CURVE_COLUMNS);
}

static double curves_slower(const predreg_replay_result_t *result,
                            const predreg_timeline_t *timeline)
{
    return (timeline->duration == 0) ?
           1 : ((double)result->duration / timeline->duration);
}

/* Take the curves of a period, if the program has many */
static void curves_take_zoom(report_curves_t *curves,
                             const predreg_timeline_t *timeline,
                             const predreg_evidence_t *evidence,
                             const predreg_replay_result_t *results,
                             unsigned num_results)
{
    double slowest = 1;
    unsigned i;

    if ((evidence->period == 0) ||
        (evidence->period > PREDREG_ZOOM_PART * timeline->duration)) {
        return;
    }

    for (i = 0; i < num_results; ++i) {
        slowest = ucs_max(slowest, curves_slower(&results[i], timeline));
    }

    curves->period = evidence->period;
    curves->zoom   = ucs_max(1, evidence->period * PREDREG_ZOOM_PERIODS *
                                ucs_min(slowest, PREDREG_ZOOM_SLOWEST));
    for (i = 0; i < num_results; ++i) {
        curve_zoom(&curves->curves[results[i].policy], curves, evidence,
                   curves_slower(&results[i], timeline), &results[i].pinned);
    }
}

void report_curves_take(report_curves_t *curves, const char *name,
                        const predreg_timeline_t *timeline,
                        const predreg_evidence_t *evidence,
                        const predreg_replay_result_t *results,
                        unsigned num_results)
{
    const predreg_sum_t *pinned;
    report_curve_t *curve;
    unsigned i;

    memset(curves, 0, sizeof(*curves));
    curves->rank     = name;
    curves->duration = 1;
    for (i = 0; i < num_results; ++i) {
        curves->duration = ucs_max(curves->duration, results[i].duration);
    }

    for (i = 0; i < num_results; ++i) {
        pinned         = &results[i].pinned;
        curve          = &curves->curves[results[i].policy];
        curve->known   = 1;
        curve->average = results[i].pinned_avg_bytes;
        curve->peak    = pinned->peak_bytes;
        predreg_curve_columns(pinned->curve, pinned->num_steps, 0,
                              curves->duration, curve->columns,
                              PREDREG_CURVE_COLUMNS);
    }

    curves_take_zoom(curves, timeline, evidence, results, num_results);
}
