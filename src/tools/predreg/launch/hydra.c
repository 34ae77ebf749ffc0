/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "hydra.h"
#include "preload.h"

#include <string.h>


/* @return whether the command of the user already sets this variable for all
 * ranks, with -genv. Then it must not be set again. */
static int user_sets(char *const *argv, const char *var)
{
    for (; argv[0] != NULL; ++argv) {
        if (!strcmp(argv[0], "-genv") && (argv[1] != NULL) &&
            predreg_var_is(argv[1], var)) {
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

/* Whether an argument is the value that -genv or -env gives to LD_PRELOAD */
static int is_preload_value(char *const *argv, size_t i)
{
    return (i >= 3) && !strcmp(argv[i - 1], PREDREG_PRELOAD) &&
           (!strcmp(argv[i - 2], "-genv") || !strcmp(argv[i - 2], "-env"));
}

/* If -genv is given twice for one name, the first one counts (seen with 4.0);
 * -env counts more than both */
int predreg_hydra_args(predreg_args_t *args, char *const *argv)
{
    const char *arg;
    size_t i;

    predreg_args_add(args, argv[0]);
    if (add_vars(args, argv) != 0) {
        return -1;
    }

    for (i = 1; argv[i] != NULL; ++i) {
        arg = argv[i];
        if (is_preload_value(argv, i)) {
            arg = predreg_preload_merge(predreg_var_value(args->preload), arg,
                                        "");
            if (arg == NULL) {
                return -1;
            }
        }
        predreg_args_add(args, arg);
    }

    return 0;
}
