/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "costs_file.h"
#include "costs_key.h"
#include "costs_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER    "ucx-predreg"
#define FORMAT    "format=1"
#define DEPENDS   "depends="
#define COSTS     "costs="
#define END       "end"

/* All parts have a limit, and this is more than their sum */
#define MAX_FILE  8192
#define MAX_NAME  64


/* @return the folder of all cached files of the user, with one for ours to be
 * made in it; empty: there is none. */
static void base_folder(char path[PATH_MAX])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME");
    const char *home  = secure_getenv("HOME");
    int length        = 0;

    /* Relative ones are to be ignored, says the specification */
    if ((cache != NULL) && (cache[0] == '/')) {
        length = snprintf(path, PATH_MAX, "%s", cache);
    } else if ((home != NULL) && (home[0] == '/')) {
        length = snprintf(path, PATH_MAX, "%s/.cache", home);
    }

    if ((length <= 0) || (length >= PATH_MAX)) {
        path[0] = '\0';
    }
}

static void file_name(const char *depends, char name[MAX_NAME])
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

    for (; *depends != '\0'; ++depends) {
        hash = (hash ^ (unsigned char)*depends) * 0x100000001b3;
    }

    snprintf(name, MAX_NAME, "eager-%016lx.txt", hash);
}

/* Whether a file or folder belongs to this user and nobody else may write to
 * it, so that what is in it can be trusted */
