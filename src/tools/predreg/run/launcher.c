/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/command.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** @file launcher.c
 *
 * mpirun, mpiexec and srun pass variables on to ranks by options with one variable each,
 * by lists of variables, or by their own environment. The table of forms says which; a
 * variable set by the user keeps its value, and only LD_PRELOAD is merged with it. Facts
 * about versions were seen with the versions named.
 */

/* Open MPI's setting with a list of variables for the ranks */
#define LIST          "mca_base_env_list"

#define EXPORT        "--export"

/* The most words for one variable on the command line of a launcher: "-genv NAME VALUE" of
 * Hydra */
#define WORDS_PER_VAR 3


/* How a launcher is told the variables for the ranks: by options with one variable each, or
 * by a list of variables */
typedef struct {
    const char *option;       /* The option to add; NULL: only lists are understood */
    const char *names[3];     /* Options that set a variable, up to a NULL. The first
                                 option sets it for all programs of the command line */
    int        is_split;      /* Whether name and value are words of their own;
                                 NAME=VALUE is accepted, too */
    int        has_programs;  /* Whether ":" begins another program, for which all
                                 variables are set anew */
    char       separator;     /* Stands between the variables of a list. Open MPI's
                                 setting mca_base_env_list_delimiter could change it */
    int        has_values;    /* Whether a list may have NAME=VALUE. A NAME without a
                                 value stands for the value in the launcher's
                                 environment */
} form_t;

static const form_t forms[] = {
    [PREDREG_LAUNCHER_NONE]    = {NULL},

    /* Option -x holds for only one of the programs (seen with 4.1) */
    [PREDREG_LAUNCHER_OPENMPI] = {"-x", {"x"}, 0, 1, ';', 1},

    /* If -genv is given twice for one name, the first one counts; -env, which is for one
     * program, overrides both (seen with 4.0) */
    [PREDREG_LAUNCHER_HYDRA]   = {"-genv", {"genv", "env"}, 1, 0},

    [PREDREG_LAUNCHER_SRUN]    = {NULL, {NULL}, 0, 0, ',', 0}
};

/* A vector of arguments under construction */
typedef struct {
    const form_t *form;
    char *const  *vars;    /* Variables to set; the first is LD_PRELOAD */
    char         **out;
    size_t       count;
} args_t;


predreg_launcher_t predreg_launcher_by_name(const char *command)
{
    /* Debian and others append to the names: mpirun.openmpi, mpiexec.hydra */
    static const char *const several[] = {"mpirun",  "mpiexec", "orterun",
                                          "prterun", "oshrun",  "shmemrun"};
    const char *name                   = basename(command);
    size_t length                      = strcspn(name, ".-_");
    size_t i;

    if (strcmp(name, "srun") == 0) {
        return PREDREG_LAUNCHER_SRUN;
    }

    for (i = 0; i < ucs_static_array_size(several); ++i) {
        if ((length == strlen(several[i])) &&
            !strncmp(name, several[i], length)) {
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

    for (i = 0; i < ucs_static_array_size(known); ++i) {
        if (strstr(text, known[i].text) != NULL) {
            return known[i].kind;
        }
    }

    return PREDREG_LAUNCHER_NONE;
}

predreg_launcher_t predreg_launcher_ask(const char *command, int timeout)
{
    const char *argv[]                  = {command, "--version", NULL};
    const predreg_child_params_t params = {.argv = argv, .timeout = timeout};
    predreg_launcher_t kind;
    predreg_child_t child;

    predreg_child_run(&params, &child);
    if (!child.is_ended) {
        predreg_error("'%s --version' %s; its ranks get the environment it passes on by "
                      "itself", command, child.end);
    }
    kind = predreg_launcher_by_version(child.printed);
    predreg_child_cleanup(&child);
    return kind;
}

/* Recognize an option, which may begin with one dash or with two. @return the text behind
 * "=" in @a arg; an empty text if the value is the next argument; NULL if @a arg is
 * another option. */
static const char *option_value(const char *arg, const char *name)
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
    return (*arg == '=') ? arg + 1 : (*arg == '\0') ? arg : NULL;
}

int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv)
{
    /* If mpirun reads the programs from a file, it ignores the option -x (seen with
     * 4.1) */
    int has_file = 0;

    for (++argv; (kind == PREDREG_LAUNCHER_OPENMPI) && (*argv != NULL); ++argv) {
        has_file |= (option_value(*argv, "app") != NULL);
    }

    return has_file || (kind == PREDREG_LAUNCHER_NONE) ||
           (kind == PREDREG_LAUNCHER_SRUN);
}

