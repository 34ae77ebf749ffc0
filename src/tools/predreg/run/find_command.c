/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "find_command.h"

#include <tools/predreg/common/message.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where execvp() looks if PATH is not set: confstr(_CS_PATH) of glibc */
#define DEFAULT_PATH "/bin:/usr/bin"


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
