/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>


long predreg_number(const char *text, long max)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    return (isdigit((unsigned char)text[0]) && (*end == '\0') && (errno == 0) &&
            (value <= max)) ? value : 0;
}
