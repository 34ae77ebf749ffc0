/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "openmpi.h"
#include "preload.h"

#include <string.h>


/* Whether the user sets a variable for the program that @a argv is at. The next
 * ':' begins another program, with variables of its own */
static int user_sets(char *const *argv, const char *var)
{
    for (; (argv[0] != NULL) && strcmp(argv[0], ":"); ++argv) {
        if (!strcmp(argv[0], "-x") && (argv[1] != NULL) &&
            predreg_var_is(argv[1], var)) {
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

/*
 * @return the value of a user's option -x, with our library added if it sets
 * LD_PRELOAD, or NULL if there is no memory.
 */
static const char *value_of_x(const predreg_args_t *args, const char *value)
{
    if (!predreg_var_is(value, args->preload)) {
        return value;
    }

    /* A name without a value stands for the value in the environment, which our
     * value already contains */
    if (predreg_var_value(value) == NULL) {
        return args->preload;
    }

    return predreg_preload_merge(predreg_var_value(args->preload),
                                 predreg_var_value(value),
                                 PREDREG_PRELOAD "=");
}

/* The option -x holds only for one of the programs that ':' separates (seen
 * with 4.1), so it is repeated for each program */
int predreg_openmpi_args(predreg_args_t *args, char *const *argv)
{
    const char *arg;

    predreg_args_add(args, *argv++);
    add_vars(args, argv);
    for (; *argv != NULL; ++argv) {
        arg = !strcmp(argv[-1], "-x") ? value_of_x(args, *argv) : *argv;
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
        if (!strcmp(*argv, "--app") || !strcmp(*argv, "-app")) {
            return 1;
        }
    }

    return 0;
}
