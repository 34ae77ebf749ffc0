/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "message.h"

#include <stdio.h>
#include <stdlib.h>


void predreg_verror(const char *format, va_list args)
{
    fputs("ucx_predreg: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void predreg_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    predreg_verror(format, args);
    va_end(args);
}

void *predreg_check_memory(void *pointer)
{
    if (pointer == NULL) {
        predreg_error("out of memory");
        exit(PREDREG_EXIT_CANNOT_RUN);
    }

    return pointer;
}

char *predreg_format(const char *format, ...)
{
    char *string = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&string, format, args) < 0) {
        string = NULL;
    }
    va_end(args);

    return predreg_check_memory(string);
}
