/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "number.h"

#include <uct/ib/predreg/core/knob_values.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
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

uint64_t predreg_bytes(const char *text)
{
    static const uct_predreg_knob_values_t values = {
        .min      = 1,
        .max      = LONG_MAX,
        .is_bytes = 1
    };
    unsigned long bytes;

    return uct_predreg_knob_parse(&values, text, &bytes) ? bytes : 0;
}
