/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/base/strb.h>
#include <uct/ib/predreg/core/knobs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** @file manual.c
 *
 * Makes ucx_predreg.7 of ucx_predreg.7.in while the project is built; it is not
 * installed. A line @KNOBS@ is where all knobs are listed, as the library knows
 * them. What follows there, up to a line @END@, is more about some of them: after
 * a line @NAME@ that of the knob NAME, without its prefix, in roff.
 *
 *     manual TEMPLATE PAGE
 *
 * The page is a file, because UCS may print messages on standard output.
 */

#define MAX_LINES 2000

typedef struct {
    char   *lines[MAX_LINES];
    char   is_used[MAX_LINES]; /* For a line @NAME@: whether a knob of that name
                                  was listed, and what follows printed */
    size_t num_lines;
    size_t begin;              /* First line after @KNOBS@ */
    size_t end;                /* The line @END@ */
    FILE   *page;
} manual_t;


static void die(const char *text, const char *what)
{
    fprintf(stderr, "manual: %s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

static void read_template(manual_t *manual, const char *path)
{
    FILE *file   = fopen(path, "r");
    char *line   = NULL;
    size_t space = 0;

    if (file == NULL) {
        die(strerror(errno), path);
    }

    while (getline(&line, &space, file) > 0) {
        if (manual->num_lines == MAX_LINES) {
            die("more lines than MAX_LINES in manual.c", path);
        }

        line[strcspn(line, "\n")]          = '\0';
        manual->lines[manual->num_lines++] = line;
        line                               = NULL;
        space                              = 0;
    }

    free(line);
    fclose(file);
}

/* @return the number of a line, or that of lines if there is no such line. */
static size_t find_line(const manual_t *manual, const char *line)
{
    size_t i = 0;

    while ((i < manual->num_lines) && strcmp(manual->lines[i], line)) {
        ++i;
    }
    return i;
}

static void copy_lines(const manual_t *manual, size_t begin, size_t end)
{
    size_t i;

    for (i = begin; i < end; ++i) {
        fprintf(manual->page, "%s\n", manual->lines[i]);
    }
}

/* Print text so that roff takes none of it for a request */
static void put_text(FILE *page, const char *text, size_t length)
{
    size_t i;

    if ((length > 0) && ((text[0] == '.') || (text[0] == '\''))) {
        fputs("\\&", page);
    }

    for (i = 0; i < length; ++i) {
        if (text[i] == '\\') {
            fputs("\\e", page);
        } else if (text[i] == '-') {
            fputs("\\-", page);
        } else {
            fputc(text[i], page);
        }
    }
}

/* A line of a knob's help. One that begins with one space and has " - " is the
 * beginning of what a value means, others that begin with spaces go on with it.
 * @return whether a list of values is open after it. */
static int put_help_line(FILE *page, const char *line, size_t length, int in_list)
{
    const size_t indent = strspn(line, " ");
    const char *text    = memmem(line, length, " - ", strlen(" - "));
    size_t name;

    if (indent == 0) {
        if (in_list) {
            fprintf(page, ".El\n.Pp\n");
        }
        put_text(page, line, length);
        fputc('\n', page);
        return 0;
    }

    if ((indent > 1) || (text == NULL)) {
        put_text(page, line + indent, length - indent);
        fputc('\n', page);
        return in_list;
    }

    name = strcspn(line + indent, " ");
    fprintf(page, "%s.It Cm %.*s\n",
            in_list ? "" : ".Bl -tag -width conservative\n", (int)name,
            line + indent);
    text += strlen(" - ");
    put_text(page, text, line + length - text);
    fputc('\n', page);
    return 1;
}

static void put_help(FILE *page, const char *help)
{
    int in_list = 0;
    size_t length;

    while (*help != '\0') {
        length  = strcspn(help, "\n");
        in_list = put_help_line(page, help, length, in_list);
        help   += length + (help[length] == '\n');
    }

    if (in_list) {
        fprintf(page, ".El\n.Pp\n");
    }
}

/* The entry of a knob, and what the template has to add to it */
static void put_knob(void *arg, const uct_predreg_knob_t *knob)
{
    const char *name  = knob->field.name;
    const char *dfl   = knob->field.dfl_value;
    const char *shown = (dfl[0] == '\0') ? "empty" : dfl;
    manual_t *manual  = arg;
    UCS_RCACHE_PRED_STRB(accepted, 256);
    char line[80];
    size_t i, end;

    fprintf(manual->page, ".It Ev " UCT_PREDREG_ENV_PREFIX
            UCT_PREDREG_KNOB_PREFIX "%s\n", name);
    put_help(manual->page, knob->field.doc);
    fprintf(manual->page, "Default: ");
    put_text(manual->page, shown, strlen(shown));
    fprintf(manual->page, ".\n");
    if ((knob->field.type == &uct_predreg_knob_number) ||
        (knob->field.type == &uct_predreg_knob_percent)) {
        uct_predreg_knob_accepted(knob, &accepted);
        fprintf(manual->page, "Accepted: %s.\n",
                ucs_string_buffer_cstr(&accepted));
    }

    snprintf(line, sizeof(line), "@%s@", name);
    i = find_line(manual, line);
    if (i == manual->num_lines) {
        return;
    }

    manual->is_used[i] = 1;
    for (end = i + 1; manual->lines[end][0] != '@'; ++end);
    fprintf(manual->page, ".Pp\n");
    copy_lines(manual, i + 1, end);
}

static void put_page(manual_t *manual)
{
    size_t i;

    copy_lines(manual, 0, manual->begin - 1);
    fprintf(manual->page, ".Bl -tag -width indent\n");
    uct_predreg_knobs_describe(put_knob, manual);
    fprintf(manual->page, ".El\n");
    copy_lines(manual, manual->end + 1, manual->num_lines);

    for (i = manual->begin; i < manual->end; ++i) {
        if ((manual->lines[i][0] == '@') && !manual->is_used[i]) {
            die("there is no such knob, or it has a line already",
                manual->lines[i]);
        }
    }
}

int main(int argc, char **argv)
{
    manual_t *manual = calloc(1, sizeof(*manual));

    if ((argc != 3) || (manual == NULL)) {
        die("manual TEMPLATE PAGE", "usage");
    }

    read_template(manual, argv[1]);
    manual->begin = find_line(manual, "@KNOBS@") + 1;
    manual->end   = find_line(manual, "@END@");
    if ((manual->begin > manual->end) || (manual->end >= manual->num_lines)) {
        die("no line @KNOBS@, or no line @END@ after it", argv[1]);
    }

    manual->page = fopen(argv[2], "w");
    if (manual->page == NULL) {
        die(strerror(errno), argv[2]);
    }

    put_page(manual);
    if (ferror(manual->page) || fclose(manual->page)) {
        die("cannot be written", argv[2]);
    }
    return EXIT_SUCCESS;
}
