/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_rank.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/output.h>
#include <tools/predreg/common/trace_files.h>
#include <tools/replay/program/partners.h>
#include <tools/report/data/recommend.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/** @file report.c
 *
 * Reads the options and the traces, replays each rank by report_rank.c, and writes the
 * page or the JSON object that src/tools/report makes of the results.
 */

#define PREDREG_REPORT_OUTPUT "report.html"


typedef struct {
    char                *input;
    const char          *output; /* "-": standard output; NULL: the default */
    int                 json;
    uct_predreg_knobs_t knobs;   /* Of the library's policies */
} predreg_report_opts_t;


static int read_knob(const predreg_option_t *option, const char *arg, void *opts)
{
    return predreg_knob_replay(arg, &((predreg_report_opts_t*)opts)->knobs);
}

static const predreg_option_t list[] = {
    {"output", 'o', "FILE", "write to FILE instead of " PREDREG_REPORT_OUTPUT "; - is "
     "standard output", predreg_option_string, offsetof(predreg_report_opts_t, output)},
    {"json", 0, NULL, "write the numbers behind the page, as one JSON object, to standard "
     "output unless -o is given", predreg_option_flag,
     offsetof(predreg_report_opts_t, json)},
    {"set", 0, "KNOB=VALUE", "as for replay; under MAX_PINNED and MAX_REGIONS, strict-lru "
     "and bounded stand beside predict", read_knob, 0},
    {NULL}
};

static const predreg_options_t options = {
    .command    = "report",
    .only_input = "one file or folder, or - for standard input",
    .usage      = "[OPTIONS] FILE|FOLDER|-",
    .intro      = "Replay a trace, or all traces of a job in a folder, under each\n"
                  "policy, and write what came of it as one HTML page; - is a trace on\n"
                  "standard input.\n",
    .list       = list
};

static int parse(int argc, char **argv, predreg_report_opts_t *opts)
{
    int status;

    if (uct_predreg_knobs_default(&opts->knobs) != UCS_OK) {
        predreg_no_memory();
    }

    status = predreg_options_read(&options, argc, argv, opts);
    if (status == 0) {
        opts->input = argv[optind];
        if (opts->output == NULL) {
            opts->output = opts->json ? "-" : PREDREG_REPORT_OUTPUT;
        }
        status = predreg_output_check("report", opts->output, opts->input, 0);
    }

    if (status != 0) {
        uct_predreg_knobs_cleanup(&opts->knobs);
    }
    return status;
}

/* A job that is added to a report. Of a single trace, it has no paths and no first uses */
typedef struct {
    predreg_report_t          *report;
    const uct_predreg_knobs_t *knobs;
    predreg_paths_t           paths;       /* Traces to be replayed, in the order of
                                              their names */
    predreg_paths_t           left_out;
    predreg_points_t          first_uses;  /* First uses of all ranks together */
    predreg_cost_t            reg;         /* Cost of registrations: a guess, then fitted to
                                              the first uses */
    int                       reg_page_known;
    predreg_partners_t        *partners;
} job_t;


/* Note the path of a trace and the measurements of its first uses, and free the trace */
static ucs_status_t look_at_trace(ucs_rcache_trace_t *trace, unsigned input, void *arg)
{
    job_t *job = arg;
    predreg_timeline_t *timeline;
    ucs_status_t status;

    status = predreg_timeline_create(trace, 0, &timeline);
    if (status == UCS_OK) {
        predreg_paths_add(&job->paths, trace->path);
        predreg_partners_add(job->partners, trace, timeline);
        predreg_points_add_all(&job->first_uses, &timeline->first_uses);
        job->reg = timeline->reg_guess;
        predreg_timeline_destroy(timeline);
    }

    ucs_rcache_trace_free(trace);
    return status;
}

/* Add a trace to the report, and free the trace */
static ucs_status_t add_trace(const job_t *job, ucs_rcache_trace_t *trace, double partners)
{
    predreg_timeline_t *timeline;
    predreg_cost_t own_reg;
    ucs_status_t status;

    status = predreg_timeline_create(trace, partners, &timeline);
    if (status == UCS_OK) {
        own_reg = timeline->reg;
        if ((job->first_uses.num_points > 0) && (timeline->first_uses.num_points > 0)) {
            timeline->reg            = job->reg;
            timeline->reg_page_known = job->reg_page_known;
        }
        status = predreg_report_play(job->report, trace, timeline, &own_reg, job->knobs);
        predreg_timeline_destroy(timeline);
    }

    if (status != UCS_OK) {
        predreg_error("report: '%s' cannot be replayed: %s", trace->path,
                      ucs_status_string(status));
    }

    ucs_rcache_trace_free(trace);
    return status;
}

static ucs_status_t add_only_trace(ucs_rcache_trace_t *trace, unsigned input, void *arg)
{
    return add_trace(arg, trace, 0);
}

/* Add a trace of a job. A trace that cannot be loaded or replayed is left out, and the
 * reason has been printed. */
