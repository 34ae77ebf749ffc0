/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "command.h"

#include <ucs/base/clock.h>
#include <ucs/base/number.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** @file command.c
 *
 * Errors go to standard error, or into a string if a sub-command wants to print them
 * later in its own form, as info does. getopt_long() reads the options by a table, and
 * the help is printed from the same table. So no option lacks a line in the help.
 */

/* The most options of a sub-command */
#define MAX_OPTIONS  32

/* getopt_long() returns this number for the first long option without a letter */
#define FIRST_NUMBER 256

/* Time until progress is shown, and between two of its lines, ns */
#define PROGRESS_DELAY    500000000
#define PROGRESS_INTERVAL 100000000

/* Columns of the help where the description of an option begins, and ends */
#define HELP_LEFT    26
#define HELP_RIGHT   80

/* The options as getopt_long() wants them */
typedef struct {
    struct option longs[MAX_OPTIONS + 2]; /* With --help, and an end */
    char          letters[(2 * MAX_OPTIONS) + 4];
} tables_t;


/* Where errors are collected; NULL: they are printed */
static char **collected;

/* The traces of a long piece of work, and how many of them are done */
static size_t num_done, num_all;

static uint64_t next; /* When to show the line of progress again, ns; 0: the work has not
                         begun; UINT64_MAX: never, since there is no terminal */
static int is_shown;  /* Whether the terminal shows a line of progress */


/* Remove the line of progress from the terminal, so that what is printed next begins a
 * line of its own */
static void clear_progress(void)
{
    if (is_shown) {
        fprintf(stderr, "\r\033[K");
        is_shown = 0;
    }
}

void predreg_errors_collect(char **text_p)
{
    collected = text_p;
    if (text_p != NULL) {
        *text_p = predreg_format("%s", "");
    }
}

void predreg_verror(const char *format, va_list args)
{
    char *text;

    if (collected == NULL) {
        clear_progress();
        fputs("ucx_predreg: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    } else {
        text       = predreg_vformat(format, args);
        *collected = predreg_append(*collected, "%s\n", text);
        free(text);
    }
}

int predreg_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    predreg_verror(format, args);
    va_end(args);
    return PREDREG_EXIT_USAGE;
}

void predreg_progress_part(const char *part)
{
    const uint64_t now = ucs_monotonic_ns();

    if (next == 0) {
        next = isatty(STDERR_FILENO) ? (now + PROGRESS_DELAY) : UINT64_MAX;
    }

    if (now >= next) {
        fprintf(stderr, "\rtrace %zu of %zu: %s\033[K", num_done + 1, num_all, part);
        next     = now + PROGRESS_INTERVAL;
        is_shown = 1;
    }
}

void predreg_progress(size_t done, size_t all)
{
    num_done = done;
    num_all  = all;
    if (done < all) {
        predreg_progress_part("reading");
    } else {
        clear_progress();
    }
}

void predreg_set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        predreg_no_memory();
    }
}

long predreg_number(const char *text, long max)
{
    unsigned long value;

    return (ucs_number_parse(text, 0, &value) && (value <= (unsigned long)max)) ?
           value : 0;
}

uint64_t predreg_bytes(const char *text)
{
    unsigned long bytes;

    return ucs_number_parse(text, 1, &bytes) ? bytes : 0;
}

ucs_json_t *predreg_json_begin(const char *type)
{
    static ucs_string_buffer_t text;
    static ucs_json_t json;

    ucs_string_buffer_init(&text);
    json = (ucs_json_t){&text, 0};
    ucs_json_begin(&json, NULL, '{');
    ucs_json_string(&json, "type", type);
    return &json;
}

void predreg_json_known(ucs_json_t *json, const char *name, int is_known, double value,
                        int digits)
{
    if (is_known) {
        ucs_json_printf(json, name, "%.*f", digits, value);
    } else {
        ucs_json_string(json, name, NULL);
    }
}

