/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "sections.h"

#include <tools/report/draw/bar.h>
#include <tools/report/draw/html.h>
#include <tools/report/draw/units.h>


static const char *const policies_causes[] = {
    [PREDREG_CAUSE_USE]     = "in use",
    [PREDREG_CAUSE_REG]     = "being registered",
    [PREDREG_CAUSE_DEREG]   = "being deregistered",
    [PREDREG_CAUSE_AHEAD]   = "registered ahead of its use",
    [PREDREG_CAUSE_KEPT]    = "kept from one use to the next",
    [PREDREG_CAUSE_RELEASE] = "used, and about to be deregistered",
    [PREDREG_CAUSE_WASTED]  = "registered ahead of a use that never came"
};


/* Write what the policy does, and its limit if it has one */
static void policies_write_note(FILE *out, predreg_replay_policy_t policy,
                                uint64_t limit)
{
    fputs("<small>", out);
    predreg_html_print(out, "%s", predreg_policies[policy].note);
    switch (predreg_policies[policy].limit) {
    case PREDREG_LIMIT_BYTES:
        predreg_html_print(out, "%s", PREDREG_BYTES(limit));
        break;
    case PREDREG_LIMIT_REGIONS:
        predreg_html_print(out, "%s %s", PREDREG_COUNT(limit),
                           (limit == 1) ? "region" : "regions");
        break;
    default:
        break;
    }
    fputs("</small>", out);
}

static void policies_write_row(const report_data_t *report, FILE *out,
                               predreg_replay_policy_t policy)
{
    const predreg_outcome_t *outcome = report_outcome(report, policy);
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    fputs("<tr><th scope=\"row\">", out);
    predreg_html_print(out, "%s", predreg_policies[policy].label);
    policies_write_note(out, policy, outcome->limit);
    fputs("</th>", out);
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTES(predreg_outcome_average(outcome)));
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(outcome->average, pinned->average));
    predreg_html_element(out, "td", "%s", PREDREG_BYTES(outcome->peak));
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTE_SECONDS(outcome->byte_seconds));
    predreg_html_element(out, "td", "%s",
                         PREDREG_TIME((double)outcome->waited /
                                      outcome->ranks));
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(outcome->waited, outcome->duration));
    predreg_html_element(out, "td", "%s", PREDREG_TIME(outcome->longest));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(outcome->regs));
    predreg_html_element(out, "td", "%s", PREDREG_TIME(outcome->helper));
    fputs("</tr>\n", out);
}

void report_write_policies(const report_data_t *report, FILE *out)
{
    predreg_replay_policy_t policy;
    unsigned i;

    fputs("<section id=\"policies\"><h2>Policies compared</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Policies compared\"><table class=\"data\"><caption>"
          "The same program under each policy. Average and wait: mean of the "
          "ranks; peak and run time: highest of the ranks; the others: all "
          "ranks together.</caption><thead><tr>"
          "<th scope=\"col\">policy</th>"
          "<th scope=\"col\">on average</th>"
          "<th scope=\"col\">of leave-pinned</th>"
          "<th scope=\"col\">at peak</th>"
          "<th scope=\"col\">memory × time</th>"
          "<th scope=\"col\">wait</th>"
          "<th scope=\"col\">of run time</th>"
          "<th scope=\"col\">run time</th>"
          "<th scope=\"col\">registrations</th>"
          "<th scope=\"col\">helper busy</th>"
          "</tr></thead><tbody>\n", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        if (report_has(report, policy)) {
            policies_write_row(report, out, policy);
        }
    }
    fputs("</tbody></table></div></section>\n", out);
}

static void policies_write_bound(const report_data_t *report, FILE *out,
                                 const predreg_outcome_t *bound)
{
    const predreg_outcome_t *pinned =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    fprintf(out, "<tr%s>", (bound == report->advice.choice.outcome) ?
                           " class=\"chosen\"" : "");
    predreg_html_element(out, "th scope=\"row\"", "%s",
                         PREDREG_BYTES(bound->limit));
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTES(predreg_outcome_average(bound)));
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(bound->average, pinned->average));
    predreg_html_element(out, "td", "%s",
                         PREDREG_TIME((double)bound->waited / bound->ranks));
    predreg_html_element(out, "td", "%s", PREDREG_TIME(bound->longest));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(bound->regs));
    fputs("</tr>\n", out);
}

