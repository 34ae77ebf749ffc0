/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A time with a larger exponent, of either sign, is 0 or too large, as it is with this
 * exponent. So larger exponents count as this one */
#define NUMBER_MAX_EXPONENT 1000l


/* isdigit() would depend on the locale. */
static int number_is_digit(char c)
{
    return (c >= '0') && (c <= '9');
}

int trace_hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found          = (c == '\0') ? NULL : strchr(digits, c);

    return (found == NULL) ? -1 : (found - digits) % 16;
}

/* @return the end of the number, or NULL if there is no number, or if it has more than 64
 *         bits */
static const char *number_integer(const char *text, uint64_t *value_p)
{
    int is_hex = (text[0] == '0') && (text[1] == 'x');
    char *end;

    /* Checked here since strtoull() would also accept a sign and white space */
    if (is_hex ? (trace_hex_digit(text[2]) < 0) : !number_is_digit(text[0])) {
        return NULL;
    }

    errno    = 0;
    *value_p = strtoull(text, &end, is_hex ? 16 : 10);
    return (errno == 0) ? end : NULL;
}

int trace_parse_number(const char *text, uint64_t *value_p)
{
    const char *end = number_integer(text, value_p);

    return (end != NULL) && (*end == '\0');
}

int trace_parse_size(const char *text, uint64_t *value_p)
{
    static const char units[] = "KMG";
    const char *end           = number_integer(text, value_p);
    const char *unit;
    unsigned shift;

    if ((end == NULL) || (*end == '\0')) {
        return end != NULL;
    }

    unit = strchr(units, *end);
    if ((unit == NULL) || (end[1] != '\0')) {
        return 0;
    }

    shift = 10 * (unit - units + 1);
    if (*value_p > (UINT64_MAX >> shift)) {
        return 0;
    }

    *value_p <<= shift;
    return 1;
}

/*
 * Read decimal digits with at most one point. If the digits fill 64 bits, further digits
 * of the fraction are left out: in a time of less than 2^64 ns, these further digits are
 * less than a nanosecond.
 *
 * @return the end of the digits, or NULL if there is no digit, or if the digits before
 *         the point do not fit.
 */
static const char *number_decimal(const char *text, uint64_t *digits_p,
                                 int *exponent_p)
{
    int num_digits = 0, is_fraction = 0;
    uint64_t digits = 0;
    int exponent    = 0;

    for (;; ++text) {
        if ((*text == '.') && !is_fraction) {
            is_fraction = 1;
            continue;
        }

        if (!number_is_digit(*text)) {
            break;
        }

        ++num_digits;
        if (digits <= (UINT64_MAX - (*text - '0')) / 10) {
            digits    = digits * 10 + (*text - '0');
            exponent -= is_fraction;
        } else if (!is_fraction) {
            return NULL;
        }
    }

    *digits_p   = digits;
    *exponent_p = exponent;
    return (num_digits > 0) ? text : NULL;
}

/* Read an exponent, such as the e-3 of 1.5e-3. Without an 'e', the exponent is 0. @return
 * the end of the exponent, or NULL if the 'e' has no digits */
static const char *number_exponent(const char *text, int *exponent_p)
{
    char *end;

    *exponent_p = 0;
    if (*text != 'e') {
        return text;
    }

    ++text;
    if (!number_is_digit(text[(*text == '-') || (*text == '+')])) {
        return NULL;
    }

    *exponent_p = ucs_max(ucs_min(strtol(text, &end, 10), NUMBER_MAX_EXPONENT),
                          -NUMBER_MAX_EXPONENT);
    return end;
}

/* @return the decimal logarithm of a unit of time in nanoseconds, such as 6 for ms; -1:
 *         the word is no unit of time */
static int number_time_unit(const char *text)
{
    static const struct {
        const char *name;
        int        exponent;
    } units[] = {{"", 9}, {"s", 9}, {"ms", 6}, {"us", 3}, {"ns", 0}};
    size_t i;

    for (i = 0; i < ucs_static_array_size(units); ++i) {
        if (!strcmp(text, units[i].name)) {
            return units[i].exponent;
        }
    }

    return -1;
}

/* Multiply by 10^exponent and round. @return 0 if the result has more than
 * 64 bits */
static int number_scale(uint64_t digits, int exponent, uint64_t *value_p)
{
    unsigned last = 0;

    for (; (exponent < 0) && (digits > 0); ++exponent) {
        last    = digits % 10;
        digits /= 10;
    }
    if (exponent < 0) {
        last = 0;
    }

    for (; (exponent > 0) && (digits > 0); --exponent) {
        if (digits > UINT64_MAX / 10) {
            return 0;
        }
        digits *= 10;
    }

    *value_p = digits + (last >= 5);
    return 1;
}

int trace_parse_time(const char *text, uint64_t *value_p)
{
    int point, exponent, unit;
    uint64_t digits;

    text = number_decimal(text, &digits, &point);
    if (text == NULL) {
        return 0;
    }

    text = number_exponent(text, &exponent);
    unit = (text == NULL) ? -1 : number_time_unit(text);
    if (unit < 0) {
        return 0;
    }

    return number_scale(digits, point + exponent + unit, value_p);
}

int trace_parse_bytes(const char *text, uint8_t *bytes,
                      unsigned max, unsigned *count_p)
{
    unsigned count;
    int high, low;

    for (count = 0; text[2 * count] != '\0'; ++count) {
        high = trace_hex_digit(text[2 * count]);
        low  = trace_hex_digit(text[2 * count + 1]);
        if ((high < 0) || (low < 0) || (count == max)) {
            return 0;
        }
        bytes[count] = (high << 4) | low;
    }

    *count_p = count;
    return 1;
}
