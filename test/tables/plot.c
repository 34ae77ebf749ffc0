/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "plot.h"

#include <ucs/sys/math.h>

#include <math.h>


predreg_axis_t predreg_axis_choose(uint64_t peak)
{
    double unit = 1;
    predreg_axis_t axis;
    double power, rest;

    while (peak / unit >= 1024) {
        unit *= 1024;
    }

    rest      = ucs_max(peak / unit, 1);
    power     = pow(10, floor(log10(rest / 2)));
    rest     /= 2 * power;
    axis.step = power * unit * ((rest < 2) ? 1 : (rest < 5) ? 2 : 5);
    axis.top  = ucs_max((double)peak, axis.step);
    return axis;
}

double predreg_axis_depth(const predreg_axis_t *axis, double bytes)
{
    return 1 - bytes / axis->top;
}

/* @return the y coordinate of this many bytes */
static int plot_y(const predreg_axis_t *axis, uint64_t bytes)
{
    return PREDREG_PLOT_HEIGHT -
           (int)(PREDREG_PLOT_HEIGHT * (bytes / axis->top) + 0.5);
}

void predreg_plot_open(FILE *out, const char *place)
{
    fprintf(out, "<svg %s viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
                 "class=\"stretch\">", place, PREDREG_CURVE_COLUMNS,
            PREDREG_PLOT_HEIGHT);
}

void predreg_plot_line(FILE *out, const predreg_column_t *columns,
                       unsigned num_columns, const predreg_axis_t *axis,
                       const char *class_name)
{
    int last = PREDREG_PLOT_HEIGHT;
    int min, max, end;
    unsigned i;

    fprintf(out, "<path class=\"%s\" d=\"M0 %d", class_name, last);
    for (i = 0; i < num_columns; ++i) {
        min = plot_y(axis, columns[i].min);
        max = plot_y(axis, columns[i].max);
        end = plot_y(axis, columns[i].last);
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
    fprintf(out, "H%u\"/>", num_columns);
}

void predreg_plot_area(FILE *out, const predreg_column_t *columns,
                       const predreg_axis_t *axis)
{
    int last = PREDREG_PLOT_HEIGHT;
    unsigned i;
    int max;

    fprintf(out, "<path class=\"area\" d=\"M0 %d", last);
    for (i = 0; i < PREDREG_CURVE_COLUMNS; ++i) {
        max = plot_y(axis, columns[i].max);
        if (max != last) {
            fprintf(out, "H%uV%d", i, max);
            last = max;
        }
    }
    fprintf(out, "H%uV%dZ\"/>", PREDREG_CURVE_COLUMNS, PREDREG_PLOT_HEIGHT);
}
