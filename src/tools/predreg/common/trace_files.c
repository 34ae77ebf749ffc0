/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_files.h"
#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>


long predreg_trace_rank(const ucs_rcache_trace_t *trace)
{
    const char *value = ucs_rcache_trace_get_meta(trace, "rank");
    char *end;
    long rank;

    if (value == NULL) {
        return -1;
    }

    rank = strtol(value, &end, 10);
    return ((end == value) || (*end != '\0') || (rank < 0)) ? -1 : rank;
}

static int compare_traces(const void *a, const void *b)
{
    const ucs_rcache_trace_t *trace_a = *(ucs_rcache_trace_t *const*)a;
    const ucs_rcache_trace_t *trace_b = *(ucs_rcache_trace_t *const*)b;
    unsigned long rank_a              = predreg_trace_rank(trace_a);
    unsigned long rank_b              = predreg_trace_rank(trace_b);

    /* Traces without a rank come last: -1 is the largest unsigned number */
    if (rank_a != rank_b) {
        return (rank_a < rank_b) ? -1 : 1;
    }

    return strcmp(trace_a->path, trace_b->path);
}

static ucs_status_t add_file(const char *path, predreg_traces_t *traces)
{
    ucs_rcache_trace_t *trace;
    ucs_status_t status;

    status = ucs_rcache_trace_load(path, &trace);
    if (status != UCS_OK) {
        return status;
    }

    traces->traces = predreg_check_memory(
            realloc(traces->traces, (traces->num_traces + 1) *
                                    sizeof(*traces->traces)));
    traces->traces[traces->num_traces++] = trace;
    return UCS_OK;
}

static int is_trace(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    size_t suffix = strlen(PREDREG_TRACE_SUFFIX);

    return (length > suffix) &&
           !strcmp(entry->d_name + length - suffix, PREDREG_TRACE_SUFFIX);
}

static ucs_status_t add_folder(const char *path, predreg_traces_t *traces)
{
    ucs_status_t status = UCS_OK;
    struct dirent **entries;
    int i, count;
    char *file;

    count = scandir(path, &entries, is_trace, alphasort);
    if (count < 0) {
        predreg_error("'%s' cannot be read: %s", path, strerror(errno));
        return UCS_ERR_IO_ERROR;
    }

    for (i = 0; i < count; ++i) {
        if (status == UCS_OK) {
            file   = predreg_format("%s/%s", path, entries[i]->d_name);
            status = add_file(file, traces);
            free(file);
        }
        free(entries[i]);
    }
    free(entries);

    if (count == 0) {
        predreg_error("there is no trace in '%s': no file named *%s", path,
                      PREDREG_TRACE_SUFFIX);
        return UCS_ERR_NO_ELEM;
    }

    return status;
}

/* Warn if two jobs have written their traces to one folder, which looks like
 * one job of more processes. The traces are sorted, so that those of one rank
 * are side by side */
static void check_ranks(const predreg_traces_t *traces)
{
    long rank;
    size_t i;

    for (i = 1; i < traces->num_traces; ++i) {
        rank = predreg_trace_rank(traces->traces[i]);
        if ((rank >= 0) &&
            (rank == predreg_trace_rank(traces->traces[i - 1]))) {
            predreg_error("warning: rank %ld has two traces, '%s' and '%s': of "
                          "two jobs?", rank, traces->traces[i - 1]->path,
                          traces->traces[i]->path);
            return; /* One warning is enough: most likely, all other ranks have
                       two traces as well */
        }
    }
}

ucs_status_t predreg_traces_load(const char *path, predreg_traces_t *traces)
{
    ucs_status_t status;
    struct stat st;

    traces->traces     = NULL;
    traces->num_traces = 0;
    if (stat(path, &st) != 0) {
        predreg_error("'%s': %s; accepted: a trace, or a folder of traces",
                      path, strerror(errno));
        return UCS_ERR_NO_ELEM;
    }

    status = S_ISDIR(st.st_mode) ? add_folder(path, traces) :
                                   add_file(path, traces);
    if (status != UCS_OK) {
        predreg_traces_cleanup(traces);
        return status;
    }

    qsort(traces->traces, traces->num_traces, sizeof(*traces->traces),
          compare_traces);
    check_ranks(traces);
    return UCS_OK;
}

const char *predreg_only_input(const char *command, int argc,
                               char *const *argv)
{
    if (argc != optind + 1) {
        predreg_error("%s: %d arguments; accepted: one file or folder",
                      command, argc - optind);
        return NULL;
    }

    return argv[optind];
}

void predreg_traces_cleanup(predreg_traces_t *traces)
{
    size_t i;

    for (i = 0; i < traces->num_traces; ++i) {
        ucs_rcache_trace_free(traces->traces[i]);
    }
    free(traces->traces);
}