static void add_path(job_t *job, size_t index, size_t *num_added)
{
    const char *path = job->paths.list[index];
    ucs_rcache_trace_t *trace;
    ucs_status_t status;

    status = ucs_rcache_trace_load(path, &trace);
    if (status == UCS_OK) {
        status = add_trace(job, trace, predreg_partners_part(job->partners, index));
    }

    if (status == UCS_OK) {
        ++*num_added;
    } else {
        predreg_paths_add(&job->left_out, path);
    }
}

/* Add all traces of a job, with only one trace in memory at a time */
static ucs_status_t add_job(job_t *job)
{
    const predreg_cost_t guess = job->reg;
    size_t num_added           = 0;
    size_t i;

    predreg_points_line(&job->first_uses, &guess, &job->reg, &job->reg_page_known);
    predreg_partners_compare(job->partners);
    for (i = 0; i < job->paths.num; ++i) {
        predreg_progress(i, job->paths.num);
        add_path(job, i, &num_added);
    }
    predreg_progress(i, i);

    if (num_added == 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    predreg_paths_warn(&job->left_out);
    predreg_report_leave_out(job->report, job->left_out.num);
    return UCS_OK;
}

/* Add the traces in a folder. Each trace is read twice: first to get the cost of
 * registrations from all traces together, and then to replay the trace with this cost. */
static ucs_status_t add_folder(job_t *job, char *path)
{
    ucs_status_t status;

    job->partners = predreg_partners_create();
    status        = predreg_traces_each(&path, 1, look_at_trace, job, &job->left_out);
    if (status == UCS_OK) {
        status = add_job(job);
    }

    if (status == UCS_ERR_NO_ELEM) {
        predreg_error("report: no process opened an RDMA device, or none was "
                      "recorded. Check that " PREDREG_CHECK_DEVICE);
    } else if (status == UCS_ERR_INVALID_PARAM) {
        predreg_error("report: no trace in '%s' can be replayed", path);
    }

    predreg_partners_destroy(job->partners);
    predreg_paths_cleanup(&job->paths);
    predreg_paths_cleanup(&job->left_out);
    predreg_points_cleanup(&job->first_uses);
    return status;
}

static ucs_status_t add_input(predreg_report_t *report, const predreg_report_opts_t *opts)
{
    job_t job  = { .report = report, .knobs = &opts->knobs };
    char *path = opts->input;
    struct stat st;

    if ((stat(path, &st) == 0) && S_ISDIR(st.st_mode)) {
        return add_folder(&job, path);
    }

    /* A single file is read only once, since it may be a pipe */
    return predreg_traces_each(&path, 1, add_only_trace, &job, NULL);
}

/* Write the whole report to memory. Inlined, gcc takes the text for the pointer to it, and
 * warns of a use after the end of the function.
 * @return the text; the caller frees the text */
static UCS_F_NOINLINE char *
make_text(predreg_report_t *report, const predreg_report_opts_t *opts,
          size_t *length_p)
{
    char *text   = NULL;
    FILE *memory = predreg_check_memory(open_memstream(&text, length_p));
    ucs_status_t status;

    status = predreg_report_write(report, opts->json, memory);
    if ((fclose(memory) != 0) || (status != UCS_OK)) {
        predreg_no_memory();
    }
    return text;
}

/* Print the headline of a page, with a space for each line break */
static void print_headline(const char *text)
{
    const char *begin = strstr(text, "<h1>");
    const char *end   = strstr(text, "</h1>");

    for (begin += strlen("<h1>"); begin < end; begin += strspn(begin, " \n")) {
        begin += printf("%.*s", (int)strcspn(begin, " \n<"), begin);
        putchar((begin < end) ? ' ' : '\n');
    }
}

/* Write the report, and unless it goes to standard output, print what a page says and where
 * it is */
static ucs_status_t write_report(predreg_report_t *report,
                                 const predreg_report_opts_t *opts,
                                 predreg_output_t *output)
{
    int is_shown = (output->stream != stdout) && !opts->json;
    size_t length, written;
    ucs_status_t status;
    char *text;

    text    = make_text(report, opts, &length);
    written = fwrite(text, 1, length, output->stream);
    status  = predreg_output_close(output, (written == length) ? UCS_OK :
                                                                 UCS_ERR_IO_ERROR);
    if ((status == UCS_OK) && is_shown) {
        print_headline(text);
        printf("page: %s\n", opts->output);
    }
    free(text);
    return status;
}

int predreg_report(int argc, char **argv)
{
    predreg_report_opts_t opts = {};
    predreg_output_t output;
    predreg_report_t *report;
    ucs_status_t status;
    int result;

    result = parse(argc, argv, &opts);
    if (result != 0) {
        return result;
    }

    /* The output is opened first: a path that cannot be written to is no reason to lose
     * the results of long replays */
    status = predreg_output_open("report", opts.output, &output);
    if (status == UCS_OK) {
        report = predreg_report_create();
        status = (add_input(report, &opts) == UCS_OK) ?
                 write_report(report, &opts, &output) :
                 predreg_output_close(&output, UCS_ERR_CANCELED);
        predreg_report_destroy(report);
    }

    uct_predreg_knobs_cleanup(&opts.knobs);
    return (status == UCS_OK) ? EXIT_SUCCESS : EXIT_FAILURE;
}
