/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "launcher.h"
#include "preload.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/message.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The setting of Open MPI that lists variables for the ranks, and what is between
 * two of them unless mca_base_env_list_delimiter says otherwise */
#define LIST           "mca_base_env_list"
#define LIST_SEPARATOR ';'

#define EXPORT         "--export"

/* How many words a launcher's command line needs at most for one variable of the
 * environment: three, as "-genv NAME VALUE" of Hydra */
#define WORDS_PER_VAR  3


/* How a launcher is told by options which variables the ranks get */
typedef struct {
    const char *option;       /* What is added in front of one */
    const char *names[3];     /* Options that set one, of which the first counts for all
                                 programs; up to a NULL */
    int        is_split;      /* Whether name and value are words of their own, but
                                 NAME=VALUE is accepted, too */
    int        has_programs;  /* Whether ":" begins another program, for which all
                                 variables are set anew */
} syntax_t;

/* The option -x holds only for one of the programs (seen with 4.1) */
static const syntax_t openmpi = {
    .option = "-x", .names = {"x"}, .has_programs = 1
};

/* If -genv is given twice for one name, the first one counts; -env, of one program, counts
 * more than both (seen with 4.0) */
static const syntax_t hydra = {
    .option = "-genv", .names = {"genv", "env"}, .is_split = 1
};

/* A vector of arguments that is being built */
typedef struct {
    char *const *vars;    /* To be set */
    const char  *preload; /* That of LD_PRELOAD; NULL: there is none */
    char        **out;
    size_t      count;
} args_t;


