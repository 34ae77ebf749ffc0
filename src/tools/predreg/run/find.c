/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "find.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/preload.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the library is in a build tree, seen from the folder of the program */
#define BUILD_FOLDER "../../uct/ib/predreg/.libs"

#define MAX_PLACES 3

/* Where execvp() looks if PATH is not set: confstr(_CS_PATH) of glibc */
#define DEFAULT_PATH "/bin:/usr/bin"


char *predreg_executable_folder(void)
{
    char path[PATH_MAX];
    ssize_t length;
    char *slash;

    length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length < 0) {
        return NULL;
    }

    path[length] = '\0';
    slash        = strrchr(path, '/');
    if (slash == NULL) {
        return NULL;
    }

    *slash = '\0';
    return predreg_format("%s", path);
}

char *predreg_relative_folder(const char *folder, const char *lib)
{
    const char *bin = PREDREG_BINDIR;
    char *path      = predreg_format("%s", folder);
    size_t i, common = 0;
    char *longer;

    for (i = 0; (bin[i] != '\0') && (bin[i] == lib[i]); ++i) {
        if (bin[i] == '/') {
            common = i;
        }
    }

    for (i = common; bin[i] != '\0'; ++i) {
        if ((bin[i] == '/') && (bin[i + 1] != '\0')) {
            longer = predreg_format("%s/..", path);
            free(path);
            path = longer;
        }
    }

    longer = predreg_format("%s%s", path, lib + common);
    free(path);
    return longer;
}

/*
 * Make the path of a file absolute, so that every rank can use it; NULL and
 * errno if that fails. A symbolic link is not followed, because the name of the
 * file tells whether this project's library is preloaded already.
 */
static char *absolute_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *absolute    = NULL;
    struct stat st;
    char *dir, *real;

    if (stat(path, &st) != 0) {
        return NULL;
    }

    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return NULL;
    }

    if (access(path, R_OK) != 0) {
        return NULL;
    }

    dir  = (slash == NULL) ? predreg_format(".") :
                             predreg_format("%.*s/", (int)(slash - path), path);
    real = realpath(dir, NULL);
    if (real != NULL) {
        absolute = predreg_format("%s/%s", real,
                                  (slash == NULL) ? path : slash + 1);
    }

    free(real);
    free(dir);
    return absolute;
}

/*
 * Whether a file is our library: it is an ELF file, and has the library's own
 * name as a string, with a zero byte on both sides, as the names that it is
 * linked by (SONAME) have. Its file may be called otherwise.
 */
static int is_our_library(const char *path)
{
    static const char name[] = "\0" PREDREG_LIBRARY; /* And a zero at its end */
    void *content            = MAP_FAILED;
    int is_ours              = 0;
    struct stat st;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }

    if ((fstat(fd, &st) == 0) && (st.st_size >= SELFMAG)) {
        content = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }

    if (content != MAP_FAILED) {
        is_ours = (memcmp(content, ELFMAG, SELFMAG) == 0) &&
                  (memmem(content, st.st_size, name, sizeof(name)) != NULL);
        munmap(content, st.st_size);
    }

    close(fd);
    return is_ours;
}

/* Find the library that the user has named.
 * @return NULL if it is none, and the reason has been printed. */
static char *named(const char *path)
{
    char *found = absolute_path(path);

    if (found == NULL) {
        predreg_error("--library: '%s': %s; accepted: the path of %s", path,
                      strerror(errno), PREDREG_LIBRARY);
    } else if (!is_our_library(found)) {
        predreg_error("--library: '%s' is not %s of this project; accepted: "
                      "the path of that library", path, PREDREG_LIBRARY);
        free(found);
        found = NULL;
    }

    return found;
}

static char *search(const char *folder, int *status_p)
{
    unsigned count = 0;
    char *found    = NULL;
    char *places[MAX_PLACES];
    char *libdir;
    unsigned i;

    /* The build tree comes first: a user who runs the program from there wants
     * the library that was built with it, not the one that is installed */
    if (folder != NULL) {
        places[count++] = predreg_format("%s/" BUILD_FOLDER "/%s", folder,
                                         PREDREG_LIBRARY);
        libdir          = predreg_relative_folder(folder, PREDREG_LIBDIR);
        places[count++] = predreg_format("%s/%s", libdir, PREDREG_LIBRARY);
        free(libdir);
    }
    places[count++] = predreg_format("%s/%s", PREDREG_LIBDIR, PREDREG_LIBRARY);

    for (i = 0; (i < count) && (found == NULL); ++i) {
        found = absolute_path(places[i]);
    }

    if (found == NULL) {
        predreg_error("%s was not found; looked for", PREDREG_LIBRARY);
        for (i = 0; i < count; ++i) {
            predreg_error("  %s", places[i]);
        }
        predreg_error("install it, or name it with --library PATH");
        *status_p = PREDREG_EXIT_NOT_FOUND;
    }

    for (i = 0; i < count; ++i) {
        free(places[i]);
    }
    return found;
}

char *predreg_find_library(const char *folder, const char *wanted,
                           int *status_p)
{
    char *found;

    if (wanted == NULL) {
        found = search(folder, status_p);
    } else {
        found = named(wanted);
        if (found == NULL) {
            *status_p = PREDREG_EXIT_NOT_FOUND;
        }
    }

    if ((found != NULL) && (strpbrk(found, " :") != NULL)) {
        predreg_error("'%s' cannot be preloaded: LD_PRELOAD takes no path with "
                      "a space or a colon", found);
        *status_p = PREDREG_EXIT_USAGE;
        free(found);
        found = NULL;
    }

    return found;
}

static int is_executable(const char *path)
{
    struct stat st;

    return (stat(path, &st) == 0) && S_ISREG(st.st_mode) &&
           (access(path, X_OK) == 0);
}

char *predreg_find_command(const char *name)
{
    const char *folders = getenv("PATH");
    size_t length;
    char *path;

    if (strchr(name, '/') != NULL) {
        return is_executable(name) ? predreg_format("%s", name) : NULL;
    }

    if (folders == NULL) {
        folders = DEFAULT_PATH;
    }

    while ((folders != NULL) && (name[0] != '\0')) {
        length = strcspn(folders, ":");
        path   = predreg_format("%.*s%s%s", (int)length, folders,
                                (length == 0) ? "./" : "/", name);
        if (is_executable(path)) {
            return path;
        }

        folders = (folders[length] == ':') ? (folders + length + 1) : NULL;
        free(path);
    }

    return NULL;
}

int predreg_has_command(const char *name)
{
    char *path = predreg_find_command(name);
    int found  = (path != NULL);

    free(path);
    return found;
}
