/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PREDREG_PRELOAD     "LD_PRELOAD"
#define PREDREG_PRELOAD_SEP " :" /* as ld.so(8) has it */


static const char *predreg_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash == NULL) ? path : slash + 1;
}

static int predreg_has_prefix(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

predreg_launcher_t predreg_launcher_by_name(const char *command)
{
    /* Debian and others append to the names: mpirun.openmpi, mpiexec.hydra */
    static const char *const several[] = {"mpirun",  "mpiexec", "orterun",
                                          "prterun", "oshrun",  "shmemrun"};
    const char *name                   = predreg_basename(command);
    size_t length                      = strcspn(name, ".-_");
    size_t i;

    if (strcmp(name, "srun") == 0) {
        return PREDREG_LAUNCHER_SRUN;
    }

    for (i = 0; i < sizeof(several) / sizeof(several[0]); ++i) {
        if ((length == strlen(several[i])) &&
            predreg_has_prefix(name, several[i])) {
            return PREDREG_LAUNCHER_ASK;
        }
    }

    return PREDREG_LAUNCHER_NONE;
}

predreg_launcher_t predreg_launcher_by_version(const char *text)
{
    static const struct {
        const char         *text;
        predreg_launcher_t kind;
    } known[] = {
        {"Open MPI", PREDREG_LAUNCHER_OPENMPI},
        {"Open RTE", PREDREG_LAUNCHER_OPENMPI},
        {"OpenRTE", PREDREG_LAUNCHER_OPENMPI},
        {"PRTE", PREDREG_LAUNCHER_OPENMPI},
        {"PMIx Reference RTE", PREDREG_LAUNCHER_OPENMPI},
        {"HYDRA", PREDREG_LAUNCHER_HYDRA}
    };
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        if (strstr(text, known[i].text) != NULL) {
            return known[i].kind;
        }
    }

    return PREDREG_LAUNCHER_NONE;
}

int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv)
{
    if ((kind == PREDREG_LAUNCHER_NONE) || (kind == PREDREG_LAUNCHER_SRUN)) {
        return 1;
    }

    if (kind == PREDREG_LAUNCHER_OPENMPI) {
        /* With programs from a file, -x is ignored (seen with 4.1) */
        for (++argv; *argv != NULL; ++argv) {
            if (!strcmp(*argv, "--app") || !strcmp(*argv, "-app")) {
                return 1;
            }
        }
    }

    return 0;
}

char *predreg_preload_join(const char *library, const char *present)
{
    const char *name = predreg_basename(library);
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
        entry += strspn(entry, PREDREG_PRELOAD_SEP);
        length = strcspn(entry, PREDREG_PRELOAD_SEP);

        for (entry_name = entry + length;
             (entry_name > entry) && (entry_name[-1] != '/'); --entry_name);
        if ((length == 0) ||
            (((size_t)(entry + length - entry_name) == strlen(name)) &&
             predreg_has_prefix(entry_name, name))) {
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
             (strchr("/" PREDREG_PRELOAD_SEP, found[-1]) != NULL)) &&
            (strchr(PREDREG_PRELOAD_SEP, found[length]) != NULL)) {
            return 1;
        }
    }

    return 0;
}


/* "NAME" or "NAME=VALUE" names the same variable as "NAME=VALUE" */
static int predreg_var_is(const char *var, const char *other)
{
    size_t length = strcspn(var, "=");

    return (length == strcspn(other, "=")) &&
           (strncmp(var, other, length) == 0);
}

static const char *predreg_var_value(const char *var)
{
    const char *equals = strchr(var, '=');

    return (equals == NULL) ? NULL : equals + 1;
}

static size_t predreg_vector_length(char *const *vector)
{
    size_t length;

    for (length = 0; vector[length] != NULL; ++length);
    return length;
}

