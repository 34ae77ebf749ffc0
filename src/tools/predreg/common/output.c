/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "output.h"
#include "command.h"
#include "trace_files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** @file output.c
 *
 * rename() replaces a file as a whole or not at all. If the program ends before, by an
 * error or by a signal that people send, it removes the temporary file.
 */


/* Path of the temporary file; NULL: there is none. The thread of the program writes it, and
 * the handler of its signals reads it */
static char *temporary;

/* The process whose file it is, and not one of those forked meanwhile; 0: no file was
 * opened so far */
static pid_t owner;


static void remove_temporary(void)
{
    if ((temporary != NULL) && (getpid() == owner)) {
        unlink(temporary);
    }
}

static void on_signal(int number)
{
    remove_temporary();
    signal(number, SIG_DFL);
    raise(number);
}

/* Have the temporary file removed if the program ends early. A signal that is ignored,
 * as under nohup, stays ignored */
static void watch_end(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    size_t i;

    owner = getpid();
    at_quick_exit(remove_temporary); /* For predreg_no_memory() */
    for (i = 0; i < ucs_static_array_size(signals); ++i) {
        if (signal(signals[i], on_signal) == SIG_IGN) {
            signal(signals[i], SIG_IGN);
        }
    }
}

static int is_standard(const char *name)
{
    return (name == NULL) || !strcmp(name, "-");
}

/* @return whether there is a file that the user has named; or a standard stream. */
static int look(const char *name, int standard, struct stat *st)
{
    return (is_standard(name) ? fstat(standard, st) : stat(name, st)) == 0;
}

static int is_same(const struct stat *a, const struct stat *b)
{
    return (a->st_dev == b->st_dev) && (a->st_ino == b->st_ino);
}

/* Whether the user's file is the input, or a trace in the folder that is the input */
static int is_input(const struct stat *output, const char *input)
{
    struct dirent **entries;
    int is_found, count;
    struct stat st;
    char *path;

    is_found = look(input, STDIN_FILENO, &st) && is_same(output, &st);
    count    = predreg_trace_names(input, &entries);
    if (count < 0) {
        return is_found; /* No folder */
    }

    while (count-- > 0) {
        path      = predreg_format("%s/%s", input, entries[count]->d_name);
        is_found |= (stat(path, &st) == 0) && is_same(output, &st);
        free(path);
        free(entries[count]);
    }
    free(entries);
    return is_found;
}

int predreg_output_check(const char *command, const char *name, const char *input,
                         int is_traces)
{
    const char *what;
    struct stat st;

    if (!look(name, STDOUT_FILENO, &st) || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
        return 0;
    }

    name = is_standard(name) ? "standard output" : name;
    what = is_input(&st, input)      ? "what is read" :
           predreg_is_trace(name, 0) ? "a trace" :
           is_traces                 ? NULL :
           S_ISDIR(st.st_mode)       ? "a folder" : NULL;
    return (what == NULL) ? 0 :
           predreg_error("%s: -o: '%s' is %s; accepted: another file", command, name, what);
}

/* Open the temporary file. Its permissions are those of the user's file, or those of a
 * new file.
 * @param [in] present  The user's file; NULL: there is none.
 * @return NULL if that fails, and errno says why. */
static FILE *open_temporary(const char *path, const struct stat *present)
{
    char *copy  = predreg_format("%s", path);
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (owner != getpid()) {
        watch_end();
    }

    temporary = predreg_format("%s/.ucx_predreg.XXXXXX", dirname(copy));
    free(copy);
    fd = ((present != NULL) && (access(path, W_OK) != 0)) ? -1 :
         mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        free(temporary);
        temporary = NULL;
        return NULL;
    }

    fchmod(fd, (present != NULL) ? (present->st_mode & 0777) : (0666 & ~mask));
    return predreg_check_memory(fdopen(fd, "w"));
}

static ucs_status_t write_error(const predreg_output_t *output, int error)
{
    predreg_error("%s: cannot write to '%s': %s", output->command, output->name,
                  strerror(error));
    return UCS_ERR_IO_ERROR;
}

ucs_status_t predreg_output_open(const char *command, const char *name,
                                 predreg_output_t *output)
{
    static const char *const streams[] = {"/dev/fd/", "/dev/std", "/proc/", NULL};
    struct stat st, standard;
    int exists;

    *output = (predreg_output_t){command, is_standard(name) ? "standard output" : name,
                                 NULL, stdout};
    exists  = look(name, STDOUT_FILENO, &st);
    if (is_standard(name) ||
        (exists && look(NULL, STDOUT_FILENO, &standard) && is_same(&st, &standard))) {
        return UCS_OK;
    }

    /* A link without a target, which lstat() finds, has nothing to be lost */
    if ((exists ? !S_ISREG(st.st_mode) : (lstat(name, &st) == 0)) ||
        predreg_is_any(name, streams, 1)) {
        output->stream = fopen(name, "w");
    } else {
        output->path   = exists ? realpath(name, NULL) : predreg_format("%s", name);
        output->stream = open_temporary(output->path, exists ? &st : NULL);
    }

    if (output->stream == NULL) {
        free(output->path);
        return write_error(output, errno);
    }
    return UCS_OK;
}

ucs_status_t predreg_output_close(predreg_output_t *output, ucs_status_t status)
{
    int error = errno;

    if (((output->stream == stdout) ? (fflush(stdout) | ferror(stdout)) :
                                      fclose(output->stream)) && (status == UCS_OK)) {
        status = UCS_ERR_IO_ERROR;
        error  = errno;
    }

    if (output->path != NULL) {
        if ((status == UCS_OK) && (rename(temporary, output->path) != 0)) {
            status = UCS_ERR_IO_ERROR;
            error  = errno;
        }
        if (status != UCS_OK) {
            remove_temporary();
        }
        free(temporary);
        temporary = NULL;
    }

    free(output->path);
    output->stream = NULL;
    return (status == UCS_ERR_IO_ERROR) ? write_error(output, error) : status;
}
