/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "start.h"
#include "find_command.h"
#include "find_library.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/launcher.h>
#include <tools/predreg/launch/preload.h>
#include <tools/predreg/launch/slurm.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PREDREG_KNOB_POLICY      PREDREG_KNOB_PREFIX "POLICY"
#define PREDREG_KNOB_SUMMARY     PREDREG_KNOB_PREFIX "SUMMARY"
#define PREDREG_KNOB_OUTPUT      PREDREG_KNOB_PREFIX "SUMMARY_FILE"
#define PREDREG_SLURM_EXPORT     "SLURM_EXPORT_ENV"
#define PREDREG_POLICY_UNTOUCHED "leave-pinned"

/* A launcher that does not tell its version by then is started as a program */
#define PREDREG_VERSION_TIMEOUT_MS 10000


typedef struct {
    const char *library; /* NULL: look for it */
    const char *output;  /* File of the summary, or NULL */
    int        summary;  /* A summary is printed */
} predreg_run_opts_t;


static const char *const predreg_policies[]  = {"predict", "on-demand",
                                                PREDREG_POLICY_UNTOUCHED, NULL};
static const char *const predreg_summaries[] = {"text", "json", NULL};


void predreg_set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        predreg_check_memory(NULL);
    }
}

static int predreg_check_choice(const char *what, const char *value,
                                const char *const *accepted)
{
    const char *const *choice;

    for (choice = accepted; *choice != NULL; ++choice) {
        if (!strcasecmp(value, *choice)) { /* as UCX does */
            return 0;
        }
    }

    fprintf(stderr, "ucx_predreg: %s: unknown value '%s'; accepted:", what,
            value);
    for (choice = accepted; *choice != NULL; ++choice) {
        fprintf(stderr, "%s %s", (choice == accepted) ? "" : ",", *choice);
    }
    fputc('\n', stderr);
    return -1;
}

/* KNOB=VALUE, with or without the prefix that all knobs have */
static int predreg_set_knob(const char *arg)
{
    const char *equals = strchr(arg, '=');
    const char *name   = arg;
    char *variable, *p;

    if (!strncmp(name, PREDREG_KNOB_PREFIX, strlen(PREDREG_KNOB_PREFIX))) {
        name += strlen(PREDREG_KNOB_PREFIX);
    }

    if ((equals == NULL) || (equals <= name)) {
        predreg_error("--set: '%s'; accepted: KNOB=VALUE, as in WINDOW=2", arg);
        return -1;
    }

    variable = predreg_format(PREDREG_KNOB_PREFIX "%.*s", (int)(equals - name),
                              name);
    for (p = variable; *p != '\0'; ++p) {
        if (!isalnum((unsigned char)*p) && (*p != '_')) {
            predreg_error("--set: '%s'; the name of a knob has letters, digits "
                          "and '_' only", arg);
            free(variable);
            return -1;
        }
        *p = toupper((unsigned char)*p);
    }

    predreg_set(variable, equals + 1);
    free(variable);
    return 0;
}

char *predreg_absolute_path(const char *what, const char *path)
{
    char *absolute, *cwd;

    if (path[0] == '/') {
        return predreg_format("%s", path);
    }

    cwd = getcwd(NULL, 0);
    if (cwd == NULL) {
        predreg_error("%s: the present folder is unknown (%s); accepted: an "
                      "absolute path", what, strerror(errno));
        return NULL;
    }

    absolute = predreg_format("%s/%s", cwd, path);
    free(cwd);
    return absolute;
}

static int predreg_set_output(const char *path)
{
    char *absolute;
    int fd;

    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        predreg_error("--output: cannot write to '%s': %s; accepted: a file "
                      "in a folder that can be written to", path,
                      strerror(errno));
        return -1;
    }
    close(fd);

    absolute = predreg_absolute_path("--output", path);
    if (absolute == NULL) {
        return -1;
    }

    predreg_set(PREDREG_KNOB_OUTPUT, absolute);
    free(absolute);
    return 0;
}

