/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "run.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/trace_files.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/** @file options.c
 *
 * Options that are knobs become variables of the environment, which the ranks inherit.
 * Everything is checked before the command starts: knobs, the file of the summary, and
 * the folder for traces, which must not have traces of another job in it.
 */

#define DEFAULT_FOLDER "predreg.traces"


/* Check a file in the folder that would be read as a trace of this job. The file is
 * refused unless --force is given, and then it is refused if it is no trace, as only
 * traces may be removed */
static int check_file(const char *folder, const char *name, const char *path, int force)
{
    if (!force) {
        return predreg_error("-o: '%s' has traces in it, as %s; accepted: another "
                             "folder, or --force to remove them", folder, name);
    }

    if (!predreg_is_trace(path, 1)) {
        return predreg_error("--force: '%s' in '%s' is no trace and is not removed, "
                             "but would be read as one; accepted: another folder",
                             name, folder);
    }

    return 0;
}

static int remove_file(const char *folder, const char *name, const char *path, int force)
{
    if (unlink(path) != 0) {
        return predreg_error("--force: cannot remove '%s' from '%s': %s", name, folder,
                             strerror(errno));
    }

    return 0;
}

static int refuse_folder(const char *option, const char *folder)
{
    return predreg_error("%s: '%s': %s; accepted: a folder that can be written to",
                         option, folder, strerror(errno));
}

/* Call a function for each file of a folder that would be read as a trace, until one
 * call fails.
 * @param [in] option  For messages.
 * @return 0 or the exit status. */
