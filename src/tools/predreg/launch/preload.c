/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <tools/predreg/common/message.h>

#include <stdlib.h>
#include <string.h>

/* The characters that ld.so(8) accepts between the libraries of LD_PRELOAD */
#define SEPARATORS " :"


static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash == NULL) ? path : slash + 1;
}

/* Whether it ends the program if it is not the first library that is loaded: GCC's and
 * Clang's sanitizers */
static int is_sanitizer(const char *path)
{
    static const char *const names[] = {
        "libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libclang_rt."
    };
    unsigned i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        if (!strncmp(base_name(path), names[i], strlen(names[i]))) {
            return 1;
        }
    }

    return 0;
}

char *predreg_preload_join(const char *library, const char *present)
{
    char *copy  = predreg_format("%s", (present == NULL) ? "" : present);
    char *first = predreg_format("%s", "");
    char *rest  = predreg_format("%s", "");
    char *path, *saveptr, *value;

    for (path = strtok_r(copy, SEPARATORS, &saveptr); path != NULL;
         path = strtok_r(NULL, SEPARATORS, &saveptr)) {
        if (is_sanitizer(path)) {
            first = predreg_append(first, "%s:", path);
        } else if (strcmp(base_name(path), base_name(library))) {
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
    char *path, *saveptr;

    for (path = strtok_r(copy, SEPARATORS, &saveptr); path != NULL;
         path = strtok_r(NULL, SEPARATORS, &saveptr)) {
        has |= !strcmp(base_name(path), PREDREG_LIBRARY);
    }

    free(copy);
    return has;
}

char *predreg_preload_merge(const char *our_value, const char *user_value)
{
    char *copy = predreg_format("%s", our_value);
    char *value, *library, *saveptr;

    /* In our value only libraries of sanitizers come before this project's. All
     * others were in the environment, and are replaced by the user's value */
    for (library = strtok_r(copy, SEPARATORS, &saveptr);
         (library != NULL) && is_sanitizer(library);
         library = strtok_r(NULL, SEPARATORS, &saveptr));

    value = predreg_preload_join((library == NULL) ? "" : library, user_value);
    free(copy);
    return value;
}