/* Whether two strings, each "NAME" or "NAME=VALUE", name the same variable. @a other may
 * also be the rest of a list, in which a separator ends each element. */
static int is_same_var(const char *var, const char *other, char separator)
{
    size_t length = strcspn(var, "=");

    return !strncmp(var, other, length) &&
           ((other[length] == '=') || (other[length] == '\0') ||
            (other[length] == separator));
}

static void add(args_t *args, const char *arg)
{
    args->out[args->count++] = (char*)arg;
}

/* @return NAME or NAME=VALUE, if the argument at @a argv is an option that sets a
 *         variable; the text is in the same argument or in the next one. NULL: the
 *         argument is no such option.
 * @param [in] names  The options that set a variable, up to a NULL. */
static const char *var_at(char *const *argv, const char *const *names)
{
    const char *var;

    for (; *names != NULL; ++names) {
        var = option_value(argv[0], *names);
        if (var != NULL) {
            return (*var == '\0') ? argv[1] : var;
        }
    }

    return NULL;
}

/* Whether the user sets a variable for all ranks of the program whose arguments begin at
 * @a argv */
static int user_sets(const form_t *form, char *const *argv, const char *var)
{
    const char *const for_all[] = {form->names[0], NULL};
    const char *set;

    for (; (*argv != NULL) && !(form->has_programs && !strcmp(*argv, ":")); ++argv) {
        set = var_at(argv, for_all);
        if ((set != NULL) && is_same_var(var, set, '\0')) {
            return 1;
        }
    }

    return 0;
}

/* Add options that set our variables, for the program whose arguments begin at @a argv. A
 * variable that the user sets for this program is left out */
static void add_vars(args_t *args, char *const *argv)
{
    char *const *var;

    for (var = args->vars; *var != NULL; ++var) {
        if (user_sets(args->form, argv, *var)) {
            continue;
        }

        add(args, args->form->option);
        if (args->form->is_split) {
            add(args, predreg_format("%.*s", (int)strcspn(*var, "="), *var));
            add(args, strchr(*var, '=') + 1);
        } else {
            add(args, *var);
        }
    }
}

/* @a arg ends with the user's value of LD_PRELOAD: put our library in front of the value.
 * @return the longer argument. */
static char *with_library(char *const *vars, const char *arg, const char *value)
{
    char *merged = predreg_preload_merge(strchr(vars[0], '=') + 1, value);
    char *result = predreg_format("%.*s%s", (int)(value - arg), arg, merged);

    free(merged);
    return result;
}

/* Copy the words of the user's option that sets LD_PRELOAD, and add our library to its
 * value.
 * @param [in] var  The word, or the part of it, that is LD_PRELOAD or LD_PRELOAD=VALUE.
 * @return the last of the copied words of @a argv. */
static char *const *copy_preload(args_t *args, char *const *argv, const char *var)
{
    const char *equals = strchr(var, '=');

    if (var == argv[1]) {
        add(args, *argv++);
    }

    if (equals != NULL) {
        add(args, with_library(args->vars, *argv, equals + 1));
    } else if (!args->form->is_split) {
        /* A name without a value stands for the value in the environment. Our value
         * already contains that value */
        add(args, predreg_format("%.*s%s", (int)(var - *argv), *argv, args->vars[0]));
    } else {
        add(args, *argv);
        if (argv[1] != NULL) {
            ++argv;
            add(args, with_library(args->vars, *argv, *argv));
        }
    }
    return argv;
}

/* Copy a command, and add options that set our variables */
static void copy_options(args_t *args, char *const *argv)
{
    const char *var;

    add(args, *argv);
    add_vars(args, argv + 1);
    while (*++argv != NULL) {
        var = var_at(argv, args->form->names);
        if ((var != NULL) && is_same_var(args->vars[0], var, '\0')) {
            argv = copy_preload(args, argv, var);
            continue;
        }

        add(args, *argv);
        if (args->form->has_programs && !strcmp(*argv, ":")) {
            add_vars(args, argv + 1);
        }
    }
}

static int list_has(const char *list, const char *var, char separator)
{
    for (; list != NULL; list = strchr(list, separator), list += (list != NULL)) {
        if (is_same_var(var, list, separator)) {
            return 1;
        }
    }

    return 0;
}

/* Add our variables to a list. A variable that is in the list keeps the user's value, but
 * our library is added to the value of LD_PRELOAD. @return a string to be freed. */