/* The LD_PRELOAD a user gave to a launcher, with our library first */
static char *predreg_merge_preload(const char *our_value,
                                   const char *user_value, const char *prefix)
{
    char *library = NULL, *value = NULL, *merged = NULL;

    /* Ours comes first in our value; what follows was in the environment, which
     * the user's value replaces */
    library = strndup(our_value, strcspn(our_value, PREDREG_PRELOAD_SEP));
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


/* State of building a vector */
typedef struct {
    char *const *vars; /* What to set */
    char        **out; /* The result */
    size_t      count; /* Elements of the result */
} predreg_args_t;


static void predreg_args_add(predreg_args_t *args, const char *arg)
{
    args->out[args->count++] = (char*)arg;
}

/* Up to the next ':', which begins another program with its own variables */
static int predreg_openmpi_user_sets(char *const *argv, const char *var)
{
    for (; (argv[0] != NULL) && strcmp(argv[0], ":"); ++argv) {
        if (!strcmp(argv[0], "-x") && (argv[1] != NULL) &&
            predreg_var_is(argv[1], var)) {
            return 1;
        }
    }

    return 0;
}

static void predreg_openmpi_add_vars(predreg_args_t *args, char *const *argv)
{
    char *const *var;

    for (var = args->vars; *var != NULL; ++var) {
        if (!predreg_openmpi_user_sets(argv, *var)) {
            predreg_args_add(args, "-x");
            predreg_args_add(args, *var);
        }
    }
}

/*
 * -x holds for one program of several separated by ':' (seen with 4.1), so it
 * is repeated for each.
 */
static int predreg_openmpi_args(predreg_args_t *args, char *const *argv,
                                const char *preload)
{
    const char *arg;

    predreg_args_add(args, *argv++);
    predreg_openmpi_add_vars(args, argv);
    for (; *argv != NULL; ++argv) {
        arg = *argv;
        if (!strcmp(argv[-1], "-x") && predreg_var_is(arg, preload)) {
            /* Without a value it means the one in the environment, which is in
             * ours already */
            if (predreg_var_value(arg) == NULL) {
                arg = preload;
            } else {
                arg = predreg_merge_preload(predreg_var_value(preload),
                                            predreg_var_value(arg),
                                            PREDREG_PRELOAD "=");
            }
            if (arg == NULL) {
                return -1;
            }
        }

        predreg_args_add(args, arg);
        if (!strcmp(arg, ":")) {
            predreg_openmpi_add_vars(args, argv + 1);
        }
    }

    return 0;
}

static int predreg_hydra_user_sets(char *const *argv, const char *var)
{
    for (; argv[0] != NULL; ++argv) {
        if (!strcmp(argv[0], "-genv") && (argv[1] != NULL) &&
            predreg_var_is(argv[1], var)) {
            return 1;
        }
    }

    return 0;
}

/* Of two -genv for one name the first counts (seen with 4.0), and -env counts
 * more than both */
static int predreg_hydra_args(predreg_args_t *args, char *const *argv,
                              const char *preload)
{
    char *const *var;
    const char *arg;
    char *name;
    size_t i;

    predreg_args_add(args, argv[0]);
    for (var = args->vars; *var != NULL; ++var) {
        if (predreg_hydra_user_sets(argv, *var)) {
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

    for (i = 1; argv[i] != NULL; ++i) {
        arg = argv[i];
        if ((i >= 3) && !strcmp(argv[i - 1], PREDREG_PRELOAD) &&
            (!strcmp(argv[i - 2], "-genv") || !strcmp(argv[i - 2], "-env"))) {
            arg = predreg_merge_preload(predreg_var_value(preload), arg, "");
            if (arg == NULL) {
                return -1;
            }
        }
        predreg_args_add(args, arg);
    }

    return 0;
}

/* Whether a list of "NAME" and "NAME=VALUE" names a variable */
static int predreg_list_has(const char *list, const char *var)
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

/* Append an element to a list, its LD_PRELOAD joined with ours */
static int predreg_list_append(char *list, size_t begin, const char *element,
                               size_t length, const char *preload)
{
    char *value, *merged;

    if (list[begin] != '\0') {
        strcat(list, ",");
    }

    if ((length <= strlen(PREDREG_PRELOAD)) ||
        !predreg_has_prefix(element, PREDREG_PRELOAD "=")) {
        strncat(list, element, length);
        return 0;
    }

    value = strndup(element, length);
    if (value == NULL) {
        return -1;
    }

    merged = predreg_merge_preload(predreg_var_value(preload),
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

char *predreg_launcher_export(const char *value, char *const *vars,
                              const char *prefix)
{
    size_t size         = strlen(prefix) + strlen(value) + 1;
    size_t begin        = strlen(prefix);
    size_t elements     = 1;
    const char *preload = NULL;
    char *const *var;
    size_t i, length;
    char *list;

    /* NONE and NIL cannot be combined with names; names alone mean nothing but
     * these */
    if (!strcasecmp(value, "NONE") || !strcasecmp(value, "NIL")) {
        value = "";
    }

    for (i = 0; value[i] != '\0'; ++i) {
        elements += value[i] == ',';
    }

    for (var = vars; *var != NULL; ++var) {
        size += strlen(*var) + 1;
        if (predreg_var_is(*var, PREDREG_PRELOAD)) {
            preload = *var;
            size   += strlen(*var) * elements;
        }
    }

    list = malloc(size);
    if (list == NULL) {
        return NULL;
    }

    strcpy(list, prefix);
    while (*value != '\0') {
        length = strcspn(value, ",");
        if (predreg_list_append(list, begin, value, length, preload) != 0) {
            free(list);
            return NULL;
        }
        value += length + (value[length] == ',');
    }

    for (var = vars; *var != NULL; ++var) {
        if (!predreg_list_has(list + begin, *var)) {
            /* By name: the value is in the environment and may hold commas */
            predreg_list_append(list, begin, *var, strcspn(*var, "="), NULL);
        }
    }

    return list;
}

static int predreg_srun_args(predreg_args_t *args, char *const *argv)
{
    static const char option[] = "--export";
    int is_option              = 1;
    int is_value               = 0;
    const char *arg;
    size_t i;

    predreg_args_add(args, argv[0]);
    for (i = 1; argv[i] != NULL; ++i) {
        arg = argv[i];
        if (is_option && !strcmp(argv[i - 1], option)) {
            arg = predreg_launcher_export(arg, args->vars, "");
        } else if (is_option && predreg_has_prefix(arg, "--export=")) {
            arg = predreg_launcher_export(arg + strlen("--export="), args->vars,
                                      "--export=");
        }
        if (arg == NULL) {
            return -1;
        }
        predreg_args_add(args, arg);

        /* Options end at the first word that can be no option's value: what
         * follows belongs to the program */
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

char **predreg_launcher_args(predreg_launcher_t kind, char *const *argv,
                             char *const *vars)
{
    size_t nargs        = predreg_vector_length(argv);
    size_t nvars        = predreg_vector_length(vars);
    const char *preload = NULL;
    predreg_args_t args;
    char *const *var;
    int ret;

    for (var = vars; *var != NULL; ++var) {
        if (predreg_var_is(*var, PREDREG_PRELOAD)) {
            preload = *var;
        }
    }

    /* At worst every argument is a ':' and is followed by all variables, each
     * of which takes up to three words */
    args.vars  = vars;
    args.count = 0;
    args.out   = calloc((nargs + 1) * (3 * nvars + 1) + 1, sizeof(*args.out));
    if (args.out == NULL) {
        return NULL;
    }

    if ((kind == PREDREG_LAUNCHER_OPENMPI) && (preload != NULL)) {
        ret = predreg_openmpi_args(&args, argv, preload);
    } else if ((kind == PREDREG_LAUNCHER_HYDRA) && (preload != NULL)) {
        ret = predreg_hydra_args(&args, argv, preload);
    } else if (kind == PREDREG_LAUNCHER_SRUN) {
        ret = predreg_srun_args(&args, argv);
    } else {
        memcpy(args.out, argv, nargs * sizeof(*argv));
        ret = 0;
    }

    if (ret != 0) {
        free(args.out);
        return NULL;
    }

    return args.out;
}
