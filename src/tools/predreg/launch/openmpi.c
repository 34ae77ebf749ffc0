/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "openmpi.h"
#include "preload.h"
#include "varlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The setting of Open MPI that lists variables for the ranks, and what is between
 * two of them unless mca_base_env_list_delimiter says otherwise */
#define LIST      "mca_base_env_list"
#define SEPARATOR ';'


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

/* Whether an argument is the user's list of variables: mpirun takes one as well,
 * and refuses the option -x beside it (seen with 4.1), or prefers that (5.0) */
static int is_list(char *const *argv, size_t i)
{
    return (i >= 2) && !strcmp(argv[i - 1], LIST) &&
           ((predreg_args_option(argv[i - 2], "mca") != NULL) ||
            (predreg_args_option(argv[i - 2], "gmca") != NULL));
}

static int has_list(char *const *argv)
{
    size_t i;

    for (i = 1; argv[i] != NULL; ++i) {
        if (is_list(argv, i)) {
            return 1;
        }
    }

    return 0;
}

/* Copy a command that has such a list, or whose environment has it, with all
 * variables added to the list */
static int add_to_list(predreg_args_t *args, char *const *argv)
{
    const char *list = has_list(argv) ? NULL : getenv("OMPI_MCA_" LIST);
    const char *arg;
    size_t i;

    predreg_args_add(args, argv[0]);
    if (list != NULL) {
        list = predreg_varlist_add(list, args->vars, "", SEPARATOR, 1);
        if (list == NULL) {
            return -1;
        }
        predreg_args_add(args, "--mca");
        predreg_args_add(args, LIST);
        predreg_args_add(args, list);
    }

    for (i = 1; argv[i] != NULL; ++i) {
        arg = is_list(argv, i) ?
              predreg_varlist_add(argv[i], args->vars, "", SEPARATOR, 1) :
              argv[i];
        if (arg == NULL) {
            return -1;
        }
        predreg_args_add(args, arg);
    }

    return 0;
}

/* The option -x holds only for one of the programs that ':' separates (seen
 * with 4.1), so it is repeated for each program */
int predreg_openmpi_args(predreg_args_t *args, char *const *argv)
{
    const char *arg;

    if (has_list(argv) || (getenv("OMPI_MCA_" LIST) != NULL)) {
        return add_to_list(args, argv);
    }

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
