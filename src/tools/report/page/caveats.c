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

#include <string.h>


/* Write that the answer rests on a guess, and how to have measured what was
 * guessed. Under every policy but leave-pinned it is recorded, if there was
 * something to record. */
void report_write_guesses(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const char *policy                 = report_meta(report, "policy");
    int is_recorded                    = (policy != NULL) &&
                                         strcmp(policy, "leave-pinned");

    if (!(report->advice.caveats & PREDREG_CAVEAT_GUESSED)) {
        return;
    }

    fputs("<p class=\"doubt\">", out);
    predreg_html_print(out, "What %s%s%s cost is a guess in %s of %s ranks",
                       (findings->reg_guessed > 0) ? "registrations" : "",
                       ((findings->reg_guessed > 0) &&
                        (findings->dereg_guessed > 0)) ? " and " : "",
                       (findings->dereg_guessed > 0) ? "deregistrations" : "",
                       PREDREG_COUNT(ucs_max(findings->reg_guessed,
                                             findings->dereg_guessed)),
                       PREDREG_COUNT(report->num_ranks));
    if ((findings->reg_guessed == 0) && (findings->guessed_dereg > 0)) {
        predreg_html_print(out, " (%s for %s)",
                           PREDREG_TIME(findings->guessed_dereg),
                           PREDREG_BYTES(findings->use_bytes));
    }
    predreg_html_print(out, ", and this answer rests on the times that follow "
                            "from it.");
    if (is_recorded) {
        predreg_html_print(out, " There was none while the program was "
                                "recorded, under %s.", policy);
    } else {
        predreg_html_print(out, " Record under on-demand to have it measured.");
    }
    fputs("</p>\n", out);
}

/* Write what is missing from the traces */
static void caveats_write_missing(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    unsigned caveats                   = report->advice.caveats;

    if (caveats & PREDREG_CAVEAT_LEFT_OUT) {
        predreg_html_element(out, "li", "%s of %s traces %s damaged and left "
                             "out: the figures are those of the others.",
                             PREDREG_COUNT(findings->left_out),
                             PREDREG_COUNT(report->num_ranks +
                                           findings->left_out),
                             (findings->left_out == 1) ? "is" : "are");
    }
    if (caveats & PREDREG_CAVEAT_UNENDED) {
        predreg_html_element(out, "li", "%s of %s processes did not come to "
                             "%s end (killed, or crashed): the figures are "
                             "those up to there.",
                             PREDREG_COUNT(findings->unended),
                             PREDREG_COUNT(report->num_ranks),
                             (findings->unended == 1) ? "its" : "their");
    }
    if (caveats & PREDREG_CAVEAT_TRUNCATED) {
        predreg_html_element(out, "li", "The end of the trace is missing in "
                             "%s of %s ranks: the figures are those up to "
                             "there.", PREDREG_COUNT(findings->truncated),
                             PREDREG_COUNT(report->num_ranks));
    }
    if (caveats & PREDREG_CAVEAT_LOST) {
        predreg_html_element(out, "li", "The recorder lost %s of the events: "
                             "the figures are doubtful.",
                             PREDREG_PERCENT(findings->lost,
                                             (double)findings->lost +
                                             findings->events));
    }
}

/* Warn the reader that registrations took much longer in some ranks than in
 * others, and say with which cost the ranks were replayed */
static void caveats_write_spread(const predreg_findings_t *findings, FILE *out)
{
    fputs("<li>", out);
    predreg_html_print(out, "What registrations cost differs: one of %s took "
                            "%s in one rank and %s in another. ",
                       PREDREG_BYTES(findings->use_bytes),
                       PREDREG_TIME(findings->least_reg),
                       PREDREG_TIME(findings->most_reg));
    if (findings->common_reg > 0) {
        predreg_html_print(out, "That is by first uses of memory, which take "
                                "longer where they touch it for the first "
                                "time or are held up. All ranks are replayed "
                                "with what follows from all of them, %s.",
                           PREDREG_TIME(findings->common_reg));
    } else {
        predreg_html_print(out, "Each is replayed with its own.");
    }
    fputs("</li>\n", out);
}

/* Warn that uses are late. The program may do the helper's work itself, and
 * then nobody is busy */
static void caveats_write_late(const predreg_outcome_t *outcome, FILE *out)
{
    fputs("<li>", out);
    predreg_html_print(out, "%s of the uses come before their registration is "
                            "complete",
                       PREDREG_PERCENT(outcome->late, outcome->uses));
    if (outcome->helper > 0) {
        predreg_html_print(out, ", while the helper is busy for %s of the time "
                                "where it has work",
                           PREDREG_PERCENT(predreg_outcome_load(outcome), 1));
    }
    fputs(".</li>\n", out);
}

void report_write_caveats(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    const predreg_outcome_t *outcome   = report->advice.choice.outcome;
    unsigned caveats                   = report->advice.caveats;

    /* The guesses stand beside the answer */
    if ((caveats & ~PREDREG_CAVEAT_GUESSED) == 0) {
        return;
    }

    fputs("<ul class=\"caveats\">\n", out);
    caveats_write_missing(report, out);
    if (caveats & PREDREG_CAVEAT_SPREAD) {
        caveats_write_spread(findings, out);
    }
    if (caveats & PREDREG_CAVEAT_POOLS) {
        predreg_html_element(out, "li", "What UCX registers for itself was not "
                             "recorded. Beside the %s that are usual with the "
                             "transport rc, what the program registers is "
                             "little, and nobody would notice the difference.",
                             PREDREG_BYTES(PREDREG_USUAL_POOLS));
    }
    if (caveats & PREDREG_CAVEAT_LATE) {
        caveats_write_late(outcome, out);
    }
    if (caveats & PREDREG_CAVEAT_IDLE) {
        predreg_html_element(out, "li", "This is so if a processor is idle for "
                             "each rank's helper. Where all are busy, no "
                             "budget saves a quarter of the memory within %g "
                             "%% of the run time: see the curve.",
                             100 * PREDREG_COSTS_PART);
    }
    fputs("</ul>\n", out);
}