static char *add_to_list(const form_t *form, char *const *vars, const char *value)
{
    const char separators[] = {form->separator, '\0'};
    char *copy              = predreg_format("%s", value);
    char *list              = predreg_format("%s", "");
    char *rest              = copy;
    char *const *var;
    const char *equals;
    char *element, *merged;

    while ((element = strsep(&rest, separators)) != NULL) {
        equals = strchr(element, '=');
        merged = ((equals != NULL) && is_same_var(vars[0], element, '\0')) ?
                 with_library(vars, element, equals + 1) : predreg_format("%s", element);
        list   = predreg_append(list, "%s%s", (list[0] == '\0') ? "" : separators,
                                merged);
        free(merged);
    }

    for (var = vars; *var != NULL; ++var) {
        if (!list_has(list, *var, form->separator)) {
            list = predreg_append(list, "%s%.*s", (list[0] == '\0') ? "" : separators,
                                  (int)(form->has_values ? strlen(*var) :
                                                           strcspn(*var, "=")), *var);
        }
    }

    free(copy);
    return list;
}

/* A list of Slurm gets only the names of our variables, since our values may contain
 * commas. NONE and NIL cannot be combined with names, and are replaced by our names: a
 * list of names means the same, that is, no other variable is exported */
char *predreg_slurm_export(const char *value, char *const *vars)
{
    int is_empty = !strcasecmp(value, "NONE") || !strcasecmp(value, "NIL");

    return add_to_list(&forms[PREDREG_LAUNCHER_SRUN], vars, is_empty ? "" : value);
}

/* @return the user's list of variables, if the argument at index @a i is such a list. Our
 *         variables have to go into this list: mpirun refuses the option -x beside a list
 *         (seen with 4.1), or ignores the list (5.0). */
static const char *openmpi_list(char *const *argv, size_t i)
{
    return ((i >= 2) && !strcmp(argv[i - 1], LIST) &&
            ((option_value(argv[i - 2], "mca") != NULL) ||
             (option_value(argv[i - 2], "gmca") != NULL))) ? argv[i] : NULL;
}

static void copy_openmpi(args_t *args, char *const *argv)
{
    const char *list = getenv("OMPI_MCA_" LIST);
    int is_given     = 0;
    size_t i;

    for (i = 1; argv[i] != NULL; ++i) {
        is_given |= (openmpi_list(argv, i) != NULL);
    }

    if (!is_given && (list == NULL)) {
        copy_options(args, argv);
        return;
    }

    add(args, argv[0]);
    if (!is_given) {
        add(args, "--mca");
        add(args, LIST);
        add(args, add_to_list(args->form, args->vars, list));
    }

    for (i = 1; argv[i] != NULL; ++i) {
        list = openmpi_list(argv, i);
        add(args, (list != NULL) ? add_to_list(args->form, args->vars, list) : argv[i]);
    }
}

static void copy_slurm(args_t *args, char *const *argv)
{
    int is_option = 1, is_value = 0;
    const char *arg;
    char *list;

    add(args, argv[0]);
    while (*++argv != NULL) {
        arg = *argv;
        if (is_option && !strcmp(argv[-1], EXPORT)) {
            arg = predreg_slurm_export(arg, args->vars);
        } else if (is_option && !strncmp(arg, EXPORT "=", strlen(EXPORT "="))) {
            list = predreg_slurm_export(arg + strlen(EXPORT "="), args->vars);
            arg  = predreg_format(EXPORT "=%s", list);
            free(list);
        }
        add(args, arg);

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
}

static size_t vector_length(char *const *vector)
{
    size_t length;

    for (length = 0; vector[length] != NULL; ++length);
    return length;
}

char **predreg_launcher_args(predreg_launcher_t kind, char *const *argv,
                             char *const *vars)
{
    args_t args = {.form = &forms[kind], .vars = vars};

    /* At worst every argument is a ':' that begins another program, for which
     * all variables are set again */
    args.out = predreg_alloc((vector_length(argv) + 1) *
                             (WORDS_PER_VAR * vector_length(vars) + 1) + 1,
                             sizeof(*args.out));

    if (kind == PREDREG_LAUNCHER_OPENMPI) {
        copy_openmpi(&args, argv);
    } else if (kind == PREDREG_LAUNCHER_HYDRA) {
        copy_options(&args, argv);
    } else if (kind == PREDREG_LAUNCHER_SRUN) {
        copy_slurm(&args, argv);
    } else {
        memcpy(args.out, argv, vector_length(argv) * sizeof(*argv));
    }

    return args.out;
}
