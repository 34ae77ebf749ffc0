/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slurm.h"
#include "preload.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXPORT "--export"


static int has_prefix(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

/* Whether a list of "NAME" and "NAME=VALUE" names a variable */
static int list_has(const char *list, const char *var)
{
    size_t length = strcspn(var, "=");

    for (;;) {
        if (!strncmp(list, var, length) && strchr(",=", list[length])) {
            return 1;
        }

        list += strcspn(list, ",");
        if (*list++ == '\0') {
            return 0;
        }
    }
}

/*
 * Append the first @a length characters of an element to the list that starts
 * at @a begin. If it sets LD_PRELOAD, our library is put in front of its value.
 *
 * @return 0, or -1 if there is no memory.
 */
static int list_append(char *list, size_t begin, const char *element,
                       size_t length, const char *preload)
{
    char *value, *merged;

    if (list[begin] != '\0') {
        strcat(list, ",");
    }

    if ((length <= strlen(PREDREG_PRELOAD)) ||
        !has_prefix(element, PREDREG_PRELOAD "=")) {
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
static size_t export_size(const char *value, char *const *vars,
                          const char *prefix)
{
    const char *preload = predreg_vars_preload(vars);
    size_t size         = strlen(prefix) + strlen(value) + 1;
    size_t elements     = 1;

    for (; *value != '\0'; ++value) {
        elements += (*value == ',');
    }

    for (; *vars != NULL; ++vars) {
        size += strlen(*vars) + 1;
    }

    return (preload == NULL) ? size : size + (strlen(preload) * elements);
}

char *predreg_slurm_export(const char *value, char *const *vars,
                           const char *prefix)
{
    const char *preload = predreg_vars_preload(vars);
    size_t begin        = strlen(prefix);
    char *const *var;
    size_t length;
    char *list;

    /* NONE and NIL cannot be combined with names. A list of names alone means
     * the same: nothing but these variables is exported */
    if (!strcasecmp(value, "NONE") || !strcasecmp(value, "NIL")) {
        value = "";
    }

    list = malloc(export_size(value, vars, prefix));
    if (list == NULL) {
        return NULL;
    }

    strcpy(list, prefix);
    while (*value != '\0') {
        length = strcspn(value, ",");
        if (list_append(list, begin, value, length, preload) != 0) {
            free(list);
            return NULL;
        }
        value += length + (value[length] == ',');
    }

    for (var = vars; *var != NULL; ++var) {
        if (!list_has(list + begin, *var)) {
            /* Only the name is listed: the value is in the environment, and may
             * contain commas */
            list_append(list, begin, *var, strcspn(*var, "="), NULL);
        }
    }

    return list;
}

/* @return the argument @a i, with all variables added if it is the list of an
 * option --export, or NULL if there is no memory. */
static const char *
with_export(const predreg_args_t *args, char *const *argv, size_t i)
{
    static const char prefix[] = EXPORT "=";

    if (!strcmp(argv[i - 1], EXPORT)) {
        return predreg_slurm_export(argv[i], args->vars, "");
    } else if (has_prefix(argv[i], prefix)) {
        return predreg_slurm_export(argv[i] + strlen(prefix), args->vars,
                                    prefix);
    }

    return argv[i];
}

int predreg_slurm_args(predreg_args_t *args, char *const *argv)
{
    int is_option = 1;
    int is_value  = 0;
    const char *arg;
    size_t i;

    predreg_args_add(args, argv[0]);
    for (i = 1; argv[i] != NULL; ++i) {
        arg = is_option ? with_export(args, argv, i) : argv[i];
        if (arg == NULL) {
            return -1;
        }
        predreg_args_add(args, arg);

        /* The options end at the first word that cannot be the value of an
         * option. All that follows belongs to the program */
        if (arg[0] == '-') {
            is_option = is_option && strcmp(arg, "--");
            is_value  = strchr(arg, '=') == NULL;
        } else {
            is_option = is_option && is_value;
            is_value  = 0;
        }
    }

    return 0;
}
