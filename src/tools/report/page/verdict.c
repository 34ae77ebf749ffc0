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
#include <string.h>

/* On-demand has less than would be possible without waiting if it has less than
 * this part of that. Nobody would notice a smaller difference */
#define VERDICT_LESS_PART 0.95


/* Write by how much a value is less, or more, than under leave-pinned */
static void verdict_write_change(FILE *out, double value, double pinned,
                                 const char *less, const char *more)
{
    predreg_html_print(out, "%s %s", PREDREG_PERCENT(fabs(pinned - value),
                                                     pinned),
                       (value <= pinned) ? less : more);
}

/* Write the answer, and the one number that counts most */
static void verdict_write_heading(const report_data_t *report, FILE *out)
{
    static const char *const ways[] = {
        [PREDREG_SETTING_PREDICT]   = "with prediction",
        [PREDREG_SETTING_ON_DEMAND] = "on demand",
        [PREDREG_SETTING_BOUND]     = "with a bound on UCX's cache"
    };
    const predreg_advice_t *advice   = &report->advice;
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);
    const predreg_outcome_t *outcome = advice->choice.outcome;

    fputs("<h1>", out);
    if (advice->answer == PREDREG_ANSWER_NO) {
        predreg_html_print(out, "No: leave UCX as it is");
    } else {
        predreg_html_print(out, "%s: ", (advice->answer == PREDREG_ANSWER_YES) ?
                                        "Yes" : "Only if memory is short");
        verdict_write_change(out, outcome->average, pinned->average,
                             "less registered memory",
                             "more registered memory");
        predreg_html_print(out, " %s", ways[advice->choice.setting]);
    }
    if (advice->answer == PREDREG_ANSWER_IF_SHORT) {
        predreg_html_print(out, ", ");
        verdict_write_change(out, outcome->longest, pinned->longest,
                             "faster", "slower");
    }
    fputs("</h1>\n", out);
}

static void verdict_write_waits(const report_data_t *report, FILE *out,
                                const predreg_outcome_t *outcome)
{
    const predreg_outcome_t *pinned =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    predreg_html_print(out, "Communications wait for registrations in %s of "
                            "the run time (leave-pinned: %s). ",
                       PREDREG_PERCENT(outcome->waited, outcome->duration),
                       PREDREG_PERCENT(pinned->waited, pinned->duration));
}

/* Write what would be possible, and how on-demand has less than that if it
 * does */
static void verdict_write_possible(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *best      =
            report_outcome(report, PREDREG_REPLAY_CLAIRVOYANT);
    const predreg_outcome_t *on_demand =
            report_outcome(report, PREDREG_REPLAY_ON_DEMAND);

    if (!report_has(report, PREDREG_REPLAY_CLAIRVOYANT)) {
        return;
    }

    predreg_html_print(out, "Without waiting, less than %s on average is not "
                            "possible",
                       PREDREG_BYTES(predreg_outcome_average(best)));
    if (report_has(report, PREDREG_REPLAY_ON_DEMAND) &&
        (on_demand->average < VERDICT_LESS_PART * best->average)) {
        predreg_html_print(out, "; registered on demand it is %s, but in a run "
                                "of %s instead of %s",
                           PREDREG_BYTES(predreg_outcome_average(on_demand)),
                           PREDREG_TIME(on_demand->longest),
                           PREDREG_TIME(best->longest));
    }
    predreg_html_print(out, ".");
}

/* Write how the setting compares with leave-pinned */
static void verdict_write_numbers(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);
    const predreg_outcome_t *outcome = report->advice.choice.outcome;

    if (pinned->uses == 0) {
        return;
    }

    predreg_html_print(out, "A rank has %s registered on average",
                       PREDREG_BYTES(predreg_outcome_average(outcome)));
    if (outcome != pinned) {
        predreg_html_print(out, " instead of %s",
                           PREDREG_BYTES(predreg_outcome_average(pinned)));
    }
    predreg_html_print(out, ".");
}

/* Write what belongs to the table: how long is waited, and what would be
 * possible */
static void verdict_write_notes(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);
    const predreg_outcome_t *outcome = report->advice.choice.outcome;

    if (pinned->uses == 0) {
        return;
    }

    fputs("<p class=\"note\">", out);
    if (outcome != pinned) {
        verdict_write_waits(report, out, outcome);
    }
    verdict_write_possible(report, out);
    fputs("</p>\n", out);
}

/* @param [in]  label  Name of the policy.
 * @param [in]  brief  What it is. */
