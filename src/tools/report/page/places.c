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

/* The most call sites that are listed */
#define MAX_PLACES 12


static void places_write_row(FILE *out, const predreg_place_t *place)
{
    fputs("<tr><th scope=\"row\"><details><summary><code>", out);
    predreg_html_text(out, place->function);
    fputs("</code> ", out);
    predreg_html_element(out, "small", "%s %s", place->kind, place->source);
    fputs("</summary><pre>", out);
    predreg_html_text(out, place->path);
    fputs("</pre></details></th>", out);
    predreg_html_element(out, "td", "%s", PREDREG_TIME(place->waited));
    predreg_html_element(out, "td", "%s",
                         PREDREG_BYTE_SECONDS(place->byte_seconds));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(place->uses));
    predreg_html_element(out, "td", "%s",
                         PREDREG_PERCENT(place->hits, place->uses));
    predreg_html_element(out, "td", "%s", PREDREG_COUNT(place->late));
    fputs("</tr>\n", out);
}

void report_write_places(const report_data_t *report, FILE *out)
{
    const predreg_place_t *places;
    unsigned num_places, i;

    num_places = predreg_sites_sort(report->sites, &places);
    if (num_places == 0) {
        return;
    }

    fputs("<section id=\"places\"><h2>Where in the program</h2>\n<p>", out);
    predreg_html_print(out, "The call sites that cost most, under %s: first "
                            "those that wait longest, of equal ones those that "
                            "use most memory. Each opens to the functions on "
                            "the way to it.",
                       predreg_policies[
                               report_has(report, PREDREG_REPLAY_PREDICT) ?
                               PREDREG_REPLAY_PREDICT :
                               PREDREG_REPLAY_LEAVE_PINNED].label);
    fputs("</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Call sites\"><table class=\"data places\"><caption>",
          out);
    predreg_html_print(out, "%s of %s call sites, all ranks together",
                       PREDREG_COUNT(ucs_min(num_places, MAX_PLACES)),
                       PREDREG_COUNT(num_places));
    fputs("</caption><thead><tr><th scope=\"col\">call site</th>"
          "<th scope=\"col\">wait</th>"
          "<th scope=\"col\">memory × time</th>"
          "<th scope=\"col\">uses</th>"
          "<th scope=\"col\">found registered</th>"
          "<th scope=\"col\">late</th></tr></thead><tbody>\n", out);
    for (i = 0; i < ucs_min(num_places, MAX_PLACES); ++i) {
        places_write_row(out, &places[i]);
    }
    fputs("</tbody></table></div></section>\n", out);
}
