/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_values.h"

#include <ucs/base/number.h>

#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TERA_SHIFT 40


/* @return the largest number. Larger ones than this cannot be counted, and
 * UCX prints some of them as words */
static unsigned long largest(const uct_predreg_knob_values_t *values)
{
    return (values->max == ULONG_MAX) ? LONG_MAX : values->max;
}

int uct_predreg_knob_parse(const uct_predreg_knob_values_t *values,
                           const char *text, unsigned long *value_p)
{
    if ((values->max == ULONG_MAX) && !strcasecmp(text, UCS_NUMERIC_INF_STR)) {
        *value_p = ULONG_MAX;
        return 1;
    }

    if (!ucs_number_parse(text, values->is_bytes, value_p)) {
        return 0;
    }

    return ((*value_p == 0) && values->is_zero_ok) ||
           ((*value_p >= values->min) && (*value_p <= largest(values)) &&
            (!values->is_power_of_2 || ucs_is_pow2(*value_p)));
}

int uct_predreg_knob_parse_percent(const uct_predreg_knob_values_t *values,
                                   const char *text, double *value_p)
{
    double value = 0;
    double unit  = 1;
    const char *digit;

    if (!values->is_finite && !strcasecmp(text, UCS_NUMERIC_INF_STR)) {
        *value_p = INFINITY;
        return 1;
    }

    /* strtod() would depend on the locale */
    for (digit = text; (*digit >= '0') && (*digit <= '9'); ++digit) {
        value = (10 * value) + (*digit - '0');
    }
    if ((digit > text) && (*digit == '.')) {
        for (++digit; (*digit >= '0') && (*digit <= '9'); ++digit) {
            unit  /= 10;
            value += unit * (*digit - '0');
        }
    }

    if ((digit == text) || (*digit != '\0') || (value < values->min) ||
        (value > values->max)) {
        return 0;
    }

    *value_p = value;
    return 1;
}

void uct_predreg_knob_print_percent(double value, char *buf, size_t max)
{
    static const unsigned long million = 1000000;
    unsigned long millionths;
    size_t digits;

    if (isinf(value)) {
        ucs_strncpy_safe(buf, UCS_NUMERIC_INF_STR, max);
        return;
    }

    millionths = lround(value * million);
    if (millionths % million == 0) {
        snprintf(buf, max, "%lu", millionths / million);
        return;
    }

    snprintf(buf, max, "%lu.%06lu", millionths / million, millionths % million);
    for (digits = strlen(buf); buf[digits - 1] == '0'; --digits) {
        buf[digits - 1] = '\0';
    }
}

static void accepted_names(const char *const *names, ucs_string_buffer_t *strb)
{
    const char *const *name;

    for (name = names; *name != NULL; ++name) {
        ucs_string_buffer_appendf(strb, "%s%s", (name == names) ? "" : ", ",
                                  *name);
    }
}

void uct_predreg_knob_accepted(const uct_predreg_knob_values_t *values,
                               ucs_string_buffer_t *strb)
{
    char bytes[32], max[32];

    if (values->names != NULL) {
        accepted_names(values->names, strb);
    } else if (values->is_percent) {
        ucs_string_buffer_appendf(strb, "numbers from %lu to %lu, such as "
                                  "%lu.5%s", values->min, values->max,
                                  values->min, values->is_finite ? "" :
                                  ", or " UCS_NUMERIC_INF_STR);
    } else if (values->is_bytes && (values->max != ULONG_MAX)) {
        ucs_memunits_to_str(values->min, bytes, sizeof(bytes));
        ucs_memunits_to_str(values->max, max, sizeof(max));
        ucs_string_buffer_appendf(strb, "%s%s%s to %s, with a unit such as in "
                                  "64M", values->is_zero_ok ? "0, or " : "",
                                  values->is_power_of_2 ? "powers of 2 from " :
                                                          "", bytes, max);
    } else if (values->is_bytes) {
        ucs_memunits_to_str(values->min, bytes, sizeof(bytes));
        ucs_string_buffer_appendf(strb, "%s to %luT, with a unit such as in "
                                  "64M, or " UCS_NUMERIC_INF_STR, bytes,
                                  largest(values) >> TERA_SHIFT);
    } else if (values->max == ULONG_MAX) {
        ucs_string_buffer_appendf(strb, "whole numbers from %lu to %lu, or "
                                  UCS_NUMERIC_INF_STR, values->min,
                                  largest(values));
    } else {
        ucs_string_buffer_appendf(strb, "%s from %lu to %lu",
                                  values->is_power_of_2 ? "powers of 2" :
                                                          "whole numbers",
                                  values->min, values->max);
    }
}
