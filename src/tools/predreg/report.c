/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>
#include <tools/replay/replay.h>
#include <tools/report/report.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREDREG_REPORT_OUTPUT "report.html"


typedef struct {
    const char *input;
    const char *output; /* "-": standard output */
} predreg_report_opts_t;


static void usage(void)
{
    printf("usage: ucx_predreg report [OPTIONS] FILE|FOLDER\n"
           "\n"
           "Replay a trace, or all traces of a job in a folder, under each\n"
           "policy, and write what came of it as one HTML page.\n"
           "\n"
           "  -o, --output FILE   write to FILE instead of "
           PREDREG_REPORT_OUTPUT ";\n"
           "                      - is standard output\n"
           "  --help              this text\n");
}

static int parse(int argc, char **argv, predreg_report_opts_t *opts)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int option;

    while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            opts->output = optarg;
            break;
        case 'h':
            usage();
            exit(EXIT_SUCCESS);
        default:
            predreg_error("report --help lists what is accepted");
            return PREDREG_EXIT_USAGE;
        }
    }

    opts->input = predreg_only_input("report", argc, argv);
    if (opts->input == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    return 0;
}

/* Replay a rank under every policy */
static ucs_status_t replay_rank(const predreg_timeline_t *timeline,
                                predreg_replay_result_t *results,
                                unsigned *num_results_p)
{
    predreg_replay_params_t params;
    ucs_status_t status;
    unsigned policy;

    *num_results_p = 0;
    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        status = predreg_replay_params_default(timeline, policy, &params);
        if (status != UCS_OK) {
            return status;
        }

        status = predreg_replay(timeline, &params, &results[*num_results_p]);
        if (status == UCS_OK) {
            ++(*num_results_p);
        } else if (status != UCS_ERR_UNSUPPORTED) {
            return status;
        }
    }

    return UCS_OK;
}

static ucs_status_t replay_trace(predreg_report_t *report,
                                 const ucs_rcache_trace_t *trace)
{
    predreg_replay_result_t results[PREDREG_REPLAY_LAST];
    predreg_timeline_t *timeline;
    unsigned num_results, i;
    ucs_status_t status;

    status = predreg_timeline_create(trace, &timeline);
    if (status != UCS_OK) {
        return status;
    }

    status = replay_rank(timeline, results, &num_results);
    if (status == UCS_OK) {
        status = predreg_report_add(report, trace, timeline, results,
                                    num_results);
    }

    for (i = 0; i < num_results; ++i) {
        predreg_replay_result_cleanup(&results[i]);
    }
    predreg_timeline_destroy(timeline);
    return status;
}

/* Add a trace to the report, and free it: of all the traces of a job, there is
 * only one in memory at a time */
static ucs_status_t add_trace(ucs_rcache_trace_t *trace, void *arg)
{
    predreg_report_t *report = arg;
    ucs_status_t status;

    status = replay_trace(report, trace);
    if (status != UCS_OK) {
        predreg_error("report: '%s' cannot be replayed: %s", trace->path,
                      ucs_status_string(status));
    }

    ucs_rcache_trace_free(trace);
    return status;
}

static int write_file(predreg_report_t *report, const char *path)
{
    int to_stdout = !strcmp(path, "-");
    ucs_status_t status;
    FILE *stream;

    stream = to_stdout ? stdout : fopen(path, "w");
    if (stream == NULL) {
        goto err;
    }

    status = predreg_report_write(report, stream);
    if (((to_stdout ? fflush(stream) : fclose(stream)) != 0) ||
        (status != UCS_OK)) {
        goto err;
    }

    return EXIT_SUCCESS;

err:
    predreg_error("report: cannot write to '%s': %s",
                  to_stdout ? "standard output" : path, strerror(errno));
    return EXIT_FAILURE;
}

int predreg_report(int argc, char **argv)
{
    predreg_report_opts_t opts = {NULL, PREDREG_REPORT_OUTPUT};
    predreg_report_t *report;
    int result;

    result = parse(argc, argv, &opts);
    if (result != 0) {
        return result;
    }

    if (predreg_report_create(&report) != UCS_OK) {
        predreg_check_memory(NULL);
    }

    result = EXIT_FAILURE;
    if (predreg_traces_each(opts.input, add_trace, report) == UCS_OK) {
        result = write_file(report, opts.output);
    }

    predreg_report_destroy(report);
    return result;
}
