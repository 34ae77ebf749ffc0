/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "message.h"

#include <stdio.h>
#include <stdlib.h>


/* Where errors are collected; NULL: they are printed. This program has one thread */
static char **collected;


void predreg_errors_collect(char **text_p)
{
    collected = text_p;
    if (text_p != NULL) {
        *text_p = predreg_format("%s", "");
    }
}

void predreg_verror(const char *format, va_list args)
{
    char *text = NULL;

    if (collected == NULL) {
        fputs("ucx_predreg: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    } else if (vasprintf(&text, format, args) >= 0) {
        *collected = predreg_append(*collected, "%s\n", text);
        free(text);
    }
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

char *predreg_append(char *string, const char *format, ...)
{
    char *end = NULL;
    char *longer;
    va_list args;

    va_start(args, format);
    if (vasprintf(&end, format, args) < 0) {
        end = NULL;
    }
    va_end(args);

    predreg_check_memory(end);
    longer = predreg_format("%s%s", string, end);
    free(string);
    free(end);
    return longer;
}