void predreg_json_print(ucs_json_t *json)
{
    ucs_json_end(json, '}');
    puts(ucs_string_buffer_cstr(json->strb));
    ucs_string_buffer_cleanup(json->strb);
}

int predreg_option_flag(const predreg_option_t *option, const char *value, void *opts)
{
    *(int*)((char*)opts + option->offset) = 1;
    return 0;
}

int predreg_option_string(const predreg_option_t *option, const char *value, void *opts)
{
    *(const char**)((char*)opts + option->offset) = value;
    return 0;
}

static void print_option(const predreg_option_t *option)
{
    int column       = printf("  ");
    const char *text = option->help;
    size_t length;

    if (option->letter != 0) {
        column += printf("-%c, ", option->letter);
    }
    column += printf("--%s", option->name);
    if (option->value != NULL) {
        column += printf("%s%s", (option->value[0] == '[') ? "" : " ", option->value);
    }

    if (column >= HELP_LEFT) {
        printf("\n");
        column = 0;
    }
    column += printf("%*s", HELP_LEFT - column, "");

    for (; *text != '\0'; text += length + strspn(text + length, " ")) {
        length = strcspn(text, " ");
        if ((column > HELP_LEFT) && (column + 1 + (int)length > HELP_RIGHT)) {
            column = printf("\n%*s", HELP_LEFT, "") - 1;
        }
        column += printf("%s%.*s", (column > HELP_LEFT) ? " " : "", (int)length, text);
    }
    printf("\n");
}

static void print_help(const predreg_options_t *options)
{
    static const predreg_option_t help = {"help", .help = "this text"};
    const predreg_option_t *option;

    printf("usage: ucx_predreg %s %s\n\n%s\n", options->command, options->usage,
           options->intro);
    for (option = options->list; option->name != NULL; ++option) {
        if (option->help != NULL) {
            print_option(option);
        }
    }
    print_option(&help);
    if (options->end != NULL) {
        printf("\n%s", options->end);
    }
}

static void fill_tables(const predreg_options_t *options, tables_t *tables)
{
    char *letter = tables->letters;
    const predreg_option_t *option;
    struct option *row;

    memset(tables, 0, sizeof(*tables));
    if (options->runs) {
        *letter++ = '+';
    }
    *letter++ = 'h';

    for (option = options->list, row = tables->longs; option->name != NULL;
         ++option, ++row) {
        row->name    = option->name;
        row->has_arg = (option->value == NULL)    ? no_argument :
                       (option->value[0] == '[') ? optional_argument :
                                                   required_argument;
        row->val     = FIRST_NUMBER + (row - tables->longs);
        if (option->letter != 0) {
            row->val  = option->letter;
            *letter++ = option->letter;
            *letter++ = ':'; /* Each option with a letter has a value */
        }
    }
    *row = (struct option){"help", no_argument, NULL, 'h'};
}

static const predreg_option_t *
find_option(const predreg_options_t *options, const tables_t *tables, int value)
{
    unsigned i;

    for (i = 0; tables->longs[i].val != value; ++i);
    return &options->list[i];
}

int predreg_options_read(const predreg_options_t *options, int argc, char **argv,
                         void *opts)
{
    const predreg_option_t *option;
    tables_t tables;
    int value;

    fill_tables(options, &tables);
    while ((value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1) {
        if (value == 'h') {
            print_help(options);
            exit(EXIT_SUCCESS);
        }

        if (value == '?') {
            if (options->unknown != NULL) {
                options->unknown(argv[optind - 1]);
            }
            return predreg_error("%s --help lists what is accepted", options->command);
        }

        option = find_option(options, &tables, value);
        if (option->read(option, optarg, opts) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    if ((options->only_input != NULL) && (argc != optind + 1)) {
        return predreg_error("%s: %d arguments; accepted: %s", options->command,
                             argc - optind, options->only_input);
    }

    return 0;
}
