/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tables.h"

#include <math.h>
#include <string.h>

/* What the others are compared with */
#define BASE_POLICY "leave-pinned"


/* A field of results.csv: empty if it is not known */
static void field(FILE *out, const char *format, double value)
{
    fprintf(out, ",%s", isnan(value) ? "" : number(format, value));
}

void evaluate_results(const runs_t *runs, const char *processors, FILE *out)
{
    const run_t *run;
    unsigned k;
    size_t i;

    for (i = 0; i < runs->num_runs; ++i) {
        run = &runs->runs[i];
        fprintf(out, "%s,%s,%s,%d", processors, run->program, run->policy,
                run->rep);
        field(out, "%.6f", run->seconds);
        field(out, "%.6f", run->communication);
        field(out, "%.3f", run->average / MIB);
        field(out, "%.3f", run->peak / MIB);
        field(out, "%g", run->uses);
        field(out, "%g", run->hits);
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
                         const row_t *row, FILE *out)
{
    double seconds = series_median(&row->seconds);
    /* Memory and counts are averages of the repetitions, times are medians:
     * one that was disturbed does not move a median */
    double communication = series_median(&row->communication);
    row_t base;

    runs_find(runs, program, BASE_POLICY, &base);
    cell(out, "%.2f", series_mean(&row->average) / MIB);
    cell(out, "%.0f %%",
         percent(series_mean(&row->average), series_mean(&base.average)));
    cell(out, "%.2f", series_mean(&row->peak) / MIB);
    cell(out, "%.0f %%",
         percent(series_mean(&row->peak), series_mean(&base.peak)));
    cell(out, "%.0f %%",
         percent(series_mean(&row->hits), series_mean(&row->uses)));
    cell(out, "%.2f", communication * 1000);
    cell(out, "%.1f %%",
         percent(communication, series_median(&base.communication)));
    cell(out, "%.3f", seconds);
    cell(out, "%.1f %%", percent(seconds, series_median(&base.seconds)));
}

static void errors_row(const runs_t *runs, const char *program,
                       const row_t *row, FILE *out)
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

/* Copies the next of the names, which are separated by spaces, and moves on;
 * returns 0 after the last */
static int next_name(const char **names_p, char *name)
{
    size_t length;

    *names_p += strspn(*names_p, " ");
    length    = strcspn(*names_p, " ");
    snprintf(name, RUN_NAME_MAX, "%.*s", (int)length, *names_p);
    *names_p += length;
    return length > 0;
}

static void write_rows(const runs_t *runs, const char *programs,
                       const char *policies,
                       void (*write_row)(const runs_t *runs,
                                         const char *program, const row_t *row,
                                         FILE *out),
                       FILE *out)
{
    char program[RUN_NAME_MAX], policy[RUN_NAME_MAX];
    const char *rest;
    row_t row;

    while (next_name(&programs, program)) {
        rest = policies;
        while (next_name(&rest, policy)) {
            runs_find(runs, program, policy, &row);
            if (row.num_runs > 0) {
                fprintf(out, "| %s | %s | %u |", program, policy,
                        row.num_runs);
                write_row(runs, program, &row, out);
                fprintf(out, "\n");
            }
        }
    }
}

void evaluate_policies(const runs_t *runs, const char *programs,
                       const char *policies, FILE *out)
{
    fprintf(out, "| program | policy | runs | memory, MiB | of l-p | peak, MiB"
                 " | of l-p | hits | transfer, ms | of l-p | run, s | of l-p |"
                 "\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    write_rows(runs, programs, policies, policies_row, out);
}

void evaluate_errors(const runs_t *runs, const char *programs,
                     const char *policies, FILE *out)
{
    fprintf(out, "| program | policy | runs | uses, a rank | predicted, all"
                 " ranks | within 0.5 %% | 1 %% | 5 %% | 10 %% | 25 %% |\n"
                 "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    write_rows(runs, programs, policies, errors_row, out);
}
