/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tables.h"

#include <math.h>
#include <string.h>
#include <picture.h>

#define NUM_PROGRAMS 4
#define NUM_POLICIES 3

/* Names of programs and policies in the table, and in contrib/lib/cases.sh */
static const struct {
    const char *name;
    const char *run;
    const char *title;
} programs[NUM_PROGRAMS] = {
    {"fig1-reuse", "fig1-reuse-2", "Three buffers in turn, reused (fig1)"},
    {"fig1-noreuse", "fig1-noreuse-2",
     "Three buffers in turn, new ones each time (fig1)"},
    {"transpose", "transpose-2", "All-to-all transpose (transpose)"},
    {"hpcc", "hpcc-2", "HPC Challenge benchmarks (hpcc)"}
};

/* What the others are compared with comes first */
static const struct {
    const char *name;
    const char *run;
} policies[NUM_POLICIES] = {
    {"leave-pinned", "stock"},
    {"on-demand", "on-demand"},
    {"predict", "predict"}
};


/* Columns are as wide as their headings or contents, so that the text can be
 * read as it is */
static void table_row(const char *program, const char *policy,
                      const row_t *row, const row_t *base, FILE *out)
{
    double average = series_median(&row->average);
    double seconds = series_median(&row->seconds);
    double uses    = series_mean(&row->uses);

    fprintf(out, "| %-12s | %-12s | %4u |", program, policy, row->num_runs);
    fprintf(out, " %11s |", number("%.2f", average / MIB));
    fprintf(out, " %6s |",
            number("%.0f %%", percent(average, series_median(&base->average))));
    fprintf(out, " %9s |", number("%.2f", series_max(&row->peak) / MIB));
    fprintf(out, " %4s |", number("%.0f", uses));
    fprintf(out, " %5s |",
            number("%.0f %%", percent(series_mean(&row->hits), uses)));
    fprintf(out, " %10s |",
            number("%.1f", series_median(&row->critical_s) * 1000));
    fprintf(out, " %7s |", number("%.3f", seconds));
    fprintf(out, " %6s..%6s |", number("%.3f", series_min(&row->seconds)),
            number("%.3f", series_max(&row->seconds)));
    fprintf(out, " %6s |\n",
            number("%.3f", ratio(seconds, series_median(&base->seconds))));
}

void demo_table(const runs_t *runs, FILE *out)
{
    row_t row, base;
    unsigned i, j;

    fprintf(out,
            "| program      | policy       | runs | memory, MiB | of l-p |"
            " peak, MiB | uses |  hits | waited, ms | time, s |"
            "       min..max | of l-p |\n"
            "|--------------|--------------|-----:|------------:|-------:|"
            "----------:|-----:|------:|-----------:|--------:|"
            "---------------:|-------:|\n");
    for (i = 0; i < NUM_PROGRAMS; ++i) {
        runs_find(runs, programs[i].run, policies[0].run, &base);
        for (j = 0; j < NUM_POLICIES; ++j) {
            runs_find(runs, programs[i].run, policies[j].run, &row);
            if (row.num_runs > 0) {
                table_row(programs[i].name, policies[j].name, &row, &base,
                          out);
            }
        }
    }
}

static void json_number(const char *name, const char *format, double value,
                        FILE *out)
{
    fprintf(out, ",\"%s\":%s", name,
            isnan(value) ? "null" : number(format, value));
}

void demo_json(const runs_t *runs, const char *rig, FILE *out)
{
    unsigned i, j;
    row_t row;

    for (i = 0; i < NUM_PROGRAMS; ++i) {
        for (j = 0; j < NUM_POLICIES; ++j) {
            runs_find(runs, programs[i].run, policies[j].run, &row);
            if (row.num_runs == 0) {
                continue;
            }

            fprintf(out,
                    "{\"rig\":\"%s\",\"program\":\"%s\",\"policy\":\"%s\","
                    "\"runs\":%u",
                    rig, programs[i].name, policies[j].name, row.num_runs);
            json_number("registered_avg_mib", "%.3f",
                        series_median(&row.average) / MIB, out);
            json_number("registered_peak_mib", "%.3f",
                        series_max(&row.peak) / MIB, out);
            json_number("uses", "%.1f", series_mean(&row.uses), out);
            json_number("hits", "%.1f", series_mean(&row.hits), out);
            json_number("regs_critical", "%.1f", series_mean(&row.critical),
                        out);
            json_number("critical_path_seconds", "%.6f",
                        series_median(&row.critical_s), out);
            json_number("seconds", "%.3f", series_median(&row.seconds), out);
            fprintf(out, "}\n");
        }
    }
}

/* Fills the lines of a chart: the first run of each policy, if its memory is
 * known. Returns how many there are. */
static unsigned find_lines(const runs_t *runs, const char *program,
                           predreg_series_t *lines)
{
    unsigned num = 0, j;
    row_t row;

    for (j = 0; j < NUM_POLICIES; ++j) {
        runs_find(runs, program, policies[j].run, &row);
        if (row.first == NULL) {
            continue;
        }

        lines[num].label     = policies[j].name;
        lines[num].steps     = row.first->memory.curve;
        lines[num].num_steps = row.first->memory.num_steps;
        lines[num].duration  = row.first->memory.duration;
        lines[num].average   = row.first->average;
        ++num;
    }

    return num;
}

void demo_picture(const runs_t *runs, const char *subtitle, FILE *out)
{
    predreg_series_t lines[NUM_PROGRAMS][NUM_POLICIES];
    predreg_chart_t charts[NUM_PROGRAMS];
    unsigned num = 0, i;

    for (i = 0; i < NUM_PROGRAMS; ++i) {
        charts[num].title      = programs[i].title;
        charts[num].series     = lines[i];
        charts[num].num_series = find_lines(runs, programs[i].run, lines[i]);
        num                   += (charts[num].num_series > 0);
    }

    predreg_picture_write(out, "Registered user memory over time, rank 0",
                          subtitle, charts, num);
}
