/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "curve.h"

#include <ucs/sys/math.h>


/* @return when a column begins. It is computed in two parts, because the
 * nanoseconds of a long run times the number of columns would not fit into 64
 * bits */
static int64_t curve_edge(int64_t begin, int64_t end, unsigned column,
                          unsigned num_columns)
{
    int64_t width = end - begin;

    return begin + (width / num_columns) * column +
           ((width % num_columns) * column) / num_columns;
}

void predreg_curve_columns(const predreg_step_t *steps, size_t num_steps,
                           int64_t begin, int64_t end,
                           predreg_column_t *columns, unsigned num_columns)
{
    uint64_t bytes = 0;
    size_t i       = 0;
    predreg_column_t *column;
    int64_t left, right;
    unsigned c;

    for (c = 0; c < num_columns; ++c) {
        column = &columns[c];
        left   = curve_edge(begin, end, c, num_columns);
        right  = curve_edge(begin, end, c + 1, num_columns);
        if (c == num_columns - 1) {
            ++right;
        }

        /* Find out what is registered when the column begins */
        for (; (i < num_steps) && (steps[i].time <= left); ++i) {
            bytes = steps[i].bytes;
        }

        column->min = column->max = bytes;
        for (; (i < num_steps) && (steps[i].time < right); ++i) {
            bytes       = steps[i].bytes;
            column->min = ucs_min(column->min, bytes);
            column->max = ucs_max(column->max, bytes);
        }
        column->last = bytes;
    }
}
