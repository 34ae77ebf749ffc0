/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


void series_add(series_t *series, double value)
{
    if (isnan(value)) {
        return;
    }

    if (series->num == SERIES_MAX) {
        fprintf(stderr, "tables: more than %d repetitions of a run\n",
                SERIES_MAX);
        exit(2);
    }

    series->values[series->num++] = value;
}

double series_mean(const series_t *series)
{
    double sum = 0;
    unsigned i;

    for (i = 0; i < series->num; ++i) {
        sum += series->values[i];
    }

    return (series->num == 0) ? NAN : (sum / series->num);
}

double series_min(const series_t *series)
{
    double min = NAN;
    unsigned i;

    for (i = 0; i < series->num; ++i) {
        min = fmin(min, series->values[i]);
    }

    return min;
}

double series_max(const series_t *series)
{
    double max = NAN;
    unsigned i;

    for (i = 0; i < series->num; ++i) {
        max = fmax(max, series->values[i]);
    }

    return max;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double*)a, y = *(const double*)b;

    return (x > y) - (x < y);
}

double series_median(const series_t *series)
{
    unsigned num = series->num;
    double sorted[SERIES_MAX];

    if (num == 0) {
        return NAN;
    }

    memcpy(sorted, series->values, num * sizeof(*sorted));
    qsort(sorted, num, sizeof(*sorted), compare);
    return (sorted[(num - 1) / 2] + sorted[num / 2]) / 2;
}

double ratio(double value, double base)
{
    return (base == 0) ? NAN : (value / base);
}

double percent(double value, double base)
{
    return 100 * ratio(value, base);
}
