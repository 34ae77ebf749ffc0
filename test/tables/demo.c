/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tables.h"

#include <math.h>
#include <string.h>
#include <tools/report/draw/picture.h>

#define NUM_PROGRAMS 4
#define NUM_POLICIES 3

static const struct {
    const char *name;
    const char *title;
} programs[NUM_PROGRAMS] = {
    {"fig1-reuse", "Three buffers in turn, reused (fig1)"},
    {"fig1-noreuse", "Three buffers in turn, new ones each time (fig1)"},
    {"transpose", "All-to-all transpose (transpose)"},
    {"hpcc", "HPC Challenge benchmarks (hpcc)"}
};

/* What the others are compared with comes first */
static const char *policies[NUM_POLICIES] = {
    "leave-pinned", "on-demand", "predict"
};


static void table_row(const char *program, const char *policy,
                      const row_t *row, const row_t *base, FILE *out)
{
    double average = series_mean(&row->average);
    double seconds = series_mean(&row->seconds);
    double uses    = series_mean(&row->uses);

    fprintf(out, "%-13s %-13s %4u", program, policy, row->num_runs);
    fprintf(out, "%8s", number("%.2f", average / MIB));
    fprintf(out, "%8s",
            number("%.0f %%", percent(average, series_mean(&base->average))));
    fprintf(out, "%8s", number("%.2f", series_max(&row->peak) / MIB));
    fprintf(out, "%8s", number("%.0f", uses));
    fprintf(out, "%8s",
            number("%.0f %%", percent(series_mean(&row->hits), uses)));
    fprintf(out, "%8s", number("%.1f", series_mean(&row->critical)));
    fprintf(out, "%10s", number("%.1f", series_mean(&row->critical_s) * 1000));
    fprintf(out, "%9s", number("%.2f", seconds));
    fprintf(out, "%8s\n",
            number("%.0f %%", percent(seconds, series_mean(&base->seconds))));
}

void demo_table(const runs_t *runs, FILE *out)
{
    row_t row, base;
    unsigned i, j;

    fprintf(out, "%-31s%24s%8s%8s%18s%17s\n", "", "registered user memory", "",
            "", "critical path", "run time");
    fprintf(out, "%-13s %-13s %4s%8s%8s%8s%8s%8s%8s%10s%9s%8s\n", "program",
            "policy", "runs", "avg MiB", "of l-p", "peak", "uses", "hits",
            "regs", "ms", "s", "of l-p");
    for (i = 0; i < NUM_PROGRAMS; ++i) {
        runs_find(runs, programs[i].name, policies[0], &base);
        for (j = 0; j < NUM_POLICIES; ++j) {
            runs_find(runs, programs[i].name, policies[j], &row);
            if (row.num_runs > 0) {
                table_row(programs[i].name, policies[j], &row, &base, out);
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

void demo_json(const runs_t *runs, FILE *out)
{
    unsigned i, j;
    row_t row;

    for (i = 0; i < NUM_PROGRAMS; ++i) {
        for (j = 0; j < NUM_POLICIES; ++j) {
            runs_find(runs, programs[i].name, policies[j], &row);
            if (row.num_runs == 0) {
                continue;
            }

            fprintf(out, "{\"program\":\"%s\",\"policy\":\"%s\",\"runs\":%u",
                    programs[i].name, policies[j], row.num_runs);
            json_number("registered_avg_mib", "%.3f",
                        series_mean(&row.average) / MIB, out);
            json_number("registered_peak_mib", "%.3f",
                        series_max(&row.peak) / MIB, out);
            json_number("uses", "%.1f", series_mean(&row.uses), out);
            json_number("hits", "%.1f", series_mean(&row.hits), out);
            json_number("regs_critical", "%.1f", series_mean(&row.critical),
                        out);
            json_number("critical_path_seconds", "%.6f",
                        series_mean(&row.critical_s), out);
            json_number("seconds", "%.3f", series_mean(&row.seconds), out);
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
        runs_find(runs, program, policies[j], &row);
        if ((row.first == NULL) || isnan(row.first->average)) {
            continue;
        }

        lines[num].label     = policies[j];
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
        charts[num].num_series = find_lines(runs, programs[i].name, lines[i]);
        num                   += (charts[num].num_series > 0);
    }

    predreg_picture_write(out, "Registered user memory over time, rank 0",
                          subtitle, charts, num);
}
