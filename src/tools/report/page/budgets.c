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
#include <tools/report/draw/tradeoff.h>
#include <tools/report/draw/units.h>

#include <math.h>

/* The most marks that the figure can have: one for each budget, for each bound
 * on UCX's own cache, and for each of four policies */
#define MAX_MARKS (PREDREG_BUDGETS_MAX + PREDREG_NUM_BOUNDS + 4)


/* @return how many regions are remembered if the advice is a setting of the
 * second curve, which is the one to draw then, or 0. */
static uint64_t budgets_larger_regions(const report_data_t *report)
{
    const predreg_choice_t *choice = &report->advice.choice;

    return ((choice->setting == PREDREG_SETTING_PREDICT) &&
            predreg_has_larger_curve(&report->findings)) ? choice->number : 0;
}

/* Whether there is a curve to show */
static int budgets_known(const report_data_t *report)
{
    return predreg_has_curve(&report->findings) &&
           (report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED)->uses > 0);
}

/* Make the mark of a setting */
static predreg_mark_t budgets_mark(const report_data_t *report,
                                   const predreg_outcome_t *outcome,
                                   const char *label)
{
    return (predreg_mark_t){
        .label  = label,
        .memory = predreg_outcome_average(outcome),
        .peak   = outcome->peak,
        .extra  = predreg_extra_time(&report->findings, outcome),
        .chosen = (outcome == report->advice.choice.outcome)
    };
}

/* Make the marks of the policies and bounds that are compared with the curve.
 * @return how many these are. */
static unsigned budgets_mark_others(const report_data_t *report,
                                    predreg_mark_t *marks)
{
    const struct {
        const predreg_outcome_t *outcome;
        const char              *label;
    } others[] = {
        { report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED), "leave-pinned" },
        { report_outcome(report, PREDREG_REPLAY_CLAIRVOYANT), "clairvoyant" },
        { report_outcome(report, PREDREG_REPLAY_ON_DEMAND), "on-demand" },
        { (budgets_larger_regions(report) > 0) ? &report->findings.larger :
          report_outcome(report, PREDREG_REPLAY_PREDICT), "own processor" }
    };
    const predreg_outcome_t *bound;
    unsigned count = 0;
    unsigned i;

    for (i = 0; i < ucs_static_array_size(others); ++i) {
        if (predreg_is_played(&report->findings, others[i].outcome)) {
            marks[count++] = budgets_mark(report, others[i].outcome,
                                          others[i].label);
        }
    }

    for (i = 0; i < PREDREG_NUM_BOUNDS; ++i) {
        bound = &report->findings.bounds[i];
        if (report_shows_bound(report, i)) {
            marks[count++] = budgets_mark(report, bound,
                                          (bound ==
                                           report->advice.choice.outcome) ?
                                          "bound" : NULL);
        }
    }

    return count;
}

void report_write_tradeoff(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_budgets_t *budgets   = &findings->budgets;
    uint64_t regions                   = budgets_larger_regions(report);
    const predreg_outcome_t *curve     = (regions > 0) ?
                                         findings->larger_curve :
                                         findings->curve;
    char labels[PREDREG_BUDGETS_MAX][PREDREG_BUDGET_NAME_MAX + 4];
    char name[PREDREG_BUDGET_NAME_MAX];
    predreg_mark_t marks[MAX_MARKS];
    unsigned i;

    if (!budgets_known(report)) {
        return;
    }

    for (i = 0; i < budgets->num; ++i) {
        snprintf(labels[i], sizeof(labels[i]), "%s%s",
                 predreg_budget_name(budgets->rates[i], name),
                 isinf(budgets->rates[i]) ? "" : " %");
        marks[i]         = budgets_mark(report, &curve[i], labels[i]);
        marks[i].on_line = 1;
    }

    fputs("<figure class=\"tradeoff\"><figcaption>", out);
    predreg_html_print(out, "Memory against run time, by BUDGET");
    if (regions > 0) {
        predreg_html_print(out, " with KNOWN_REGIONS=%lu",
                           (unsigned long)regions);
    }
    fputs(" <span>", out);
    predreg_html_print(out, "no processor is idle; dashed: at peak; large: what "
                            "to use; small: bounds on UCX's cache");
    fputs("</span></figcaption>\n", out);
    predreg_tradeoff_write(out, "Memory against run time; the table of budgets "
                                "has the numbers", marks,
                           budgets->num +
                           budgets_mark_others(report, marks + budgets->num),
                           PREDREG_COSTS_PART);
    fputs("</figure>\n", out);
}

/* @param [in] regions  How many are remembered; 0: as many as by default. */
static void budgets_write_row(const report_data_t *report, FILE *out,
                              unsigned index, uint64_t regions,
                              const predreg_outcome_t *outcome)
{
    const predreg_budgets_t *budgets = &report->findings.budgets;
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);
    double extra                     = predreg_extra_time(&report->findings,
                                                          outcome);
    char name[PREDREG_BUDGET_NAME_MAX];

    fprintf(out, "<tr%s>", (outcome == report->advice.choice.outcome) ?
                           " class=\"chosen\"" : "");
    fputs("<th scope=\"row\">", out);
    predreg_html_print(out, "%s%s%s",
                       predreg_budget_name(budgets->rates[index], name),
                       isinf(budgets->rates[index]) ? "" : " %",
                       (index == budgets->usual) ? ", the default" : "");
    if (regions > 0) {
        predreg_html_element(out, "small", "KNOWN_REGIONS=%lu",
                             (unsigned long)regions);
    }
    fputs("</th>", out);
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTES(predreg_outcome_average(outcome)));
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(outcome->average, pinned->average));
    predreg_html_element(out, "td", "%s", PREDREG_BYTES(outcome->peak));
    predreg_html_element(out, "td", "%s", PREDREG_TIME(outcome->longest));
    predreg_html_element(out, "td", "%s%s", (extra < 0) ? "−" : "",
                         PREDREG_PERCENT(fabs(extra), 1));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(outcome->regs));
    fputs("</tr>\n", out);
}

/* Write a row for each budget of a curve */
static void budgets_write_curve(const report_data_t *report, FILE *out,
                                uint64_t regions,
                                const predreg_outcome_t *curve)
{
    unsigned i;

    for (i = 0; i < report->findings.budgets.num; ++i) {
        budgets_write_row(report, out, i, regions, &curve[i]);
    }
}

void report_write_budgets(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;

    if (!budgets_known(report)) {
        return;
    }

    fputs("<section id=\"budgets\"><h2>Budgets compared</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Budgets compared\"><table class=\"data\"><caption>"
          "The same program under predict, if all processors are busy: ranks "
          "do the helper's work while they wait. As <code>ucx_predreg "
          "replay --curve --shared-processor</code> has it, with <code>--set "
          "KNOWN_REGIONS</code> where a row has that. Average: mean of "
          "the ranks; peak and run time: highest of the ranks; registrations: "
          "all ranks together.</caption><thead><tr>"
          "<th scope=\"col\">budget</th>"
          "<th scope=\"col\">on average</th>"
          "<th scope=\"col\">of leave-pinned</th>"
          "<th scope=\"col\">at peak</th>"
          "<th scope=\"col\">run time</th>"
          "<th scope=\"col\">longer</th>"
          "<th scope=\"col\">registrations</th></tr></thead><tbody>\n", out);
    budgets_write_curve(report, out, 0, findings->curve);
    if (predreg_has_larger_curve(findings)) {
        budgets_write_curve(report, out, findings->larger_regions,
                            findings->larger_curve);
    }
    fputs("</tbody></table></div></section>\n", out);
}
