/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "record.h"
#include "start.h"

#include <tools/predreg/common/message.h>
#include <trace/trace.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREDREG_RECORD_FOLDER "predreg.traces"
#define PREDREG_RECORD_FILES  "*.trace"

/* Enough of a file to know a trace by */
#define PREDREG_RECORD_HEAD   64


static struct {
    const char *folder;
    int        force;
} predreg_record_opts = {
    .folder = PREDREG_RECORD_FOLDER
};


static void predreg_record_usage(void)
{
    printf("usage: ucx_predreg record [OPTIONS] [--] COMMAND [ARGS...]\n"
           "\n"
           "Run COMMAND as ucx_predreg run does, and write a trace of each rank\n"
           "to a folder: what it communicated from which buffers, and what was\n"
           "registered for it.\n"
           "\n"
           "  -o DIR              the folder (" PREDREG_RECORD_FOLDER "); it is "
           "made if need be,\n"
           "                      and must not have traces in it\n"
           "  --force             remove the traces that are in it\n"
           PREDREG_RUN_HELP);
}

static void predreg_record_option(int option, const char *value)
{
    if (option == 'o') {
        predreg_record_opts.folder = value;
    } else {
        predreg_record_opts.force = 1;
    }
}

/* Whether this is a trace, or one as a rank names it that has come to nothing */
static int predreg_record_is_ours(DIR *dir, const char *name)
{
    char head[PREDREG_RECORD_HEAD];
    ssize_t size;
    int fd;

    if ((fnmatch("rank-[0-9]*" PREDREG_RECORD_FILES, name, 0) == 0) ||
        (fnmatch("proc." PREDREG_RECORD_FILES, name, 0) == 0)) {
        return 1;
    }

    /* Not to wait for the writer of a pipe */
    fd = openat(dirfd(dir), name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }

    size = read(fd, head, sizeof(head));
    close(fd);
    return (size > 0) && ucs_rcache_trace_is_trace(head, size);
}

static int predreg_record_check(DIR *dir, const char *folder, const char *name)
{
    if (!predreg_record_opts.force) {
        predreg_error("-o: '%s' has traces in it, as %s; accepted: another "
                      "folder, or --force to remove them", folder, name);
        return -1;
    }

    if (!predreg_record_is_ours(dir, name)) {
        predreg_error("--force: '%s' in '%s' is no trace and is not removed, but "
                      "would be read as one; accepted: another folder", name,
                      folder);
        return -1;
    }

    return 0;
}

static int predreg_record_remove(DIR *dir, const char *folder, const char *name)
{
    if (unlinkat(dirfd(dir), name, 0) == 0) {
        return 0;
    }

    predreg_error("--force: cannot remove '%s' from '%s': %s", name, folder,
                  strerror(errno));
    return -1;
}

/* Ranks of an earlier job would be taken for some of this one */
static int predreg_record_for_each(DIR *dir,
                                   int (*func)(DIR *dir, const char *folder,
                                               const char *name))
{
    struct dirent *entry;

    while ((entry = readdir(dir)) != NULL) {
        if ((fnmatch(PREDREG_RECORD_FILES, entry->d_name, 0) == 0) &&
            (func(dir, predreg_record_opts.folder, entry->d_name) != 0)) {
            return -1;
        }
    }

    return 0;
}

/* Remove what has been checked */
static int predreg_record_start(void)
{
    const char *folder = predreg_record_opts.folder;
    int ret;
    DIR *dir;

    if (!predreg_record_opts.force) {
        return 0;
    }

    dir = opendir(folder);
    if (dir == NULL) {
        predreg_error("--force: '%s': %s", folder, strerror(errno));
        return PREDREG_EXIT_USAGE;
    }

    ret = predreg_record_for_each(dir, predreg_record_remove);
    closedir(dir);
    return (ret == 0) ? 0 : PREDREG_EXIT_USAGE;
}

static int predreg_record_prepare(void)
{
    const char *folder = predreg_record_opts.folder;
    char *absolute;
    int ret;
    DIR *dir;

    if ((mkdir(folder, 0777) != 0) && (errno != EEXIST)) {
        predreg_error("-o: cannot make '%s': %s; accepted: a folder in one that "
                      "can be written to", folder, strerror(errno));
        return PREDREG_EXIT_USAGE;
    }

    dir = opendir(folder);
    if ((dir == NULL) || (access(folder, W_OK | X_OK) != 0)) {
        predreg_error("-o: '%s': %s; accepted: a folder that can be written to",
                      folder, strerror(errno));
        if (dir != NULL) {
            closedir(dir);
        }
        return PREDREG_EXIT_USAGE;
    }

    ret = predreg_record_for_each(dir, predreg_record_check);
    closedir(dir);
    if (ret != 0) {
        return PREDREG_EXIT_USAGE;
    }

    absolute = predreg_absolute_path("-o", folder);
    if (absolute == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    predreg_set(PREDREG_KNOB_TRACE, absolute);
    free(absolute);
    return 0;
}

int predreg_record(int argc, char **argv)
{
    static const struct option options[] = {
        PREDREG_RUN_LONG_OPTIONS,
        {"force", no_argument, NULL, 'f'},
        {NULL, 0, NULL, 0}
    };
    static const predreg_runner_t runner = {
        .name          = "record",
        .short_options = PREDREG_RUN_SHORT_OPTIONS "o:",
        .long_options  = options,
        .usage         = predreg_record_usage,
        .option        = predreg_record_option,
        .prepare       = predreg_record_prepare,
        .start         = predreg_record_start
    };

    return predreg_run_command(argc, argv, &runner);
}
