/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "html.h"
#include "report_int.h"
#include "units.h"

#include <ucs/sys/math.h>

#include <inttypes.h>
#include <math.h>

/* Heights in pixels. Widths are the browser's choice: text keeps its size, the
 * curve is stretched to whatever there is */
#define CURVES_TOP    16
#define CURVES_PLOT   110
#define CURVES_BOTTOM 22
#define CURVES_HEIGHT (CURVES_TOP + CURVES_PLOT + CURVES_BOTTOM)

/* Curves are drawn in units of columns and of this part of the height */
#define CURVES_UNITS  1000


/* The scale that all panels share */
typedef struct curves_scale {
    double top;  /* Bytes at the upper edge */
    double step; /* Bytes between lines of the grid */
} curves_scale_t;


/* Two or three lines of the grid, at numbers that are round in their unit */
static curves_scale_t curves_choose_scale(uint64_t peak)
{
    double unit = 1;
    curves_scale_t scale;
    double power, rest;

    while (peak / unit >= 1024) {
        unit *= 1024;
    }

    rest  = ucs_max(peak / unit, 1);
    power = pow(10, floor(log10(rest / 2)));
    rest /= 2 * power;
    scale.step = power * unit * ((rest < 2) ? 1 : (rest < 5) ? 2 : 5);
    scale.top  = ucs_max((double)peak, scale.step);
    return scale;
}

static double curves_y(const curves_scale_t *scale, double bytes)
{
    return CURVES_TOP + CURVES_PLOT * (1 - bytes / scale->top);
}

static int curves_units(const curves_scale_t *scale, uint64_t bytes)
{
    return CURVES_UNITS - (int)(CURVES_UNITS * (bytes / scale->top) + 0.5);
}

/* The outline of a curve: in each column up to its most, down to its least, and
 * to what it ends with */
static void curves_write_line(FILE *out, const predreg_column_t *columns,
                              const curves_scale_t *scale, const char *class)
{
    int last = CURVES_UNITS;
    int min, max, end;
    unsigned i;

    fprintf(out, "<path class=\"%s\" d=\"M0 %d", class, last);
    for (i = 0; i < REPORT_NUM_COLUMNS; ++i) {
        min = curves_units(scale, columns[i].min);
        max = curves_units(scale, columns[i].max);
        end = curves_units(scale, columns[i].last);
        if ((min == last) && (max == last)) {
            continue;
        }

        fprintf(out, "H%uV%d", i, max);
        if (min != max) {
            fprintf(out, "V%d", min);
        }
        if (end != min) {
            fprintf(out, "V%d", end);
        }
        last = end;
    }
    fprintf(out, "H%u\"/>", REPORT_NUM_COLUMNS);
}

/* What is below the most of each column */
static void curves_write_area(FILE *out, const predreg_column_t *columns,
                              const curves_scale_t *scale)
{
    int last = CURVES_UNITS;
    unsigned i;
    int max;

    fprintf(out, "<path class=\"area\" d=\"M0 %d", last);
    for (i = 0; i < REPORT_NUM_COLUMNS; ++i) {
        max = curves_units(scale, columns[i].max);
        if (max != last) {
            fprintf(out, "H%uV%d", i, max);
            last = max;
        }
    }
    fprintf(out, "H%uV%dZ\"/>", REPORT_NUM_COLUMNS, CURVES_UNITS);
}

static void curves_write_axis(FILE *out, const curves_scale_t *scale)
{
    double bytes;

    fprintf(out, "<svg class=\"axis\" height=\"%d\" aria-hidden=\"true\">",
            CURVES_HEIGHT);
    for (bytes = 0; bytes <= scale->top; bytes += scale->step) {
        fprintf(out, "<text x=\"100%%\" y=\"%.1f\" text-anchor=\"end\">",
                curves_y(scale, bytes) + 4);
        predreg_html_print(out, "%s", PREDREG_BYTES(bytes));
        fputs("</text>", out);
    }
    fputs("</svg>\n", out);
}

static void curves_write_times(FILE *out, uint64_t duration)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    unsigned i;

    for (i = 0; i < 3; ++i) {
        fprintf(out, "<text x=\"%u%%\" y=\"%d\" text-anchor=\"%s\">", i * 50,
                CURVES_HEIGHT - 4, anchors[i]);
        predreg_html_print(out, "%s", PREDREG_TIME(duration * (i / 2.)));
        fputs("</text>", out);
    }
}

