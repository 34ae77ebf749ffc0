/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The characters that ld.so(8) accepts between the libraries of LD_PRELOAD */
#define SEPARATORS " :"


static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash == NULL) ? path : slash + 1;
}

char *predreg_preload_join(const char *library, const char *present)
{
    const char *name = base_name(library);
    const char *entry, *entry_name;
    size_t length;
    char *value;

    if (present == NULL) {
        return strdup(library);
    }

    value = malloc(strlen(library) + strlen(present) + 2);
    if (value == NULL) {
        return NULL;
    }

    strcpy(value, library);
    for (entry = present; *entry != '\0'; entry += length) {
        entry += strspn(entry, SEPARATORS);
        length = strcspn(entry, SEPARATORS);

        for (entry_name = entry + length;
             (entry_name > entry) && (entry_name[-1] != '/'); --entry_name);
        if ((length == 0) ||
            (((size_t)(entry + length - entry_name) == strlen(name)) &&
             !strncmp(entry_name, name, strlen(name)))) {
            continue;
        }

        strcat(value, ":");
        strncat(value, entry, length);
    }

    return value;
}

int predreg_preload_has_library(const char *present)
{
    const size_t length = strlen(PREDREG_LIBRARY);
    const char *found;

    for (found = present;
         (found != NULL) &&
         ((found = strstr(found, PREDREG_LIBRARY)) != NULL); ++found) {
        if (((found == present) ||
             (strchr("/" SEPARATORS, found[-1]) != NULL)) &&
            (strchr(SEPARATORS, found[length]) != NULL)) {
            return 1;
        }
    }

    return 0;
}

char *predreg_preload_merge(const char *our_value, const char *user_value,
                            const char *prefix)
{
    char *library = NULL, *value = NULL, *merged = NULL;

    /* In our value this project's library comes first. What follows it was in
     * the environment, and is replaced by the user's value */
    library = strndup(our_value, strcspn(our_value, SEPARATORS));
    if (library == NULL) {
        return NULL;
    }

    value = predreg_preload_join(library, user_value);
    free(library);
    if (value == NULL) {
        return NULL;
    }

    if (asprintf(&merged, "%s%s", prefix, value) < 0) {
        merged = NULL;
    }
    free(value);
    return merged;
}
