/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "hydra.h"
#include "preload.h"

#include <string.h>


/* Options that set a variable: for all programs, for one. What follows is NAME
 * and VALUE, or NAME=VALUE (seen with 4.0) */
static const char *const options[] = {"genv", "env"};


/* @return whether the command of the user already sets this variable for all
 * programs. */
static int user_sets(char *const *argv, const char *var)
{
    const char *set;

    for (; argv[0] != NULL; ++argv) {
        set = predreg_args_option(argv[0], options[0]);
        if ((set != NULL) && (*set == '\0')) {
            set = argv[1];
        }
        if ((set != NULL) && predreg_var_is(set, var)) {
            return 1;
        }
    }

    return 0;
}

static int add_vars(predreg_args_t *args, char *const *argv)
{
    char *const *var;
    char *name;

    for (var = args->vars; *var != NULL; ++var) {
        if (user_sets(argv, *var)) {
            continue;
        }

        name = strndup(*var, strcspn(*var, "="));
        if (name == NULL) {
            return -1;
        }

        predreg_args_add(args, "-genv");
        predreg_args_add(args, name);
        predreg_args_add(args, predreg_var_value(*var));
    }

    return 0;
}

/*
 * Find the value that the user gives to LD_PRELOAD.
 *
 * @param [out] index_p  Which argument it is in, from @a argv on.
 *
 * @return the value; NULL if there is no such option at @a argv.
 */
static const char *preload_value(char *const *argv, size_t *index_p)
{
    const char *var = predreg_args_option(argv[0], options[0]);
    const char *value;

    if (var == NULL) {
        var = predreg_args_option(argv[0], options[1]);
    }

    *index_p = 0;
    if ((var != NULL) && (*var == '\0')) {
        var = argv[++*index_p];
    }

    if ((var == NULL) || !predreg_var_is(var, PREDREG_PRELOAD)) {
        return NULL;
    }

    value = predreg_var_value(var);
    return (value == NULL) ? argv[++*index_p] : value;
}

/* If -genv is given twice for one name, the first one counts (seen with 4.0);
 * -env counts more than both */
int predreg_hydra_args(predreg_args_t *args, char *const *argv)
{
    const char *value, *arg;
    size_t index;

    predreg_args_add(args, *argv);
    if (add_vars(args, argv++) != 0) {
        return -1;
    }

    for (; *argv != NULL; ++argv) {
        value = preload_value(argv, &index);
        if (value == NULL) {
            predreg_args_add(args, *argv);
            continue;
        }

        for (; index > 0; --index) {
            predreg_args_add(args, *argv++);
        }

        arg = predreg_args_merge(args, *argv, value);
        if (arg == NULL) {
            return -1;
        }
        predreg_args_add(args, arg);
    }

    return 0;
}
