/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slurm.h"
#include "varlist.h"

#include <string.h>
#include <strings.h>

#define EXPORT "--export"


static int has_prefix(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

char *predreg_slurm_export(const char *value, char *const *vars,
                           const char *prefix)
{
    /* NONE and NIL cannot be combined with names. A list of names alone means
     * the same: nothing but these variables is exported */
    if (!strcasecmp(value, "NONE") || !strcasecmp(value, "NIL")) {
        value = "";
    }

    /* Only names are added: the values are in the environment, and may contain
     * commas */
    return predreg_varlist_add(value, vars, prefix, ',', 0);
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
