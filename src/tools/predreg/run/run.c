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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/** @file run.c
 *
 * Both sub-commands replace this program by the command, with execvp(). So the exit status,
 * signals and process id are those of the command itself. Before, record starts a process
 * that waits for the command's end, to say what was recorded and how to go on.
 */


/* Kernels have the numbers of these calls longer than some C libraries */
#ifndef SYS_pidfd_open
#  define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#  define SYS_close_range 436
#endif


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

/* Wait for the end of a process that has a traces folder, and say what is in the folder and
 * how to go on. This process has a session of its own and no signals, so that neither the
 * terminal nor who ends the job reaches it; and it has no file open but standard error, so
 * that nobody waits for it who waits for the end of the command's output.
 * @param [in] fd  Of the process. */
static void wait_and_tell(int fd, const char *folder)
{
    struct pollfd ended = {.fd = STDIN_FILENO, .events = POLLIN};
    struct dirent **entries; /* Left to the end of the program */
    sigset_t all;
    int count;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    dup2(fd, STDIN_FILENO);
    close(STDOUT_FILENO);
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) != 0) {
        return;
    }

    setlinebuf(stderr); /* The prompt of a shell must not come in between */
    while ((poll(&ended, 1, -1) < 0) && (errno == EINTR));

    count = predreg_trace_names(folder, &entries);
    if (count > 0) {
        predreg_error("%d trace%s in '%s'; next: ucx_predreg report %s", count,
                      (count == 1) ? "" : "s", folder, folder);
    } else if (count == 0) {
        predreg_error("no traces in '%s' yet: no process has used UCX, or none on this "
                      "machine; next: ucx_predreg info -- COMMAND", folder);
    } /* A count below 0 means that the folder is gone: start() removes it if the command
         cannot be run */
}

/* Start the process that tells what was recorded. It must not be a child of the command,
 * which would not expect it: its parent ends at once. Where this process would inherit it,
 * as the first one of a container does, nobody tells; nor does anybody before Linux 5.9 */
static void start_teller(const char *folder)
{
    int inherits = 0;
    int fd;
    pid_t pid;

    prctl(PR_GET_CHILD_SUBREAPER, &inherits);
    if (inherits || (getpid() == 1)) {
        return;
    }

    fd = syscall(SYS_pidfd_open, getpid(), 0); /* Has O_CLOEXEC */
    if (fd < 0) {
        return;
    }

    pid = fork();
    if (pid == 0) {
        setsid(); /* The process that tells inherits the session, so that no signal to the
                     command's group ends it */
        if (fork() == 0) {
            wait_and_tell(fd, folder);
        }
        _exit(EXIT_SUCCESS);
    }

    while ((waitpid(pid, NULL, 0) < 0) && (errno == EINTR));
    close(fd);
}

/* Become the command. If the command cannot be run, what was made for it is removed.
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
        start_teller(opts->folder);
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
