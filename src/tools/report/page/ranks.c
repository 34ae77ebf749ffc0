/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "sections.h"

#include <tools/report/draw/html.h>
#include <tools/report/draw/units.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* So many ranks are shown one by one. Of more of them, the table has the least,
 * the median and the most of each column, and the ranks that stand out */
#define MAX_ROWS  16
/* How many ranks stand out by each of two numbers */
#define MAX_TOPS  4
/* Columns that are not of a policy: uses, hits, wait, run time, lost */
#define NUM_OTHER 5
#define MAX_CELLS (2 * PREDREG_REPLAY_LAST + NUM_OTHER)


/* How the number of a column is written */
typedef enum {
    CELL_BYTES,
    CELL_COUNT,
    CELL_PART,  /* 0 .. 1; negative: a part of nothing */
    CELL_TIME
} cell_kind_t;

typedef struct cell {
    cell_kind_t kind;
    double      value;
} cell_t;


/* Whether the table has columns for a policy */
static int ranks_shows(const report_data_t *report,
                       predreg_replay_policy_t policy)
{
    return report_has(report, policy) && predreg_policies[policy].is_key;
}

/* Get the cells of a rank.
 * @return how many these are. */
static unsigned ranks_get_cells(const report_data_t *report,
                                const report_rank_t *rank, cell_t *cells)
{
    unsigned count = 0;
    predreg_replay_policy_t policy;
    unsigned i;

    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        if (ranks_shows(report, policy)) {
            cells[count++] = (cell_t){ CELL_BYTES, rank->average[policy] };
            cells[count++] = (cell_t){ CELL_BYTES, rank->peak[policy] };
        }
    }

    cells[count++] = (cell_t){ CELL_COUNT, rank->uses };
    cells[count++] = (cell_t){ CELL_PART, (rank->uses == 0) ?
                               -1 : ((double)rank->hits / rank->uses) };
    cells[count++] = (cell_t){ CELL_TIME, rank->waited };
    cells[count++] = (cell_t){ CELL_TIME, rank->duration };
    cells[count++] = (cell_t){ CELL_COUNT, rank->lost };
    return count;
}

static void ranks_write_cells(FILE *out, const cell_t *cells, unsigned count)
{
    char text[PREDREG_UNITS_MAX];
    unsigned i;

    for (i = 0; i < count; ++i) {
        switch (cells[i].kind) {
        case CELL_BYTES:
            predreg_bytes_str(cells[i].value, text);
            break;
        case CELL_COUNT:
            predreg_count_str(cells[i].value, text);
            break;
        case CELL_PART:
            predreg_percent_str(cells[i].value, (cells[i].value >= 0), text);
            break;
        default:
            predreg_time_str(cells[i].value, text);
            break;
        }
        predreg_html_element(out, "td", "%s", text);
    }
}

static void ranks_write_rank(const report_data_t *report, FILE *out,
                             const report_rank_t *rank)
{
    cell_t cells[MAX_CELLS];
    unsigned count;

    fputs("<tr><th scope=\"row\">", out);
    predreg_html_text(out, rank->name);
    if (rank->host != NULL) {
        predreg_html_element(out, "small", "%s", rank->host);
    }
    fputs("</th>", out);
    count = ranks_get_cells(report, rank, cells);
    ranks_write_cells(out, cells, count);
    predreg_html_element(out, "td", "%s", rank->ended ? "yes" : "no");
    fputs("</tr>\n", out);
}

static int ranks_compare_values(const void *a, const void *b)
{
    double left  = *(const double*)a;
    double right = *(const double*)b;

    return (left < right) ? -1 : (left > right);
}

/* Write the least, the median and the most of each column. Ranks without uses
 * have no part of hits, which counts as the least */
