/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"
#include "environment.h"
#include "trace_folder.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/options.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FOLDER "predreg.traces"


/* Whether a value is one of several, in letters of any case, as in UCX */
static int is_choice(const char *value, const char *const *accepted)
{
    const char *const *choice;

    for (choice = accepted; *choice != NULL; ++choice) {
        if (!strcasecmp(value, *choice)) {
            return 1;
        }
    }

    return 0;
}

static int check_choice(const char *what, const char *value,
                        const char *const *accepted)
{
    const char *const *choice;

    if (is_choice(value, accepted)) {
        return 0;
    }

    fprintf(stderr, "ucx_predreg: %s: unknown value '%s'; accepted:", what,
            value);
    for (choice = accepted; *choice != NULL; ++choice) {
        fprintf(stderr, "%s %s", (choice == accepted) ? "" : ",", *choice);
    }
    fputc('\n', stderr);
    return -1;
}

/* Have the summary written to a file, which is made if need be */
static int set_output(const char *path, int *is_new_p)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    char *absolute;
    int fd;

    fd        = open(path, flags | O_EXCL, 0666);
    *is_new_p = (fd >= 0);
    if ((fd < 0) && (errno == EEXIST)) {
        fd = open(path, flags, 0666);
    }

    if (fd < 0) {
        predreg_error("--output: cannot write to '%s': %s; accepted: a file "
                      "in a folder that can be written to", path,
                      strerror(errno));
        return -1;
    }
    close(fd);

    absolute = predreg_env_absolute_path("--output", path);
    if (absolute == NULL) {
        return -1;
    }

    predreg_env_set(PREDREG_KNOB_OUTPUT, absolute);
    free(absolute);
    return 0;
}

static const char *const formats[] = {"text", "json", "n", NULL};


/* If an option that there is not is a knob, say how knobs are set */
static void tell_of_knob(const char *arg)
{
    const char *name = arg + strspn(arg, "-");
    char *knob       = predreg_format("%.*s", (int)strcspn(name, "="), name);
    char *nearest, *p;

    for (p = knob; *p != '\0'; ++p) {
        *p = (*p == '-') ? '_' : *p;
    }

    nearest = predreg_knob_nearest(knob);
    if ((nearest != NULL) && !strcasecmp(nearest, knob)) {
        predreg_error("%s is a knob; accepted: --set %s=VALUE", nearest,
                      nearest);
    }
    free(nearest);
    free(knob);
}

static int read_policy(const predreg_option_t *option, const char *value, void *opts)
{
    static const char *const accepted[] = {"predict", "on-demand",
                                           "leave-pinned", NULL};

    if (check_choice("--policy", value, accepted) != 0) {
        return -1;
    }

    predreg_env_set(PREDREG_KNOB_POLICY, value);
    return 0;
}

static int read_summary(const predreg_option_t *option, const char *value, void *arg)
{
    predreg_run_opts_t *opts = arg;

    opts->no_format = (value == NULL) ? optind : 0;
    if ((value != NULL) && (check_choice("--summary", value, formats) != 0)) {
        return -1;
    }

    predreg_env_set(PREDREG_KNOB_SUMMARY, (value == NULL) ? "text" : value);
    return 0;
}

static int read_set(const predreg_option_t *option, const char *value, void *opts)
{
    return predreg_env_set_knob(value);
}

#define FIELD(_name) offsetof(predreg_run_opts_t, _name)

#define RUN_OPTIONS \
    {"policy", 0, "P", "predict (default), on-demand, leave-pinned", read_policy, 0}, \
    {"summary", 0, "[=FORMAT]", "print a summary a rank at exit, as text (default) or " \
     "json", read_summary, 0}, \
    {"output", 0, "FILE", "append the summary to FILE instead of standard error", \
     predreg_option_string, FIELD(output)}, \
    {"set", 0, "KNOB=VALUE", "set UCX_RCACHE_PRED_KNOB; may be repeated", read_set, 0}, \
    {"library", 0, "PATH", "preload this libuct_predreg.so", predreg_option_string, \
     FIELD(library)}

