/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TABLES_SERIES_H_
#define TABLES_SERIES_H_

/** @file series.h
 *
 * Statistics of what the repetitions of a run measured. A number that nobody
 * knows is NAN, in and out.
 */

/** demo.sh and evaluate.sh repeat nothing more often. */
#define SERIES_MAX 20

/** Values in the order they were added; all zeros is a series without any. */
typedef struct {
    double   values[SERIES_MAX];
    unsigned num;
} series_t;


/** Add a value; NAN is left out. Ends the program if there is no room. */
void series_add(series_t *series, double value);

/* Each returns NAN if there are no values */
double series_mean(const series_t *series);

double series_min(const series_t *series);

double series_max(const series_t *series);

/** Of an even number of values, the mean of the two in the middle. */
double series_median(const series_t *series);

/** @return value / base; NAN if one is not known, or base is 0. */
double ratio(double value, double base);

/** @return value in percent of base; NAN if one is not known, or base is 0. */
double percent(double value, double base);

#endif
