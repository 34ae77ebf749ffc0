/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <tools/predreg/common/command.h>

#include <ucs/sys/math.h>

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** @file explain.c
 *
 * Reads the output of a job, line by line in memory that does not grow, and prints the
 * entries of docs/errors.md whose words are there: the first one as a whole, titles of the
 * others. The page is compiled into the command, so that the two cannot differ.
 */

/* The most bytes between two parts of an error */
#define MAX_GAP 140

/* Characters kept of a line; what is longer is read as several lines that overlap */
#define MAX_LINE 4096

/* Characters of a line that are compared together with the next line: words may be broken
 * into two lines, with or without a space */
#define MAX_TAIL 200

/* Characters shown of a line */
#define MAX_SHOWN 240

/* An entry of the page */
typedef struct {
    const char *title;
    const char *group;
    int        is_weak; /* Whether its words count only where nothing else is found */
    const char *text;
} entry_t;

/* Words of an error */
typedef struct {
    unsigned   entry;   /* Index */
    const char *pieces; /* Parts in small letters, without spaces, each with a zero behind;
                           the last one is empty */
} words_t;

/* embed.sh makes entries[] and words[] from the page, in its order */
#include <errors_md.h>

#define NUM_ENTRIES ucs_static_array_size(entries)

typedef struct {
    unsigned       found[NUM_ENTRIES]; /* Entries that fit, by their lines */
    unsigned       num_found;
    unsigned long  lines[NUM_ENTRIES]; /* Where words of each entry end first;
                                          0: nowhere */
    char           *texts[NUM_ENTRIES]; /* A part of each of these lines */

    /* The line that is read, after the tail of the line before */
    unsigned long  number;
    size_t         start;                          /* Index in @a small of the line */
    size_t         num_shown, num_small;
    char           shown[MAX_TAIL + MAX_LINE + 1]; /* Characters that control something,
                                                      and spaces of any length, are one
                                                      space */
    char           small[MAX_TAIL + MAX_LINE + 1]; /* Small letters, without spaces */
    unsigned short place[MAX_TAIL + MAX_LINE + 1]; /* Of each character of @a small, the
                                                      index in @a shown */
} explain_t;


/* @param [in] max  The most bytes before the first piece.
 * @return where the pieces begin in the text; NULL: they are not there. */
static const char *find(const char *text, size_t max, const char *pieces)
{
    const char *rest  = pieces + strlen(pieces) + 1;
    const char *begin = strstr(text, pieces);

    while ((begin != NULL) && (begin - text <= max)) {
        if ((*rest == '\0') || find(begin + strlen(pieces), MAX_GAP, rest)) {
            return begin;
        }
        begin = strstr(begin + 1, pieces);
    }

    return NULL;
}

static void put_char(explain_t *explain, int c)
{
    const int is_space = (c <= ' ') || (c == 0x7f);

    if (!is_space) {
        explain->place[explain->num_small]   = explain->num_shown;
        explain->small[explain->num_small++] = tolower(c);
    } else if ((explain->num_shown == 0) ||
               (explain->shown[explain->num_shown - 1] == ' ')) {
        return;
    }

    /* A terminal may take characters that are not ASCII for commands */
    explain->shown[explain->num_shown++] = is_space ? ' ' : (c < 0x80) ? c : '?';
}

/* Keep the line for an entry, unless an earlier one fits it.
 * @param [in] place  Where its words begin. */
static void note(explain_t *explain, unsigned entry, size_t place)
{
    if (explain->lines[entry] == 0) {
        explain->found[explain->num_found++] = entry;
        explain->lines[entry]                = explain->number;
        explain->texts[entry]                = predreg_format("%.*s", MAX_SHOWN,
                explain->shown + ((place < MAX_SHOWN / 2) ? 0 : place));
    }
}

/* Look for words in the line, of which the first on the page count.
 * @return whether the next line cannot go on with this one: an entry fits, or UCX tells
 *         what it does, which may fail without harm. */
