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

#include <ucs/sys/math.h>

#include <math.h>


static void uses_write_row(const report_data_t *report, FILE *out,
                           predreg_replay_policy_t policy)
{
    const predreg_outcome_t *outcome = report_outcome(report, policy);
    uint64_t met                     = outcome->hits + outcome->late;

    fputs("<tr>", out);
    predreg_html_element(out, "th scope=\"row\"", "%s",
                         predreg_policies[policy].label);
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(outcome->hits, outcome->uses));
    fputs("<td class=\"b\">", out);
    predreg_bar_write(out, (outcome->uses == 0) ?
                          0 : ((double)outcome->hits / outcome->uses));
    fputs("</td>", out);
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(outcome->hits));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(outcome->early));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(outcome->late));
    predreg_html_element(out, "td", "%s",
                         PREDREG_COUNT(outcome->uses -
                                       ucs_min(met, outcome->uses)));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(outcome->wasted));
    fputs("</tr>\n", out);
}

void report_write_uses(const report_data_t *report, FILE *out)
{
    predreg_replay_policy_t policy;
    unsigned i;

    fputs("<section id=\"uses\"><h2>What uses of buffers met</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"What uses of buffers met\"><table class=\"data\">"
          "<caption>", out);
    predreg_html_print(out, "Number of uses, of %s by all ranks; wasted: of "
                            "registrations",
                       PREDREG_COUNT(report_outcome(report,
                                             PREDREG_REPLAY_LEAVE_PINNED)
                                             ->uses));
    fputs("</caption><thead><tr><th scope=\"col\">policy</th>"
          "<th scope=\"col\" colspan=\"2\">found registered</th>"
          "<th scope=\"col\">hits</th>"
          "<th scope=\"col\">of these early</th>"
          "<th scope=\"col\">late</th>"
          "<th scope=\"col\">registered then</th>"
          "<th scope=\"col\">wasted</th></tr></thead><tbody>\n", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        if (report_has(report, policy)) {
            uses_write_row(report, out, policy);
        }
    }
    fputs("</tbody></table></div></section>\n", out);
}

static uint64_t uses_num_predictions(const predreg_outcome_t *outcome)
{
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        sum += outcome->prediction_errors[i];
    }

    return sum;
}

/* Write a row of the errors of a policy's predictions, or nothing if the policy
 * does not predict */
static void uses_write_predictor(const report_data_t *report, FILE *out,
                                 predreg_replay_policy_t policy)
{
    static const char *const bounds[UCS_RCACHE_PRED_ERROR_CLASSES - 1] = {
        "0.5 %", "1 %", "5 %", "10 %", "25 %"
    };
    const predreg_outcome_t *outcome = report_outcome(report, policy);
    uint64_t all                     = uses_num_predictions(outcome);
    uint64_t sum                     = 0;
    unsigned i;

    if (all == 0) {
        return;
    }

    fputs("<table class=\"data errors\"><caption>", out);
    predreg_html_element(out, "b", "%s", predreg_policies[policy].label);
    predreg_html_print(out, " predicted %s uses", PREDREG_COUNT(all));
    fputs("</caption><thead><tr><th scope=\"col\">error up to</th>"
          "<th scope=\"col\" colspan=\"2\">part of them</th></tr></thead>"
          "<tbody>\n", out);
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES - 1; ++i) {
        sum += outcome->prediction_errors[i];
        fputs("<tr>", out);
        predreg_html_element(out, "th scope=\"row\"", "%s", bounds[i]);
        predreg_html_element(out, "td", "%s", PREDREG_PERCENT(sum, all));
        fputs("<td class=\"b\">", out);
        predreg_bar_write(out, (double)sum / all);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
}

void report_write_errors(const report_data_t *report, FILE *out)
{
    uint64_t all = 0;
    unsigned i;

    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        all += uses_num_predictions(report_outcome(report, i));
    }

    if (all == 0) {
        return;
    }

    fputs("<section id=\"errors\"><h2>How good predictions are</h2>\n"
          "<p>The error of a prediction is the difference between the "
          "predicted and the observed time from one use to the next, as a part "
          "of the observed one.</p>\n<div class=\"pair\">\n", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        uses_write_predictor(report, out, predreg_policy_at(i));
    }
    fputs("</div></section>\n", out);
}

static void arena_write_advice(const predreg_gain_t *gain, FILE *out)
{
    static const char *const reasons[] = {
        [PREDREG_GAIN_UNUSED] = "is not recommended: no use is of its memory. "
                                "What is longer than ARENA_SLAB does not come "
                                "from it, nor what malloc() has in its heap.",
        [PREDREG_GAIN_LOSES]  = "is not recommended: the program would wait "
                                "longer.",
        [PREDREG_GAIN_LITTLE] = "is not needed: that is less than a thousandth "
                                "of the run time.",
        [PREDREG_GAIN_YES]    = "is recommended, if there is memory to pin."
    };

    fputs("<b><code>UCX_RCACHE_PRED_ARENA=", out);
    predreg_html_print(out, "%luM", gain->size >> 20);
    fputs("</code> ", out);
    predreg_html_print(out, "%s", reasons[predreg_gain_advise(gain)]);
    fputs("</b> ", out);
}

void report_write_arena(const report_data_t *report, FILE *out)
{
    const predreg_gain_t *gain = &report->gain;

    if (gain->ranks == 0) {
        return;
    }

    fputs("<section id=\"arena\"><h2>Large allocations</h2>\n<p>", out);
    predreg_html_print(out, "With an arena, whose memory is registered before "
                            "the program asks for it, %s of %s uses would need "
                            "no registration (%s), and %s would wait %s %s than "
                            "under predict. ",
                       PREDREG_COUNT(gain->answered), PREDREG_COUNT(gain->uses),
                       PREDREG_PERCENT(gain->answered, gain->uses),
                       (gain->ranks == 1) ? "the rank" : "the ranks together",
                       PREDREG_TIME(fabs((double)gain->saved)),
                       (gain->saved < 0) ? "longer" : "less");
    predreg_html_print(out, "A rank would have %s registered on average, "
                            "instead of %s, and the one with most allocations "
                            "%s for the arena. ",
                       PREDREG_BYTES(gain->average / gain->ranks),
                       PREDREG_BYTES(gain->predict_average / gain->ranks),
                       PREDREG_BYTES(gain->size));
    arena_write_advice(gain, out);
    predreg_html_print(out, "Counted are allocations that the recorded run has "
                            "mapped; with an arena, malloc() maps more of them "
                            "than by itself.");
    fputs("</p></section>\n", out);
}
