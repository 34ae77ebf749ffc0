/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Names and paths may be long; what does not fit is cut off */
#define MAX_LINE 8192


static int output = STDOUT_FILENO;


void predreg_say_to(int fd)
{
    output = fd;
}

void predreg_say(const char *format, ...)
{
    char line[MAX_LINE];
    va_list args;
    char *end;

    va_start(args, format);
    vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);

    for (end = line; *end != '\0'; ++end) {
        if (*end == '\n') {
            *end = ' '; /* Of a message that UCX or the system has made */
        }
    }

    *end++ = '\n';
    if (write(output, line, end - line) != end - line) {
        _exit(1); /* Nobody listens any more */
    }
}
