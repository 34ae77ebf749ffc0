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
 * Makes ucx_predreg.7 of ucx_predreg.7.in while the project is built; this program is not
 * installed. All knobs of the library's table replace the line @KNOBS@. Text in roff
 * between @KNOBS@ and a line @END@ belongs to single knobs: after a line @NAME@ there is
 * more about the knob NAME, without its prefix.
 *
 *     manual TEMPLATE PAGE
 *
 * The page is a file, because UCS may print messages on standard output.
 */

typedef struct {
    char       *more;    /* The lines between @KNOBS@ and @END@ */
    unsigned   num_used; /* Number of lines @NAME@ whose knob was printed */
    FILE       *page;
} manual_t;


static void die(const char *text, const char *what)
{
    fprintf(stderr, "manual: %s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

/* @return a file's content. */
static char *read_file(const char *path)
{
    FILE *file   = fopen(path, "r");
    char *text   = NULL;
    size_t space = 0;

    if ((file == NULL) || (getdelim(&text, &space, '\0', file) < 0)) {
        die(strerror(errno), path);
    }

    fclose(file);
    return text;
}

/* End a text before a line. @return the text behind the line. */
static char *cut_at(char *text, const char *line)
{
    char *found = strstr(text, line);

    if (found == NULL) {
        die("no such line", line);
    }

    *found = '\0';
    return found + strlen(line);
}

/* Print text with escapes, so that roff takes no character of the text for a request or
 * an escape. @param [in] end  Printed behind the text. */
static void put_text(FILE *page, const char *text, size_t length, const char *end)
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
    fputs(end, page);
}

/* Print a line of a knob's help. If the line begins with one space and contains " - ", it
 * begins the meaning of a value; any other line that begins with spaces continues the
 * meaning.
 * @return whether a list of values is open after the line. */
static int put_help_line(FILE *page, const char *line, size_t length, int in_list)
{
    const size_t indent = strspn(line, " ");
    const char *text    = memmem(line, length, " - ", strlen(" - "));
    size_t name;

    if (indent == 0) {
        if (in_list) {
            fprintf(page, ".El\n.Pp\n");
        }
        put_text(page, line, length, "\n");
        return 0;
    }

    if ((indent > 1) || (text == NULL)) {
        put_text(page, line + indent, length - indent, "\n");
        return in_list;
    }

    name = strcspn(line + indent, " ");
    fprintf(page, "%s.It Cm %.*s\n",
            in_list ? "" : ".Bl -tag -width conservative\n", (int)name,
            line + indent);
    text += strlen(" - ");
    put_text(page, text, line + length - text, "\n");
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

/* Print the entry of a knob, and the template's text about the knob */
static void put_knob(void *arg, const uct_predreg_knob_t *knob)
{
    const char *name  = knob->field.name;
    const char *dfl   = knob->field.dfl_value;
    const char *shown = (dfl[0] == '\0') ? "empty" : dfl;
    manual_t *manual  = arg;
    UCS_STRB(accepted, 256);
    char line[80];
    const char *text, *end;

    fprintf(manual->page, ".It Ev " UCT_PREDREG_ENV_PREFIX
            UCT_PREDREG_KNOB_PREFIX "%s\n", name);
    put_help(manual->page, knob->field.doc);
    fprintf(manual->page, "Default: ");
    put_text(manual->page, shown, strlen(shown), ".\n");
    if ((knob->field.type == &uct_predreg_knob_number) ||
        (knob->field.type == &uct_predreg_knob_percent)) {
        uct_predreg_knob_accepted(knob, &accepted);
        fprintf(manual->page, "Accepted: %s.\n",
                ucs_string_buffer_cstr(&accepted));
    }

    snprintf(line, sizeof(line), "@%s@\n", name);
    text = strstr(manual->more, line);
    if (text != NULL) {
        ++manual->num_used;
        text += strlen(line);
        end   = strstr(text, "\n@");
        fprintf(manual->page, ".Pp\n%.*s",
                (int)((end == NULL) ? strlen(text) : (size_t)(end + 1 - text)), text);
    }
}

/* @return how many lines @NAME@ there are. */
static unsigned count_names(const char *text)
{
    unsigned count = 0;

    while (*text != '\0') {
        count += (*text == '@');
        text  += strcspn(text, "\n");
        text  += (*text == '\n');
    }
    return count;
}

int main(int argc, char **argv)
{
    manual_t manual = {};
    char *text, *rest;

    if (argc != 3) {
        die("manual TEMPLATE PAGE", "usage");
    }

    text        = read_file(argv[1]);
    manual.more = cut_at(text, "@KNOBS@\n");
    rest        = cut_at(manual.more, "@END@\n");
    manual.page = fopen(argv[2], "w");
    if (manual.page == NULL) {
        die(strerror(errno), argv[2]);
    }

    fprintf(manual.page, "%s.Bl -tag -width indent\n", text);
    uct_predreg_knobs_describe(put_knob, &manual);
    fprintf(manual.page, ".El\n%s", rest);
    if (manual.num_used != count_names(manual.more)) {
        die("a line @NAME@ is of no knob, or there twice", argv[1]);
    }

    if (ferror(manual.page) || fclose(manual.page)) {
        die("cannot be written", argv[2]);
    }
    return EXIT_SUCCESS;
}
