/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "picture.h"
#include "plot.h"

#include <tools/report/page/units.h>

#include <ucs/sys/math.h>

#include <string.h>

/* All lengths are in the units of the picture's view box. The charts are placed
 * in COLUMNS columns. In a chart, the curves are below the title. The numbers
 * of the axes are to the left of the curves and below them, and the labels are
 * to the right. */
#define COLUMNS      2
#define CHART_WIDTH  620
#define CHART_HEIGHT 280
#define HEAD         60  /* Title and subtitle of the picture */
#define PLOT_LEFT    72
#define PLOT_TOP     35
#define PLOT_WIDTH   390
#define PLOT_HEIGHT  190
#define LABEL_HEIGHT 27  /* A label has two lines */


/* Dashes tell lines apart where colours do not. A stretched line must not
 * become thicker or have longer dashes in one direction. */
static const char picture_css[] =
    "text{fill:#222}"
    ".title{font-size:19px;font-weight:bold}"
    ".name{font-size:14px;font-weight:bold}"
    ".label{font-size:13px}"
    ".tick{font-size:11px;fill:#444}"
    ".axis{stroke:#444}"
    ".grid{stroke:#ddd}"
    ".leader{stroke:#999;stroke-width:.8;fill:none}"
    ".line0,.line1,.line2,.line3{fill:none;vector-effect:non-scaling-stroke}"
    ".line0{stroke:#555;stroke-width:2;stroke-dasharray:9 4}"
    ".line1{stroke:#c2410c;stroke-width:1.6;stroke-dasharray:1.6 2.4}"
    ".line2{stroke:#0b5cad;stroke-width:1.5}"
    ".line3{stroke:#4d7c0f;stroke-width:1.6;stroke-dasharray:9 3 2 3}"
    ".bar0{fill:#777}.bar1{fill:#0b5cad}";


/* Numbers as people read them, in a buffer that lives as long as the block */
#define PREDREG_BYTES(_v) predreg_bytes_str(_v, (char[PREDREG_UNITS_MAX]){""})
#define PREDREG_TIME(_v)  predreg_time_str(_v, (char[PREDREG_UNITS_MAX]){""})

/* A chart, and its place in the picture */
typedef struct placed_chart {
    const predreg_chart_t *chart;
    double                left;     /* Left edge of the curves */
    double                top;
    uint64_t              duration; /* Length of the time axis, ns, > 0 */
    predreg_axis_t        axis;
} placed_chart_t;


static void write_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; ++text) {
        if (*text == '&') {
            fputs("&amp;", out);
        } else if (*text == '<') {
            fputs("&lt;", out);
        } else if (*text == '>') {
            fputs("&gt;", out);
        } else {
            fputc(*text, out);
        }
    }
}

void predreg_picture_text(FILE *out, double x, double y, const char *class_name,
                          const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" "
                 "text-anchor=\"%s\">", x, y, class_name, anchor);
    write_escaped(out, text);
    fputs("</text>\n", out);
}

static void write_line(FILE *out, double x1, double y1, double x2, double y2,
                       const char *class_name)
{
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                 "class=\"%s\"/>\n", x1, y1, x2, y2, class_name);
}

static double chart_y(const placed_chart_t *placed, double bytes)
{
    return placed->top + PLOT_HEIGHT * predreg_axis_depth(&placed->axis, bytes);
}

static void place_chart(placed_chart_t *placed, const predreg_chart_t *chart,
                        unsigned index)
{
    uint64_t peak = 1;
    const predreg_series_t *series;
    size_t i;

    placed->chart    = chart;
    placed->left     = (index % COLUMNS) * CHART_WIDTH + PLOT_LEFT;
    placed->top      = HEAD + (index / COLUMNS) * CHART_HEIGHT + PLOT_TOP;
    placed->duration = 1;
    for (series = chart->series; series < chart->series + chart->num_series;
         ++series) {
        placed->duration = ucs_max(placed->duration, series->duration);
        for (i = 0; i < series->num_steps; ++i) {
            peak = ucs_max(peak, series->steps[i].bytes);
        }
    }
    placed->axis = predreg_axis_choose(peak);
}

static void write_axes(FILE *out, const placed_chart_t *placed)
{
    double right  = placed->left + PLOT_WIDTH;
    double bottom = placed->top + PLOT_HEIGHT;
    double bytes, x;
    unsigned i;

    predreg_picture_text(out, placed->left, placed->top - 12, "name", "start",
                         placed->chart->title);
    for (bytes = 0; bytes <= placed->axis.top; bytes += placed->axis.step) {
        write_line(out, placed->left, chart_y(placed, bytes), right,
                   chart_y(placed, bytes), "grid");
        predreg_picture_text(out, placed->left - 6, chart_y(placed, bytes) + 4, "tick",
                             "end", PREDREG_BYTES(bytes));
    }

    for (i = 0; i < 3; ++i) {
        x = placed->left + PLOT_WIDTH * (i / 2.);
        write_line(out, x, bottom, x, bottom + 4, "axis");
        predreg_picture_text(out, x, bottom + 17, "tick", "middle",
                             PREDREG_TIME(placed->duration * (i / 2.)));
    }
    write_line(out, placed->left, placed->top, placed->left, bottom, "axis");
    write_line(out, placed->left, bottom, right, bottom, "axis");
}

