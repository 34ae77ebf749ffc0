/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "sections.h"

#include <tools/report/draw/html.h>
#include <tools/report/draw/panel.h>
#include <tools/report/draw/units.h>

#include <ucs/sys/math.h>


static void curves_write_panel(const report_data_t *report, FILE *out,
                               predreg_replay_policy_t policy,
                               const predreg_axis_t *axis)
{
    const report_curves_t *curves = &report->curves;
    const report_curve_t *curve   = &curves->curves[policy];
    const report_curve_t *pinned  =
            &curves->curves[PREDREG_REPLAY_LEAVE_PINNED];
    predreg_panel_t panel         = {
        .label    = predreg_policies[policy].label,
        .id       = policy,
        .columns  = curve->columns,
        .duration = curves->duration,
        .average  = curve->average,
        .peak     = curve->peak
    };

    if (policy != PREDREG_REPLAY_LEAVE_PINNED) {
        panel.other_label = predreg_policies[PREDREG_REPLAY_LEAVE_PINNED].label;
        panel.other       = pinned->columns;
    }
    if (curves->zoom > 0) {
        panel.zoom_columns  = curve->zoom;
        panel.zoom_begin    = curve->zoom_begin;
        panel.zoom_duration = curves->zoom;
    }
    predreg_panel_write(out, &panel, axis);
}

void report_write_curves(const report_data_t *report, FILE *out)
{
    const report_curves_t *curves = &report->curves;
    uint64_t peak                 = 1;
    predreg_replay_policy_t policy;
    predreg_axis_t axis;
    unsigned i;

    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        peak = ucs_max(peak, curves->curves[i].peak);
    }
    axis = predreg_axis_choose(peak);

    fputs("<section id=\"curves\"><h2>Registered memory over time</h2>\n<p>",
          out);
    if (report->num_ranks > 1) {
        predreg_html_print(out, "Of %s, the rank with most memory under "
                                "leave-pinned. ", curves->rank);
    }
    predreg_html_print(out, "All on the same axes. The dashed curve is "
                            "leave-pinned, for comparison; the dotted line is "
                            "the average over time.");
    if (curves->zoom > 0) {
        predreg_html_print(out, " The whole program has so many peaks that "
                                "they are not told apart: the curve beside it "
                                "is the period nearest to its middle, %s from "
                                "one use of a buffer to the next.",
                           PREDREG_TIME(curves->period));
    }
    fprintf(out, "</p>\n<div class=\"panels%s\">\n",
            (curves->zoom > 0) ? " zoomed" : "");
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        if (curves->curves[policy].known) {
            curves_write_panel(report, out, policy, &axis);
        }
    }
    fputs("</div></section>\n", out);
}
