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
#include <stdlib.h>


/* Write by how much a value is less, or more, than under leave-pinned. Savings
 * are rounded down, and extra costs are rounded up */
static void verdict_write_change(FILE *out, double value, double pinned,
                                 const char *less, const char *more)
{
    double percent = (pinned == 0) ? 0 : (100 * (pinned - value) / pinned);

    predreg_html_print(out, "%.0f %% %s", fabs(floor(percent)),
                       (percent >= 0) ? less : more);
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
    const predreg_outcome_t *outcome =
            report_outcome(report, predreg_setting_policy(advice->setting));

    fputs("<h1>", out);
    if (advice->answer == PREDREG_ANSWER_NO) {
        predreg_html_print(out, "No: leave UCX as it is");
    } else {
        predreg_html_print(out, "%s: ", (advice->answer == PREDREG_ANSWER_YES) ?
                                        "Yes" : "Only if memory is short");
        verdict_write_change(out, outcome->average, pinned->average,
                             "less registered memory",
                             "more registered memory");
        predreg_html_print(out, " %s", ways[advice->setting]);
    }
    if (advice->answer == PREDREG_ANSWER_IF_SHORT) {
        predreg_html_print(out, ", ");
        verdict_write_change(out, outcome->duration, pinned->duration,
                             "faster", "slower");
    }
    fputs("</h1>\n", out);
}

static void verdict_write_waits(const report_data_t *report, FILE *out,
                                const predreg_outcome_t *outcome)
{
    const predreg_outcome_t *pinned =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    predreg_html_print(out, " Communications wait for registrations in %s of "
                            "the run time (leave-pinned: %s).",
                       PREDREG_PERCENT(outcome->waited, outcome->duration),
                       PREDREG_PERCENT(pinned->waited, pinned->duration));
}

/* Write how the setting compares with leave-pinned, and what would be
 * possible */
static void verdict_write_numbers(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);
    const predreg_outcome_t *best    =
            report_outcome(report, PREDREG_REPLAY_CLAIRVOYANT);
    const predreg_outcome_t *outcome =
            report_outcome(report,
                           predreg_setting_policy(report->advice.setting));

    if (pinned->uses == 0) {
        return;
    }

    predreg_html_print(out, "A rank has %s registered on average",
                       PREDREG_BYTES(predreg_outcome_average(outcome)));
    if (outcome != pinned) {
        predreg_html_print(out, " instead of %s,",
                           PREDREG_BYTES(predreg_outcome_average(pinned)));
    }
    predreg_html_print(out, " and %s at peak", PREDREG_BYTES(outcome->peak));
    if (outcome->peak != pinned->peak) {
        predreg_html_print(out, " instead of %s", PREDREG_BYTES(pinned->peak));
    }
    predreg_html_print(out, ".");

    if (best->ranks > 0) {
        predreg_html_print(out, " Without waiting, less than %s on average is "
                                "not possible.",
                           PREDREG_BYTES(predreg_outcome_average(best)));
    }

    if (outcome != pinned) {
        verdict_write_waits(report, out, outcome);
    }
}