/* Options go to the environment as they come */
static int predreg_run_options(int argc, char **argv,
                               const predreg_runner_t *runner,
                               predreg_run_opts_t *opts)
{
    int option;

    while ((option = getopt_long(argc, argv, runner->short_options,
                                 runner->long_options, NULL)) != -1) {
        switch (option) {
        case PREDREG_RUN_POLICY:
            predreg_set(PREDREG_KNOB_POLICY, optarg);
            break;
        case PREDREG_RUN_SUMMARY:
            predreg_set(PREDREG_KNOB_SUMMARY, optarg ? optarg : "text");
            break;
        case PREDREG_RUN_OUTPUT:
            opts->output = optarg;
            break;
        case PREDREG_RUN_SET:
            if (predreg_set_knob(optarg) != 0) {
                return PREDREG_EXIT_USAGE;
            }
            break;
        case PREDREG_RUN_LIBRARY:
            opts->library = optarg;
            break;
        case 'h':
            runner->usage();
            exit(EXIT_SUCCESS);
        case '?':
            predreg_error("%s --help lists what is accepted", runner->name);
            return PREDREG_EXIT_USAGE;
        default:
            runner->option(option, optarg);
            break;
        }
    }

    return 0;
}

/*
 * Whatever was in the environment before is checked like the options, so that a
 * mistake is found before a job is started.
 */
static int predreg_run_parse(int argc, char **argv,
                             const predreg_runner_t *runner,
                             predreg_run_opts_t *opts)
{
    const char *policy, *summary;
    int status;

    status = predreg_run_options(argc, argv, runner, opts);
    if (status != 0) {
        return status;
    }

    if (argv[optind] == NULL) {
        predreg_error("no command to run; accepted: ucx_predreg %s [OPTIONS] "
                      "COMMAND [ARGS...]", runner->name);
        return PREDREG_EXIT_USAGE;
    }

    policy  = getenv(PREDREG_KNOB_POLICY);
    summary = getenv(PREDREG_KNOB_SUMMARY);
    if ((policy != NULL) &&
        predreg_check_choice("policy", policy, predreg_policies)) {
        return PREDREG_EXIT_USAGE;
    }

    opts->summary = (summary != NULL) && strcasecmp(summary, "n");
    if (opts->summary &&
        predreg_check_choice("summary", summary, predreg_summaries)) {
        return PREDREG_EXIT_USAGE;
    }

    if (opts->output != NULL) {
        if (!opts->summary) {
            predreg_set(PREDREG_KNOB_SUMMARY, "text");
            opts->summary = 1;
        }
        if (predreg_set_output(opts->output) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    return (runner->prepare == NULL) ? 0 : runner->prepare();
}

static long long predreg_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (ts.tv_sec * 1000ll) + (ts.tv_nsec / 1000000);
}

/* Child: print the version of a command into the pipe */
static void predreg_exec_version(char *command, int fd)
{
    char *const argv[] = {command, "--version", NULL};
    int null           = open("/dev/null", O_RDONLY);

    /* A group of its own: what the launcher starts is ended with it. An
     * interrupt does not reach it there, so it follows us */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(command, argv);
    _exit(PREDREG_EXIT_NOT_FOUND);
}

/* @return 0 at the end of what is printed, -1 if it does not come in time */
static int predreg_read_version(int fd, char *text, size_t size)
{
    long long end = predreg_now_ms() + PREDREG_VERSION_TIMEOUT_MS;
    size_t length = 0;
    struct pollfd pollfd;
    long long left;
    char rest[512];
    ssize_t count;

    pollfd.fd     = fd;
    pollfd.events = POLLIN;
    for (;;) {
        left = end - predreg_now_ms();
        if ((left <= 0) || (poll(&pollfd, 1, left) == 0)) {
            return -1;
        }

        /* What does not fit is read too: a launcher that finds its output
         * closed may complain */
        if (length < size - 1) {
            count = read(fd, text + length, size - 1 - length);
        } else {
            count = read(fd, rest, sizeof(rest));
        }
        if ((count < 0) && (errno != EINTR)) {
            return -1;
        } else if (count == 0) {
            return 0;
        } else if ((count > 0) && (length < size - 1)) {
            length      += count;
            text[length] = '\0';
        }
    }
}

static predreg_launcher_t predreg_ask_launcher(char *command)
{
    char text[8192] = "";
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0) {
        predreg_error("cannot ask '%s' for its version: %s", command,
                      strerror(errno));
        return PREDREG_LAUNCHER_NONE;
    }

    pid = fork();
    if (pid == 0) {
        predreg_exec_version(command, fds[1]);
    }

    close(fds[1]);
    if (pid < 0) {
        predreg_error("cannot ask '%s' for its version: %s", command,
                      strerror(errno));
    } else {
        if (predreg_read_version(fds[0], text, sizeof(text)) != 0) {
            predreg_error("'%s --version' did not end within %d s; its ranks "
                          "get the environment it passes on by itself", command,
                          PREDREG_VERSION_TIMEOUT_MS / 1000);
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL); /* if it has not come to setpgid() */
        }
        while ((waitpid(pid, NULL, 0) < 0) && (errno == EINTR));
    }

    close(fds[0]);
    return predreg_launcher_by_version(text);
}

