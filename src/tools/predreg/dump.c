/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/output.h>
#include <tools/predreg/common/trace_files.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/** @file dump.c
 *
 * Prints traces as text, or writes them in the binary form: all to one output, or each to
 * a file of its own in a folder.
 */


typedef struct {
    char       *input;
    const char *output;     /* Path of the output; NULL: standard output */
    int        is_folder;   /* Whether the input is a folder */
    int        to_folder;   /* Whether the output is a folder, for a file of each
                               trace */
    int        binary;
} dump_opts_t;

/* The state between two traces of a folder, which are loaded one after another */
typedef struct {
    dump_opts_t      opts;
    predreg_output_t output; /* Its stream is NULL while it is not open. If all traces go
                                to one output, the first one opens it */
} dump_t;


static int is_folder(const char *path)
{
    struct stat st;

    return (path != NULL) && (stat(path, &st) == 0) && S_ISDIR(st.st_mode);
}

static const predreg_option_t list[] = {
    {"output", 'o', "FILE", "write to FILE instead of standard output; to a folder, if it "
     "exists: a file for each trace, as they are named", predreg_option_string,
     offsetof(dump_opts_t, output)},
    {"binary", 0, NULL, "write the binary form, of one trace or to a folder",
     predreg_option_flag, offsetof(dump_opts_t, binary)},
    {NULL}
};

static const predreg_options_t options = {
    .command    = "dump",
    .only_input = "one file or folder, or - for standard input",
    .usage      = "[OPTIONS] FILE|FOLDER|-",
    .intro      = "Print a trace, or all traces in a folder, in the text form; - is\n"
                  "standard input.\n",
    .list       = list
};

static int parse(int argc, char **argv, dump_opts_t *opts)
{
    int status = predreg_options_read(&options, argc, argv, opts);

    if (status != 0) {
        return status;
    }

    opts->input = argv[optind];
    if (opts->binary && (opts->output == NULL)) {
        return predreg_error("dump: --binary needs a file to write to, or a folder "
                             "that exists: --output FILE|FOLDER");
    }

    opts->is_folder = is_folder(opts->input);
    opts->to_folder = is_folder(opts->output);
    return predreg_output_check("dump", opts->output, opts->input, 1);
}

/* Write a trace to the open output */
static ucs_status_t put_trace(const dump_t *dump, const ucs_rcache_trace_t *trace)
{
    FILE *stream        = dump->output.stream;
    ucs_status_t status = dump->opts.binary ?
                          ucs_rcache_trace_write(trace, fileno(stream)) :
                          ucs_rcache_trace_print(trace, stream);

    return (status == UCS_OK) ? UCS_OK : UCS_ERR_IO_ERROR;
}

/* Write a trace to a file of its name in the output folder */
static ucs_status_t write_to_folder(dump_t *dump, const ucs_rcache_trace_t *trace)
{
    char *path = predreg_format("%s/%s", dump->opts.output,
                                basename(trace->path));
    ucs_status_t status;

    status = (predreg_output_check("dump", path, dump->opts.input, 1) != 0) ?
             UCS_ERR_ALREADY_EXISTS : predreg_output_open("dump", path, &dump->output);
    if (status == UCS_OK) {
        status = predreg_output_close(&dump->output, put_trace(dump, trace));
    }
    free(path);
    return status;
}

/* Write a trace to the output that all traces share. In the binary form that is the output
 * of one trace: a second one is an error, which leaves the user's file as it was */
static ucs_status_t print_trace(dump_t *dump, const ucs_rcache_trace_t *trace)
{
    ucs_status_t status;

    if (dump->opts.binary && (dump->output.stream != NULL)) {
        predreg_error("dump: '%s' has more than one trace; --binary accepts "
                      "one, or a folder that exists as --output",
                      dump->opts.input);
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    if (dump->output.stream == NULL) {
        status = predreg_output_open("dump", dump->opts.output, &dump->output);
        if (status != UCS_OK) {
            return status;
        }
    }

    if (dump->opts.is_folder && !dump->opts.binary) {
        fprintf(dump->output.stream, "# %s\n", trace->path);
    }

    status = put_trace(dump, trace);
    return (status == UCS_OK) ? UCS_OK : predreg_output_close(&dump->output, status);
}

static ucs_status_t dump_trace(ucs_rcache_trace_t *trace, unsigned input, void *arg)
{
    dump_t *dump = arg;
    ucs_status_t status;

    status = dump->opts.to_folder ? write_to_folder(dump, trace) :
                                    print_trace(dump, trace);
    ucs_rcache_trace_free(trace);
    return status;
}

int predreg_dump(int argc, char **argv)
{
    dump_t dump = {};
    ucs_status_t result;
    int status;

    status = parse(argc, argv, &dump.opts);
    if (status != 0) {
        return status;
    }

    result = predreg_traces_each(&dump.opts.input, 1, dump_trace, &dump, NULL);
    if (dump.output.stream != NULL) {
        result = predreg_output_close(&dump.output, result);
    }
    return (result == UCS_OK) ? EXIT_SUCCESS : EXIT_FAILURE;
}
