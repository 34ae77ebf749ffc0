/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"
#include "environment.h"
#include "find.h"
#include "options.h"
#include "trace_folder.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/launcher.h>
#include <tools/predreg/launch/preload.h>

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SLURM_EXPORT "SLURM_EXPORT_ENV"


/* Add the arguments to the command that have its launcher pass the variables on
 * to the ranks. Variables that have to be in the environment for that are set
 * there */
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
        predreg_env_set(PREDREG_PRELOAD, strchr(vars[0], '=') + 1);
    }

    exported = getenv(SLURM_EXPORT);
    if ((kind == PREDREG_LAUNCHER_SRUN) && (exported != NULL)) {
        list = predreg_slurm_export(exported, vars);
        predreg_env_set(SLURM_EXPORT, list);
        free(list);
    }

    return argv;
}

/* Whether the command needs the library. It does not if UCX is to be used as it
 * is, without a summary or a trace, unless the library is preloaded anyway and
 * needs to be told so */
static int needs_library(const predreg_run_opts_t *opts)
{
    const char *policy = getenv(PREDREG_KNOB_POLICY);
    const char *trace  = getenv(PREDREG_KNOB_TRACE);

    return (policy == NULL) || strcasecmp(policy, "leave-pinned") ||
           opts->summary || ((trace != NULL) && (trace[0] != '\0')) ||
           predreg_preload_has_library(getenv(PREDREG_PRELOAD));
}

/* @return the absolute path of the library, or NULL, and the exit status in
 * *status_p */
static char *find_library(const predreg_run_opts_t *opts, int *status_p)
{
    char *folder = predreg_executable_folder();
    char *library;

    library = predreg_find_library(folder, opts->library, status_p);
    free(folder);
    return library;
}

/* Become the command. This returns only if that cannot be done.
 * @return the exit status, and the reason has been printed. */
static int become(char **argv, const predreg_run_opts_t *opts)
{
    const char *command = argv[0];
    char *library;
    int status;

    if (needs_library(opts)) {
        library = find_library(opts, &status);
        if (library == NULL) {
            return status;
        }
        argv = add_library(argv, library);
        free(library);
    } else {
        predreg_env_unset_knobs();
    }

    /* Delete the traces of an earlier job only now: a command that cannot be started
     * must not cost the user these traces */
    if (opts->force && predreg_has_command(command)) {
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
    if (status != 0) {
        return status;
    }

    status = become(argv + optind, &opts);
    predreg_run_cancel(&opts);
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
