/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "profile.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>
#include <trace/profile/gather.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* What is summed up over all traces */
typedef struct {
    ucs_rcache_profile_gather_t *gather;
    uint64_t                    left_out; /* Uses without a place */
} profile_t;


static void usage(void)
{
    printf("usage: ucx_predreg profile [OPTIONS] FILE|FOLDER\n"
           "\n"
           "Make a profile of a trace, or of all traces in a folder: from where "
           "in the\n"
           "program which lengths of memory were used, and how long it took until "
           "they\n"
           "were used again. UCX_RCACHE_PRED_PROFILE=FILE tells that to the next "
           "run.\n"
           "\n"
           "  -o, --output FILE   write to FILE instead of standard output\n"
           "  --help              this text\n");
}

/* @param [out] output_p  NULL: standard output */
static int
parse(int argc, char **argv, const char **input_p, const char **output_p)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int option;

    *output_p = NULL;
    while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            *output_p = optarg;
            break;
        case 'h':
            usage();
            exit(EXIT_SUCCESS);
        default:
            predreg_error("profile --help lists what is accepted");
            return PREDREG_EXIT_USAGE;
        }
    }

    *input_p = predreg_only_input("profile", argc, argv);
    return (*input_p == NULL) ? PREDREG_EXIT_USAGE : 0;
}

static ucs_status_t add_trace(ucs_rcache_trace_t *trace, void *arg)
{
    profile_t *profile = arg;
    ucs_status_t status;

    status = ucs_rcache_profile_gather_add(profile->gather, trace,
                                           &profile->left_out);
    if (status != UCS_OK) {
        predreg_error("profile: %s: %s", trace->path,
                      ucs_status_string(status));
    }
    ucs_rcache_trace_free(trace);
    return status;
}

static ucs_status_t
write_profile(const ucs_rcache_profile_t *profile, const char *path)
{
    FILE *stream = (path == NULL) ? stdout : fopen(path, "we");
    ucs_status_t status;

    if (stream == NULL) {
        goto err;
    }

    status = ucs_rcache_profile_write(profile, stream);
    if (((path == NULL) ? fflush(stream) : fclose(stream)) != 0) {
        goto err;
    }
    if (status == UCS_OK) {
        return UCS_OK;
    }
err:
    predreg_error("profile: cannot write to '%s': %s",
                  (path == NULL) ? "standard output" : path, strerror(errno));
    return UCS_ERR_IO_ERROR;
}

/* A profile of nothing would be of no use to anybody */
static ucs_status_t
finish(profile_t *profile, const char *input, const char *output)
{
    ucs_rcache_profile_t result;
    ucs_status_t status;

    if (profile->left_out > 0) {
        predreg_error("profile: left out: %llu uses whose place in the program "
                      "the trace does not tell",
                      (unsigned long long)profile->left_out);
    }

    status = ucs_rcache_profile_gather_finish(profile->gather, &result);
    if (status != UCS_OK) {
        predreg_error("profile: %s", ucs_status_string(status));
        return status;
    }

    if (result.num_rows == 0) {
        predreg_error("profile: '%s': no memory was used twice, outside of an "
                      "arena, from places that the trace tells: there is nothing "
                      "to write", input);
        status = UCS_ERR_NO_ELEM;
    } else {
        status = write_profile(&result, output);
    }
    ucs_rcache_profile_free(&result);
    return status;
}

int predreg_profile(int argc, char **argv)
{
    profile_t profile = {.left_out = 0};
    const char *input, *output;
    ucs_status_t status;
    int result;

    result = parse(argc, argv, &input, &output);
    if (result != 0) {
        return result;
    }

    profile.gather = ucs_rcache_profile_gather_create();
    if (profile.gather == NULL) {
        predreg_error("profile: %s", ucs_status_string(UCS_ERR_NO_MEMORY));
        return EXIT_FAILURE;
    }

    status = predreg_traces_each(input, add_trace, &profile, NULL);
    if (status == UCS_OK) {
        status = finish(&profile, input, output);
    }
    ucs_rcache_profile_gather_destroy(profile.gather);
    return (status == UCS_OK) ? EXIT_SUCCESS : EXIT_FAILURE;
}