static void verdict_write_reason(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *predict =
            report_outcome(report, PREDREG_REPLAY_PREDICT);
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    switch (report->advice.reason) {
    case PREDREG_REASON_NO_USES:
        predreg_html_print(out, "Nothing was registered for communication: "
                                "messages are so small that they are copied, "
                                "or do not travel by RDMA.");
        break;
    case PREDREG_REASON_TINY:
        predreg_html_print(out, "That is little beside what UCX registers for "
                                "itself (%s), and nobody would notice the "
                                "difference.",
                           PREDREG_BYTES((report->findings.pool_bytes != 0) ?
                                         report->findings.pool_bytes :
                                         PREDREG_USUAL_POOLS));
        break;
    case PREDREG_REASON_IN_USE:
        predreg_html_print(out, "%s of that is in use, as windows for "
                                "one-sided communication are at all times: no "
                                "policy can deregister it.",
                           PREDREG_PERCENT(
                                   pinned->by_cause[PREDREG_CAUSE_USE],
                                   pinned->byte_seconds));
        break;
    case PREDREG_REASON_NO_GAPS:
        predreg_html_print(out, "Buffers are used again so soon that there is "
                                "no time to deregister them in between: no "
                                "policy could save much.");
        break;
    case PREDREG_REASON_FEW_USES:
        predreg_html_print(out, "With %.1f uses of buffers in a rank, there is "
                                "too little to predict anything from.",
                           (double)pinned->uses / pinned->ranks);
        break;
    case PREDREG_REASON_ON_DEMAND_AS_GOOD:
        predreg_html_print(out, "Prediction would gain nothing beyond that, "
                                "and it needs a helper thread.");
        break;
    case PREDREG_REASON_BOUND_AS_GOOD:
        predreg_html_print(out, "Prediction would gain nothing beyond that.");
        break;
    case PREDREG_REASON_PAYS:
        predreg_html_print(out, "%s of the uses find their buffer registered.",
                           PREDREG_PERCENT(predict->hits, predict->uses));
        break;
    case PREDREG_REASON_IRREGULAR:
        predreg_html_print(out, "The program does not repeat itself enough: "
                                "under prediction, only %s of the uses find "
                                "their buffer registered.",
                           PREDREG_PERCENT(predict->hits, predict->uses));
        break;
    case PREDREG_REASON_COSTS:
        predreg_html_print(out, "%s of the uses find their buffer registered, "
                                "but the others wait for long.",
                           PREDREG_PERCENT(predict->hits, predict->uses));
        break;
    default:
        predreg_html_print(out, "Prediction would keep nearly as much "
                                "registered as leave-pinned does.");
        break;
    }
}

/* @return the bound of the rank with the highest bound, in MiB, rounded up */
static uint64_t verdict_limit_mib(const report_data_t *report)
{
    return (report_outcome(report, PREDREG_REPLAY_LRU)->limit + UCS_MASK(20)) >>
           20;
}

/* Write how to start the program with this setting. A trace knows only the
 * command line of the rank itself, and not that of its launcher */
static void verdict_write_command(const report_data_t *report, FILE *out)
{
    const char *command = report_meta(report, "command");
    const char *size    = report_meta(report, "size");
    unsigned long ranks = (size == NULL) ? 1 : strtoul(size, NULL, 10);

    fputs("<pre class=\"command\"><code>", out);
    switch (report->advice.setting) {
    case PREDREG_SETTING_PREDICT:
        fputs("ucx_predreg run -- ", out);
        break;
    case PREDREG_SETTING_ON_DEMAND:
        fputs("ucx_predreg run --policy on-demand -- ", out);
        break;
    case PREDREG_SETTING_BOUND:
        /* The cache of UCP, above this one, would hold on to every region */
        fprintf(out, "UCX_RCACHE_ENABLE=n UCX_IB_RCACHE_MAX_SIZE=%luM ",
                (unsigned long)verdict_limit_mib(report));
        break;
    default:
        break;
    }

    if (ranks > 1) {
        fprintf(out, "mpirun -np %lu ", ranks);
    }
    predreg_html_text(out, (command == NULL) ? "COMMAND" : command);
    fputs("</code></pre>\n", out);
}

