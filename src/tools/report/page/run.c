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

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUN_KNOB_PREFIX  "knob."
#define RUN_NSEC_PER_SEC 1000000000ull


static void run_write_pair(FILE *out, const char *name, const char *value)
{
    fputs("<tr>", out);
    predreg_html_element(out, "th scope=\"row\"", "%s", name);
    predreg_html_element(out, "td", "%s", value);
    fputs("</tr>\n", out);
}

/* Write in how many of the ranks something is so */
static void run_write_ranks(const report_data_t *report, FILE *out,
                            const char *name, unsigned count)
{
    char text[2 * PREDREG_UNITS_MAX + 16];

    if (count > 0) {
        snprintf(text, sizeof(text), "%s of %s ranks", PREDREG_COUNT(count),
                 PREDREG_COUNT(report->num_ranks));
        run_write_pair(out, name, text);
    } else {
        run_write_pair(out, name, "none");
    }
}

/* Write how many traces there are, and how many processes have none that can be
 * read. Processes without an RDMA device write none. */
static void run_write_traces(const report_data_t *report, FILE *out)
{
    unsigned left_out = report->findings.left_out;
    const char *size  = report_meta(report, "size");
    char text[3 * PREDREG_UNITS_MAX + 64];
    int length;

    length = snprintf(text, sizeof(text), "%s",
                      PREDREG_COUNT(report->num_ranks + left_out));
    if (size != NULL) {
        length += snprintf(text + length, sizeof(text) - length,
                           ", of a job of %s",
                           PREDREG_COUNT(strtoul(size, NULL, 10)));
    }
    if (left_out > 0) {
        snprintf(text + length, sizeof(text) - length,
                 "; %s damaged and left out", PREDREG_COUNT(left_out));
    }
    run_write_pair(out, "traces", text);
}

/* Write what a registration takes in the ranks where that was measured */
static void run_write_costs(const report_data_t *report, FILE *out)
{
    const predreg_findings_t *findings = &report->findings;
    char name[PREDREG_UNITS_MAX + 64];
    char text[2 * PREDREG_UNITS_MAX + 16];

    if (findings->most_reg == 0) {
        return;
    }

    snprintf(name, sizeof(name), "a registration of %s took",
             PREDREG_BYTES(findings->use_bytes));
    snprintf(text, sizeof(text), "%s to %s", PREDREG_TIME(findings->least_reg),
             PREDREG_TIME(findings->most_reg));
    run_write_pair(out, name, text);
}

/* Write which files with the names of functions could not be read */
static void run_write_modules(const report_data_t *report, FILE *out)
{
    static const char *const reasons[] = {
        [PREDREG_MODULE_MISSING]  = "is not there, or cannot be read",
        [PREDREG_MODULE_CHANGED]  = "is not the one that was recorded",
        [PREDREG_MODULE_NOT_READ] = "was not read: this program was built "
                                    "without libdw"
    };
    const predreg_symbols_t *symbols = predreg_sites_symbols(report->sites);
    predreg_module_state_t state;
    const char *path;
    int any = 0;
    unsigned i;

    for (i = 0; i < predreg_symbols_num_modules(symbols); ++i) {
        path = predreg_symbols_module(symbols, i, &state);
        if (state == PREDREG_MODULE_READ) {
            continue;
        }

        fputs(any ? "" : "<p>Names of functions are missing, because of:</p>"
                         "<ul>\n", out);
        any = 1;
        fputs("<li><code>", out);
        predreg_html_text(out, path);
        fputs("</code> ", out);
        predreg_html_print(out, "%s", reasons[state]);
        fputs("</li>\n", out);
    }

    fputs(any ? "</ul>\n" : "", out);
}

static int run_is_knob(const report_meta_t *meta)
{
    return !strncmp(meta->key, RUN_KNOB_PREFIX, strlen(RUN_KNOB_PREFIX));
}

static void run_write_knobs(const report_data_t *report, FILE *out)
{
    const report_meta_t *meta;
    int any = 0;
    unsigned i;

    for (i = 0; i < report->num_metas; ++i) {
        meta = &report->metas[i];
        if (!run_is_knob(meta) || (meta->value[0] == '\0')) {
            continue;
        }

        if (!any) {
            fputs("<tr><th scope=\"row\">knobs</th><td>", out);
            any = 1;
        }
        predreg_html_print(out, "%s=%s ", meta->key + strlen(RUN_KNOB_PREFIX),
                           meta->differs ? "(differs)" : meta->value);
    }

    fputs(any ? "</td></tr>\n" : "", out);
}

/* Whether a meta line of the traces is shown: not if the page says it
 * elsewhere, or if it is of no use there */
static int run_is_shown(const report_meta_t *meta)
{
    static const char *const others[] = {"rank", "pid", "host", "clock_ns",
                                         "realtime_ns"};
    unsigned i;

    for (i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        if (!strcmp(meta->key, others[i])) {
            return 0;
        }
    }

    return !run_is_knob(meta);
}

/* Write the date of a point in time, which is given in ns since 1970 */
static void run_write_date(FILE *out, const char *realtime)
{
    time_t seconds = strtoull(realtime, NULL, 10) / RUN_NSEC_PER_SEC;
    char text[64];
    struct tm tm;

    if ((gmtime_r(&seconds, &tm) != NULL) &&
        (strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm) > 0)) {
        run_write_pair(out, "date", text);
    }
}

void report_write_recording(const report_data_t *report, FILE *out)
{
    const char *realtime = report_meta(report, "realtime_ns");
    const report_meta_t *meta;
    unsigned i;

    fputs("<section id=\"recording\"><h2>How it was recorded</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"How it was recorded\"><table class=\"data words\">"
          "<caption>What the trace says of the run</caption>"
          "<thead class=\"hidden\"><tr><th scope=\"col\">what</th>"
          "<th scope=\"col\">value</th></tr></thead><tbody>\n", out);
    if (realtime != NULL) {
        run_write_date(out, realtime);
    }
    for (i = 0; i < report->num_metas; ++i) {
        meta = &report->metas[i];
        if (run_is_shown(meta)) {
            run_write_pair(out, meta->key, meta->differs ?
                           "not the same in all ranks" : meta->value);
        }
    }
    run_write_knobs(report, out);
    run_write_pair(out, "events", PREDREG_COUNT(report->findings.events));
    run_write_pair(out, "events lost", PREDREG_COUNT(report->findings.lost));
    run_write_traces(report, out);
    run_write_ranks(report, out, "traces that are cut off",
                    report->findings.truncated);
    run_write_ranks(report, out, "processes that did not end",
                    report->findings.unended);
    run_write_costs(report, out);
    run_write_ranks(report, out, "cost of registrations guessed",
                    report->findings.reg_guessed);
    run_write_ranks(report, out, "cost of deregistrations guessed",
                    report->findings.dereg_guessed);
    fputs("</tbody></table></div>\n", out);
    run_write_modules(report, out);
    fputs("</section>\n", out);
}