/* A label at the line it is for, above it if there is room */
static void curves_write_label(FILE *out, const char *x, const char *anchor,
                               double y, const char *text)
{
    y = (y < CURVES_TOP + 14) ? (y + 14) : (y - 5);
    fprintf(out, "<text class=\"label\" x=\"%s\" y=\"%.1f\" "
                 "text-anchor=\"%s\">", x, y, anchor);
    predreg_html_text(out, text);
    fputs("</text>", out);
}

static void curves_write_plot(const predreg_report_t *report, FILE *out,
                              predreg_replay_policy_t policy,
                              const curves_scale_t *scale)
{
    const report_curves_t *curves   = &report->curves;
    const predreg_column_t *columns = curves->columns[policy];
    const predreg_column_t *pinned  =
            curves->columns[PREDREG_REPLAY_LEAVE_PINNED];
    int compare                     = (policy != PREDREG_REPLAY_LEAVE_PINNED);
    double bytes, y;

    fprintf(out, "<svg class=\"plot\" height=\"%d\" role=\"img\" "
                 "aria-labelledby=\"t%d d%d\"><title id=\"t%d\">",
            CURVES_HEIGHT, policy, policy, policy);
    predreg_html_print(out, "Registered memory over time, %s",
                       report_policy_labels[policy]);
    fprintf(out, "</title><desc id=\"d%d\">", policy);
    predreg_html_print(out, "From 0 to %s; %s on average, %s at peak.",
                       PREDREG_TIME(curves->duration),
                       PREDREG_BYTES(curves->average[policy]),
                       PREDREG_BYTES(
                               report->ranks[curves->rank].peak[policy]));
    fputs("</desc>", out);

    for (bytes = 0; bytes <= scale->top; bytes += scale->step) {
        y = curves_y(scale, bytes);
        fprintf(out, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" "
                     "y2=\"%.1f\"/>", y, y);
    }

    fprintf(out, "<svg y=\"%d\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d "
                 "%d\" preserveAspectRatio=\"none\" class=\"stretch\">",
            CURVES_TOP, CURVES_PLOT, REPORT_NUM_COLUMNS, CURVES_UNITS);
    curves_write_area(out, columns, scale);
    if (compare) {
        curves_write_line(out, pinned, scale, "other");
    }
    curves_write_line(out, columns, scale, "line");
    fputs("</svg>", out);

    y = curves_y(scale, curves->average[policy]);
    fprintf(out, "<line class=\"average\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" "
                 "y2=\"%.1f\"/>", y, y);
    curves_write_label(out, "4", "start", y, "average");
    if (compare) {
        curves_write_label(out, "100%", "end",
                           curves_y(scale,
                                    pinned[REPORT_NUM_COLUMNS * 3 / 4].max),
                           "leave-pinned");
    }
    curves_write_times(out, curves->duration);
    fputs("</svg>", out);
}

static void curves_write_panel(const predreg_report_t *report, FILE *out,
                               predreg_replay_policy_t policy,
                               const curves_scale_t *scale)
{
    const report_curves_t *curves = &report->curves;

    fputs("<figure><figcaption>", out);
    predreg_html_element(out, "b", "%s", report_policy_labels[policy]);
    predreg_html_element(out, "span", "average %s, peak %s",
                         PREDREG_BYTES(curves->average[policy]),
                         PREDREG_BYTES(
                                 report->ranks[curves->rank].peak[policy]));
    fputs("</figcaption><div class=\"panel\">", out);
    curves_write_axis(out, scale);
    curves_write_plot(report, out, policy, scale);
    fputs("</div></figure>\n", out);
}

void report_write_curves(const predreg_report_t *report, FILE *out)
{
    const report_curves_t *curves = &report->curves;
    const report_rank_t *rank     = &report->ranks[curves->rank];
    uint64_t peak                 = 1;
    curves_scale_t scale;
    unsigned i;

    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        peak = ucs_max(peak, rank->peak[i]);
    }
    scale = curves_choose_scale(peak);

    fputs("<section id=\"curves\"><h2>Registered memory over time</h2>\n<p>",
          out);
    if (report->num_ranks > 1) {
        predreg_html_print(out, "Of %s, the rank with most memory under "
                                "leave-pinned. ", rank->name);
    }
    predreg_html_print(out, "All on the same axes. The dashed curve is "
                            "leave-pinned, for comparison; the dotted line is "
                            "the average over time.");
    fputs("</p>\n<div class=\"panels\">\n", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        if (curves->known[report_policy_order[i]]) {
            curves_write_panel(report, out, report_policy_order[i], &scale);
        }
    }
    fputs("</div></section>\n", out);
}
