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

    errno = 0;
    rank  = strtol(value, &end, 10);
    return ((end == value) || (*end != '\0') || (errno != 0) || (rank < 0)) ?
           -1 : rank;
}

void predreg_warn_left_out(const char *path)
{
    predreg_error("warning: '%s' is left out", path);
}

void predreg_warn_same_rank(long rank, const char *first, const char *second)
{
    predreg_error("warning: rank %ld has two traces, '%s' and '%s': of two "
                  "jobs?", rank, first, second);
}

/* What is remembered of a trace after it was freed, to tell the user if another
 * one is of the same rank */
typedef struct {
    long rank; /* -1: none */
    char *path;
} seen_trace_t;

/* The traces that were loaded so far, and what each is handed to */
typedef struct {
    predreg_trace_func_t *func;
    void                 *arg;
    seen_trace_t         *seen;
    size_t               num_seen;
    size_t               left_out; /* Traces of a folder that cannot be read */
} reader_t;


int predreg_trace_compare(long rank_a, const char *path_a, long rank_b,
                          const char *path_b)
{
    if (rank_a != rank_b) {
        /* Taken for an unsigned number, -1 is the largest one */
        return ((unsigned long)rank_a < (unsigned long)rank_b) ? -1 : 1;
    }

    return strcmp(path_a, path_b);
}

static int compare_seen(const void *a, const void *b)
{
    const seen_trace_t *seen_a = a;
    const seen_trace_t *seen_b = b;

    return predreg_trace_compare(seen_a->rank, seen_a->path, seen_b->rank,
                                 seen_b->path);
}

/* @param [out] loaded_p  What came of loading the file, if it is not UCS_OK;
 *                        the reason has been printed. */
static ucs_status_t read_file(reader_t *reader, const char *path,
                              ucs_status_t *loaded_p)
{
    ucs_rcache_trace_t *trace;

    *loaded_p = ucs_rcache_trace_load(path, &trace);
    if (*loaded_p != UCS_OK) {
        return *loaded_p;
    }

    reader->seen = predreg_check_memory(
            realloc(reader->seen, (reader->num_seen + 1) *
                                  sizeof(*reader->seen)));
    reader->seen[reader->num_seen++] = (seen_trace_t){
        .rank = predreg_trace_rank(trace),
        .path = predreg_format("%s", path)
    };
    return reader->func(trace, reader->arg);
}

static int is_trace(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    size_t suffix = strlen(PREDREG_TRACE_SUFFIX);

    return (length > suffix) &&
           !strcmp(entry->d_name + length - suffix, PREDREG_TRACE_SUFFIX);
}

/* @return what stands under a path if it is no file that can be read to its end,
 *         or NULL. */
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

/* Load a file of a folder, and only a regular one: nobody has named it, so that
 * it must not be waited for who writes to a pipe.
 *
 * @param [out] loaded_p  As in read_file(). */
static ucs_status_t read_regular(reader_t *reader, const char *path,
                                 ucs_status_t *loaded_p)
{
    const char *special = special_file(path);

    if (special == NULL) {
        return read_file(reader, path, loaded_p);
    }

    predreg_error("'%s' is %s; accepted in a folder: files", path, special);
    *loaded_p = UCS_ERR_UNSUPPORTED;
    return *loaded_p;
}

/* Read a file of a folder. If it is damaged, it is left out, so that it does
 * not make the others unreadable. */
static ucs_status_t read_entry(reader_t *reader, const char *folder,
                               const char *name, ucs_status_t *damage)
{
    char *path = predreg_format("%s/%s", folder, name);
    ucs_status_t status, loaded;

    status = read_regular(reader, path, &loaded);
    if ((loaded != UCS_OK) && (loaded != UCS_ERR_NO_MEMORY)) {
        predreg_warn_left_out(path);
        ++reader->left_out;
        *damage = loaded;
        status  = UCS_OK;
    }
    free(path);
    return status;
}

static ucs_status_t read_folder(reader_t *reader, const char *path)
{
    ucs_status_t status = UCS_OK;
    ucs_status_t damage = UCS_OK;
    struct dirent **entries;
    int i, count;

    count = scandir(path, &entries, is_trace, alphasort);
    if (count < 0) {
        predreg_error("'%s' cannot be read: %s", path, strerror(errno));
        return UCS_ERR_IO_ERROR;
    }

    for (i = 0; i < count; ++i) {
        if (status == UCS_OK) {
            status = read_entry(reader, path, entries[i]->d_name, &damage);
        }
        free(entries[i]);
    }
    free(entries);

    if (count == 0) {
        predreg_error("there is no trace in '%s': no file named *%s", path,
                      PREDREG_TRACE_SUFFIX);
        return UCS_ERR_NO_ELEM;
    }

    if ((status == UCS_OK) && (reader->num_seen == 0)) {
        predreg_error("no trace in '%s' can be read", path);
        return damage;
    }

    return status;
}

/* Warn if two jobs have written their traces to one folder, which looks like
 * one job of more processes */
static void check_ranks(reader_t *reader)
{
    seen_trace_t *seen = reader->seen;
    size_t i;

    if (reader->num_seen > 0) {
        qsort(seen, reader->num_seen, sizeof(*seen), compare_seen);
    }

    for (i = 1; i < reader->num_seen; ++i) {
        if ((seen[i].rank >= 0) && (seen[i].rank == seen[i - 1].rank)) {
            predreg_warn_same_rank(seen[i].rank, seen[i - 1].path,
                                   seen[i].path);
            return; /* One warning is enough: most likely, all other ranks have
                       two traces as well */
        }
    }
}

static void reader_cleanup(reader_t *reader)
{
    size_t i;

    for (i = 0; i < reader->num_seen; ++i) {
        free(reader->seen[i].path);
    }
    free(reader->seen);
}

ucs_status_t predreg_traces_each(const char *path, predreg_trace_func_t *func,
                                 void *arg, size_t *left_out_p)
{
    reader_t reader = { .func = func, .arg = arg };
    ucs_status_t status, loaded;
    struct stat st;

    if (stat(path, &st) != 0) {
        predreg_error("'%s': %s; accepted: a trace, or a folder of traces",
                      path, strerror(errno));
        return UCS_ERR_NO_ELEM;
    }

    status = S_ISDIR(st.st_mode) ? read_folder(&reader, path) :
                                   read_file(&reader, path, &loaded);
    if (status == UCS_OK) {
        check_ranks(&reader);
    }

    if (left_out_p != NULL) {
        *left_out_p = reader.left_out;
    }

    reader_cleanup(&reader);
    return status;
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
