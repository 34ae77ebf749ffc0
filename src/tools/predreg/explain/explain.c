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

/* Of two pieces of an error of which the second begins with '#', only these characters may
 * lie between the two */
#define NUMBERS "0123456789-,[]"

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

/* The arrays entries[] and words[], which embed.sh generates from docs/errors.md, in the
 * order of the page */
#include <errors_md.h>

#define NUM_ENTRIES ucs_static_array_size(entries)

/* The first error with words of an entry, or the first warning */
typedef struct {
    unsigned      entry; /* Index */
    int           is_warning;
    unsigned long line;  /* The words end in this line of the job's output: its number,
                            from 1 */
    char          *text; /* A part of that line */
} found_t;

typedef struct {
    found_t        found[2 * NUM_ENTRIES]; /* In the order of their lines */
    unsigned       num_found;

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
    const char *end;

    while ((begin != NULL) && (begin - text <= max)) {
        end = begin + strlen(pieces);
        if ((*rest == '\0') ||
            ((*rest == '#') ? find(end, strspn(end, NUMBERS), rest + 1) :
                              find(end, MAX_GAP, rest))) {
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

    /* The user's terminal may obey characters outside of ASCII as commands: print '?' in
     * their place */
    explain->shown[explain->num_shown++] = is_space ? ' ' : (c < 0x80) ? c : '?';
}

/* @return the error, or the warning, in the job's output that fits an entry; NULL: there is
 *         none so far. */
static const found_t *find_found(const explain_t *explain, unsigned entry, int is_warning)
{
    const found_t *found;

    for (found = explain->found; found < explain->found + explain->num_found; ++found) {
        if ((found->entry == entry) && (found->is_warning == is_warning)) {
            return found;
        }
    }
    return NULL;
}

/* Keep the line for an entry, unless an earlier line was kept. A long line is shown from the
 * words on.
 * @param [in] begin  Where the words of the entry begin in @a small. */
static void note(explain_t *explain, unsigned entry, const char *begin)
{
    const char *line   = ucs_min(begin, explain->small + explain->start);
    const size_t place = explain->place[begin - explain->small];
    int is_warning     = strstr(line, "ucxwarn") || strstr(line, "ncclwarn") ||
                         strstr(line, "ncclinfo");

    if (find_found(explain, entry, is_warning) == NULL) {
        explain->found[explain->num_found++] = (found_t){
            entry, is_warning, explain->number,
            predreg_format("%.*s", MAX_SHOWN,
                           explain->shown + ((place < MAX_SHOWN / 2) ? 0 : place))
        };
    }
}

/* @return whether the line is of a level below warnings: UCX logs there what it tries, and
 *         an attempt may fail without harm. */
static int is_below_warning(const char *line)
{
    return strstr(line, "ucxdiag") || strstr(line, "ucxinfo") || strstr(line, "ucxdebug") ||
           strstr(line, "ucxtrace");
}

/* Look for words in the line, of which the first on the page count. Words that begin in the
 * line before count where the line itself has none, or weak ones.
 * @return whether the next line cannot go on with this one: an entry fits, or the line is of
 *         a level below warnings. */
static int explain_line(explain_t *explain)
{
    const char *own    = explain->small + explain->start;
    const char *joined = NULL;
    unsigned entry     = 0;
    const char *found;
    unsigned i;

    if (is_below_warning(own)) {
        return 1;
    }

    for (i = 0; i < ucs_static_array_size(words); ++i) {
        if ((joined != NULL) && entries[words[i].entry].is_weak) {
            break;
        }

        found = find(explain->small, MAX_TAIL + MAX_LINE, words[i].pieces);
        if (found >= own) {
            note(explain, words[i].entry, found);
            return 1;
        } else if ((found != NULL) && (joined == NULL)) {
            joined = found;
            entry  = words[i].entry;
        }
    }

    if (joined != NULL) {
        note(explain, entry, joined);
    }
    return joined != NULL;
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

/* Print the entries that fit and are weak, or the others: those of errors, then those of
 * warnings only; the first one with its text.
 * @return how many there are. */
static unsigned print_found(const explain_t *explain, int is_weak)
{
    unsigned num = 0;
    const entry_t *entry;
    const found_t *found;
    unsigned i;

    for (i = 0; i < 2 * explain->num_found; ++i) {
        found = &explain->found[i % explain->num_found];
        entry = &entries[found->entry];
        if ((entry->is_weak != is_weak) || (found->is_warning != i / explain->num_found) ||
            (found->is_warning && (find_found(explain, found->entry, 0) != NULL))) {
            continue;
        }

        if (++num == 2) {
            printf("\nFurther entries, often consequences of the first:\n\n");
        }
        printf("%s\n  line %lu: %s\n", entry->title, found->line, found->text);
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
        .command    = "explain",
        .only_input = "one file, or - for standard input",
        .usage      = "FILE|-",
        .intro      = "Read what a job or dmesg has printed, find its error in docs/errors.md, "
                      "and say\nwhat to do. The status is 0 if an entry fits, 1 if none "
                      "does, 2 for bad input.\n",
        .list       = list
    };
    explain_t explain = {.number = 1};
    int status        = predreg_options_read(&options, argc, argv, NULL);
    unsigned i;

    if (status != 0) {
        return status;
    }

    status = read_output(&explain, argv[optind]);
    if ((status == 0) && !print_found(&explain, 0) && !print_found(&explain, 1)) {
        puts("No entry of docs/errors.md fits. Ask the kernel, too: dmesg -T | ucx_predreg "
             "explain -");
        status = EXIT_FAILURE;
    }
    for (i = 0; i < explain.num_found; ++i) {
        free(explain.found[i].text);
    }
    return status;
}
