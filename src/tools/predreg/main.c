/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>

#include <ucs/debug/log_def.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static const struct {
    const char *name;
    int        (*func)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", predreg_run, "run a program with predictive memory registration"},
    {"record", predreg_record, "run a program likewise, and record what it does"},
    {"dump", predreg_dump, "print traces as text"},
    {"stat", predreg_stat, "show what running processes have registered"},
    {"replay", predreg_replay_command,
     "play what was recorded again under other policies"},
    {"report", predreg_report, "compare policies for a recorded run, on a page"},
    {"info", predreg_info,
     "say what prediction would do here, and what is in the way"},
    {"calibrate", predreg_calibrate,
     "say from how many sends on registering a small buffer pays"},
    {"explain", predreg_explain, "say what a job's error means, and what to do"},
    {"knobs", predreg_knobs, "list the settings of the library"}
};


/* Print messages of the libraries on standard error. Otherwise UCS would write them to
 * standard output (UCX 1.13, UCX_LOG_FILE), in between the output of this program */
static ucs_log_func_rc_t
log_message(const char *file, unsigned line, const char *function,
            ucs_log_level_t level, const ucs_log_component_config_t *comp_conf,
            const char *message, va_list ap)
{
    if (level == UCS_LOG_LEVEL_FATAL) {
        return UCS_LOG_FUNC_RC_CONTINUE; /* UCS itself prints the message, and then
                                            ends the program */
    }

    predreg_verror(message, ap);
    return UCS_LOG_FUNC_RC_STOP;
}

/* A command has not succeeded if its output, such as help, is lost on a full disk */
static void check_output(int status, void *arg)
{
    if ((status == EXIT_SUCCESS) && ((fflush(stdout) != 0) || ferror(stdout))) {
        predreg_error("cannot write to the standard output: %m");
        _exit(EXIT_FAILURE);
    }
}

/* A file that is opened later must not become a standard stream that the caller has
 * closed: messages would be written to it. Writing to a closed one still fails */
static void open_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDONLY);
    } while ((fd >= 0) && (fd <= STDERR_FILENO));
    if (fd >= 0) {
        close(fd);
    }
}

static void usage(FILE *stream)
{
    size_t i;

    fprintf(stream, "usage: ucx_predreg COMMAND [OPTIONS]\n"
                    "       ucx_predreg --help | --version\n\n"
                    "Commands (ucx_predreg help COMMAND says more):\n");
    for (i = 0; i < ucs_static_array_size(commands); ++i) {
        fprintf(stream, "  %-9s %s\n", commands[i].name,
                commands[i].help);
    }
}

static void print_accepted(const char *name)
{
    const char *nearest = predreg_nearer(name, "help",
                                         predreg_nearer(name, "version", NULL));
    char *list          = predreg_format("%s", "");
    size_t i;

    for (i = 0; i < ucs_static_array_size(commands); ++i) {
        list    = predreg_list(list, commands[i].name);
        nearest = predreg_nearer(name, commands[i].name, nearest);
    }

    predreg_error("unknown command '%s'%s%s; accepted: %s, help, version", name,
                  (nearest != NULL) ? ", the nearest is " : "",
                  (nearest != NULL) ? nearest : "", list);
    free(list);
}

int main(int argc, char **argv)
{
    static const char *const help[]    = {"help", "--help", "-h", NULL};
    static const char *const version[] = {"version", "--version", "-V", NULL};
    size_t i;

    open_standard();
    ucs_log_push_handler(log_message);
    on_exit(check_output, NULL);
    if (argc < 2) {
        usage(stderr);
        return PREDREG_EXIT_USAGE;
    }

    if (predreg_is_any(argv[1], help, 0)) {
        if ((argc == 2) || predreg_is_any(argv[2], help, 0)) {
            usage(stdout);
            return EXIT_SUCCESS;
        }
        argv[1] = argv[2];
        argv[2] = "--help";
    }

    if (predreg_is_any(argv[1], version, 0)) {
        if ((argc > 2) && !predreg_is_any(argv[2], help, 0)) {
            return predreg_error("version: '%s'; accepted: no argument", argv[2]);
        }
        printf("ucx_predreg %s (built with UCX %s)\n", PACKAGE_VERSION,
               PREDREG_UCX_VERSION_STRING);
        return EXIT_SUCCESS;
    }

    for (i = 0; i < ucs_static_array_size(commands); ++i) {
        if (!strcmp(argv[1], commands[i].name)) {
            /* getopt_long() begins its messages with this name */
            argv[1] = predreg_format("ucx_predreg %s", commands[i].name);
            return commands[i].func(argc - 1, argv + 1);
        }
    }

    print_accepted(argv[1]);
    return PREDREG_EXIT_USAGE;
}
