/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dump.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


typedef struct {
    const char *input;
    const char *output; /* NULL: standard output */
    int        binary;
} dump_opts_t;


static void usage(void)
{
    printf("usage: ucx_predreg dump [OPTIONS] FILE|FOLDER\n"
           "\n"
           "Print a trace, or all traces in a folder, in the text form.\n"
           "\n"
           "  -o, --output FILE   write to FILE instead of standard output\n"
           "  --binary            write the binary form, of one trace\n"
           "  --help              this text\n");
}

static int parse(int argc, char **argv, dump_opts_t *opts)
{
    enum { OPT_BINARY = 256 };
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"binary", no_argument, NULL, OPT_BINARY},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int option;

    while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            opts->output = optarg;
            break;
        case OPT_BINARY:
            opts->binary = 1;
            break;
        case 'h':
            usage();
            exit(EXIT_SUCCESS);
        default:
            predreg_error("dump --help lists what is accepted");
            return PREDREG_EXIT_USAGE;
        }
    }

    opts->input = predreg_only_input("dump", argc, argv);
    if (opts->input == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    if (opts->binary && (opts->output == NULL)) {
        predreg_error("dump: --binary needs a file to write to: --output FILE");
        return PREDREG_EXIT_USAGE;
    }

    return 0;
}

static int write_binary(const predreg_traces_t *traces, const dump_opts_t *opts)
{
    ucs_status_t status;
    int fd;

    if (traces->num_traces != 1) {
        predreg_error("dump: '%s' has %zu traces; --binary accepts one",
                      opts->input, traces->num_traces);
        return EXIT_FAILURE;
    }

    fd = open(opts->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        goto err;
    }

    status = ucs_rcache_trace_write(traces->traces[0], fd);
    if (status != UCS_OK) {
        goto err_close;
    }

    if (close(fd) != 0) {
        goto err;
    }

    return EXIT_SUCCESS;

err_close:
    close(fd);
err:
    predreg_error("dump: cannot write to '%s': %s", opts->output,
                  strerror(errno));
    return EXIT_FAILURE;
}

static int write_text(const predreg_traces_t *traces, const dump_opts_t *opts)
{
    ucs_status_t status = UCS_OK;
    FILE *stream        = stdout;
    size_t i;

    if (opts->output != NULL) {
        stream = fopen(opts->output, "w");
        if (stream == NULL) {
            goto err;
        }
    }

    for (i = 0; (i < traces->num_traces) && (status == UCS_OK); ++i) {
        if (traces->num_traces > 1) {
            fprintf(stream, "# %s\n", traces->traces[i]->path);
        }
        status = ucs_rcache_trace_print(traces->traces[i], stream);
    }

    if ((stream != stdout) && (fclose(stream) != 0)) {
        goto err;
    }

    if (status != UCS_OK) {
        goto err;
    }

    return EXIT_SUCCESS;

err:
    predreg_error("dump: cannot write to '%s': %s",
                  (opts->output == NULL) ? "standard output" : opts->output,
                  strerror(errno));
    return EXIT_FAILURE;
}

int predreg_dump(int argc, char **argv)
{
    dump_opts_t opts = {NULL, NULL, 0};
    predreg_traces_t traces;
    int status;

    status = parse(argc, argv, &opts);
    if (status != 0) {
        return status;
    }

    if (predreg_traces_load(opts.input, &traces) != UCS_OK) {
        return EXIT_FAILURE;
    }

    status = opts.binary ? write_binary(&traces, &opts) :
                           write_text(&traces, &opts);
    predreg_traces_cleanup(&traces);
    return status;
}
