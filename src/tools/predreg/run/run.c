/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/** @file run.c
 *
 * Both sub-commands replace this program by the command, with execvp(). So the exit
 * status, signals and process id are those of the command itself.
 */


static int is_knob(const char *string)
{
    return strncmp(string, PREDREG_KNOB_PREFIX,
                   strlen(PREDREG_KNOB_PREFIX)) == 0;
}

void predreg_env_unset_knobs(void)
{
    char **var = environ;
    char *name;

    while (*var != NULL) {
        if (!is_knob(*var)) {
            ++var;
            continue;
        }

        name = predreg_format("%.*s", (int)strcspn(*var, "="), *var);
        unsetenv(name);
        free(name);
        var = environ; /* unsetenv() has changed the vector, so the search
                          starts anew */
    }
}

char **predreg_env_vars(const char *library)
{
    size_t count  = 1;
    char *preload = predreg_preload_join(library, getenv(PREDREG_PRELOAD));
    char **vars, **var;

    for (var = environ; *var != NULL; ++var) {
        ++count;
    }

    vars    = predreg_alloc(count + 1, sizeof(*vars));
    vars[0] = predreg_format(PREDREG_PRELOAD "=%s", preload);
    free(preload);

    count = 1;
    for (var = environ; *var != NULL; ++var) {
        if (is_knob(*var)) {
            vars[count++] = predreg_format("%s", *var);
        }
    }

    return vars;
}

/* Add the library. Some launchers pass variables on to the ranks by their arguments, and
 * these arguments are added to the command. Other launchers pass on the environment, and
 * the variables are set there */
static char **add_library(char **argv, const char *library)
{
    predreg_launcher_t kind = predreg_launcher_by_name(argv[0]);
    char **vars             = predreg_env_vars(library);
    const char *exported;
    char *list;

    if (kind == PREDREG_LAUNCHER_ASK) {
        kind = predreg_launcher_ask(argv[0], PREDREG_VERSION_TIMEOUT);
    }

    argv = predreg_launcher_args(kind, argv, vars);
    if (predreg_launcher_preloads(kind, argv)) {
        predreg_set_variable(PREDREG_PRELOAD, strchr(vars[0], '=') + 1);
    }

    exported = getenv(PREDREG_SLURM_EXPORT);
    if ((kind == PREDREG_LAUNCHER_SRUN) && (exported != NULL)) {
        list = predreg_slurm_export(exported, vars);
        predreg_set_variable(PREDREG_SLURM_EXPORT, list);
        free(list);
    }

    return argv;
}

/* Whether the command needs the library. A command for plain UCX, without a summary or a
 * trace, needs no library. But if the environment already preloads the library, it has to
 * be told the policy */
static int needs_library(const predreg_run_opts_t *opts)
{
    const char *policy = getenv(PREDREG_KNOB_POLICY);
    const char *trace  = getenv(PREDREG_KNOB_TRACE);

    return (policy == NULL) || strcasecmp(policy, "leave-pinned") ||
           opts->summary || ((trace != NULL) && (trace[0] != '\0')) ||
           predreg_preload_has_library(getenv(PREDREG_PRELOAD));
}

/* Become the command. The function returns only after an error.
 * @return the exit status, and the reason has been printed. */
static int become(char **argv, const predreg_run_opts_t *opts)
{
    const char *command = argv[0];
    char *folder        = predreg_executable_folder();
    char *library       = NULL;
    int status          = 0;
    char *path;

    if (needs_library(opts)) {
        library = predreg_find_library(folder, opts->library, &status);
    }
    free(folder);
    if (status != 0) {
        return status;
    }

    if (library != NULL) {
        argv = add_library(argv, library);
        free(library);
    } else {
        predreg_env_unset_knobs();
    }

    /* Delete the traces of an earlier job only now: a command that cannot be started
     * must not cost the user these traces */
    path = opts->force ? predreg_find_command(command) : NULL;
    if (path != NULL) {
        free(path);
        status = predreg_trace_folder_clear(opts->folder);
        if (status != 0) {
            return status;
        }
    }

    execvp(command, argv);
    status = (errno == ENOENT) ? PREDREG_EXIT_NOT_FOUND :
                                 PREDREG_EXIT_CANNOT_RUN;
    predreg_error("cannot run '%s': %s", command, strerror(errno));
    return status;
}

static int run(int argc, char **argv, int records)
{
    predreg_run_opts_t opts;
    int status;

    status = predreg_run_parse(argc, argv, records, &opts);
    if (status == 0) {
        status = become(argv + optind, &opts);
        predreg_run_cancel(&opts);
    }
    return status;
}

int predreg_run(int argc, char **argv)
{
    return run(argc, argv, 0);
}

int predreg_record(int argc, char **argv)
{
    return run(argc, argv, 1);
}
