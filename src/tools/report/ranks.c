/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ranks.h"

#include <stdlib.h>
#include <string.h>

/* So many ranks are shown one by one. Of more of them, the page has the least,
 * the median and the most of each figure, and the ranks that stand out */
#define MAX_ROWS    16
/* How many ranks stand out by each of two figures: memory under leave-pinned,
 * and the time that they wait */
#define MAX_TOPS    4


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

/* Let the ranks that have most of a figure, among those that are not shown, be
 * shown; of equal ones the first */
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
        is_shown[top] = 1; /* There are more ranks than are shown */
    }
}

/* Write the spread of all ranks, and show those that stand out
 * @return UCS_ERR_NO_MEMORY. */
static ucs_status_t write_many(ucs_json_t *json, const report_data_t *report,
                               unsigned char *is_shown)
{
    double *values = malloc(report->num_ranks * sizeof(*values));

    if (values == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    write_spread(json, report, values);
    free(values);
    show_tops(report, REPORT_FIGURE_MEMORY + (2 * PREDREG_REPLAY_LEAVE_PINNED),
              is_shown);
    show_tops(report, REPORT_FIGURE_WAITED, is_shown);
    return UCS_OK;
}

ucs_status_t report_write_ranks(ucs_json_t *json, const report_data_t *report)
{
    int is_many         = report->num_ranks > MAX_ROWS;
    ucs_status_t status = UCS_OK;
    const report_rank_t *rank;
    unsigned char *is_shown;
    unsigned i;

    is_shown = malloc(report->num_ranks);
    if (is_shown == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memset(is_shown, !is_many, report->num_ranks);
    ucs_json_begin(json, "rank_spread", '[');
    if (is_many) {
        status = write_many(json, report, is_shown);
    }
    ucs_json_end(json, ']');

    ucs_json_begin(json, "rank_rows", '[');
    for (i = 0; i < report->num_ranks; ++i) {
        rank = &report->ranks[i];
        if (is_shown[i]) {
            ucs_json_begin(json, NULL, '{');
            ucs_json_string(json, "name", rank->name);
            ucs_json_string(json, "host", rank->host);
            write_figures(json, report, rank->figures);
            ucs_json_bool(json, "ended", rank->ended);
            ucs_json_end(json, '}');
        }
    }
    ucs_json_end(json, ']');
    free(is_shown);
    return status;
}
