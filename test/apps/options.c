/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "options.h"

#include "apps.h"

#include <getopt.h>
#include <limits.h>

/* More than any program has */
#define MAX_OPTIONS 16


uint64_t app_number(const char *option, const char *value)
{
    unsigned shift = 0;
    unsigned long long number;
    char *end;

    errno  = 0;
    number = strtoull(value, &end, 0);
    switch (*end) {
    case 'g':
    case 'G':
        shift += 10;
        /* fall through */
    case 'm':
    case 'M':
        shift += 10;
        /* fall through */
    case 'k':
    case 'K':
        shift += 10;
        ++end;
        break;
    }

    if ((errno != 0) || (end == value) || (*end != '\0') ||
        (strchr(value, '-') != NULL) || (number > (UINT64_MAX >> shift))) {
        app_fatal("--%s: '%s'; accepted: whole numbers from 0, also with k, m "
                  "or g, below 2^64", option, value);
    }

    return number << shift;
}

static int parse_count(const char *option, const char *value)
{
    uint64_t count = app_number(option, value);

    if (count > INT_MAX) {
        app_fatal("--%s: '%s' is too large: accepted are 0 to %d", option,
                  value, INT_MAX);
    }

    return count;
}

static void set_option(const app_option_t *option, const char *value)
{
    if (option->flag != NULL) {
        *option->flag = 1;
    } else if (option->count != NULL) {
        *option->count = parse_count(option->name, value);
    } else if (option->size != NULL) {
        *option->size = app_number(option->name, value);
    } else if (option->number != NULL) {
        *option->number = app_number(option->name, value);
    } else {
        option->function(value);
    }
}

void app_parse(int argc, char **argv, const char *program,
               const app_option_t *options, void (*usage)(void))
{
    struct option known[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, 0}};
    int index, num;

    /* known[i + 1] is options[i], and the last one is all zeros */
    for (num = 0; options[num].name != NULL; ++num) {
        if (num == MAX_OPTIONS) {
            app_fatal("%s: more than %d options", program, MAX_OPTIONS);
        }

        known[num + 1].name    = options[num].name;
        known[num + 1].has_arg = (options[num].flag != NULL) ?
                                         no_argument : required_argument;
    }

    while ((num = getopt_long(argc, argv, "", known, &index)) != -1) {
        if (num != 0) {
            exit(2); /* getopt_long has told why */
        } else if (index == 0) {
            usage();
            exit(0);
        }

        set_option(&options[index - 1], optarg);
    }

    if (optind < argc) {
        app_fatal("%s: unexpected argument '%s', see --help", program,
                  argv[optind]);
    }
}
