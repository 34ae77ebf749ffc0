/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_folder.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>
#include <trace/trace.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACE_FILES "*" PREDREG_TRACE_SUFFIX

/* How many bytes of a file are enough to recognise a trace */
#define HEAD_SIZE   64


/* Whether a file is a trace. A file that is named as ranks name their traces is
 * one, even if it is empty */
static int is_trace(DIR *dir, const char *name)
{
    char head[HEAD_SIZE];
    ssize_t size;
    int fd;

    if ((fnmatch("rank-[0-9]*" TRACE_FILES, name, 0) == 0) ||
        (fnmatch("proc." TRACE_FILES, name, 0) == 0)) {
        return 1;
    }

    /* Opening a pipe would wait for its writer otherwise */
    fd = openat(dirfd(dir), name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }

    size = read(fd, head, sizeof(head));
    close(fd);
    return (size > 0) && ucs_rcache_trace_is_trace(head, size);
}

/* Check a file that would be read as a trace of this job: it must be one that
 * may be removed */
static int check_file(DIR *dir, const char *folder, const char *name, int force)
{
    if (!force) {
        predreg_error("-o: '%s' has traces in it, as %s; accepted: another "
                      "folder, or --force to remove them", folder, name);
        return -1;
    }

    if (!is_trace(dir, name)) {
        predreg_error("--force: '%s' in '%s' is no trace and is not removed, "
                      "but would be read as one; accepted: another folder",
                      name, folder);
        return -1;
    }

    return 0;
}

static int remove_file(DIR *dir, const char *folder, const char *name)
{
    if (unlinkat(dirfd(dir), name, 0) == 0) {
        return 0;
    }

    predreg_error("--force: cannot remove '%s' from '%s': %s", name, folder,
                  strerror(errno));
    return -1;
}

/* @return the name of the next file that would be read as a trace, or NULL */
static const char *next_file(DIR *dir)
{
    struct dirent *entry;

    while ((entry = readdir(dir)) != NULL) {
        if (fnmatch(TRACE_FILES, entry->d_name, 0) == 0) {
            return entry->d_name;
        }
    }

    return NULL;
}

int predreg_trace_folder_clear(const char *folder)
{
    int ret = 0;
    const char *name;
    DIR *dir;

    dir = opendir(folder);
    if (dir == NULL) {
        predreg_error("--force: '%s': %s", folder, strerror(errno));
        return PREDREG_EXIT_USAGE;
    }

    while ((ret == 0) && ((name = next_file(dir)) != NULL)) {
        ret = remove_file(dir, folder, name);
    }

    closedir(dir);
    return (ret == 0) ? 0 : PREDREG_EXIT_USAGE;
}

int predreg_trace_folder_prepare(const char *folder, int force, int *is_new_p)
{
    int ret = 0;
    const char *name;
    DIR *dir;

    *is_new_p = (mkdir(folder, 0777) == 0);
    if (!*is_new_p && (errno != EEXIST)) {
        predreg_error("-o: cannot make '%s': %s; accepted: a folder in one "
                      "that can be written to", folder, strerror(errno));
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

    while ((ret == 0) && ((name = next_file(dir)) != NULL)) {
        ret = check_file(dir, folder, name, force);
    }

    closedir(dir);
    return (ret == 0) ? 0 : PREDREG_EXIT_USAGE;
}