/* All our variables: LD_PRELOAD first, then every knob in the environment */
static char **predreg_collect_vars(const char *library)
{
    size_t count  = 1;
    char *preload = predreg_check_memory(
            predreg_preload_join(library, getenv("LD_PRELOAD")));
    char **vars, **var;

    for (var = environ; *var != NULL; ++var) {
        ++count;
    }

    vars    = predreg_check_memory(calloc(count + 1, sizeof(*vars)));
    vars[0] = predreg_format("LD_PRELOAD=%s", preload);
    free(preload);

    count = 1;
    for (var = environ; *var != NULL; ++var) {
        if (!strncmp(*var, PREDREG_KNOB_PREFIX, strlen(PREDREG_KNOB_PREFIX))) {
            vars[count++] = predreg_format("%s", *var);
        }
    }

    return vars;
}

/* The command as it has to be started for its ranks to get our variables */
static char **predreg_prepare(char **argv, const char *library)
{
    predreg_launcher_t kind = predreg_launcher_by_name(argv[0]);
    char **vars             = predreg_collect_vars(library);
    const char *exported;
    char *list;

    if (kind == PREDREG_LAUNCHER_ASK) {
        kind = predreg_ask_launcher(argv[0]);
    }

    argv = predreg_check_memory(predreg_launcher_args(kind, argv, vars));
    if (predreg_launcher_preloads(kind, argv)) {
        predreg_set("LD_PRELOAD", strchr(vars[0], '=') + 1);
    }

    exported = getenv(PREDREG_SLURM_EXPORT);
    if ((kind == PREDREG_LAUNCHER_SRUN) && (exported != NULL)) {
        list = predreg_slurm_export(exported, vars, "");
        predreg_check_memory(list);
        predreg_set(PREDREG_SLURM_EXPORT, list);
        free(list);
    }

    return argv;
}

/* UCX warns about variables that nobody reads */
static void predreg_unset_knobs(void)
{
    char **var = environ;
    char *name;

    while (*var != NULL) {
        if (strncmp(*var, PREDREG_KNOB_PREFIX, strlen(PREDREG_KNOB_PREFIX))) {
            ++var;
            continue;
        }

        name = predreg_format("%.*s", (int)strcspn(*var, "="), *var);
        unsetenv(name);
        free(name);
        var = environ; /* the vector was changed */
    }
}

/* Stock UCX with nothing to count or to record is started as it is, unless our
 * library is preloaded anyway and has to be told */
static int predreg_needs_library(const predreg_run_opts_t *opts)
{
    const char *policy = getenv(PREDREG_KNOB_POLICY);
    const char *trace  = getenv(PREDREG_KNOB_TRACE);

    return (policy == NULL) || strcasecmp(policy, PREDREG_POLICY_UNTOUCHED) ||
           opts->summary || ((trace != NULL) && (trace[0] != '\0')) ||
           predreg_preload_has_library(getenv("LD_PRELOAD"));
}

int predreg_run_command(int argc, char **argv, const predreg_runner_t *runner)
{
    predreg_run_opts_t opts = {NULL, NULL, 0};
    const char *command;
    char *library;
    int status;

    status = predreg_run_parse(argc, argv, runner, &opts);
    if (status != 0) {
        return status;
    }

    argv   += optind;
    command = argv[0];
    if (predreg_needs_library(&opts)) {
        library = predreg_find_library(opts.library, &status);
        if (library == NULL) {
            return status;
        }
        argv = predreg_prepare(argv, library);
    } else {
        predreg_unset_knobs();
    }

    if ((runner->start != NULL) && predreg_has_command(command)) {
        status = runner->start();
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
