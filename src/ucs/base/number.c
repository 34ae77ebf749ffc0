/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "number.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Room for a line of a file; a longer line is taken for several lines. The room is small,
 * since threads with small stacks read files, too */
#define LINE_SIZE 256


/* @return the exponent n of a unit of 2^n bytes, such as 10 for "k"; -1 for any other
 *         text. */
static int unit_shift(const char *unit)
{
    static const char letters[] = "kmgt";
    const char *letter;

    if ((*unit == '\0') || !strcasecmp(unit, "b")) {
        return 0;
    }

    letter = strchr(letters, *unit | ('a' ^ 'A')); /* In lower case */
    return ((letter == NULL) || (*letter == '\0') ||
            ((unit[1] != '\0') && strcasecmp(unit + 1, "b") &&
             strcasecmp(unit + 1, "ib"))) ?
           -1 : 10 * (1 + (letter - letters));
}

int ucs_number_parse(const char *text, int is_bytes, unsigned long *value_p)
{
    unsigned long number;
    char *end;
    int shift;

    /* strtoul() would take white space and a sign as well. isdigit() would
     * depend on the locale. */
    if ((text[0] < '0') || (text[0] > '9')) {
        return 0;
    }

    errno  = 0;
    number = strtoul(text, &end, 10);
    shift  = is_bytes ? unit_shift(end) : ((*end == '\0') ? 0 : -1);
    if ((errno != 0) || (shift < 0) || (number > (ULONG_MAX >> shift))) {
        return 0;
    }

    *value_p = number << shift;
    return 1;
}

int ucs_scan_file(const char *folder, const char *name, const char *format, ...)
{
    FILE *stream = NULL;
    int count    = 0;
    char line[LINE_SIZE];
    va_list args;
    char *path;

    if (asprintf(&path, "%s%s", folder, name) != -1) {
        stream = fopen(path, "re");
        free(path);
    }

    if (stream == NULL) {
        return 0;
    }

    while ((count <= 0) && (fgets(line, sizeof(line), stream) != NULL)) {
        va_start(args, format);
        count = vsscanf(line, format, args);
        va_end(args);
    }
    fclose(stream);
    return (count > 0) ? count : 0;
}
