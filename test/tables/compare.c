/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a line of the file says, in this order */
enum {
    PLACE,
    WHAT,
    PAPER,
    PROGRAM,
    POLICY,
    BASE,
    QUANTITY,
    NUM_FIELDS
};


/* Splits a line at "|", without the spaces around it, in place. Returns how
 * many fields it has, of which only NUM_FIELDS are filled in. */
static unsigned split(char *line, const char **fields)
{
    unsigned num = 0;
    char *field, *end;

    while ((field = strsep(&line, "|")) != NULL) {
        field += strspn(field, " ");
        end    = field + strlen(field);
        while ((end > field) && strchr(" \n", end[-1])) {
            --end;
        }
        *end = '\0';
        if (num < NUM_FIELDS) {
            fields[num] = field;
        }
        ++num;
    }

    return num;
}

/* Returns the median of a quantity of the runs; NAN if it is none */
static double median_of(const row_t *row, const char *quantity)
{
    if (!strcmp(quantity, "time")) {
        return series_median(&row->seconds);
    } else if (!strcmp(quantity, "transfer")) {
        return series_median(&row->communication);
    } else if (!strcmp(quantity, "memory")) {
        return series_median(&row->average);
    } else if (!strcmp(quantity, "peak")) {
        return series_median(&row->peak);
    }

    return NAN;
}

/* The comparison of a line; nothing if it was not measured */
static void write_line(const runs_t *runs, const char **fields, FILE *out)
{
    row_t row, base;
    double change;

    runs_find(runs, fields[PROGRAM], fields[POLICY], &row);
    runs_find(runs, fields[PROGRAM], fields[BASE], &base);
    change = percent(median_of(&row, fields[QUANTITY]),
                     median_of(&base, fields[QUANTITY])) - 100;
    if (!isnan(change)) {
        fprintf(out, "| %s | %s | %s | `%s`, %s of %s against %s | %s |\n",
                fields[PLACE], fields[WHAT], fields[PAPER], fields[PROGRAM],
                fields[QUANTITY], fields[POLICY], fields[BASE],
                number("%+.2f %%", change));
    }
}

int compare(const runs_t *runs, const char *path, FILE *out)
{
    const char *fields[NUM_FIELDS];
    char *line     = NULL;
    size_t size    = 0;
    unsigned count = 0;
    int status     = 0;
    FILE *file     = fopen(path, "r");

    if (file == NULL) {
        perror(path);
        return 2;
    }

    fprintf(out, "| | the paper | | here | |\n|---|---|--:|---|--:|\n");
    while ((status == 0) && (getline(&line, &size, file) > 0)) {
        ++count;
        if ((line[0] == '#') || (line[0] == '\n')) {
            continue;
        }

        if (split(line, fields) == NUM_FIELDS) {
            write_line(runs, fields, out);
        } else {
            fprintf(stderr, "tables: %s:%u: not %d fields\n", path, count,
                    NUM_FIELDS);
            status = 2;
        }
    }

    free(line);
    fclose(file);
    return status;
}