static int each_file(const char *option, const char *folder, int force,
                     int (*func)(const char *folder, const char *name,
                                 const char *path, int force))
{
    int status = 0;
    struct dirent **entries;
    int i, count;
    char *path;

    count = predreg_trace_names(folder, &entries);
    if (count < 0) {
        return refuse_folder(option, folder);
    }

    for (i = 0; i < count; ++i) {
        path = predreg_format("%s/%s", folder, entries[i]->d_name);
        if (status == 0) {
            status = func(folder, entries[i]->d_name, path, force);
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int predreg_trace_folder_clear(const char *folder)
{
    return each_file("--force", folder, 1, remove_file);
}

int predreg_trace_folder_prepare(const char *folder, int force, int *is_new_p)
{
    int status;

    *is_new_p = (mkdir(folder, 0777) == 0);
    if (!*is_new_p && (errno != EEXIST)) {
        return predreg_error("-o: cannot make '%s': %s; accepted: a folder in one "
                             "that can be written to", folder, strerror(errno));
    }

    status = each_file("-o", folder, force, check_file);
    if ((status == 0) && (access(folder, W_OK | X_OK) != 0)) {
        status = refuse_folder("-o", folder);
    }
    return status;
}

int predreg_env_set_path(const char *what, const char *name, const char *path)
{
    char *cwd = getcwd(NULL, 0);
    char *absolute;

    if ((path[0] != '/') && (cwd == NULL)) {
        return predreg_error("%s: the present folder is unknown (%s); accepted: an "
                             "absolute path", what, strerror(errno));
    }

    absolute = (path[0] == '/') ? predreg_format("%s", path) :
                                  predreg_format("%s/%s", cwd, path);
    predreg_set_variable(name, absolute);
    free(absolute);
    free(cwd);
    return 0;
}

/* Whether a value is one of the values of a knob, in letters of any case, as UCX accepts
 * them */
static int is_choice(const char *knob, const char *value)
{
    const char *const *choice = predreg_knob_values(knob);

    while ((*choice != NULL) && strcasecmp(value, *choice)) {
        ++choice;
    }
    return *choice != NULL;
}

/* Set the knob that an option stands for */
static int set_choice(const predreg_option_t *option, const char *knob, const char *value)
{
    const char *const *choice = predreg_knob_values(knob);
    char *text;

    if (is_choice(knob, value)) {
        text = predreg_format(PREDREG_KNOB_PREFIX "%s", knob);
        predreg_set_variable(text, value);
        free(text);
        return 0;
    }

    for (text = predreg_format("%s", ""); *choice != NULL; ++choice) {
        text = predreg_list(text, *choice);
    }
    predreg_error("--%s: unknown value '%s'; accepted: %s", option->name, value, text);
    free(text);
    return PREDREG_EXIT_USAGE;
}

/* Have the library append the summary to a file, and make the file if there is none */
static int set_summary_file(const char *path, int *is_new_p)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    int fd;

    fd        = open(path, flags | O_EXCL, 0666);
    *is_new_p = (fd >= 0);
    if ((fd < 0) && (errno == EEXIST)) {
        fd = open(path, flags, 0666);
    }

    if (fd < 0) {
        return predreg_error("--summary-file: cannot write to '%s': %s; accepted: a "
                             "file in a folder that can be written to", path,
                             strerror(errno));
    }
    close(fd);
    return predreg_env_set_path("--summary-file", PREDREG_KNOB_OUTPUT, path);
}

/* If an unknown option is a knob, print how to set it */
static void tell_of_knob(const char *arg)
{
    const char *name = arg + strspn(arg, "-");
    char *knob       = predreg_format("%.*s", (int)strcspn(name, "="), name);
    const char *nearest;
    char *p;

    for (p = knob; *p != '\0'; ++p) {
        *p = (*p == '-') ? '_' : *p;
    }

    nearest = predreg_knob_nearest(knob);
    if ((nearest != NULL) && !strcasecmp(nearest, knob)) {
        predreg_error("%s is a knob; accepted: --set %s=VALUE", nearest,
                      nearest);
    }
    free(knob);
}

static int read_policy(const predreg_option_t *option, const char *value, void *opts)
{
    return set_choice(option, "POLICY", value);
}

static int read_summary(const predreg_option_t *option, const char *value, void *arg)
{
    ((predreg_run_opts_t*)arg)->no_format = (value == NULL) ? optind : 0;
    return set_choice(option, "SUMMARY", (value == NULL) ? "text" : value);
}

static int read_set(const predreg_option_t *option, const char *value, void *opts)
{
    return predreg_knob_set_variable(value, 1);
}

/* The option had the meaning of --summary-file, and -o of record another one */
static int refuse_output(const predreg_option_t *option, const char *value, void *opts)
{
    return predreg_error("--output: accepted: --summary-file %s for the summary; and of "
                         "record, -o or --folder for the traces", value);
}

#define FIELD(_name) offsetof(predreg_run_opts_t, _name)

#define RUN_OPTIONS \
    {"policy", 0, "P", "predict (default), on-demand, leave-pinned", read_policy, 0}, \
    {"summary", 0, "[=FORMAT]", "print a summary a rank at exit, as text (default) or " \
     "json", read_summary, 0}, \
    {"summary-file", 0, "FILE", "append the summary to FILE instead of standard error", \
     predreg_option_string, FIELD(summary_file)}, \
    {"output", 0, "FILE", NULL, refuse_output, 0}, \
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
    .end     = RUN_END "When COMMAND has ended, a line says how many traces there are.\n",
    .list    = record_list,
    .runs    = 1,
    .unknown = tell_of_knob
};

/* Have the library write traces to a folder, and make the folder if there is none.
 * @return 0 or the exit status. */
static int set_folder(predreg_run_opts_t *opts)
{
    int status = predreg_trace_folder_prepare(opts->folder, opts->force,
                                              &opts->is_new_folder);

    return (status != 0) ? status :
           predreg_env_set_path("-o", PREDREG_KNOB_TRACE, opts->folder);
}

int predreg_run_parse(int argc, char **argv, int records, predreg_run_opts_t *opts)
{
    const predreg_options_t *options = records ? &record_options : &run_options;
    const char *summary, *file;
    int status;

    *opts  = (predreg_run_opts_t){.folder = records ? DEFAULT_FOLDER : NULL};
    status = predreg_options_read(options, argc, argv, opts);
    if (status != 0) {
        return status;
    }

    if (argv[optind] == NULL) {
        return predreg_error("no command to run; accepted: ucx_predreg %s [OPTIONS] "
                             "COMMAND [ARGS...]", options->command);
    }

    if ((opts->no_format == optind) && is_choice("SUMMARY", argv[optind])) {
        return predreg_error("--summary: its format follows an equals sign; accepted: "
                             "--summary=%s COMMAND, or --summary -- COMMAND",
                             argv[optind]);
    }

    /* By now the options have set their variables of the environment */
    summary       = getenv(PREDREG_KNOB_SUMMARY);
    opts->summary = (summary != NULL) && strcasecmp(summary, "n");
    if (predreg_knob_check_environment() != 0) {
        return PREDREG_EXIT_USAGE;
    }

    file = (opts->summary_file != NULL) ? opts->summary_file : getenv(PREDREG_KNOB_OUTPUT);
    if ((file != NULL) && predreg_is_trace(file, 0)) {
        return predreg_error("%s: '%s' is a trace; accepted: another file",
                             (opts->summary_file != NULL) ? "--summary-file" :
                             PREDREG_KNOB_OUTPUT, file);
    }

    if (opts->summary_file != NULL) {
        if (!opts->summary) {
            predreg_set_variable(PREDREG_KNOB_SUMMARY, "text");
            opts->summary = 1;
        }
        status = set_summary_file(opts->summary_file, &opts->is_new);
        if (status != 0) {
            return status;
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
        rmdir(opts->folder); /* Fails if somebody has put a file into the folder, which
                                then stays */
    }

    if (opts->is_new && (stat(opts->summary_file, &st) == 0) && (st.st_size == 0)) {
        unlink(opts->summary_file);
    }
}
