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

#include <math.h>


/* Write what is to be done about the costs that are not known */
static void sends_write_unknown(const predreg_sends_t *sends, FILE *out)
{
    if (sends->calibrated == sends->ranks) {
        return;
    }

    predreg_html_print(out, "%s not calibrated for %s of the %s ranks with "
                            "small sends: run ",
                       (sends->calibrated == 0) ? "This machine was" :
                                                  "It was",
                       PREDREG_COUNT(sends->ranks - sends->calibrated),
                       PREDREG_COUNT(sends->ranks));
    fputs("<code>ucx_predreg calibrate</code>", out);
    predreg_html_print(out, ", or the program with ");
    fputs("<code>UCX_RCACHE_PRED_EAGER=y</code>", out);
    predreg_html_print(out, ", where the program runs, and make this page "
                            "there again. ");
}

/* Write how much would go without the copy, of the ranks with known costs */
static void sends_write_gain(const predreg_sends_t *sends, FILE *out)
{
    const ucs_reuse_gain_t *gain = &sends->gain;

    predreg_html_print(out, "%s of %s small sends would go without the copy "
                            "(%s), with %s; by what was measured on this "
                            "machine, that would %s %s",
                       PREDREG_COUNT(gain->sends),
                       PREDREG_COUNT(sends->known_sends),
                       PREDREG_PERCENT(gain->sends, sends->known_sends),
                       PREDREG_BYTES(gain->bytes),
                       (gain->saved < 0) ? "cost" : "save",
                       PREDREG_TIME(fabs(gain->saved)));
    if (sends->time > 0) {
        predreg_html_print(out, " of the %s that the ranks ran together",
                           PREDREG_TIME(sends->time));
    }
    predreg_html_print(out, ". ");
}

static void sends_write_advice(const predreg_sends_t *sends, FILE *out)
{
    static const char *const reasons[] = {
        [PREDREG_EAGER_NEVER]  = "is not recommended: no buffer is sent often "
                                 "enough.",
        [PREDREG_EAGER_LOSES]  = "is not recommended: looking for buffers and "
                                 "registering them would take longer than the "
                                 "copies.",
        [PREDREG_EAGER_LITTLE] = "is not needed: that is less than a "
                                 "thousandth of the run time.",
        [PREDREG_EAGER_YES]    = "is recommended."
    };
    predreg_eager_advice_t advice = predreg_sends_advise(sends);

    if (advice == PREDREG_EAGER_UNKNOWN) {
        return;
    }

    fputs("<b><code>UCX_RCACHE_PRED_EAGER=y</code> ", out);
    predreg_html_print(out, "%s", reasons[advice]);
    fputs("</b> ", out);
}

/* Write what the estimate does not know */
static void sends_write_caveats(const predreg_sends_t *sends, FILE *out)
{
    if (sends->copied > 0) {
        predreg_html_print(out, "%s sends are copied in any case: the program "
                                "waits for them, as in MPI_Send, or UCP made "
                                "no context for messages. ",
                           PREDREG_COUNT(sends->copied));
    }

    if (sends->others > 0) {
        predreg_html_print(out, "%s sends are of buffers that there was no "
                                "room to tell apart, and count as copied. ",
                           PREDREG_COUNT(sends->others));
    }

    if (sends->went > 0) {
        predreg_html_print(out, "In the recorded run %s sends went without the "
                                "copy. ", PREDREG_COUNT(sends->went));
    }

    predreg_html_print(out, "Within a node UCX copies in any case.");
}

static void sends_write_line(const predreg_sends_t *sends, FILE *out)
{
    fputs("<p><b>What eager zero-copy would save:</b> ", out);
    if (sends->calibrated > 0) {
        sends_write_gain(sends, out);
        sends_write_advice(sends, out);
    }
    sends_write_unknown(sends, out);
    sends_write_caveats(sends, out);
    fputs("</p>\n", out);
}

static void sends_begin_table(FILE *out, const char *label, const char *caption)
{
    fprintf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                 "aria-label=\"%s\"><table class=\"data\"><caption>", label);
    predreg_html_print(out, "%s", caption);
    fputs("</caption><thead><tr>", out);
}

