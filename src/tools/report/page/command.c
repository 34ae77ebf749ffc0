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

#include <stdlib.h>

/* How ucx_predreg run is told of a knob, and how the library itself is */
#define COMMAND_OPTION   " --set "
#define COMMAND_VARIABLE " UCX_RCACHE_PRED_"


/* The number of ranks, as far as the traces tell it */
static unsigned long command_num_ranks(const report_data_t *report)
{
    const char *size = report_meta(report, "size");

    return (size == NULL) ? 1 : strtoul(size, NULL, 10);
}

/* Write the knobs of predict that are not the defaults */
static void command_write_knobs(const report_data_t *report, FILE *out,
                                const char *prefix)
{
    const predreg_choice_t *choice   = &report->advice.choice;
    const predreg_budgets_t *budgets = &report->findings.budgets;
    char name[PREDREG_BUDGET_NAME_MAX];

    if (choice->number != 0) {
        fprintf(out, "%sKNOWN_REGIONS=%lu", prefix,
                (unsigned long)choice->number);
    }

    if ((choice->budget >= 0) &&
        (choice->budget != budgets->rates[budgets->usual])) {
        fprintf(out, "%sBUDGET=%s", prefix,
                predreg_budget_name(choice->budget, name));
    }
}

/* Write what stands before the command of the user, with a space after it */
static void command_write_setting(const report_data_t *report, FILE *out)
{
    const predreg_choice_t *choice = &report->advice.choice;

    switch (choice->setting) {
    case PREDREG_SETTING_PREDICT:
        fputs("ucx_predreg run", out);
        command_write_knobs(report, out, COMMAND_OPTION);
        fputs(" -- ", out);
        break;
    case PREDREG_SETTING_ON_DEMAND:
        fputs("ucx_predreg run --policy on-demand -- ", out);
        break;
    case PREDREG_SETTING_BOUND:
        /* The cache of UCP, above this one, would hold on to every region */
        fprintf(out, "UCX_RCACHE_ENABLE=n UCX_IB_RCACHE_MAX_SIZE=%luM ",
                (unsigned long)(choice->number >> 20));
        break;
    default:
        break;
    }
}

/* Write what stands for the launcher, of which a trace has nothing */
static void command_write_launcher(const report_data_t *report, FILE *out)
{
    const unsigned long ranks = command_num_ranks(report);

    if (ranks > 1) {
        fprintf(out, "<p class=\"note\">LAUNCHER is what starts the %lu ranks, "
                     "with its options, such as <code>mpirun -np %lu</code> or "
                     "<code>srun -n %lu</code>: the traces do not tell which it "
                     "was.</p>\n", ranks, ranks, ranks);
    }
}

/* Write what the setting is in the environment of a rank, which may get it
 * from anything that starts the rank */
static void command_write_variables(const report_data_t *report, FILE *out)
{
    static const char begin[] =
        "<p class=\"note\">Without <code>ucx_predreg run</code>, the "
        "environment of each rank has to have "
        "<code>LD_PRELOAD=libuct_predreg.so";
    static const char end[]   = "</code>, by whatever starts it.</p>\n";

    switch (report->advice.choice.setting) {
    case PREDREG_SETTING_PREDICT:
        fputs(begin, out);
        command_write_knobs(report, out, COMMAND_VARIABLE);
        fputs(end, out);
        break;
    case PREDREG_SETTING_ON_DEMAND:
        fprintf(out, "%s%sPOLICY=on-demand%s", begin, COMMAND_VARIABLE, end);
        break;
    case PREDREG_SETTING_BOUND:
        fputs("<p class=\"note\">UCX_RCACHE_ENABLE=n turns off only the cache "
              "of UCP, which would hold on to whatever this bound deregisters. "
              "Open MPI passes variables to other nodes with <code>-x</code> "
              "only.</p>\n", out);
        break;
    default:
        break;
    }
}

/* The curve is of ranks that do the helper's work, as they do by default without an
 * idle processor. They may have a thread for it */
static void command_write_helper(const report_data_t *report, FILE *out)
{
    const predreg_choice_t *choice = &report->advice.choice;

    if ((choice->setting == PREDREG_SETTING_PREDICT) && (choice->budget >= 0)) {
        fputs("<p class=\"note\">With a budget, the figures are those of a rank "
              "without an idle processor, which does the helper's work itself "
              "while it waits for messages: one that hardly waits gives up "
              "little. With HELPER=aggressive a thread does it while the rank "
              "computes, and takes more time; <code>ucx_predreg replay --curve "
              "--shared-processor --set HELPER=aggressive</code> says how "
              "much.</p>\n", out);
    }
}

/* A trace knows only the command line of the rank itself, and not that of its
 * launcher */
void report_write_command(const report_data_t *report, FILE *out)
{
    const char *command = report_meta(report, "command");

    fputs("<pre class=\"command\"><code>", out);
    command_write_setting(report, out);
    if (command_num_ranks(report) > 1) {
        fputs("LAUNCHER ", out);
    }
    predreg_html_text(out, (command == NULL) ? "COMMAND" : command);
    fputs("</code></pre>\n", out);
}

void report_write_command_notes(const report_data_t *report, FILE *out)
{
    command_write_launcher(report, out);
    command_write_variables(report, out);
    command_write_helper(report, out);
}
