/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"

#include <tools/predreg/common/command.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/** @file find.c
 *
 * The library is found beside this program, in the build tree or in the installation. So
 * an installation still works after it was moved. In LD_PRELOAD, only libraries of
 * sanitizers come before the library.
 */

/* The library's folder in a build tree, seen from the folder of the program */
#define BUILD_FOLDER "../../uct/ib/predreg/.libs"

#define NUM_PLACES 3

/* The characters that ld.so(8) accepts between the libraries of LD_PRELOAD */
#define SEPARATORS " :"

/* execvp() looks here if PATH is not set: confstr(_CS_PATH) of glibc */
#define DEFAULT_PATH "/bin:/usr/bin"


char *predreg_executable_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (length <= 0) {
        return predreg_format("%s", PREDREG_BINDIR);
    }

    path[length]        = '\0';
    *strrchr(path, '/') = '\0';
    return predreg_format("%s", path);
}

char *predreg_relative_folder(const char *folder, const char *other)
{
    const char *bin = PREDREG_BINDIR;
    char *path      = predreg_format("%s", folder);
    size_t i, common = 0;

    for (i = 0; (bin[i] != '\0') && (bin[i] == other[i]); ++i) {
        if (bin[i] == '/') {
            common = i;
        }
    }

    for (i = common; bin[i] != '\0'; ++i) {
        if ((bin[i] == '/') && (bin[i + 1] != '\0')) {
            path = predreg_append(path, "/..");
        }
    }

    return predreg_append(path, "%s", other + common);
}

/*
 * Make the path of a regular file absolute, so that every rank can use it. If there is
 * no such file, or it cannot be read, return NULL, and errno says why. A symbolic link is
 * not followed, because the name of the file tells whether this project's library is
 * preloaded already.
 */
static char *absolute_path(const char *path)
{
    const char *name = basename(path);
    char *absolute   = NULL;
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

    dir  = predreg_format("%.*s", (int)(name - path), path);
    real = realpath((name == path) ? "." : dir, NULL);
    if (real != NULL) {
        absolute = predreg_format("%s/%s", real, name);
    }

    free(real);
    free(dir);
    return absolute;
}

/*
 * Whether a file is our library, under any name: an ELF file with the library's own name
 * as a string, with a zero byte on both sides, as in the names for linking (SONAME)
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

/* Find the library at a path named by the user.
 * @return the absolute path, to be freed. NULL: there is no such file, or it is not this
 *         project's library, and the reason has been printed. */
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

/* Look for the library. A user who runs the program from a build tree wants the library
 * built with it, not the installed one.
 * @return NULL if there is none, and the reason has been printed. */
static char *search(const char *folder)
{
    char *libdir   = predreg_relative_folder(folder, PREDREG_LIBDIR);
    char *places[] = {
        predreg_format("%s/" BUILD_FOLDER "/" PREDREG_LIBRARY, folder),
        predreg_format("%s/" PREDREG_LIBRARY, libdir),
        predreg_format("%s", PREDREG_LIBDIR "/" PREDREG_LIBRARY)
    };
    char *found    = NULL;
    unsigned i;

    for (i = 0; (i < NUM_PLACES) && (found == NULL); ++i) {
        found = absolute_path(places[i]);
    }

    if (found == NULL) {
        predreg_error("%s was not found; looked for", PREDREG_LIBRARY);
        for (i = 0; i < NUM_PLACES; ++i) {
            predreg_error("  %s", places[i]);
        }
        predreg_error("install it, or name it with --library PATH");
    }

    for (i = 0; i < NUM_PLACES; ++i) {
        free(places[i]);
    }
    free(libdir);
    return found;
}

char *predreg_find_library(const char *folder, const char *wanted,
                           int *status_p)
{
    char *found = (wanted == NULL) ? search(folder) : named(wanted);

    if (found == NULL) {
        *status_p = PREDREG_EXIT_NOT_FOUND;
    } else if (strpbrk(found, " :") != NULL) {
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

/* Whether a library is a sanitizer of GCC or Clang, which ends the program unless the
 * library is loaded first */
static int is_sanitizer(const char *path)
{
    static const char *const names[] = {
        "libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libclang_rt.", NULL
    };

    return predreg_is_any(basename(path), names, 1);
}

char *predreg_preload_join(const char *library, const char *present)
{
    char *copy  = predreg_format("%s", (present == NULL) ? "" : present);
    char *first = predreg_format("%s", "");
    char *rest  = predreg_format("%s", "");
    char *value;

    predreg_for_each_word(path, copy, SEPARATORS) {
        if (is_sanitizer(path)) {
            first = predreg_append(first, "%s:", path);
        } else if (strcmp(basename(path), basename(library))) {
            rest = predreg_append(rest, ":%s", path);
        }
    }

    value = predreg_format("%s%s%s", first, library, rest);
    free(copy);
    free(first);
    free(rest);
    return value;
}

int predreg_preload_has_library(const char *present)
{
    char *copy = predreg_format("%s", (present == NULL) ? "" : present);
    int has    = 0;

    predreg_for_each_word(path, copy, SEPARATORS) {
        has |= !strcmp(basename(path), PREDREG_LIBRARY);
    }

    free(copy);
    return has;
}

char *predreg_preload_merge(const char *our_value, const char *user_value)
{
    char *copy = predreg_format("%s", our_value);
    char *value, *library, *saveptr;

    /* In our value, only libraries of sanitizers come before our library. All that comes
     * after our library is from the environment, and the user's value replaces it */
    for (library = strtok_r(copy, SEPARATORS, &saveptr);
         (library != NULL) && is_sanitizer(library);
         library = strtok_r(NULL, SEPARATORS, &saveptr));

    value = predreg_preload_join((library == NULL) ? "" : library, user_value);
    free(copy);
    return value;
}
