/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "page.h"
#include "report_css.h"
#include "sections.h"

#include <tools/report/draw/html.h>
#include <tools/report/draw/units.h>


/* Write the head of the page. Its content policy forbids to load anything and
 * to run scripts, for the case that some text should ever be taken for
 * markup */
static void page_write_head(const report_data_t *report, FILE *out)
{
    const char *command = report_meta(report, "command");

    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
          "'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n", out);
    predreg_html_element(out, "title", "Registered memory%s%s",
                         (command == NULL) ? "" : " of ",
                         (command == NULL) ? "" : command);
    fputs("<style>\n", out);
    fputs(report_css, out);
    fputs("</style>\n</head>\n", out);
}

static void page_write_header(const report_data_t *report, FILE *out)
{
    const char *command = report_meta(report, "command");

    fputs("<header><p>Registered memory of ", out);
    if (command != NULL) {
        fputs("<code>", out);
        predreg_html_text(out, command);
        fputs("</code>", out);
    } else {
        fputs("a program", out);
    }
    predreg_html_print(out, " · %s %s · %s", PREDREG_COUNT(report->num_ranks),
                       (report->num_ranks == 1) ? "rank" : "ranks",
                       PREDREG_TIME(report_outcome(report,
                                            PREDREG_REPLAY_LEAVE_PINNED)
                                            ->longest));
    fputs("</p></header>\n", out);
}

void predreg_page_write(const report_data_t *report, FILE *out)
{
    page_write_head(report, out);
    fputs("<body>\n<main>\n", out);
    page_write_header(report, out);
    report_write_verdict(report, out);
    report_write_curves(report, out);
    report_write_policies(report, out);
    report_write_budgets(report, out);
    report_write_bounds(report, out);
    report_write_remainder(report, out);
    report_write_uses(report, out);
    report_write_errors(report, out);
    report_write_arena(report, out);
    report_write_sends(report, out);
    report_write_places(report, out);
    report_write_ranks(report, out);
    report_write_recording(report, out);
    report_write_glossary(out);
    fputs("</main>\n<footer><p>", out);
    predreg_html_print(out, "ucx_predreg %s", PACKAGE_VERSION);
    fputs("</p></footer>\n</body>\n</html>\n", out);
}
