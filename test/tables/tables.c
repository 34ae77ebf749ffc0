/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 *
 * The tables and the picture of contrib/demo.sh and contrib/evaluate.sh.
 */

#include "tables.h"
#include "ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
"usage: tables COMMAND DIR [ARGUMENT...]\n"
"\n"
"DIR is a folder of runs, see run.h. All output goes to standard output.\n"
"\n"
"  demo DIR                           the table of the demonstration\n"
"  demo-json DIR RIG                  the same, a line of JSON for each row\n"
"  demo-picture DIR SUBTITLE          its curves (SVG)\n"
"  ways DIR                           each way beside stock UCX, see ways.h\n"
"  ways-picture DIR SUBTITLE          the same as bars (SVG)\n"
"  results DIR RIG                    a line of CSV for each run\n"
"  policies DIR \"PROGRAM...\" \"POLICY...\"\n"
"                                     a table of the evaluation: memory, time\n"
"  counts DIR \"PROGRAM...\" \"POLICY...\"\n"
"                                     the same without time\n"
"  summary DIR \"PROGRAM...\" \"POLICY...\"\n"
"                                     the same of all programs together\n"
"  errors DIR \"PROGRAM...\" \"POLICY...\"\n"
"                                     the same: errors of predictions\n"
"  compare DIR FILE                   the same beside what others measured\n";


const char *number(const char *format, double value)
{
    static char texts[16][64];
    static unsigned next = 0;
    char *text           = texts[next++ % 16];

    if (isnan(value)) {
        return "-";
    }

    snprintf(text, sizeof(texts[0]), format, value);
    return text;
}

int next_name(const char **names_p, char *name)
{
    size_t length;

    *names_p += strspn(*names_p, " ");
    length    = strcspn(*names_p, " ");
    snprintf(name, RUN_NAME_MAX, "%.*s", (int)length, *names_p);
    *names_p += length;
    return length > 0;
}

static int run_command(const char *command, const runs_t *runs, int argc,
                       char **argv)
{
    if (!strcmp(command, "demo") && (argc == 0)) {
        demo_table(runs, stdout);
    } else if (!strcmp(command, "demo-json") && (argc == 1)) {
        demo_json(runs, argv[0], stdout);
    } else if (!strcmp(command, "demo-picture") && (argc == 1)) {
        demo_picture(runs, argv[0], stdout);
    } else if (!strcmp(command, "results") && (argc == 1)) {
        evaluate_results(runs, argv[0], stdout);
    } else if (!strcmp(command, "policies") && (argc == 2)) {
        evaluate_policies(runs, argv[0], argv[1], stdout);
    } else if (!strcmp(command, "counts") && (argc == 2)) {
        evaluate_counts(runs, argv[0], argv[1], stdout);
    } else if (!strcmp(command, "summary") && (argc == 2)) {
        evaluate_summary(runs, argv[0], argv[1], stdout);
    } else if (!strcmp(command, "errors") && (argc == 2)) {
        evaluate_errors(runs, argv[0], argv[1], stdout);
    } else if (!strcmp(command, "compare") && (argc == 1)) {
        return compare(runs, argv[0], stdout);
    } else {
        fputs(usage, stderr);
        return 2;
    }

    return 0;
}

/* Show what systems.sh has measured. @return whether the command is for that */
static int run_ways(const char *command, const char *dir, int argc, char **argv)
{
    int is_table   = !strcmp(command, "ways") && (argc == 0);
    int is_picture = !strcmp(command, "ways-picture") && (argc == 1);
    ways_t *ways;

    if (!is_table && !is_picture) {
        return 0;
    }

    ways = ways_load(dir);
    if (is_table) {
        ways_table(ways, stdout);
    } else {
        ways_picture(ways, argv[0], stdout);
    }
    ways_free(ways);
    return 1;
}

int main(int argc, char **argv)
{
    int status = 0;
    runs_t runs;

    if (argc < 3) {
        fputs(usage, stderr);
        return 2;
    }

    if (!run_ways(argv[1], argv[2], argc - 3, &argv[3])) {
        runs_load(argv[2], &runs);
        status = run_command(argv[1], &runs, argc - 3, &argv[3]);
        runs_cleanup(&runs);
    }
    if ((fclose(stdout) != 0) && (status == 0)) {
        perror("tables");
        status = 2;
    }

    return status;
}