static void ranks_write_spread(const report_data_t *report, FILE *out)
{
    static const char *const names[] = {"least", "median", "most"};
    unsigned last                    = report->num_ranks - 1;
    cell_t rows[3][MAX_CELLS], cells[MAX_CELLS];
    double *values;
    unsigned count, i, column, row;

    values = malloc(report->num_ranks * sizeof(*values));
    if (values == NULL) {
        return; /* The ranks that stand out follow all the same */
    }

    count = ranks_get_cells(report, &report->ranks[0], cells);
    for (column = 0; column < count; ++column) {
        for (i = 0; i < report->num_ranks; ++i) {
            ranks_get_cells(report, &report->ranks[i], cells);
            values[i] = cells[column].value;
        }
        qsort(values, report->num_ranks, sizeof(*values),
              ranks_compare_values);
        for (row = 0; row < 3; ++row) {
            rows[row][column] = (cell_t){ cells[column].kind,
                                          values[row * last / 2] };
        }
    }
    free(values);

    for (row = 0; row < 3; ++row) {
        fputs("<tr class=\"spread\">", out);
        predreg_html_element(out, "th scope=\"row\"", "%s", names[row]);
        ranks_write_cells(out, rows[row], count);
        fputs("<td></td></tr>\n", out);
    }
}

/* By how much a rank stands out: by its memory under leave-pinned, or by how
 * long it waits */
static double ranks_height(const report_rank_t *rank, int by_memory)
{
    return by_memory ? rank->average[PREDREG_REPLAY_LEAVE_PINNED] :
                       rank->waited;
}

/* Mark the ranks that are highest among those not marked yet, the first ones of
 * equal ones */
static void ranks_mark_tops(const report_data_t *report, int by_memory,
                            unsigned char *marks)
{
    const report_rank_t *ranks = report->ranks;
    unsigned top, i, n;

    for (n = 0; n < MAX_TOPS; ++n) {
        top = report->num_ranks;
        for (i = 0; i < report->num_ranks; ++i) {
            if (!marks[i] && ((top == report->num_ranks) ||
                              (ranks_height(&ranks[i], by_memory) >
                               ranks_height(&ranks[top], by_memory)))) {
                top = i;
            }
        }
        marks[top] = 1; /* There are more ranks than are marked */
    }
}

/* Write a summary of many ranks */
static void ranks_write_many(const report_data_t *report, FILE *out)
{
    unsigned char *marks;
    unsigned i;

    ranks_write_spread(report, out);
    marks = calloc(report->num_ranks, sizeof(*marks));
    if (marks == NULL) {
        return;
    }

    ranks_mark_tops(report, 1, marks);
    ranks_mark_tops(report, 0, marks);
    for (i = 0; i < report->num_ranks; ++i) {
        if (marks[i]) {
            ranks_write_rank(report, out, &report->ranks[i]);
        }
    }
    free(marks);
}

static void ranks_write_caption(const report_data_t *report, FILE *out)
{
    predreg_html_print(out, "Registered memory of %s, on average and at peak; "
                            "uses, wait and run time under predict",
                       (report->num_ranks > MAX_ROWS) ? "the ranks" :
                                                        "each rank");
    if (report->num_ranks > MAX_ROWS) {
        predreg_html_print(out, ". Of %s ranks these are the least, the median "
                                "and the most of each column, the %d ranks "
                                "with most memory under leave-pinned, and the "
                                "next %d that wait longest",
                           PREDREG_COUNT(report->num_ranks), MAX_TOPS,
                           MAX_TOPS);
    }
}

void report_write_ranks(const report_data_t *report, FILE *out)
{
    predreg_replay_policy_t policy;
    unsigned i;

    fputs("<section id=\"ranks\"><h2>Ranks</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Ranks\"><table class=\"data\"><caption>", out);
    ranks_write_caption(report, out);
    fputs("</caption><thead><tr><th scope=\"col\">rank</th>", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        if (ranks_shows(report, policy)) {
            fputs("<th scope=\"col\">", out);
            predreg_html_print(out, "%s, average",
                               predreg_policies[policy].label);
            fputs("</th><th scope=\"col\">peak</th>", out);
        }
    }
    fputs("<th scope=\"col\">uses</th>"
          "<th scope=\"col\">found registered</th>"
          "<th scope=\"col\">wait</th>"
          "<th scope=\"col\">run time</th>"
          "<th scope=\"col\">lost events</th>"
          "<th scope=\"col\">came to its end</th></tr></thead><tbody>\n", out);
    if (report->num_ranks > MAX_ROWS) {
        ranks_write_many(report, out);
    } else {
        for (i = 0; i < report->num_ranks; ++i) {
            ranks_write_rank(report, out, &report->ranks[i]);
        }
    }
    fputs("</tbody></table></div></section>\n", out);
}
