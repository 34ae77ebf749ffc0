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


/* Write what more KNOWN_REGIONS gain, if they are advised */
static void reason_write_regions(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_choice_t *choice     = &report->advice.choice;
    const predreg_outcome_t *usual     =
            predreg_with_usual_regions(findings, choice);

    predreg_html_print(out, "%s of the uses find their buffer registered. With "
                            "KNOWN_REGIONS as by default it would be %s, with "
                            "%s of leave-pinned's memory: a rank has %s "
                            "buffers, and no more than %s are remembered.",
                       PREDREG_PERCENT(choice->outcome->hits,
                                       choice->outcome->uses),
                       PREDREG_PERCENT(usual->hits, usual->uses),
                       PREDREG_PERCENT(usual->average,
                                       report_outcome(
                                               report,
                                               PREDREG_REPLAY_LEAVE_PINNED)
                                               ->average),
                       PREDREG_COUNT(findings->max_buffers),
                       PREDREG_COUNT(findings->known_regions));
}

/* Write the cause of most misses that the numbers of the replay show. Parts are
 * of all uses, so that they compare with that of the hits before them */
static void reason_write_cause(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_outcome_t *predict   =
            report_outcome(report, PREDREG_REPLAY_PREDICT);

    switch (report->advice.misses) {
    case PREDREG_MISSES_FORGOTTEN:
        predreg_html_print(out, ": a rank has %s buffers, and no more than %s "
                                "are remembered (KNOWN_REGIONS).",
                           PREDREG_COUNT(findings->max_buffers),
                           PREDREG_COUNT(findings->known_regions));
        if (findings->larger_regions > 0) {
            predreg_html_print(out, " With %s it would be %s.",
                               PREDREG_COUNT(findings->larger_regions),
                               PREDREG_PERCENT(findings->larger.hits,
                                               findings->larger.uses));
        }
        break;
    case PREDREG_MISSES_BUSY:
        predreg_html_print(out, ": the helper does not keep up. Where it has "
                                "work, it is busy for %s of the time, and %s "
                                "of the uses come before it is done.",
                           PREDREG_PERCENT(predreg_outcome_load(predict), 1),
                           PREDREG_PERCENT(predict->late, predict->uses));
        break;
    case PREDREG_MISSES_LATE:
        predreg_html_print(out, ": %s come before their registration is "
                                "complete, although the helper is busy for "
                                "only %s of the time where it has work.",
                           PREDREG_PERCENT(predict->late, predict->uses),
                           PREDREG_PERCENT(predreg_outcome_load(predict), 1));
        break;
    case PREDREG_MISSES_NEW:
        predreg_html_print(out, ": a buffer is used %.1f times on average, and "
                                "its first %d uses cannot be predicted.",
                           (double)predict->uses /
                           ucs_max(findings->sum_buffers, 1),
                           PREDREG_NEW_USES);
        break;
    case PREDREG_MISSES_IRREGULAR:
        predreg_html_print(out, ": %s%s come at another time than predicted, "
                                "or without a prediction.",
                           predreg_has_few_hits(predict) ?
                           "the program does not repeat itself enough, " : "",
                           PREDREG_PERCENT(predreg_misses_irregular(findings),
                                           predict->uses));
        break;
    default:
        predreg_html_print(out, ".");
        break;
    }
}

/* Write what the uses of the program come to under predict and, unless nearly
 * all hit, why the others do not */
static void reason_write_misses(const report_data_t *report, FILE *out)
{
    const predreg_choice_t *choice   = &report->advice.choice;
    const predreg_outcome_t *predict =
            report_outcome(report, PREDREG_REPLAY_PREDICT);

    if (!report_has(report, PREDREG_REPLAY_PREDICT)) {
        return;
    }

    if ((choice->setting == PREDREG_SETTING_PREDICT) && (choice->number != 0)) {
        reason_write_regions(report, out);
        return;
    }

    if ((choice->setting == PREDREG_SETTING_PREDICT) && (choice->budget >= 0)) {
        predreg_html_print(out, "%s of the uses find their buffer registered. "
                                "With the default budget and a helper on its "
                                "own processor, %s do",
                           PREDREG_PERCENT(choice->outcome->hits,
                                           choice->outcome->uses),
                           PREDREG_PERCENT(predict->hits, predict->uses));
    } else {
        predreg_html_print(out, "Under prediction, %s of the uses find their "
                                "buffer registered",
                           PREDREG_PERCENT(predict->hits, predict->uses));
    }
    if (predreg_misses_matter(predict)) {
        reason_write_cause(report, out);
    } else {
        predreg_html_print(out, ".");
    }
}

/* Write why the policy that pays is not predict */
static void reason_write_worse(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_outcome_t *predict   =
            report_outcome(report, PREDREG_REPLAY_PREDICT);
    const predreg_outcome_t *pinned    =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);
    double extra                       = predreg_extra_time(findings, predict);

    if (predict->average > PREDREG_SAVES_PART * pinned->average) {
        predreg_html_print(out, "Prediction would have %s of leave-pinned's "
                                "memory.",
                           PREDREG_PERCENT(predict->average, pinned->average));
        return;
    }

    if (extra > PREDREG_COSTS_PART) {
        predreg_html_print(out, "With prediction it would run %s longer. ",
                           PREDREG_PERCENT(extra, 1));
    }
    reason_write_misses(report, out);
}

