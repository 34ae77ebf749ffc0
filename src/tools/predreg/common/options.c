/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "options.h"
#include "message.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More options than any sub-command has */
#define MAX_OPTIONS  32

/* What getopt_long() returns for the first long option without a letter */
#define FIRST_NUMBER 256

/* Columns in which the help begins to say what an option does, and ends */
#define HELP_LEFT    26
#define HELP_RIGHT   80

/* The same tables, as getopt_long() wants them */
typedef struct {
    struct option longs[MAX_OPTIONS + 2]; /* With that for the help, and an end */
    char          letters[(2 * MAX_OPTIONS) + 4];
} tables_t;


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
        print_option(option);
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
            *letter++ = ':'; /* Each that has a letter has a value */
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
            predreg_error("%s --help lists what is accepted", options->command);
            return PREDREG_EXIT_USAGE;
        }

        option = find_option(options, &tables, value);
        if (option->read(option, optarg, opts) != 0) {
            return PREDREG_EXIT_USAGE;
        }
    }

    return 0;
}
