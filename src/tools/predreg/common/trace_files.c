/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_files.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** @file trace_files.c
 *
 * A job has a trace for each rank. The function read_file() leaves out damaged traces,
 * and traces beyond the range of a replay, in the same way for all sub-commands.
 */

/* Bytes at the begin of a file that are enough to recognise a trace */
#define HEAD_SIZE 64


/* What is kept of a trace that was used and freed, to find two traces of the same rank */
typedef struct {
    long rank; /* Rank of the trace; -1: not known */
    char *path;
} seen_trace_t;

/* The state of predreg_traces_each() */
typedef struct {
    predreg_trace_func_t *func;
    void                 *arg;
    unsigned             input;     /* Index of the path that is being read */
    size_t               num_read;  /* Number of loaded traces of this path */
    int                  is_any_read; /* Whether a trace of any path was loaded */
    seen_trace_t         *seen;     /* Traces used so far */
    size_t               num_seen;
    predreg_paths_t      *left_out;
} reader_t;


void predreg_paths_add(predreg_paths_t *paths, const char *path)
{
    *predreg_add(paths->list, paths->num) = predreg_format("%s", path);
}

void predreg_paths_warn(const predreg_paths_t *paths)
{
    size_t i;

    for (i = 0; i < paths->num; ++i) {
        predreg_error("warning: '%s' is left out", paths->list[i]);
    }
}

void predreg_paths_cleanup(predreg_paths_t *paths)
{
    while (paths->num > 0) {
        free(paths->list[--paths->num]);
    }
    free(paths->list);
}

long predreg_trace_rank(const ucs_rcache_trace_t *trace)
{
    uint64_t rank;

    return (ucs_rcache_trace_get_number(trace, "rank", &rank) && (rank <= LONG_MAX)) ?
           (long)rank : -1;
}

static int compare_seen(const void *a, const void *b)
{
    const seen_trace_t *seen_a = a;
    const seen_trace_t *seen_b = b;

    return ucs_rcache_trace_compare(seen_a->rank, seen_a->path, seen_b->rank,
                                    seen_b->path);
}

/* Load a trace, and have the sub-command use it. If either is not possible, the trace is
 * left out, and reading goes on */
static ucs_status_t read_file(reader_t *reader, const char *path)
{
    ucs_rcache_trace_t *trace;
    seen_trace_t seen;
    ucs_status_t status;

    status = ucs_rcache_trace_load(path, &trace);
    if (status == UCS_OK) {
        ++reader->num_read;
        reader->is_any_read = 1;
        seen.rank           = predreg_trace_rank(trace);
        status              = reader->func(trace, reader->input, reader->arg);
    } else {
        status = UCS_ERR_INVALID_PARAM;
    }

    if (status == UCS_OK) {
        seen.path = predreg_format("%s", path);
        *predreg_add(reader->seen, reader->num_seen) = seen;
    } else if (status == UCS_ERR_INVALID_PARAM) {
        predreg_paths_add(reader->left_out, path);
        status = UCS_OK;
    }
    return status;
}

int predreg_is_trace(const char *path, int by_content)
{
    const char *name = basename(path);
    int is_named     = (fnmatch("rank-[0-9]*" PREDREG_TRACE_SUFFIX, name, 0) == 0) ||
                       (fnmatch("proc.*" PREDREG_TRACE_SUFFIX, name, 0) == 0);
    char head[HEAD_SIZE];
    ssize_t size;
    int fd;

    if (is_named && !by_content) {
        return 1;
    }

    /* Without O_NONBLOCK, open() of a pipe waits until somebody opens it for writing */
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }

    size = read(fd, head, sizeof(head));
    close(fd);
    return (size > 0) ? ucs_rcache_trace_is_trace(head, size) : (is_named && (size == 0));
}

static int has_suffix(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    size_t suffix = strlen(PREDREG_TRACE_SUFFIX);

    return (length > suffix) &&
           !strcmp(entry->d_name + length - suffix, PREDREG_TRACE_SUFFIX);
}

int predreg_trace_names(const char *folder, struct dirent ***entries_p)
{
    return scandir(folder, entries_p, has_suffix, alphasort);
}

/* @return the kind of a file that is not regular, such as a pipe, which may have no end;
 *         NULL: the file is regular, or does not exist. */