static int is_own(int fd, mode_t type)
{
    struct stat st;

    return (fstat(fd, &st) == 0) && ((st.st_mode & S_IFMT) == type) &&
           (st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Open the folder in the user's cache folder that this library keeps its files
 * in. @return its descriptor; -1: it cannot be used, and the reason is set. */
static int open_folder(int is_made, const char **reason_p)
{
    char path[PATH_MAX];
    int base, fd;

    base_folder(path);
    if (path[0] == '\0') {
        *reason_p = "there is no cache folder";
        return -1;
    }

    /* ~/.cache itself may be a link: the user's home may be small */
    *reason_p = "the cache folder cannot be opened";
    if (is_made) {
        mkdir(path, S_IRWXU);
    }

    base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0) {
        return -1;
    }

    if (is_made) {
        mkdirat(base, FOLDER, S_IRWXU);
    }

    fd = openat(base, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(base);
    if ((fd >= 0) && !is_own(fd, S_IFDIR)) {
        *reason_p = "the cache folder is open to others";
        close(fd);
        return -1;
    }

    return fd;
}

/* @return the length of what was read, or -1: it does not fit. */
static ssize_t read_all(int fd, char *text, size_t max)
{
    size_t length = 0;
    ssize_t ret;

    do {
        ret = read(fd, text + length, max - length);
        if (ret > 0) {
            length += ret;
        }
    } while ((ret > 0) || ((ret < 0) && (errno == EINTR)));

    return ((ret == 0) && (length < max)) ? (ssize_t)length : -1;
}

static const char *parse(char *text, const char *depends,
                         ucs_reuse_costs_t *costs)
{
    int is_about = 0, has_costs = 0, has_end = 0;
    char *line, *saveptr;

    line = strtok_r(text, "\n", &saveptr);
    if ((line == NULL) || strcmp(line, FORMAT)) {
        return "the file has another format";
    }

    while ((line = strtok_r(NULL, "\n", &saveptr)) != NULL) {
        if (!strncmp(line, DEPENDS, strlen(DEPENDS))) {
            is_about = !strcmp(line + strlen(DEPENDS), depends);
        } else if (!strncmp(line, COSTS, strlen(COSTS))) {
            has_costs = uct_predreg_costs_parse(line + strlen(COSTS), costs);
        } else if (!strcmp(line, END)) {
            has_end = 1;
        }
    }

    return !is_about ? "the file is about something else" :
           (!has_costs || !has_end) ? "the file is damaged" : NULL;
}

const char *uct_predreg_costs_load(const char *depends,
                                   ucs_reuse_costs_t *costs)
{
    const char *reason;
    char text[MAX_FILE + 1];
    char name[MAX_NAME];
    ssize_t length;
    int folder, fd;

    if (depends[0] == '\0') {
        return "what they depend on has too long a name";
    }

    folder = open_folder(0, &reason);
    if (folder < 0) {
        return reason;
    }

    /* A pipe of that name would have us wait for a writer */
    file_name(depends, name);
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    if (fd < 0) {
        return "there is no file that can be opened";
    }

    if (!is_own(fd, S_IFREG)) {
        reason = "the file is open to others";
        goto out;
    }

    length = read_all(fd, text, MAX_FILE);
    if (length < 0) {
        reason = "the file cannot be read";
        goto out;
    }

    text[length] = '\0';
    reason       = parse(text, depends, costs);

out:
    close(fd);
    return reason;
}

static int write_all(int fd, const char *text, size_t length)
{
    ssize_t ret;

    while (length > 0) {
        ret = write(fd, text, length);
        if ((ret < 0) && (errno != EINTR)) {
            return 0;
        }

        if (ret > 0) {
            text   += ret;
            length -= ret;
        }
    }

    return 1;
}

/* @return the length of the text */
static size_t format(char text[MAX_FILE], const char *depends,
                     const ucs_reuse_costs_t *costs)
{
    char numbers[UCT_PREDREG_COSTS_TEXT_MAX];
    time_t now  = time(NULL);
    char date[] = "0000-00-00T00:00:00Z";
    struct tm tm;

    UCS_STATIC_ASSERT(UCT_PREDREG_COSTS_TEXT_MAX + UCT_PREDREG_COSTS_KEY_MAX +
                      1024 < MAX_FILE);
    if (gmtime_r(&now, &tm) != NULL) {
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
    }

    uct_predreg_costs_print(costs, numbers);
    return snprintf(text, MAX_FILE,
                    FORMAT "\n"
                    "# What ucx-predreg has measured of small sends. Without "
                    "this file, or by\n"
                    "# 'ucx_predreg calibrate', it is measured again.\n"
                    "measured=%s\n"
                    DEPENDS "%s\n"
                    "# Picoseconds: registering and deregistering, each page "
                    "in addition, finding a\n"
                    "# buffer, and copying %u, %u and so on to %u bytes\n"
                    COSTS "%s\n"
                    END "\n", date, depends, UCS_REUSE_STEP,
                    2 * UCS_REUSE_STEP, UCS_REUSE_MAX_LENGTH, numbers);
}

/* Write it under a name that nobody else uses: the hash is of a host, and this
 * process has one thread that gets this time */
static const char *write_file(int folder, const char *name, const char *text,
                              size_t length)
{
    const char *reason = "the file cannot be written";
    char temporary[2 * MAX_NAME];
    struct timespec now;
    int fd, is_written;

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(temporary, sizeof(temporary), ".%s.%d.%ld", name, getpid(),
             now.tv_nsec);
    fd = openat(folder, temporary,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return reason;
    }

    is_written = write_all(fd, text, length);
    is_written = (close(fd) == 0) && is_written;
    if (is_written && (renameat(folder, temporary, folder, name) == 0)) {
        return NULL;
    }

    unlinkat(folder, temporary, 0);
    return reason;
}

const char *uct_predreg_costs_store(const char *depends,
                                    const ucs_reuse_costs_t *costs)
{
    const char *reason;
    char text[MAX_FILE];
    char name[MAX_NAME];
    int folder;

    if (depends[0] == '\0') {
        return "what they depend on has too long a name";
    }

    folder = open_folder(1, &reason);
    if (folder < 0) {
        return reason;
    }

    file_name(depends, name);
    reason = write_file(folder, name, text, format(text, depends, costs));
    close(folder);
    return reason;
}

void uct_predreg_costs_path(const char *depends, char path[PATH_MAX])
{
    char name[MAX_NAME];
    size_t length;

    base_folder(path);
    length = strlen(path);
    if ((length == 0) || (depends[0] == '\0')) {
        path[0] = '\0';
        return;
    }

    file_name(depends, name);
    if (snprintf(path + length, PATH_MAX - length, "/" FOLDER "/%s", name) >=
        (int)(PATH_MAX - length)) {
        path[0] = '\0';
    }
}