void report_write_bounds(const report_data_t *report, FILE *out)
{
    unsigned count = 0;
    unsigned i;

    for (i = 0; i < PREDREG_NUM_BOUNDS; ++i) {
        count += report_shows_bound(report, i);
    }
    if (count == 0) {
        return;
    }

    fputs("<section id=\"bounds\"><h2>Bounds on UCX's cache</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Bounds on UCX's cache\"><table class=\"data\"><caption>"
          "The same program without this library, each rank with the same "
          "bound. Average and wait: mean of the ranks; run time: highest of "
          "the ranks; registrations: all ranks together.</caption><thead><tr>"
          "<th scope=\"col\">bound</th>"
          "<th scope=\"col\">on average</th>"
          "<th scope=\"col\">of leave-pinned</th>"
          "<th scope=\"col\">wait</th>"
          "<th scope=\"col\">run time</th>"
          "<th scope=\"col\">registrations</th></tr></thead><tbody>\n", out);
    for (i = PREDREG_NUM_BOUNDS; i-- > 0;) {
        if (report_shows_bound(report, i)) {
            policies_write_bound(report, out, &report->findings.bounds[i]);
        }
    }
    fputs("</tbody></table></div></section>\n", out);
}

static void policies_write_cause(const report_data_t *report, FILE *out,
                                 predreg_cause_t cause, double beyond)
{
    double predict     =
            report_outcome(report, PREDREG_REPLAY_PREDICT)->by_cause[cause];
    double clairvoyant =
            report_outcome(report, PREDREG_REPLAY_CLAIRVOYANT)->by_cause[cause];

    fputs("<tr>", out);
    predreg_html_element(out, "th scope=\"row\"", "%s", policies_causes[cause]);
    predreg_html_element(out, "td", "%s", PREDREG_BYTE_SECONDS(predict));
    predreg_html_element(out, "td", "%s", PREDREG_BYTE_SECONDS(clairvoyant));
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTE_SECONDS(predict - clairvoyant));
    fputs("<td class=\"b\">", out);
    predreg_bar_write(out, (predict - clairvoyant) / beyond);
    fputs("</td></tr>\n", out);
}

/* Write what predict has registered, but the clairvoyant has not */
void report_write_remainder(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *predict     =
            report_outcome(report, PREDREG_REPLAY_PREDICT);
    const predreg_outcome_t *clairvoyant =
            report_outcome(report, PREDREG_REPLAY_CLAIRVOYANT);
    double beyond                        =
            predict->byte_seconds - clairvoyant->byte_seconds;
    unsigned i;

    if (!report_has(report, PREDREG_REPLAY_PREDICT) ||
        !report_has(report, PREDREG_REPLAY_CLAIRVOYANT) ||
        (clairvoyant->byte_seconds <= 0)) {
        return;
    }

    fputs("<section id=\"remainder\"><h2>Beyond what is possible</h2>\n<p>",
          out);
    predreg_html_print(out, "Prediction has %.2f times the memory × time of "
                            "the clairvoyant schedule. This is what the memory "
                            "is registered for.",
                       predict->byte_seconds / clairvoyant->byte_seconds);
    fputs("</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Memory by cause\"><table class=\"data\"><caption>"
          "Memory × time by what it was registered for, all ranks together"
          "</caption><thead><tr><th scope=\"col\">memory is</th>"
          "<th scope=\"col\">predict</th><th scope=\"col\">clairvoyant</th>"
          "<th scope=\"col\">more</th>"
          "<th scope=\"col\"><span class=\"hidden\">as a bar</span></th>"
          "</tr></thead><tbody>\n", out);
    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        policies_write_cause(report, out, i, (beyond > 0) ? beyond : 1);
    }
    fputs("</tbody><tfoot><tr><th scope=\"row\">together</th>", out);
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTE_SECONDS(predict->byte_seconds));
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTE_SECONDS(clairvoyant->byte_seconds));
    predreg_html_element(out, "td", "%s", PREDREG_BYTE_SECONDS(beyond));
    fputs("<td></td></tr></tfoot></table></div></section>\n", out);
}