static void verdict_write_row(const report_data_t *report, FILE *out,
                              const char *label, const char *brief,
                              const predreg_outcome_t *outcome)
{
    double scale   = predreg_outcome_average(
                             report_outcome(report,
                                            PREDREG_REPLAY_LEAVE_PINNED));
    double average = predreg_outcome_average(outcome);

    fprintf(out, "<tr%s><th scope=\"row\">",
            (outcome == report->advice.choice.outcome) ?
            " class=\"chosen\"" : "");
    predreg_html_print(out, "%s", label);
    predreg_html_element(out, "small", "%s", brief);
    fputs("</th><td class=\"n\">", out);
    predreg_html_print(out, "%s", PREDREG_BYTES(average));
    fputs("</td><td class=\"b\">", out);
    predreg_bar_write(out, average / ((scale > 0) ? scale : 1));
    fputs("</td>", out);
    predreg_html_element(out, "td class=\"n\"", "%s",
                         PREDREG_BYTES(outcome->peak));
    fputs("<td class=\"n\">", out);
    predreg_html_print(out, "%s", PREDREG_TIME(outcome->longest));
    predreg_html_element(out, "small", "%s",
                         PREDREG_TIME((double)outcome->waited /
                                      outcome->ranks));
    fputs("</td></tr>\n", out);
}

/* Write the row of a choice, if there is one, that is not a policy with its
 * defaults */
static void verdict_write_choice(const report_data_t *report, FILE *out,
                                 const predreg_choice_t *choice)
{
    predreg_replay_policy_t policy = PREDREG_REPLAY_PREDICT;
    char brief[96], regions[40] = "";
    char name[PREDREG_BUDGET_NAME_MAX];

    if ((choice->outcome == NULL) ||
        ((choice->number == 0) && (choice->budget < 0))) {
        return;
    }

    if (choice->setting == PREDREG_SETTING_BOUND) {
        policy = PREDREG_REPLAY_LRU;
        snprintf(brief, sizeof(brief), "of %s", PREDREG_BYTES(choice->number));
    } else {
        if (choice->number != 0) {
            snprintf(regions, sizeof(regions), "KNOWN_REGIONS=%lu,\n",
                     (unsigned long)choice->number);
        }
        if (choice->budget >= 0) {
            snprintf(brief, sizeof(brief),
                     "%sBUDGET=%s, all processors busy", regions,
                     predreg_budget_name(choice->budget, name));
        } else {
            snprintf(brief, sizeof(brief), "%shelper on its own processor",
                     regions);
        }
    }

    verdict_write_row(report, out, predreg_policies[policy].label, brief,
                      choice->outcome);
}

/* Write the most important numbers of the policies side by side */
static void verdict_write_table(const report_data_t *report, FILE *out)
{
    const predreg_choice_t *choice   = &report->advice.choice;
    const predreg_choice_t *cheapest = &report->advice.cheapest;
    const predreg_outcome_t *outcome;
    predreg_replay_policy_t policy;
    unsigned i;

    fputs("<table class=\"key\"><caption>", out);
    predreg_html_print(out, "Memory registered in a rank, and how long the "
                            "program runs");
    fputs("</caption><thead><tr><th scope=\"col\">policy</th>"
          "<th scope=\"col\" class=\"n\">on average</th>"
          "<th scope=\"col\" class=\"b\"><span class=\"hidden\">as a bar"
          "</span></th><th scope=\"col\" class=\"n\">at peak</th>"
          "<th scope=\"col\" class=\"n\">run time"
          "<small>waiting</small></th></tr></thead><tbody>\n", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy  = predreg_policy_at(i);
        outcome = report_outcome(report, policy);
        if (report_has(report, policy) &&
            ((outcome == choice->outcome) || (outcome == cheapest->outcome) ||
             predreg_policies[policy].is_key)) {
            verdict_write_row(report, out, predreg_policies[policy].label,
                              ((policy == PREDREG_REPLAY_PREDICT) &&
                               predreg_has_curve(&report->findings)) ?
                              "helper on its own processor" :
                              predreg_policies[policy].brief, outcome);
        }
    }
    verdict_write_choice(report, out, choice);
    verdict_write_choice(report, out, cheapest);
    fputs("</tbody></table>\n", out);
}

void report_write_verdict(const report_data_t *report, FILE *out)
{
    fputs("<section id=\"verdict\">", out);
    verdict_write_heading(report, out);
    fputs("<p class=\"lead\">", out);
    verdict_write_numbers(report, out);
    fputc(' ', out);
    report_write_reason(report, out);
    fputs("</p>\n", out);
    report_write_guesses(report, out);
    report_write_command(report, out);
    fputs("<div class=\"first\">\n", out);
    verdict_write_table(report, out);
    report_write_tradeoff(report, out);
    fputs("</div>\n", out);
    verdict_write_notes(report, out);
    report_write_command_notes(report, out);
    report_write_caveats(report, out);
    fputs("</section>\n", out);
}
