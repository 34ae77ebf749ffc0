/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tables.h"

#include <math.h>
#include <string.h>

/* A field of results.csv: empty if it is not known */
static void field(FILE *out, const char *format, double value)
{
    fprintf(out, ",%s", isnan(value) ? "" : number(format, value));
}

void evaluate_results(const runs_t *runs, const char *rig, FILE *out)
{
    const run_t *run;
    unsigned k;
    size_t i;

    for (i = 0; i < runs->num_runs; ++i) {
        run = &runs->runs[i];
        fprintf(out, "\"%s\",%s,%s,%d", rig, run->program, run->policy,
                run->rep);
        field(out, "%.6f", run->seconds);
        field(out, "%.6f", run->communication);
        field(out, "%.3f", run->average / MIB);
        field(out, "%.3f", run->peak / MIB);
        field(out, "%g", run->uses);
        field(out, "%g", run->hits);
        field(out, "%.6f", run->critical_s);
        field(out, "%.6f", run->helper_s);
        for (k = 0; k < RUN_ERROR_CLASSES; ++k) {
            field(out, "%.0f", run->errors[k]);
        }
        fprintf(out, "\n");
    }
}

static void cell(FILE *out, const char *format, double value)
{
    fprintf(out, " %s |", number(format, value));
}

static void policies_row(const runs_t *runs, const char *program,
                         const char *base_policy, const row_t *row, FILE *out)
{
    double seconds       = series_median(&row->seconds);
    double communication = series_median(&row->communication);
    double average       = series_median(&row->average);
    double peak          = series_median(&row->peak);
    row_t base;

    runs_find(runs, program, base_policy, &base);
    cell(out, "%.3f", seconds);
    fprintf(out, " %s..%s |", number("%.3f", series_min(&row->seconds)),
            number("%.3f", series_max(&row->seconds)));
    cell(out, "%.3f", ratio(seconds, series_median(&base.seconds)));
    cell(out, "%.2f", average / MIB);
    cell(out, "%.3f", ratio(average, series_median(&base.average)));
    cell(out, "%.2f", peak / MIB);
    cell(out, "%.3f", ratio(peak, series_median(&base.peak)));
    cell(out, "%.0f %%",
         percent(series_mean(&row->hits), series_mean(&row->uses)));
    cell(out, "%.1f", 1000 * series_median(&row->critical_s));
    cell(out, "%.1f", 1000 * series_median(&row->helper_s));
    cell(out, "%.3f", 1000 * communication);
    cell(out, "%.3f",
         ratio(communication, series_median(&base.communication)));
}

static void counts_row(const runs_t *runs, const char *program,
                       const char *base_policy, const row_t *row, FILE *out)
{
    double average = series_median(&row->average);
    double peak    = series_median(&row->peak);
    double uses    = series_mean(&row->uses);
    row_t base;

    runs_find(runs, program, base_policy, &base);
    cell(out, "%.2f", average / MIB);
    cell(out, "%.3f", ratio(average, series_median(&base.average)));
    cell(out, "%.2f", peak / MIB);
    cell(out, "%.3f", ratio(peak, series_median(&base.peak)));
    cell(out, "%.0f", uses);
    cell(out, "%.0f %%", percent(series_mean(&row->hits), uses));
    cell(out, "%.0f", series_mean(&row->critical));
}

static void errors_row(const runs_t *runs, const char *program,
                       const char *base_policy, const row_t *row, FILE *out)
{
    double predicted = 0, within = 0;
    unsigned i;

    for (i = 0; i < RUN_ERROR_CLASSES; ++i) {
        predicted += row->errors[i];
    }

    cell(out, "%.0f", series_mean(&row->uses));
    cell(out, "%.0f", predicted);
    /* The last class is whatever is above the others */
    for (i = 0; i < RUN_ERROR_CLASSES - 1; ++i) {
        within += row->errors[i];
        cell(out, "%.1f %%", percent(within, predicted));
    }
}

static void write_rows(const runs_t *runs, const char *programs,
                       const char *policies,
                       void (*write_row)(const runs_t *runs,
                                         const char *program,
                                         const char *base_policy,
                                         const row_t *row, FILE *out),
                       FILE *out)
{
    char program[RUN_NAME_MAX], policy[RUN_NAME_MAX], base[RUN_NAME_MAX];
    const char *rest = policies;
    row_t row;

    next_name(&rest, base);
    while (next_name(&programs, program)) {
        rest = policies;
        while (next_name(&rest, policy)) {
            runs_find(runs, program, policy, &row);
            if (row.num_runs > 0) {
                fprintf(out, "| %s | %s | %u |", program, policy,
                        row.num_runs);
                write_row(runs, program, base, &row, out);
                fprintf(out, "\n");
            }
        }
    }
}

void evaluate_policies(const runs_t *runs, const char *programs,
                       const char *policies, FILE *out)
{
    fprintf(out, "| program | policy | runs | time, s | min..max | ratio |"
                 " memory, MiB | ratio | peak, MiB | ratio | hits |"
                 " waited, ms | helper, ms | transfer, ms | ratio |\n"
                 "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
                 "--:|\n");
    write_rows(runs, programs, policies, policies_row, out);
}

void evaluate_counts(const runs_t *runs, const char *programs,
                     const char *policies, FILE *out)
{
    fprintf(out, "| program | policy | runs | memory, MiB | ratio | peak, MiB |"
                 " ratio | uses | hits | waited for |\n"
                 "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    write_rows(runs, programs, policies, counts_row, out);
}

void evaluate_errors(const runs_t *runs, const char *programs,
                     const char *policies, FILE *out)
{
    fprintf(out, "| program | policy | runs | uses, a rank | predicted, all"
                 " ranks | within 0.5 %% | 1 %% | 5 %% | 10 %% | 25 %% |\n"
                 "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    write_rows(runs, programs, policies, errors_row, out);
}