static int explain_line(explain_t *explain)
{
    const char *own = explain->small + explain->start;
    const char *found;
    unsigned i;

    if ((strstr(own, "ucxdebug") != NULL) || (strstr(own, "ucxtrace") != NULL)) {
        return 1;
    }

    for (i = 0; i < ucs_static_array_size(words); ++i) {
        found = find(explain->small, MAX_TAIL + MAX_LINE, words[i].pieces);
        if (found != NULL) {
            note(explain, words[i].entry, explain->place[found - explain->small]);
            return 1;
        }
    }

    return 0;
}

/* Explain the line, and keep its tail for the next line */
static void end_line(explain_t *explain)
{
    const size_t own = ucs_min(explain->num_small - explain->start, MAX_TAIL);
    char *tail       = explain->shown;

    explain->shown[explain->num_shown] = '\0';
    explain->small[explain->num_small] = '\0';
    explain->place[explain->num_small] = explain->num_shown;
    tail += explain_line(explain) ? explain->num_shown :
                                    explain->place[explain->num_small - own];

    explain->num_shown = explain->num_small = 0;
    for (; *tail != '\0'; ++tail) {
        put_char(explain, *tail);
    }
    explain->start = explain->num_small;
}

/* @return 0 or the exit status, and the reason has been printed. */
static int read_output(explain_t *explain, const char *path)
{
    FILE *stream = !strcmp(path, "-") ? stdin : fopen(path, "r");
    int c;

    do {
        c = (stream == NULL) ? EOF : getc_unlocked(stream);
        put_char(explain, (c == EOF) ? '\n' : c);
        if ((c == '\n') || (c == EOF) || (explain->num_shown >= MAX_TAIL + MAX_LINE)) {
            end_line(explain);
            explain->number += (c == '\n');
        }
    } while (c != EOF);

    return ((stream != NULL) && !ferror(stream)) ? 0 :
           predreg_error("explain: '%s': %m; accepted: a file, or - for standard input",
                         path);
}

/* Print the entries that fit and are weak, or the others; the first one with its text.
 * @return how many there are. */
static unsigned print_found(const explain_t *explain, int is_weak)
{
    unsigned num = 0;
    const entry_t *entry;
    unsigned i;

    for (i = 0; i < explain->num_found; ++i) {
        entry = &entries[explain->found[i]];
        if (entry->is_weak != is_weak) {
            continue;
        }

        if (++num == 2) {
            printf("\nFurther entries, often consequences of the first:\n\n");
        }
        printf("%s\n  line %lu: %s\n", entry->title, explain->lines[explain->found[i]],
               explain->texts[explain->found[i]]);
        if (num == 1) {
            printf("\n%s.\n\n%s", entry->group, entry->text);
        }
    }

    return num;
}

int predreg_explain(int argc, char **argv)
{
    static const predreg_option_t list[]   = {{NULL}};
    static const predreg_options_t options = {
        .command = "explain",
        .usage   = "FILE|-",
        .intro   = "Find what a job or dmesg printed in docs/errors.md, and say what to do. "
                   "The status\nis 0 if an entry fits, 1 if none does, 2 for bad input.\n",
        .list    = list
    };
    explain_t explain = {.number = 1};
    int status        = predreg_options_read(&options, argc, argv, NULL);

    if (status != 0) {
        return status;
    }

    if (argc != optind + 1) {
        return predreg_error("explain: %d arguments; accepted: one file, or - for standard "
                             "input", argc - optind);
    }

    status = read_output(&explain, argv[optind]);
    if ((status == 0) && !print_found(&explain, 0) && !print_found(&explain, 1)) {
        puts("No entry of docs/errors.md fits. Ask the kernel, too: dmesg -T | ucx_predreg "
             "explain -");
        status = EXIT_FAILURE;
    }
    return status;
}
