/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "number.h"

#include <ucs/base/number.h>


long predreg_number(const char *text, long max)
{
    unsigned long value;

    return (ucs_number_parse(text, 0, &value) && (value <= (unsigned long)max)) ?
           value : 0;
}

uint64_t predreg_bytes(const char *text)
{
    unsigned long bytes;

    return ucs_number_parse(text, 1, &bytes) ? bytes : 0;
}