#define RUN_END \
    "The exit status is that of COMMAND; 2 if an argument is bad, 126\n" \
    "or 127 if COMMAND or the library cannot be used.\n"

static const predreg_option_t run_list[] = {RUN_OPTIONS, {NULL}};

static const predreg_options_t run_options = {
    .command = "run",
    .usage   = "[OPTIONS] [--] COMMAND [ARGS...]",
    .intro   = "Run COMMAND (a program, or mpirun, mpiexec or srun with its\n"
               "arguments) with predictive memory registration in all ranks.\n",
    .end     = RUN_END,
    .list    = run_list,
    .runs    = 1,
    .unknown = tell_of_knob
};

static const predreg_option_t record_list[] = {
    {"folder", 'o', "DIR", "the folder (" DEFAULT_FOLDER "); it is made if need be, and "
     "must not have traces in it", predreg_option_string, FIELD(folder)},
    {"force", 0, NULL, "remove the traces that are in it", predreg_option_flag,
     FIELD(force)},
    RUN_OPTIONS,
    {NULL}
};

static const predreg_options_t record_options = {
    .command = "record",
    .usage   = "[OPTIONS] [--] COMMAND [ARGS...]",
    .intro   = "Run COMMAND as ucx_predreg run does, and write a trace of each rank to\n"
               "a folder: what it communicated from which buffers, and what was\n"
               "registered for it.\n",
    .end     = RUN_END,
    .list    = record_list,
    .runs    = 1,
    .unknown = tell_of_knob
};

/* Check the values of all knobs, which are in the environment: the options of the
 * command line have been put there as well. */
static int check_knobs(predreg_run_opts_t *opts)
{
    const char *summary = getenv(PREDREG_KNOB_SUMMARY);

    opts->summary = (summary != NULL) && strcasecmp(summary, "n");
    return predreg_knob_check_environment();
}

/* Have traces written to a folder, which is made if need be.
 * @return 0 or the exit status. */
static int set_folder(predreg_run_opts_t *opts)
{
    char *absolute;
    int status;

    status = predreg_trace_folder_prepare(opts->folder, opts->force,
                                          &opts->is_new_folder);
    if (status != 0) {
        return status;
    }

    absolute = predreg_env_absolute_path("-o", opts->folder);
    if (absolute == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    predreg_env_set(PREDREG_KNOB_TRACE, absolute);
    free(absolute);
    return 0;
}

int predreg_run_parse(int argc, char **argv, int records, predreg_run_opts_t *opts)
{
    const predreg_options_t *options = records ? &record_options : &run_options;
    int status;

    *opts  = (predreg_run_opts_t){.folder = records ? DEFAULT_FOLDER : NULL};
    status = predreg_options_read(options, argc, argv, opts);
    if (status != 0) {
        return status;
    }

    if (argv[optind] == NULL) {
        predreg_error("no command to run; accepted: ucx_predreg %s [OPTIONS] "
                      "COMMAND [ARGS...]", options->command);
        return PREDREG_EXIT_USAGE;
    }

    if ((opts->no_format == optind) && is_choice(argv[optind], formats)) {
        predreg_error("--summary: its format follows an equals sign; accepted: "
                      "--summary=%s COMMAND, or --summary -- COMMAND",
                      argv[optind]);
        return PREDREG_EXIT_USAGE;
    }

    if (check_knobs(opts) != 0) {
        return PREDREG_EXIT_USAGE;
    }

    if (opts->output != NULL) {
        if (!opts->summary) {
            predreg_env_set(PREDREG_KNOB_SUMMARY, "text");
            opts->summary = 1;
        }
        if (set_output(opts->output, &opts->is_new) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    status = records ? set_folder(opts) : 0;
    if (status != 0) {
        predreg_run_cancel(opts);
    }
    return status;
}

void predreg_run_cancel(const predreg_run_opts_t *opts)
{
    struct stat st;

    if (opts->is_new_folder) {
        rmdir(opts->folder); /* Others may have put something in it */
    }

    if (opts->is_new && (stat(opts->output, &st) == 0) && (st.st_size == 0)) {
        unlink(opts->output);
    }
}