static void write_series(FILE *out, const placed_chart_t *placed,
                         unsigned index)
{
    const predreg_series_t *series = &placed->chart->series[index];
    double part                    = (double)series->duration /
                                     placed->duration;
    predreg_column_t columns[PREDREG_CURVE_COLUMNS];
    char class_name[16];

    predreg_curve_columns(series->steps, series->num_steps, 0, placed->duration,
                          columns, PREDREG_CURVE_COLUMNS);
    snprintf(class_name, sizeof(class_name), "line%u", index);
    predreg_plot_line(out, columns, PREDREG_CURVE_COLUMNS * part + 0.5,
                      &placed->axis, class_name);
}

static void write_curves(FILE *out, const placed_chart_t *placed)
{
    char place[96];
    unsigned i;

    snprintf(place, sizeof(place),
             "x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"",
             placed->left, placed->top, PLOT_WIDTH, PLOT_HEIGHT);
    predreg_plot_open(out, place);
    for (i = 0; i < placed->chart->num_series; ++i) {
        write_series(out, placed, i);
    }
    fputs("</svg>\n", out);
}

/* Sort the lines of a chart by their average, the highest first */
static void sort_by_average(const predreg_chart_t *chart, unsigned *order)
{
    unsigned i, k;

    for (i = 0; i < chart->num_series; ++i) {
        for (k = i; (k > 0) && (chart->series[i].average >
                                chart->series[order[k - 1]].average); --k) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
}

/* Compute the heights of the middles of the labels: at the averages, or as near
 * to them as possible if labels must not overlap, and must stay above the lower
 * edge */
static void place_labels(const placed_chart_t *placed, const unsigned *order,
                         double *y)
{
    unsigned count = placed->chart->num_series;
    double lowest  = placed->top + PLOT_HEIGHT - 6;
    unsigned i;

    for (i = 0; i < count; ++i) {
        y[i] = chart_y(placed, placed->chart->series[order[i]].average);
        if (i > 0) {
            y[i] = ucs_max(y[i], y[i - 1] + LABEL_HEIGHT);
        }
    }

    for (i = count; i-- > 0; lowest = y[i] - LABEL_HEIGHT) {
        y[i] = ucs_min(y[i], lowest);
    }
}

static void write_labels(FILE *out, const placed_chart_t *placed)
{
    double x = placed->left + PLOT_WIDTH;
    unsigned order[PREDREG_CHART_MAX_SERIES];
    double y[PREDREG_CHART_MAX_SERIES];
    const predreg_series_t *series;
    char text[PREDREG_UNITS_MAX + 16];
    unsigned i;

    sort_by_average(placed->chart, order);
    place_labels(placed, order, y);
    for (i = 0; i < placed->chart->num_series; ++i) {
        series = &placed->chart->series[order[i]];
        fprintf(out, "<path class=\"leader\" d=\"M%.1f %.1fh5L%.1f %.1f\"/>\n",
                x, chart_y(placed, series->average), x + 14, y[i]);
        fprintf(out, "<path class=\"line%u\" d=\"M%.1f %.1fh30\"/>\n",
                order[i], x + 16, y[i]);
        predreg_picture_text(out, x + 50, y[i] - 1, "label", "start", series->label);
        snprintf(text, sizeof(text), "average %s",
                 PREDREG_BYTES(series->average));
        predreg_picture_text(out, x + 50, y[i] + 11, "tick", "start", text);
    }
}

/* Write in words what the picture shows: screen readers read them to people who
 * cannot see it */
static void write_description(FILE *out, const predreg_chart_t *charts,
                              unsigned num_charts)
{
    const predreg_chart_t *chart;
    unsigned i;

    fputs("<desc>", out);
    for (chart = charts; chart < charts + num_charts; ++chart) {
        for (i = 0; i < chart->num_series; ++i) {
            write_escaped(out, chart->title);
            fputs(", ", out);
            write_escaped(out, chart->series[i].label);
            fprintf(out, ": average %s. ",
                    PREDREG_BYTES(chart->series[i].average));
        }
    }
    fputs("</desc>\n", out);
}

void predreg_picture_begin(FILE *out, const char *title, const char *subtitle,
                           unsigned width, unsigned height)
{
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                 "viewBox=\"0 0 %u %u\" role=\"img\" "
                 "font-family=\"sans-serif\">\n<title>", width, height);
    write_escaped(out, title);
    fprintf(out, "</title>\n<style>%s</style>\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            picture_css);
    predreg_picture_text(out, 14, 28, "title", "start", title);
    predreg_picture_text(out, 14, 47, "tick", "start", subtitle);
}

void predreg_picture_write(FILE *out, const char *title, const char *subtitle,
                           const predreg_chart_t *charts, unsigned num_charts)
{
    placed_chart_t placed;
    unsigned i;

    predreg_picture_begin(out, title, subtitle, COLUMNS * CHART_WIDTH,
                          HEAD + ucs_div_round_up(num_charts, COLUMNS) *
                                 CHART_HEIGHT);
    write_description(out, charts, num_charts);
    for (i = 0; i < num_charts; ++i) {
        place_chart(&placed, &charts[i], i);
        write_axes(out, &placed);
        write_curves(out, &placed);
        write_labels(out, &placed);
    }
    fputs("</svg>\n", out);
}