predreg_launcher_t predreg_launcher_by_name(const char *command)
{
    /* Debian and others append to the names: mpirun.openmpi, mpiexec.hydra */
    static const char *const several[] = {"mpirun",  "mpiexec", "orterun",
                                          "prterun", "oshrun",  "shmemrun"};
    const char *slash                  = strrchr(command, '/');
    const char *name                   = (slash == NULL) ? command : slash + 1;
    size_t length                      = strcspn(name, ".-_");
    size_t i;

    if (strcmp(name, "srun") == 0) {
        return PREDREG_LAUNCHER_SRUN;
    }

    for (i = 0; i < sizeof(several) / sizeof(several[0]); ++i) {
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

    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
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

/* Recognize an option, which may begin with one dash or with two. @return what follows "="
 * in @a arg; nothing ("") if the value is the next argument; NULL if it is another one. */
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

/* If mpirun reads the programs from a file, it ignores the option -x (seen with
 * 4.1) */
static int has_app_file(char *const *argv)
{
    for (++argv; *argv != NULL; ++argv) {
        if (option_value(*argv, "app") != NULL) {
            return 1;
        }
    }

    return 0;
}

int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv)
{
    return (kind == PREDREG_LAUNCHER_NONE) || (kind == PREDREG_LAUNCHER_SRUN) ||
           ((kind == PREDREG_LAUNCHER_OPENMPI) && has_app_file(argv));
}

/* Whether two strings, "NAME" or "NAME=VALUE", name the same variable. The second may be
 * in a list, whose elements end with a separator. */
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

/* @return the variable that an option at @a argv sets, NAME or NAME=VALUE, in that argument
 * or in the next; NULL: it sets none. */
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

/* Whether the user sets a variable for the program that @a argv is at */
static int user_sets(const syntax_t *syntax, char *const *argv, const char *var)
{
    const char *const for_all[] = {syntax->names[0], NULL};
    const char *set;

    for (; (*argv != NULL) && !(syntax->has_programs && !strcmp(*argv, ":")); ++argv) {
        set = var_at(argv, for_all);
        if ((set != NULL) && is_same_var(var, set, '\0')) {
            return 1;
        }
    }

    return 0;
}

static void add_vars(args_t *args, const syntax_t *syntax, char *const *argv)
{
    char *const *var;

    for (var = args->vars; *var != NULL; ++var) {
        if (user_sets(syntax, argv, *var)) {
            continue;
        }

        add(args, syntax->option);
        if (syntax->is_split) {
            add(args, predreg_format("%.*s", (int)strcspn(*var, "="), *var));
            add(args, strchr(*var, '=') + 1);
        } else {
            add(args, *var);
        }
    }
}

/* @return an argument that ends with the user's value of LD_PRELOAD, with our library in
 * front of the value. */
static char *with_library(const args_t *args, const char *arg, const char *value)
{
    char *merged = predreg_preload_merge(strchr(args->preload, '=') + 1, value);
    char *result = predreg_format("%.*s%s", (int)(value - arg), arg, merged);

    free(merged);
    return result;
}

/* Copy the words that set LD_PRELOAD, with our library. @return the last one of them. */
static char *const *
copy_preload(args_t *args, const syntax_t *syntax, char *const *argv, const char *var)
{
    const char *equals = strchr(var, '=');

    if (var == argv[1]) {
        add(args, *argv++);
    }

    if (equals != NULL) {
        add(args, with_library(args, *argv, equals + 1));
    } else if (!syntax->is_split) {
        /* A name without a value stands for the value in the environment, which our
         * value already contains */
        add(args, predreg_format("%.*s%s", (int)(var - *argv), *argv, args->preload));
    } else {
        add(args, *argv);
        if (argv[1] != NULL) {
            ++argv;
            add(args, with_library(args, *argv, *argv));
        }
    }
    return argv;
}

/* Copy a command of a launcher that takes variables by options */
static void copy_options(args_t *args, const syntax_t *syntax, char *const *argv)
{
    const char *var;

    add(args, *argv);
    add_vars(args, syntax, argv + 1);
    while (*++argv != NULL) {
        var = var_at(argv, syntax->names);
        if ((var != NULL) && is_same_var(args->preload, var, '\0')) {
            argv = copy_preload(args, syntax, argv, var);
            continue;
        }

        add(args, *argv);
        if (syntax->has_programs && !strcmp(*argv, ":")) {
            add_vars(args, syntax, argv + 1);
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

/* Add our variables to a list. Those that it has keep the user's value; to that of
 * LD_PRELOAD our library is added.
 *
 * @param [in] with_values  Whether our values are added with the names; without them,
 *                          they have to be in the launcher's environment. */
static char *add_to_list(const char *value, const args_t *args, char separator,
                         int with_values)
{
    const char separators[] = {separator, '\0'};
    char *copy              = predreg_format("%s", value);
    char *list              = predreg_format("%s", "");
    char *rest              = copy;
    char *const *var;
    const char *equals;
    char *element, *merged;

    while ((element = strsep(&rest, separators)) != NULL) {
        equals = strchr(element, '=');
        merged = ((equals != NULL) && is_same_var(args->preload, element, '\0')) ?
                 with_library(args, element, equals + 1) : predreg_format("%s", element);
        list   = predreg_append(list, "%s%s", (list[0] == '\0') ? "" : separators,
                                merged);
        free(merged);
    }

    for (var = args->vars; *var != NULL; ++var) {
        if (!list_has(list, *var, separator)) {
            list = predreg_append(list, "%s%.*s", (list[0] == '\0') ? "" : separators,
                                  (int)(with_values ? strlen(*var) : strcspn(*var, "=")),
                                  *var);
        }
    }

    free(copy);
    return list;
}

/* Whether an argument is the user's list of variables: mpirun takes one as well,
 * and refuses the option -x beside it (seen with 4.1), or prefers that (5.0) */
static int is_list(char *const *argv, size_t i)
{
    return (i >= 2) && !strcmp(argv[i - 1], LIST) &&
           ((option_value(argv[i - 2], "mca") != NULL) ||
            (option_value(argv[i - 2], "gmca") != NULL));
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

static void copy_openmpi(args_t *args, char *const *argv)
{
    const char *list = getenv("OMPI_MCA_" LIST);
    int is_given     = has_list(argv);
    size_t i;

    if (!is_given && (list == NULL)) {
        copy_options(args, &openmpi, argv);
        return;
    }

    add(args, argv[0]);
    if (!is_given) {
        add(args, "--mca");
        add(args, LIST);
        add(args, add_to_list(list, args, LIST_SEPARATOR, 1));
    }

    for (i = 1; argv[i] != NULL; ++i) {
        add(args, is_list(argv, i) ? add_to_list(argv[i], args, LIST_SEPARATOR, 1) :
                                     argv[i]);
    }
}

/* Only names are added to the lists of Slurm: the values are in the environment, and may
 * contain commas. NONE and NIL cannot be combined with names, and a list of names alone
 * means the same: nothing but these variables is exported */
static char *add_to_export(const char *value, const args_t *args)
{
    return add_to_list((!strcasecmp(value, "NONE") || !strcasecmp(value, "NIL")) ?
                       "" : value, args, ',', 0);
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
            arg = add_to_export(arg, args);
        } else if (is_option && !strncmp(arg, EXPORT "=", strlen(EXPORT "="))) {
            list = add_to_export(arg + strlen(EXPORT "="), args);
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

static args_t args_of(char *const *vars)
{
    args_t args = {.vars = vars};

    for (; *vars != NULL; ++vars) {
        if (is_same_var(*vars, PREDREG_PRELOAD, '\0')) {
            args.preload = *vars;
        }
    }

    return args;
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
    args_t args = args_of(vars);

    /* At worst every argument is a ':' that begins another program, for which
     * all variables are set again */
    args.out = predreg_check_memory(
            calloc((vector_length(argv) + 1) *
                   (WORDS_PER_VAR * vector_length(vars) + 1) + 1, sizeof(*args.out)));

    if ((kind == PREDREG_LAUNCHER_OPENMPI) && (args.preload != NULL)) {
        copy_openmpi(&args, argv);
    } else if ((kind == PREDREG_LAUNCHER_HYDRA) && (args.preload != NULL)) {
        copy_options(&args, &hydra, argv);
    } else if (kind == PREDREG_LAUNCHER_SRUN) {
        copy_slurm(&args, argv);
    } else {
        for (; *argv != NULL; ++argv) {
            add(&args, *argv);
        }
    }

    return args.out;
}

char *predreg_slurm_export(const char *value, char *const *vars)
{
    args_t args = args_of(vars);

    return add_to_export(value, &args);
}
