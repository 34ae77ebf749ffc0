/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#include "scan.h"

#include <stdarg.h>
#include <stdio.h>

/* Longer lines are taken for several ones: short, since threads with small stacks read
 * files, too */
#define LINE_SIZE 256


int ucs_scan_file(const char *path, const char *format, ...)
{
    FILE *stream = fopen(path, "re");
    int count    = 0;
    char line[LINE_SIZE];
    va_list args;

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
