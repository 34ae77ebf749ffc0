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


/* What names of the libraries of sanitizers begin with: GCC's and Clang's */
static const char *const sanitizers[] = {
    "libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libclang_rt."
};


/* A library in a value of LD_PRELOAD */
typedef struct {
    const char *path;
    size_t     length;
    const char *name;       /* Its base name */
    size_t     name_length;
} entry_t;


/* Read the next library, from *next_p on. @return 0 if there is none */
static int next_entry(const char **next_p, entry_t *entry)
{
    const char *end;

    entry->path   = *next_p + strspn(*next_p, SEPARATORS);
    entry->length = strcspn(entry->path, SEPARATORS);
    end           = entry->path + entry->length;
    *next_p       = end;

    for (entry->name = end;
         (entry->name > entry->path) && (entry->name[-1] != '/');
         --entry->name);
    entry->name_length = end - entry->name;
    return entry->length > 0;
}

/* Whether it ends the program if it is not the first library that is loaded */
static int is_sanitizer(const entry_t *entry)
{
    unsigned i;

    for (i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); ++i) {
        if (!strncmp(entry->name, sanitizers[i], strlen(sanitizers[i]))) {
            return 1;
        }
    }

    return 0;
}

static int is_same_name(const entry_t *entry, const entry_t *other)
{
    return (entry->name_length == other->name_length) &&
           !strncmp(entry->name, other->name, entry->name_length);
}

static void append(char *value, const entry_t *entry)
{
    if (*value != '\0') {
        strcat(value, ":");
    }
    strncat(value, entry->path, entry->length);
}

/* Append to a value those libraries of the present one that belong to
 * sanitizers, or those that do not; but no other file that has the name of our
 * library */
static void append_some(char *value, const char *present, int of_sanitizers,
                        const entry_t *library)
{
    entry_t entry;

    while (next_entry(&present, &entry)) {
        if ((is_sanitizer(&entry) == of_sanitizers) &&
            !is_same_name(&entry, library)) {
            append(value, &entry);
        }
    }
}

char *predreg_preload_join(const char *library, const char *present)
{
    const char *next = library;
    entry_t ours;
    char *value;

    if ((present == NULL) || !next_entry(&next, &ours)) {
        return strdup(library);
    }

    value = calloc(1, strlen(library) + strlen(present) + 2);
    if (value == NULL) {
        return NULL;
    }

    append_some(value, present, 1, &ours);
    append(value, &ours);
    append_some(value, present, 0, &ours);
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
    entry_t entry;

    /* In our value only libraries of sanitizers come before this project's. All
     * others were in the environment, and are replaced by the user's value */
    do {
        if (!next_entry(&our_value, &entry)) {
            return NULL;
        }
    } while (is_sanitizer(&entry));

    library = strndup(entry.path, entry.length);
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
