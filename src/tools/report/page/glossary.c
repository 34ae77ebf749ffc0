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


void report_write_glossary(FILE *out)
{
    static const struct {
        const char *term;
        const char *meaning;
    } entries[] = {
        {"registered memory", "Memory that the network adapter can read and "
         "write by itself. It is pinned: it cannot be swapped or moved."},
        {"use", "From when a communication needs its buffer registered until "
         "it is done with it."},
        {"hit", "A use that found its buffer registered."},
        {"late", "A use that came before the registration predicted for it was "
         "complete, and waited for the rest."},
        {"early", "A hit on a buffer that was registered ahead by more than a "
         "quarter of the time between its uses."},
        {"wasted", "A registration ahead of a use that never came."},
        {"wait", "Time on the critical path: the program stands still while "
         "memory is registered or deregistered."},
        {"memory × time", "Registered memory, summed up over time: 1 GiB for "
         "1 s is as much as 512 MiB for 2 s."},
        {"peak", "The most that was registered at a time."},
        {"rank", "One process of the parallel program."},
        {"helper", "The thread that registers and deregisters beside the "
         "program."},
        {"BUDGET", "What prediction may cost compared with leave-pinned, in "
         "percent of the run time. Memory that it would cost more to give up "
         "stays registered."},
        {"bound", "A limit on what UCX's own cache keeps registered, in bytes "
         "or in regions: a region is what one registration covers. What was "
         "not used for longest is given up first."},
        {"periodicity-based predictor", "One that looks for a pattern that "
         "repeats in the sequence of uses, and expects each use when it came "
         "one period ago. It is replayed for comparison, and cannot be run."},
        {"arena", "Memory that large allocations of the program come from, "
         "registered in long parts, so that a new buffer needs no "
         "registration."},
        {"clairvoyant", "A schedule that knows all uses beforehand. It says "
         "what could be reached, and cannot be run."},
        {"small send", "A message of 256 to 8192 bytes. UCX copies it into "
         "memory that is registered, since a registration would take longer "
         "than the copy."},
        {"call site", "The place in the program that a communication is called "
         "from, with the functions on the way to it."},
        {"replay", "Each policy is played over the recorded uses on a virtual "
         "clock. The figures of this page come from there, also those of the "
         "policy the run was recorded under."}
    };
    unsigned i;

    fputs("<section id=\"glossary\"><h2>Words</h2>\n<dl>\n", out);
    for (i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
        fputs("<div>", out);
        predreg_html_element(out, "dt", "%s", entries[i].term);
        predreg_html_element(out, "dd", "%s", entries[i].meaning);
        fputs("</div>\n", out);
    }
    fputs("</dl></section>\n", out);
}