/* Write why prediction pays. It may do so although few uses find their buffer
 * registered; the reader is then told why there are so few. */
static void reason_write_pays(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *outcome = report->advice.choice.outcome;

    if (predreg_has_few_hits(outcome)) {
        reason_write_misses(report, out);
    } else {
        predreg_html_print(out, "%s of the uses find their buffer registered.",
                           PREDREG_PERCENT(outcome->hits, outcome->uses));
    }
}

/* Write why a recording may have no uses of registered memory at all, and what
 * the reader can check about it */
static void reason_write_no_uses(const report_data_t *report, FILE *out)
{
    if (report->findings.domains == 0) {
        predreg_html_print(out, "No RDMA device was opened, so nothing was "
                                "registered. Check that " PREDREG_CHECK_DEVICE);
    } else {
        predreg_html_print(out, "Nothing was registered for communication. "
                                "Messages are so small that they are copied "
                                "(UCX_RNDV_THRESH and UCX_ZCOPY_THRESH say "
                                "below which size), or do not travel by RDMA, "
                                "as within a node: see UCX_TLS, and whether "
                                "ranks were on different nodes.");
    }
}

static void reason_write_tiny(const report_data_t *report, FILE *out)
{
    predreg_html_print(out, "That is little beside what UCX registers for "
                            "itself (%s), and nobody would notice the "
                            "difference.",
                       PREDREG_BYTES(report->findings.pool_bytes));
}

static void reason_write_in_use(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_outcome_t *pinned    =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    predreg_html_print(out, "%s of that is in use, and no policy can "
                            "deregister it: ",
                       PREDREG_PERCENT(pinned->by_cause[PREDREG_CAUSE_USE],
                                       pinned->byte_seconds));
    if (findings->in_long_use > findings->in_use / 2) {
        predreg_html_print(out, "most of it for more than half of the run, as "
                                "windows for one-sided communication are. "
                                "UCX_RCACHE_PRED_WINDOWS=firehose pins of such "
                                "windows only what is accessed.");
    } else {
        predreg_html_print(out, "buffers have hardly any time between two "
                                "transfers.");
    }
}

static void reason_write_no_saving(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *predict =
            report_outcome(report, PREDREG_REPLAY_PREDICT);
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    predreg_html_print(out, "No policy that was played saves a quarter of "
                            "that.");
    if (report_has(report, PREDREG_REPLAY_PREDICT)) {
        predreg_html_print(out, " Prediction would have %s of it registered.",
                           PREDREG_PERCENT(predict->average, pinned->average));
    }
}

/* Write what the cheapest policy that saves memory would cost */
static void reason_write_too_slow(const report_data_t *report, FILE *out)
{
    static const char *const ways[] = {
        [PREDREG_SETTING_PREDICT]   = "prediction",
        [PREDREG_SETTING_ON_DEMAND] = "registration on demand",
        [PREDREG_SETTING_BOUND]     = "a bound on UCX's cache"
    };
    const predreg_choice_t *cheapest = &report->advice.cheapest;
    char name[PREDREG_BUDGET_NAME_MAX];
    const predreg_outcome_t *pinned  =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    predreg_html_print(out, "To save memory costs too much time: what costs "
                            "least is %s", ways[cheapest->setting]);
    if (cheapest->setting == PREDREG_SETTING_BOUND) {
        predreg_html_print(out, " of %s", PREDREG_BYTES(cheapest->number));
    } else if (cheapest->number != 0) {
        predreg_html_print(out, " with KNOWN_REGIONS=%lu",
                           (unsigned long)cheapest->number);
    }
    if (cheapest->budget >= 0) {
        predreg_html_print(out, "%s BUDGET=%s",
                           (cheapest->number != 0) ? " and" : " with",
                           predreg_budget_name(cheapest->budget, name));
    }
    predreg_html_print(out, ", with %s of the memory, and the run would take "
                            "%s longer. ",
                       PREDREG_PERCENT(cheapest->outcome->average,
                                       pinned->average),
                       PREDREG_PERCENT(predreg_extra_time(&report->findings,
                                                          cheapest->outcome),
                                       1));
    reason_write_misses(report, out);
}

void report_write_reason(const report_data_t *report, FILE *out)
{
    const predreg_outcome_t *pinned =
            report_outcome(report, PREDREG_REPLAY_LEAVE_PINNED);

    switch (report->advice.reason) {
    case PREDREG_REASON_NO_USES:
        reason_write_no_uses(report, out);
        break;
    case PREDREG_REASON_TINY:
        reason_write_tiny(report, out);
        break;
    case PREDREG_REASON_IN_USE:
        reason_write_in_use(report, out);
        break;
    case PREDREG_REASON_NO_GAPS:
        predreg_html_print(out, "Buffers are used again so soon that there is "
                                "no time to deregister them in between, unless "
                                "communications wait.");
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
    case PREDREG_REASON_PREDICT_WORSE:
        reason_write_worse(report, out);
        break;
    case PREDREG_REASON_PAYS:
        reason_write_pays(report, out);
        break;
    case PREDREG_REASON_TOO_SLOW:
        reason_write_too_slow(report, out);
        break;
    case PREDREG_REASON_NO_SAVING:
        reason_write_no_saving(report, out);
        break;
    default: /* KNOWN_REGIONS, COSTS */
        reason_write_misses(report, out);
        break;
    }
}