/* Write a number of each rank: its range and its mean */
static void sends_write_span(FILE *out, const predreg_sends_span_t *span,
                             unsigned num)
{
    fputs("<td>", out);
    if (span->least != span->most) {
        predreg_html_print(out, "%s–%s (mean %s)", PREDREG_COUNT(span->least),
                           PREDREG_COUNT(span->most),
                           PREDREG_COUNT(llround(span->sum / num)));
    } else {
        predreg_html_print(out, "%s", PREDREG_COUNT(span->least));
    }
    fputs("</td>", out);
}

/* The paper's Tables 1 and 3, of this program */
static void sends_write_statistics(const predreg_sends_t *sends, FILE *out)
{
    sends_begin_table(out, "How often buffers are sent",
                      "How often buffers of small sends are sent, by rank");
    fputs("<th scope=\"col\">ranks</th><th scope=\"col\">buffers</th>"
          "<th scope=\"col\">sends</th>"
          "<th scope=\"col\">sends of the most used buffer</th>"
          "<th scope=\"col\">most frequent length, bytes</th>"
          "<th scope=\"col\">sends of a buffer sent before</th>"
          "<th scope=\"col\">buffers that would be registered</th>"
          "</tr></thead><tbody>\n<tr>", out);
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(sends->ranks));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(sends->buffers));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(sends->sends));
    sends_write_span(out, &sends->most, sends->ranks);
    sends_write_span(out, &sends->length, sends->ranks);
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(sends->reused, sends->ranks));
    if (sends->calibrated > 0) {
        predreg_html_element(out, "td", "%s",
                             PREDREG_PERCENT(sends->gain.hot_buffers,
                                             sends->known_buffers));
    } else {
        predreg_html_element(out, "td", "not known");
    }
    fputs("</tr>\n</tbody></table></div>\n", out);
}

static void
sends_write_size(const predreg_sends_t *sends, FILE *out, unsigned i)
{
    const predreg_sends_size_t *size = &sends->sizes[i];
    const char *sign                 = (size->gain.saved < 0) ? "−" : "";

    if (size->buffers == 0) {
        return;
    }

    fputs("<tr>", out);
    predreg_html_element(out, "th scope=\"row\"", "up to %s",
                         PREDREG_COUNT(predreg_sends_size_max(i)));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(size->buffers));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(size->sends));
    predreg_html_element(out, "td", "%.1f",
                         (double)size->sends / size->buffers);
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(size->most));
    if (sends->calibrated > 0) {
        predreg_html_element(out, "td", "%s",
                             PREDREG_COUNT(size->gain.hot_buffers));
        predreg_html_element(out, "td", "%s", PREDREG_COUNT(size->gain.sends));
        predreg_html_element(out, "td", "%s%s", sign,
                             PREDREG_TIME(fabs(size->gain.saved)));
    }
    fputs("</tr>\n", out);
}

static void sends_write_sizes(const predreg_sends_t *sends, FILE *out)
{
    unsigned i;

    sends_begin_table(out, "Buffers by size",
                      "Buffers by the longest message that was sent of them, "
                      "all ranks");
    fputs("<th scope=\"col\">bytes</th><th scope=\"col\">buffers</th>"
          "<th scope=\"col\">sends</th><th scope=\"col\">mean of a buffer</th>"
          "<th scope=\"col\">most of a buffer</th>", out);
    if (sends->calibrated > 0) {
        fputs("<th scope=\"col\">would be registered</th>"
              "<th scope=\"col\">sends without the copy</th>"
              "<th scope=\"col\">time saved</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
    for (i = 0; i < PREDREG_SENDS_SIZES; ++i) {
        sends_write_size(sends, out, i);
    }
    fputs("</tbody></table></div>\n", out);
}

void report_write_sends(const report_data_t *report, FILE *out)
{
    const predreg_sends_t *sends = &report->sends;

    if (sends->ranks == 0) {
        return;
    }

    fputs("<section id=\"sends\"><h2>Small sends</h2>\n", out);
    sends_write_line(sends, out);
    sends_write_statistics(sends, out);
    sends_write_sizes(sends, out);
    fputs("</section>\n", out);
}
