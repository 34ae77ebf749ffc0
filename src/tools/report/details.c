/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_int.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KNOB_PREFIX "knob."
/* The most call sites that are listed */
#define MAX_PLACES  12
/* The most ranks with a row each. Of more ranks, the page has the least, the
 * median and the most of each figure, and the ranks that stand out */
#define MAX_ROWS    16
/* The number of ranks that stand out by each of two figures: memory under
 * leave-pinned, and waits */
#define MAX_TOPS    4


const char *report_meta(const report_data_t *report, const char *key)
{
    unsigned i;

    for (i = 0; i < report->num_metas; ++i) {
        if (!strcmp(report->metas[i].key, key)) {
            return report->metas[i].value;
        }
    }

    return NULL;
}

static void write_figures(ucs_json_t *json, const report_data_t *report,
                          const double *figures)
{
    static const char *const names[REPORT_FIGURE_MEMORY] = {
        [REPORT_FIGURE_USES]     = "uses",
        [REPORT_FIGURE_HITS]     = "hits",
        [REPORT_FIGURE_WAITED]   = "critical_path_seconds",
        [REPORT_FIGURE_DURATION] = "duration_seconds",
        [REPORT_FIGURE_LOST]     = "lost"
    };
    const double *memory;
    predreg_replay_policy_t policy;
    unsigned i;

    ucs_json_begin(json, "memory", '[');
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        memory = figures + REPORT_FIGURE_MEMORY + (2 * policy);
        if (report_has(report, policy) && predreg_policies[policy].is_key) {
            ucs_json_begin(json, NULL, '{');
            ucs_json_real(json, "pinned_avg_bytes", memory[0]);
            ucs_json_real(json, "pinned_peak_bytes", memory[1]);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
    for (i = 0; i < REPORT_FIGURE_MEMORY; ++i) {
        ucs_json_real(json, names[i], figures[i]);
    }
}

static int compare_values(const void *a, const void *b)
{
    double left  = *(const double*)a;
    double right = *(const double*)b;

    return (left < right) ? -1 : (left > right);
}

/* Write the least, the median and the most of each figure, from an array with
 * room for a value of each rank */
static void write_spread(ucs_json_t *json, const report_data_t *report,
                         double *values)
{
    static const char *const names[] = {"least", "median", "most"};
    unsigned last                    = report->num_ranks - 1;
    double rows[3][REPORT_FIGURE_LAST];
    unsigned figure, row, i;

    for (figure = 0; figure < REPORT_FIGURE_LAST; ++figure) {
        for (i = 0; i <= last; ++i) {
            values[i] = report->ranks[i].figures[figure];
        }
        qsort(values, report->num_ranks, sizeof(*values), compare_values);
        for (row = 0; row < 3; ++row) {
            rows[row][figure] = values[row * last / 2];
        }
    }

    for (row = 0; row < 3; ++row) {
        ucs_json_begin(json, NULL, '{');
        ucs_json_string(json, "name", names[row]);
        write_figures(json, report, rows[row]);
        ucs_json_end(json, '}');
    }
}

/* Mark as shown the MAX_TOPS ranks with the highest values of a figure, of the ranks not
 * shown yet. Of ranks with equal values, the first is taken */
static void show_tops(const report_data_t *report, unsigned figure,
                      unsigned char *is_shown)
{
    unsigned top, i, n;

    for (n = 0; n < MAX_TOPS; ++n) {
        top = report->num_ranks;
        for (i = 0; i < report->num_ranks; ++i) {
            if (!is_shown[i] && ((top == report->num_ranks) ||
                                 (report->ranks[i].figures[figure] >
                                  report->ranks[top].figures[figure]))) {
                top = i;
            }
        }
        is_shown[top] = 1; /* A rank was found: there are more ranks than MAX_ROWS, and
                              at most 2 * MAX_TOPS are shown */
    }
}

/* Write the spread of all ranks, and mark the ranks that stand out as shown */
static void write_many(ucs_json_t *json, const report_data_t *report,
                       unsigned char *is_shown)
{
    double *values = predreg_alloc(report->num_ranks, sizeof(*values));

    write_spread(json, report, values);
    free(values);
    show_tops(report, REPORT_FIGURE_MEMORY + (2 * PREDREG_REPLAY_LEAVE_PINNED),
              is_shown);
    show_tops(report, REPORT_FIGURE_WAITED, is_shown);
}

static void write_ranks(ucs_json_t *json, const report_data_t *report)
{
    int is_many             = report->num_ranks > MAX_ROWS;
    unsigned char *is_shown = predreg_alloc(report->num_ranks, 1);
    const report_rank_t *rank;
    unsigned i;

    memset(is_shown, !is_many, report->num_ranks);
    ucs_json_begin(json, "rank_spread", '[');
    if (is_many) {
        write_many(json, report, is_shown);
    }
    ucs_json_end(json, ']');

    ucs_json_begin(json, "rank_rows", '[');
    for (i = 0; i < report->num_ranks; ++i) {
        rank = &report->ranks[i];
        if (is_shown[i]) {
            ucs_json_begin(json, NULL, '{');
            JSON_STRING(rank, name);
            JSON_STRING(rank, host);
            write_figures(json, report, rank->figures);
            JSON_BOOL(rank, ended);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
    free(is_shown);
}

static void write_places(ucs_json_t *json, const report_data_t *report)
{
    unsigned num = report->sites.num_places;
    const predreg_place_t *place;

    ucs_json_uint(json, "num_places", num);
    ucs_json_begin(json, "places", '[');
    predreg_for_each(place, report->sites.places, ucs_min(num, MAX_PLACES)) {
        ucs_json_begin(json, NULL, '{');
        JSON_STRING(place, function);
        JSON_STRING(place, kind);
        JSON_STRING(place, source);
        JSON_STRING(place, path);
        report_write_seconds(json, "critical_path_seconds", place->waited);
        JSON_REAL(place, byte_seconds);
        JSON_UINT(place, uses);
        JSON_UINT(place, hits);
        JSON_UINT(place, late);
        ucs_json_end(json, '}');
    }
    ucs_json_end(json, ']');
}

/* Write the programs and libraries whose function names could not be read */
static void write_modules(ucs_json_t *json, const report_data_t *report)
{
    static const char *const states[] = {
        [PREDREG_MODULE_READ]     = NULL,
        [PREDREG_MODULE_MISSING]  = "missing",
        [PREDREG_MODULE_CHANGED]  = "changed",
        [PREDREG_MODULE_NOT_READ] = "not-read"
    };
    const predreg_symbols_t *symbols = &report->sites.symbols;
    const predreg_module_t *module;

    ucs_json_begin(json, "unread_modules", '[');
    predreg_for_each(module, symbols->modules, symbols->num_modules) {
        if (module->state != PREDREG_MODULE_READ) {
            ucs_json_begin(json, NULL, '{');
            JSON_STRING(module, path);
            ucs_json_string(json, "state", states[module->state]);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
}

/* @return whether to leave out a meta line, since another member of the object has its
 *         value, or since each rank has a value of its own */
static int is_left_out(const char *key)
{
    static const char *const keys[] = {"rank", "pid", "host", "clock_ns",
                                       "realtime_ns", NULL};

    return predreg_is_any(key, keys, 0);
}

/* Write the meta lines of the traces: only the knobs that were set (knobs is 1), or all
 * other lines */
static void write_metas(ucs_json_t *json, const report_data_t *report,
                        const char *name, int knobs)
{
    const size_t length = strlen(KNOB_PREFIX);
    const report_meta_t *meta;
    int is_knob;

    ucs_json_begin(json, name, '[');
    predreg_for_each(meta, report->metas, report->num_metas) {
        is_knob = !strncmp(meta->key, KNOB_PREFIX, length);
        if ((is_knob == knobs) && !is_left_out(meta->key) &&
            !(is_knob && (meta->value[0] == '\0'))) {
            ucs_json_begin(json, NULL, '{');
            ucs_json_string(json, "name", meta->key +
                            (is_knob ? length : 0));
            JSON_STRING(meta, value);
            JSON_BOOL(meta, differs);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
}

static void write_date(ucs_json_t *json, const report_data_t *report)
{
    const char *realtime = report_meta(report, "realtime_ns");
    time_t seconds       = (realtime == NULL) ?
                           0 : (strtoull(realtime, NULL, 10) / 1000000000ull);
    char text[64];
    struct tm tm;

    ucs_json_string(json, "date", ((realtime != NULL) &&
                     (gmtime_r(&seconds, &tm) != NULL) &&
                     (strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC",
                               &tm) > 0)) ? text : NULL);
}

/* Write the columns of a curve: the registered bytes at the end of a column, and the
 * least and the most within the column. A column without a change is left out */
static void write_columns(ucs_json_t *json, const char *name,
                          const predreg_column_t *columns)
{
    uint64_t last = 0;
    const predreg_column_t *column;
    unsigned i;

    ucs_json_begin(json, name, '[');
    for (i = 0; i < PREDREG_CURVE_COLUMNS; ++i) {
        column = &columns[i];
        if ((column->min != last) || (column->max != last)) {
            ucs_json_begin(json, NULL, '[');
            ucs_json_uint(json, NULL, i);
            ucs_json_uint(json, NULL, column->min);
            ucs_json_uint(json, NULL, column->max);
            ucs_json_uint(json, NULL, column->last);
            ucs_json_end(json, ']');
            last = column->last;
        }
    }
    ucs_json_end(json, ']');
}

static void write_curves(ucs_json_t *json, const report_data_t *report)
{
    const report_curves_t *curves = &report->curves;
    const report_curve_t *curve;
    unsigned i;

    ucs_json_begin(json, "curves", '{');
    JSON_STRING(curves, rank);
    ucs_json_uint(json, "columns", PREDREG_CURVE_COLUMNS);
    report_write_seconds(json, "seconds", curves->duration);
    JSON_SECONDS(curves, period);
    JSON_SECONDS(curves, zoom);
    ucs_json_begin(json, "policies", '[');
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        curve = &curves->curves[predreg_policy_at(i)];
        if (curve->known) {
            ucs_json_begin(json, NULL, '{');
            ucs_json_string(json, "label",
                            predreg_policies[predreg_policy_at(i)].label);
            ucs_json_real(json, "average_bytes", curve->average);
            ucs_json_uint(json, "peak_bytes", curve->peak);
            write_columns(json, "curve", curve->columns);
            if (curves->zoom > 0) {
                JSON_SECONDS(curve, zoom_begin);
                write_columns(json, "zoom", curve->zoom);
            }
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
    ucs_json_end(json, '}');
}

void report_write_details(ucs_json_t *json, const report_data_t *report)
{
    write_places(json, report);
    write_ranks(json, report);
    write_date(json, report);
    write_metas(json, report, "meta", 0);
    write_metas(json, report, "knobs", 1);
    write_modules(json, report);
    write_curves(json, report);
}