static void verdict_write_caveats(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_outcome_t *predict   =
            report_outcome(report, PREDREG_REPLAY_PREDICT);
    unsigned caveats                   = report->advice.caveats;

    if (caveats == 0) {
        return;
    }

    fputs("<ul class=\"caveats\">\n", out);
    if (caveats & PREDREG_CAVEAT_LOST) {
        predreg_html_element(out, "li", "The recorder lost %s of the events: "
                             "the figures are doubtful.",
                             PREDREG_PERCENT(findings->lost,
                                             (double)findings->lost +
                                             findings->events));
    }
    if (caveats & PREDREG_CAVEAT_TRUNCATED) {
        predreg_html_element(out, "li", "The end of a trace is missing: the "
                             "figures are those up to there.");
    }
    if (caveats & PREDREG_CAVEAT_GUESSED) {
        predreg_html_element(out, "li", "What registrations cost was not "
                             "recorded and is guessed: do not rely on times. "
                             "Record under on-demand to have it measured.");
    }
    if (caveats & PREDREG_CAVEAT_LATE) {
        predreg_html_element(out, "li", "Under prediction, %s of the uses come "
                             "before their registration is complete: gaps are "
                             "short, or the helper has too much to do.",
                             PREDREG_PERCENT(predict->late, predict->uses));
    }
    fputs("</ul>\n", out);
}

static void verdict_write_row(const report_data_t *report, FILE *out,
                              predreg_replay_policy_t policy, double scale)
{
    const predreg_outcome_t *outcome = report_outcome(report, policy);
    double average                   = predreg_outcome_average(outcome);

    fprintf(out, "<tr%s><th scope=\"row\">",
            (policy == predreg_setting_policy(report->advice.setting)) ?
            " class=\"chosen\"" : "");
    predreg_html_print(out, "%s", predreg_policies[policy].label);
    predreg_html_element(out, "small", "%s",
                         predreg_policies[policy].brief);
    fputs("</th><td class=\"n\">", out);
    predreg_html_print(out, "%s", PREDREG_BYTES(average));
    fputs("</td><td class=\"b\">", out);
    predreg_bar_write(out, average / scale);
    fputs("</td>", out);
    predreg_html_element(out, "td class=\"n\"", "%s",
                         PREDREG_BYTES(outcome->peak));
    predreg_html_element(out, "td class=\"n\"", "%s",
                         PREDREG_TIME((double)outcome->waited /
                                      outcome->ranks));
    fputs("</tr>\n", out);
}

/* Write the most important numbers of the policies side by side */
static void verdict_write_table(const report_data_t *report, FILE *out)
{
    predreg_replay_policy_t chosen =
            predreg_setting_policy(report->advice.setting);
    double scale                   =
            predreg_outcome_average(
                    report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED));
    predreg_replay_policy_t policy;
    unsigned i;

    fputs("<table class=\"key\"><caption>", out);
    predreg_html_print(out, "Memory registered in a rank, and what its "
                            "communications wait in %s",
                       PREDREG_TIME((double)report_outcome(report,
                                            PREDREG_REPLAY_LEAVE_PINNED)
                                            ->duration / report->num_ranks));
    fputs("</caption><thead><tr><th scope=\"col\">policy</th>"
          "<th scope=\"col\" class=\"n\">on average</th>"
          "<th scope=\"col\" class=\"b\"><span class=\"hidden\">as a bar"
          "</span></th><th scope=\"col\" class=\"n\">at peak</th>"
          "<th scope=\"col\" class=\"n\">wait</th></tr></thead><tbody>\n", out);
    for (i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        policy = predreg_policy_at(i);
        if (report_has(report, policy) &&
            ((policy == chosen) || predreg_policies[policy].is_key)) {
            verdict_write_row(report, out, policy, (scale > 0) ? scale : 1);
        }
    }
    fputs("</tbody></table>\n", out);
}

void report_write_verdict(const report_data_t *report, FILE *out)
{
    fputs("<section id=\"verdict\">", out);
    verdict_write_heading(report, out);
    fputs("<p class=\"lead\">", out);
    verdict_write_numbers(report, out);
    fputc(' ', out);
    verdict_write_reason(report, out);
    fputs("</p>\n", out);
    verdict_write_command(report, out);
    verdict_write_table(report, out);
    verdict_write_caveats(report, out);
    fputs("</section>\n", out);
}
