/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "html.h"
#include "report_int.h"
#include "units.h"

#include "report_css.h"

#include <ucs/sys/math.h>


void report_write_bar(FILE *out, double part)
{
    fprintf(out, "<svg class=\"bar\" aria-hidden=\"true\"><rect "
                 "width=\"%.1f%%\" height=\"100%%\"/></svg>",
            100 * ucs_max(0, ucs_min(1, part)));
}

/* Nothing may be loaded and no script run, also if text should ever get out of
 * its element */
static void page_write_head(const predreg_report_t *report, FILE *out)
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

static void page_write_header(const predreg_report_t *report, FILE *out)
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

ucs_status_t predreg_report_write(predreg_report_t *report, FILE *out)
{
    if (report->num_ranks == 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    predreg_recommend(&report->findings, &report->advice);

    page_write_head(report, out);
    fputs("<body>\n<main>\n", out);
    page_write_header(report, out);
    report_write_verdict(report, out);
    report_write_curves(report, out);
    report_write_policies(report, out);
    report_write_remainder(report, out);
    report_write_uses(report, out);
    report_write_errors(report, out);
    report_write_places(report, out);
    report_write_ranks(report, out);
    report_write_recording(report, out);
    report_write_glossary(out);
    fputs("</main>\n<footer><p>", out);
    predreg_html_print(out, "ucx_predreg %s", PACKAGE_VERSION);
    fputs("</p></footer>\n</body>\n</html>\n", out);

    return ferror(out) ? UCS_ERR_IO_ERROR : UCS_OK;
}
