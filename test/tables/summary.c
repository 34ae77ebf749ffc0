/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tables.h"

#include <math.h>
#include <string.h>

/* A run time that is longer than that of the first policy by more than this is
 * said to be longer */
#define TOLERATED 1.01


/* What a policy did to all programs, as ratios of medians to those of the first
 * policy */
typedef struct {
    series_t time;
    series_t average;
    series_t peak;
} ratios_t;


static void find_ratios(const runs_t *runs, const char *programs,
                        const char *policy, const char *base_policy,
                        ratios_t *ratios)
{
    char program[RUN_NAME_MAX];
    row_t row, base;

    memset(ratios, 0, sizeof(*ratios));
    while (next_name(&programs, program)) {
        runs_find(runs, program, policy, &row);
        runs_find(runs, program, base_policy, &base);
        series_add(&ratios->time, ratio(series_median(&row.seconds),
                                        series_median(&base.seconds)));
        series_add(&ratios->average, ratio(series_median(&row.average),
                                           series_median(&base.average)));
        series_add(&ratios->peak, ratio(series_median(&row.peak),
                                        series_median(&base.peak)));
    }
}

static void write_ratios(const char *policy, const ratios_t *ratios, FILE *out)
{
    unsigned num_longer = 0, i;

    for (i = 0; i < ratios->time.num; ++i) {
        num_longer += (ratios->time.values[i] > TOLERATED);
    }

    fprintf(out, "| %s | %u |", policy, ratios->time.num);
    fprintf(out, " %s |", number("%.3f", series_median(&ratios->time)));
    fprintf(out, " %s |", number("%.3f", series_max(&ratios->time)));
    fprintf(out, " %u |", num_longer);
    fprintf(out, " %s |", number("%.3f", series_median(&ratios->average)));
    fprintf(out, " %s |", number("%.3f", series_max(&ratios->average)));
    fprintf(out, " %s |\n", number("%.3f", series_max(&ratios->peak)));
}

void evaluate_summary(const runs_t *runs, const char *programs,
                      const char *policies, FILE *out)
{
    char policy[RUN_NAME_MAX], base[RUN_NAME_MAX];
    const char *rest = policies;
    ratios_t ratios;

    fprintf(out, "| policy | programs | time, median | longest | above 1.01 |"
                 " memory, median | most | peak, most |\n"
                 "|---|--:|--:|--:|--:|--:|--:|--:|\n");
    next_name(&rest, base);
    while (next_name(&rest, policy)) {
        find_ratios(runs, programs, policy, base, &ratios);
        if (ratios.time.num > 0) {
            write_ratios(policy, &ratios, out);
        }
    }
}
