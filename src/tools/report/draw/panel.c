/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "panel.h"
#include "html.h"
#include "units.h"

/* Heights in pixels: of the margins above and below the curve, and of the
 * curve */
#define TOP    16
#define PLOT   110
#define BOTTOM 22
#define HEIGHT (TOP + PLOT + BOTTOM)


static double panel_y(const predreg_axis_t *axis, double bytes)
{
    return TOP + PLOT * predreg_axis_depth(axis, bytes);
}

static void write_axis(FILE *out, const predreg_axis_t *axis)
{
    double bytes;

    fprintf(out, "<svg class=\"axis\" height=\"%d\" aria-hidden=\"true\">",
            HEIGHT);
    for (bytes = 0; bytes <= axis->top; bytes += axis->step) {
        fprintf(out, "<text x=\"100%%\" y=\"%.1f\" text-anchor=\"end\">",
                panel_y(axis, bytes) + 4);
        predreg_html_print(out, "%s", PREDREG_BYTES(bytes));
        fputs("</text>", out);
    }
    fputs("</svg>\n", out);
}

/* Write a time below the curve, so many percent of its width from the left */
static void write_time(FILE *out, unsigned percent, const char *anchor,
                       const char *sign, double time)
{
    fprintf(out, "<text x=\"%u%%\" y=\"%d\" text-anchor=\"%s\">", percent,
            HEIGHT - 4, anchor);
    predreg_html_print(out, "%s%s", sign, PREDREG_TIME(time));
    fputs("</text>", out);
}

static void write_times(FILE *out, uint64_t duration)
{
    write_time(out, 0, "start", "", 0);
    write_time(out, 50, "middle", "", duration / 2.);
    write_time(out, 100, "end", "", duration);
}

static void write_grid(FILE *out, const predreg_axis_t *axis)
{
    double bytes, y;

    for (bytes = 0; bytes <= axis->top; bytes += axis->step) {
        y = panel_y(axis, bytes);
        fprintf(out, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" "
                     "y2=\"%.1f\"/>", y, y);
    }
}

/* Write the label of a line: above the line if there is room, else below it */
static void write_label(FILE *out, const char *x, const char *anchor, double y,
                        const char *text)
{
    y = (y < TOP + 14) ? (y + 14) : (y - 5);
    fprintf(out, "<text class=\"label\" x=\"%s\" y=\"%.1f\" "
                 "text-anchor=\"%s\">", x, y, anchor);
    predreg_html_text(out, text);
    fputs("</text>", out);
}

/* Open one of the drawings of a panel, whose description in words has to follow.
 *
 * @param [in]  prefix  What tells its ids from those of the other drawing.
 * @param [in]  title   Its title, without the label of the panel.
 */
static void open_drawing(FILE *out, const predreg_panel_t *panel,
                         const char *classes, const char *prefix,
                         const char *title)
{
    fprintf(out, "<svg class=\"%s\" height=\"%d\" role=\"img\" "
                 "aria-labelledby=\"%st%u %sd%u\"><title id=\"%st%u\">",
            classes, HEIGHT, prefix, panel->id, prefix, panel->id, prefix,
            panel->id);
    predreg_html_print(out, "%s, %s", title, panel->label);
    fprintf(out, "</title><desc id=\"%sd%u\">", prefix, panel->id);
}

/* Open the drawing of the whole curve */
static void open_plot(FILE *out, const predreg_panel_t *panel)
{
    open_drawing(out, panel, "plot", "", "Registered memory over time");
    predreg_html_print(out, "From 0 to %s; %s on average, %s at peak.",
                       PREDREG_TIME(panel->duration),
                       PREDREG_BYTES(panel->average),
                       PREDREG_BYTES(panel->peak));
    fputs("</desc>", out);
}

/* @param [in]  other  Columns of the curve to compare with, or NULL. */
static void write_curves(FILE *out, const predreg_column_t *columns,
                         const predreg_column_t *other,
                         const predreg_axis_t *axis)
{
    char place[64];

    snprintf(place, sizeof(place), "y=\"%d\" width=\"100%%\" height=\"%d\"",
             TOP, PLOT);
    predreg_plot_open(out, place);
    predreg_plot_area(out, columns, axis);
    if (other != NULL) {
        predreg_plot_line(out, other, PREDREG_CURVE_COLUMNS, axis, "other");
    }
    predreg_plot_line(out, columns, PREDREG_CURVE_COLUMNS, axis, "line");
    fputs("</svg>", out);
}

static void write_plot(FILE *out, const predreg_panel_t *panel,
                       const predreg_axis_t *axis)
{
    double y;

    open_plot(out, panel);
    write_grid(out, axis);
    write_curves(out, panel->columns, panel->other, axis);

    y = panel_y(axis, panel->average);
    fprintf(out, "<line class=\"average\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" "
                 "y2=\"%.1f\"/>", y, y);
    write_label(out, "4", "start", y, "average");
    if (panel->other != NULL) {
        y = panel_y(axis, panel->other[PREDREG_CURVE_COLUMNS * 3 / 4].max);
        write_label(out, "100%", "end", y, panel->other_label);
    }
    write_times(out, panel->duration);
    fputs("</svg>", out);
}

/* Write the part of the curve. Its axis of bytes is that of the whole curve
 * beside it. */
static void write_zoom(FILE *out, const predreg_panel_t *panel,
                       const predreg_axis_t *axis)
{
    open_drawing(out, panel, "plot zoom", "z", "A part of that");
    predreg_html_print(out, "%s, from %s on.",
                       PREDREG_TIME(panel->zoom_duration),
                       PREDREG_TIME(panel->zoom_begin));
    fputs("</desc>", out);

    write_grid(out, axis);
    write_curves(out, panel->zoom_columns, NULL, axis);
    write_time(out, 0, "start", "", panel->zoom_begin);
    write_time(out, 100, "end", "+", panel->zoom_duration);
    fputs("</svg>", out);
}

void predreg_panel_write(FILE *out, const predreg_panel_t *panel,
                         const predreg_axis_t *axis)
{
    fputs("<figure><figcaption>", out);
    predreg_html_element(out, "b", "%s", panel->label);
    predreg_html_element(out, "span", "average %s, peak %s",
                         PREDREG_BYTES(panel->average),
                         PREDREG_BYTES(panel->peak));
    fputs("</figcaption><div class=\"panel\">", out);
    write_axis(out, axis);
    write_plot(out, panel, axis);
    if (panel->zoom_columns != NULL) {
        write_zoom(out, panel, axis);
    }
    fputs("</div></figure>\n", out);
}
