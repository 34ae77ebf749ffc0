/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "predreg.h"

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


typedef struct {
    const char *name;
    int        (*func)(int argc, char **argv);
    const char *title; /* Name with the program's, for messages of getopt */
    const char *help;
} predreg_command_t;


static const predreg_command_t predreg_commands[] = {
    {"run", predreg_run, "ucx_predreg run",
     "run a program with predictive memory registration"},
    {"record", predreg_record, "ucx_predreg record",
     "run a program likewise, and record what it does"},
    {"dump", predreg_dump, "ucx_predreg dump", "print traces as text"},
    {"stat", predreg_stat, "ucx_predreg stat",
     "show what running processes have registered"},
    {"replay", predreg_replay_command, "ucx_predreg replay",
     "play what was recorded again under other policies"},
    {"report", predreg_report, "ucx_predreg report",
     "compare policies for a recorded run, on a page"},
};

#define PREDREG_NUM_COMMANDS \
    (sizeof(predreg_commands) / sizeof(predreg_commands[0]))


static void predreg_verror(const char *format, va_list args)
{
    fputs("ucx_predreg: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void predreg_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    predreg_verror(format, args);
    va_end(args);
}

/* What the libraries log would go to standard output otherwise (UCX 1.13,
 * UCX_LOG_FILE), into the middle of what is printed there */
static ucs_log_func_rc_t
predreg_log(const char *file, unsigned line, const char *function,
            ucs_log_level_t level, const ucs_log_component_config_t *comp_conf,
            const char *message, va_list ap)
{
    if (level == UCS_LOG_LEVEL_FATAL) {
        return UCS_LOG_FUNC_RC_CONTINUE; /* UCS does more than to say it */
    }

    predreg_verror(message, ap);
    return UCS_LOG_FUNC_RC_STOP;
}

void *predreg_check_memory(void *pointer)
{
    if (pointer == NULL) {
        predreg_error("out of memory");
        exit(PREDREG_EXIT_CANNOT_RUN);
    }

    return pointer;
}

char *predreg_format(const char *format, ...)
{
    char *string = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&string, format, args) < 0) {
        string = NULL;
    }
    va_end(args);

    return predreg_check_memory(string);
}

static void predreg_usage(FILE *stream)
{
    size_t i;

    fprintf(stream, "usage: ucx_predreg COMMAND [OPTIONS]\n"
                    "       ucx_predreg --help | --version\n\n"
                    "Commands (ucx_predreg COMMAND --help says more):\n");
    for (i = 0; i < PREDREG_NUM_COMMANDS; ++i) {
        fprintf(stream, "  %-8s %s\n", predreg_commands[i].name,
                predreg_commands[i].help);
    }
}

static void predreg_print_accepted(const char *name)
{
    char *list = predreg_format("%s", predreg_commands[0].name);
    char *longer;
    size_t i;

    for (i = 1; i < PREDREG_NUM_COMMANDS; ++i) {
        longer = predreg_format("%s, %s", list, predreg_commands[i].name);
        free(list);
        list = longer;
    }

    predreg_error("unknown command '%s'; accepted: %s, --help, --version",
                  name, list);
    free(list);
}

int main(int argc, char **argv)
{
    size_t i;

    ucs_log_push_handler(predreg_log);
    if (argc < 2) {
        predreg_usage(stderr);
        return PREDREG_EXIT_USAGE;
    }

    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        predreg_usage(stdout);
        return EXIT_SUCCESS;
    }

    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        printf("ucx_predreg %s (for UCX %s)\n", PACKAGE_VERSION,
               PREDREG_UCX_VERSION_STRING);
        return EXIT_SUCCESS;
    }

    for (i = 0; i < PREDREG_NUM_COMMANDS; ++i) {
        if (!strcmp(argv[1], predreg_commands[i].name)) {
            argv[1] = (char*)predreg_commands[i].title;
            return predreg_commands[i].func(argc - 1, argv + 1);
        }
    }

    predreg_print_accepted(argv[1]);
    return PREDREG_EXIT_USAGE;
}
