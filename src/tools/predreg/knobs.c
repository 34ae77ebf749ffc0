/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/** @file knobs.c
 *
 * Lists the library's knobs from their table: default, help, accepted values, and a value
 * other than the default as an example.
 */

static const predreg_option_t list[] = {{NULL}};

static const predreg_options_t options = {
    .command = "knobs",
    .usage   = "[OPTIONS]",
    .intro   = "List the settings of the library, each with an example. The page\n"
               "ucx_predreg(7) says more.\n",
    .list    = list
};


/* @return a value for the example of a knob: the knob accepts it, and has another one by
 *         default. */
static const char *example(const uct_predreg_knob_t *knob)
{
    return (knob->names != NULL) ?
           knob->names[!strcmp(knob->names[0], knob->field.dfl_value)] :
           (knob->field.type == &uct_predreg_knob_list)   ? "ib,cma" :
           (knob->field.type == &uct_predreg_knob_string) ? "/tmp/job" :
           knob->is_bytes                                 ? "512M" :
           knob->is_percent                               ? "5" :
                                                            "1000";
}

static void print_knob(void *arg, const uct_predreg_knob_t *knob)
{
    ucs_string_buffer_t accepted = UCS_STRING_BUFFER_INITIALIZER;
    const char *name             = knob->field.name;
    const char *line             = knob->field.doc;
    size_t length;

    printf(PREDREG_KNOB_PREFIX "%s=%s\n", name, knob->field.dfl_value);
    for (; *line != '\0'; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
    }

    if ((knob->names == NULL) && (knob->max > 0)) {
        uct_predreg_knob_accepted(knob, &accepted);
        printf("  Accepted: %s.\n", ucs_string_buffer_cstr(&accepted));
        ucs_string_buffer_cleanup(&accepted);
    }
    printf("  Example: ucx_predreg run --set %s=%s -- ./app\n\n", name, example(knob));
}

int predreg_knobs(int argc, char **argv)
{
    int status = predreg_options_read(&options, argc, argv, NULL);

    if ((status == 0) && (optind < argc)) {
        return predreg_error("knobs: '%s'; accepted: no argument", argv[optind]);
    }

    if (status == 0) {
        uct_predreg_knobs_describe(print_knob, NULL);
    }
    return status;
}
