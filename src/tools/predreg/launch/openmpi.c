/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "openmpi.h"
#include "preload.h"

#include <stdio.h>
#include <string.h>


/* @return the variable that an option -x at @a argv sets, in that argument or
 * in the next; NULL if there is none. */
static const char *var_of_x(char *const *argv)
{
    const char *var = predreg_args_option(argv[0], "x");

    return ((var == NULL) || (*var != '\0')) ? var : argv[1];
}

/* Whether the user sets a variable for the program that @a argv is at. The next
 * ':' begins another program, with variables of its own */
static int user_sets(char *const *argv, const char *var)
{
    const char *set;

    for (; (argv[0] != NULL) && strcmp(argv[0], ":"); ++argv) {
        set = var_of_x(argv);
        if ((set != NULL) && predreg_var_is(set, var)) {
            return 1;
        }
    }

    return 0;
}

static void add_vars(predreg_args_t *args, char *const *argv)
{
    char *const *var;

    for (var = args->vars; *var != NULL; ++var) {
        if (!user_sets(argv, *var)) {
            predreg_args_add(args, "-x");
            predreg_args_add(args, *var);
        }
    }
}

/* @return the argument, with our library added if it is that of an option -x
 * which sets LD_PRELOAD; NULL if there is no memory. */
static const char *with_library(const predreg_args_t *args, char *const *argv)
{
    const char *var   = predreg_args_option(argv[0], "x");
    const char *value = (var == NULL) ? predreg_args_option(argv[-1], "x") :
                                        NULL;
    char *arg;

    if ((value != NULL) && (*value == '\0')) {
        var = argv[0];
    }

    if ((var == NULL) || !predreg_var_is(var, args->preload)) {
        return argv[0];
    }

    value = predreg_var_value(var);
    if (value != NULL) {
        return predreg_args_merge(args, argv[0], value);
    }

    /* A name without a value stands for the value in the environment, which our
     * value already contains */
    return (asprintf(&arg, "%.*s%s", (int)(var - argv[0]), argv[0],
                     args->preload) < 0) ? NULL : arg;
}

/* The option -x holds only for one of the programs that ':' separates (seen
 * with 4.1), so it is repeated for each program */
int predreg_openmpi_args(predreg_args_t *args, char *const *argv)
{
    const char *arg;

    predreg_args_add(args, *argv++);
    add_vars(args, argv);
    for (; *argv != NULL; ++argv) {
        arg = with_library(args, argv);
        if (arg == NULL) {
            return -1;
        }

        predreg_args_add(args, arg);
        if (!strcmp(arg, ":")) {
            add_vars(args, argv + 1);
        }
    }

    return 0;
}

/* If mpirun reads the programs from a file, it ignores the option -x (seen with
 * 4.1) */
int predreg_openmpi_ignores_vars(char *const *argv)
{
    for (++argv; *argv != NULL; ++argv) {
        if (predreg_args_option(*argv, "app") != NULL) {
            return 1;
        }
    }

    return 0;
}