static const char *special_file(const char *path)
{
    struct stat st;

    if ((stat(path, &st) != 0) || S_ISREG(st.st_mode)) {
        return NULL; /* If there is no file, opening it says why */
    }

    return S_ISDIR(st.st_mode)  ? "a folder" :
           S_ISFIFO(st.st_mode) ? "a pipe" :
           S_ISSOCK(st.st_mode) ? "a socket" :
                                  "a device";
}

/* Read a file of a folder if it is a regular one. The user has not named the file, so
 * the program must not wait for a writer of a pipe */
static ucs_status_t read_entry(reader_t *reader, const char *folder,
                               const char *name)
{
    char *path          = predreg_format("%s/%s", folder, name);
    const char *special = special_file(path);
    ucs_status_t status = UCS_OK;

    if (special == NULL) {
        status = read_file(reader, path);
    } else {
        predreg_error("'%s' is %s; accepted in a folder: files", path, special);
        predreg_paths_add(reader->left_out, path);
    }
    free(path);
    return status;
}

static ucs_status_t read_folder(reader_t *reader, const char *path)
{
    ucs_status_t status = UCS_OK;
    struct dirent **entries;
    int i, count;

    count = predreg_trace_names(path, &entries);
    if (count < 0) {
        predreg_error("'%s' cannot be read: %s", path, strerror(errno));
        predreg_paths_add(reader->left_out, path);
        return UCS_OK;
    }

    for (i = 0; i < count; ++i) {
        predreg_progress(i, count);
        if (status == UCS_OK) {
            status = read_entry(reader, path, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    predreg_progress(count, count);

    if (count == 0) {
        predreg_error("there is no trace in '%s': no file named *%s", path,
                      PREDREG_TRACE_SUFFIX);
        return UCS_ERR_NO_ELEM;
    }

    if ((status == UCS_OK) && (reader->num_read == 0)) {
        predreg_error("no trace in '%s' can be read", path);
    }
    return status;
}

static ucs_status_t read_path(reader_t *reader, const char *path)
{
    ucs_status_t status;
    struct stat st;

    path = strcmp(path, "-") ? path : "/dev/stdin";
    if (stat(path, &st) != 0) {
        predreg_error("'%s': %s; accepted: a trace, a folder of traces, or - for standard "
                      "input", path, strerror(errno));
        return UCS_ERR_NO_ELEM;
    }

    reader->num_read = 0;
    if (S_ISDIR(st.st_mode)) {
        return read_folder(reader, path);
    }

    predreg_progress(0, 1);
    status = read_file(reader, path);
    predreg_progress(1, 1);
    return status;
}

/* Warn if two traces are of the same rank. Most likely two jobs have written their traces
 * to one folder, or the user has named the traces of two jobs: together they look like
 * one job of more processes */
static void check_ranks(reader_t *reader)
{
    seen_trace_t *seen = reader->seen;
    size_t i;

    qsort(seen, reader->num_seen, sizeof(*seen), compare_seen);
    for (i = 1; i < reader->num_seen; ++i) {
        if ((seen[i].rank >= 0) && (seen[i].rank == seen[i - 1].rank)) {
            predreg_error("warning: rank %ld has two traces, '%s' and '%s': of two "
                          "jobs?", seen[i].rank, seen[i - 1].path, seen[i].path);
            return; /* One warning is enough: most likely, all other ranks have
                       two traces as well */
        }
    }
}

ucs_status_t predreg_traces_each(char *const *paths, unsigned num_paths,
                                 predreg_trace_func_t *func, void *arg,
                                 predreg_paths_t *left_out)
{
    predreg_paths_t own_left_out = {};
    reader_t reader              = {
        .func     = func,
        .arg      = arg,
        .left_out = (left_out == NULL) ? &own_left_out : left_out
    };
    ucs_status_t status          = UCS_OK;

    for (; (reader.input < num_paths) && (status == UCS_OK); ++reader.input) {
        status = read_path(&reader, paths[reader.input]);
    }

    if ((status == UCS_OK) && (reader.num_seen == 0)) {
        status = reader.is_any_read ? UCS_ERR_INVALID_PARAM : UCS_ERR_IO_ERROR;
    } else if (status == UCS_OK) {
        predreg_paths_warn(&own_left_out);
        check_ranks(&reader);
    }

    while (reader.num_seen > 0) {
        free(reader.seen[--reader.num_seen].path);
    }
    free(reader.seen);
    predreg_paths_cleanup(&own_left_out);
    return status;
}
