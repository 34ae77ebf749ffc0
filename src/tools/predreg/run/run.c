/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/trace_files.h>

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/** @file run.c
 *
 * run replaces this program by the command, with execvp(). So the exit status, signals and
 * process id are those of the command itself. record waits for the command, to say what it
 * has recorded and how to go on. Meanwhile it is to others as if it were the command:
 * signals that are sent to it go to the command, and it ends as the command does.
 */


/* Process id of the command; 0: it is not started. The thread of the program writes it,
 * and a handler reads it */
static volatile pid_t command;


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

/* The terminal sends a signal to the command as well, and then the code is positive */
static void pass_on(int number, siginfo_t *info, void *context)
{
    if ((info->si_code <= 0) && (command > 0)) {
        kill(command, number);
    }
}

static void pass_on_signals(void)
{
    static const int signals[]    = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    const struct sigaction action = {
        .sa_sigaction = pass_on,
        .sa_flags     = SA_SIGINFO | SA_RESTART
    };
    struct sigaction present;
    size_t i;

    for (i = 0; i < ucs_static_array_size(signals); ++i) {
        /* A signal that is ignored, as under nohup, has to be ignored by the command */
        if ((sigaction(signals[i], NULL, &present) == 0) &&
            (present.sa_handler != SIG_IGN)) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

/* Run a command, which predreg_find_command() has found, as a child, and wait for its end.
 * @return its status, as waitpid() has it. */
static int run_and_wait(char **argv)
{
    int status = W_EXITCODE(PREDREG_EXIT_CANNOT_RUN, 0);
    sigset_t all, present;

    /* A signal that comes early waits until the handler knows the command */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &present);
    pass_on_signals();
    command = fork();
    sigprocmask(SIG_SETMASK, &present, NULL);
    if (command == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execvp(argv[0], argv);
        predreg_error("cannot run '%s': %s", argv[0], strerror(errno));
        _exit(PREDREG_EXIT_CANNOT_RUN);
    }

    while ((waitpid(command, &status, 0) < 0) && (errno == EINTR));
    return status;
}

/* Say what a command has recorded, and how to go on. @return the exit status. */
static int end_record(const predreg_run_opts_t *opts, int status)
{
    struct dirent **entries; /* Left to the end of the program */
    int count = predreg_trace_names(opts->folder, &entries);

    if (count > 0) {
        predreg_error("%d trace%s in '%s'; next: ucx_predreg report %s", count,
                      (count == 1) ? "" : "s", opts->folder, opts->folder);
    } else {
        predreg_error("nothing was recorded in '%s': no process has used UCX, or none on "
                      "this machine; next: ucx_predreg info -- COMMAND", opts->folder);
        if (opts->is_new_folder) {
            rmdir(opts->folder);
        }
    }

    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* The command has dumped it */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return (WEXITSTATUS(status) != 0) ? WEXITSTATUS(status) : (count <= 0);
}

/* Become the command, or run it and wait for it. If the command cannot be run, what was
 * made for it is removed.
 * @return the exit status, and the reason has been printed. */
static int start(char **argv, const predreg_run_opts_t *opts, int records)
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
        goto err_cancel;
    }

    if (library != NULL) {
        argv = add_library(argv, library);
        free(library);
    } else {
        predreg_env_unset_knobs();
    }

    /* Delete the traces of an earlier job only now: a command that cannot be started
     * must not cost the user these traces */
    path = records ? predreg_find_command(command) : NULL;
    if (path != NULL) {
        free(path);
        status = opts->force ? predreg_trace_folder_clear(opts->folder) : 0;
        if (status != 0) {
            goto err_cancel;
        }
        return end_record(opts, run_and_wait(argv));
    }

    execvp(command, argv);
    status = (errno == ENOENT) ? PREDREG_EXIT_NOT_FOUND :
                                 PREDREG_EXIT_CANNOT_RUN;
    predreg_error("cannot run '%s': %s", command, strerror(errno));
err_cancel:
    predreg_run_cancel(opts);
    return status;
}

static int run(int argc, char **argv, int records)
{
    predreg_run_opts_t opts;
    int status;

    status = predreg_run_parse(argc, argv, records, &opts);
    return (status != 0) ? status : start(argv + optind, &opts, records);
}

int predreg_run(int argc, char **argv)
{
    return run(argc, argv, 0);
}

int predreg_record(int argc, char **argv)
{
    return run(argc, argv, 1);
}
