/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "varlist.h"
#include "args.h"
#include "preload.h"

#include <stdlib.h>
#include <string.h>


/* Whether a list of "NAME" and "NAME=VALUE" names a variable */
static int list_has(const char *list, const char *var, char separator)
{
    const char separators[] = {separator, '\0'};
    size_t length           = strcspn(var, "=");

    for (;;) {
        if (!strncmp(list, var, length) &&
            ((list[length] == separator) || strchr("=", list[length]))) {
            return 1;
        }

        list += strcspn(list, separators);
        if (*list++ == '\0') {
            return 0;
        }
    }
}

/*
 * Append the first @a length characters of an element to the list that starts
 * at @a begin. If it sets LD_PRELOAD, our library is put in front of its value,
 * unless @a preload is NULL.
 *
 * @return 0, or -1 if there is no memory.
 */
static int list_append(char *list, size_t begin, const char *element,
                       size_t length, const char *preload, char separator)
{
    char *value, *merged;

    if (list[begin] != '\0') {
        strncat(list, &separator, 1);
    }

    if ((preload == NULL) || (length <= strlen(PREDREG_PRELOAD)) ||
        strncmp(element, PREDREG_PRELOAD "=", strlen(PREDREG_PRELOAD "="))) {
        strncat(list, element, length);
        return 0;
    }

    value = strndup(element, length);
    if (value == NULL) {
        return -1;
    }

    merged = predreg_preload_merge(predreg_var_value(preload),
                                   predreg_var_value(value),
                                   PREDREG_PRELOAD "=");
    free(value);
    if (merged == NULL) {
        return -1;
    }

    strcat(list, merged);
    free(merged);
    return 0;
}

/* @return the room for the prefix, for the present list with our LD_PRELOAD
 * joined to each of its elements, and for all variables */
static size_t list_size(const char *value, char *const *vars,
                        const char *prefix, char separator)
{
    const char *preload = predreg_vars_preload(vars);
    size_t size         = strlen(prefix) + strlen(value) + 1;
    size_t elements     = 1;

    for (; *value != '\0'; ++value) {
        elements += (*value == separator);
    }

    for (; *vars != NULL; ++vars) {
        size += strlen(*vars) + 1;
    }

    return (preload == NULL) ? size : size + (strlen(preload) * elements);
}

char *predreg_varlist_add(const char *value, char *const *vars,
                          const char *prefix, char separator, int with_values)
{
    const char separators[] = {separator, '\0'};
    const char *preload     = predreg_vars_preload(vars);
    size_t begin            = strlen(prefix);
    char *const *var;
    size_t length;
    char *list;

    list = malloc(list_size(value, vars, prefix, separator));
    if (list == NULL) {
        return NULL;
    }

    strcpy(list, prefix);
    while (*value != '\0') {
        length = strcspn(value, separators);
        if (list_append(list, begin, value, length, preload, separator) != 0) {
            free(list);
            return NULL;
        }
        value += length + (value[length] == separator);
    }

    for (var = vars; *var != NULL; ++var) {
        if (!list_has(list + begin, *var, separator)) {
            list_append(list, begin, *var,
                        with_values ? strlen(*var) : strcspn(*var, "="), NULL,
                        separator);
        }
    }

    return list;
}
