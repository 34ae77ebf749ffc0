/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "args.h"
#include "preload.h"

#include <stdlib.h>
#include <string.h>

/* The most words that setting a variable takes: -genv NAME VALUE */
#define WORDS_PER_VAR 3


static size_t vector_length(char *const *vector)
{
    size_t length;

    for (length = 0; vector[length] != NULL; ++length);
    return length;
}

int predreg_args_init(predreg_args_t *args, char *const *argv,
                      char *const *vars)
{
    size_t nargs = vector_length(argv);
    size_t nvars = vector_length(vars);

    /* At worst every argument is a ':' that begins another program, for which
     * all variables are set again */
    args->vars    = vars;
    args->preload = predreg_vars_preload(vars);
    args->count   = 0;
    args->out     = calloc((nargs + 1) * (WORDS_PER_VAR * nvars + 1) + 1,
                           sizeof(*args->out));
    return (args->out == NULL) ? -1 : 0;
}

void predreg_args_add(predreg_args_t *args, const char *arg)
{
    args->out[args->count++] = (char*)arg;
}

int predreg_var_is(const char *var, const char *other)
{
    size_t length = strcspn(var, "=");

    return (length == strcspn(other, "=")) &&
           (strncmp(var, other, length) == 0);
}

const char *predreg_var_value(const char *var)
{
    const char *equals = strchr(var, '=');

    return (equals == NULL) ? NULL : equals + 1;
}

const char *predreg_vars_preload(char *const *vars)
{
    for (; *vars != NULL; ++vars) {
        if (predreg_var_is(*vars, PREDREG_PRELOAD)) {
            return *vars;
        }
    }

    return NULL;
}

const char *predreg_args_option(const char *arg, const char *name)
{
    size_t length = strlen(name);

    if (arg[0] != '-') {
        return NULL;
    }

    arg += (arg[1] == '-') ? 2 : 1;
    if (strncmp(arg, name, length)) {
        return NULL;
    }

    arg += length;
    if (*arg == '=') {
        return arg + 1;
    }
    return (*arg == '\0') ? arg : NULL;
}

char *predreg_args_merge(const predreg_args_t *args, const char *arg,
                         const char *value)
{
    char *prefix = strndup(arg, value - arg);
    char *merged;

    if (prefix == NULL) {
        return NULL;
    }

    merged = predreg_preload_merge(predreg_var_value(args->preload), value,
                                   prefix);
    free(prefix);
    return merged;
}
