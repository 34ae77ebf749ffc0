/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "units.h"

#include <ucs/sys/compiler_def.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A no-break space, which keeps a number and its unit on one line */
#define UNITS_SPACE "\xc2\xa0"

/* A value from here on would be rounded to four digits, and gets the next
 * unit */
#define UNITS_MAX_VALUE 999.5


/* @return the number of decimals with which a value below 1000 has three significant
 *         digits. */
static int units_decimals(double value)
{
    return (value >= 99.95) ? 0 : (value >= 9.995) ? 1 : 2;
}

static char *units_str(double value, double factor, const char *const *names,
                       unsigned num_names, const char *suffix, char *buf)
{
    double rest = fabs(value);
    unsigned i;

    for (i = 0; (rest >= UNITS_MAX_VALUE) && (i < num_names - 1); ++i) {
        rest /= factor;
    }

    snprintf(buf, PREDREG_UNITS_MAX, "%s%.*f" UNITS_SPACE "%s%s",
             (value < 0) ? "\xe2\x88\x92" : "", /* minus sign */
             ((i == 0) && (rest == floor(rest))) ? 0 : units_decimals(rest),
             rest, names[i], suffix);
    return buf;
}

static const char *const units_bytes[] = {"B", "KiB", "MiB", "GiB", "TiB",
                                          "PiB"};

char *predreg_bytes_str(double bytes, char *buf)
{
    return units_str(bytes, 1024, units_bytes,
                     ucs_static_array_size(units_bytes), "", buf);
}

char *predreg_byte_seconds_str(double byte_seconds, char *buf)
{
    return units_str(byte_seconds, 1024, units_bytes,
                     ucs_static_array_size(units_bytes), "\xc2\xb7s", buf);
}

char *predreg_time_str(double ns, char *buf)
{
    static const char *const names[] = {"ns", "\xc2\xb5s", "ms", "s"};

    if (ns == 0) {
        return strcpy(buf, "0" UNITS_SPACE "s");
    }

    return units_str(ns, 1000, names, ucs_static_array_size(names), "", buf);
}

char *predreg_percent_str(double part, double whole, char *buf)
{
    double percent = 100 * part / whole;

    if (!(whole > 0)) {
        strcpy(buf, "\xe2\x80\x93"); /* en dash */
    } else if (part == 0) {
        strcpy(buf, "0" UNITS_SPACE "%");
    } else if (part == whole) {
        strcpy(buf, "100" UNITS_SPACE "%");
    } else if ((percent > 0) && (percent < 0.01)) {
        strcpy(buf, "<" UNITS_SPACE "0.01" UNITS_SPACE "%");
    } else if ((percent < 100) && (percent >= 99.95)) {
        strcpy(buf, ">" UNITS_SPACE "99.9" UNITS_SPACE "%");
    } else {
        snprintf(buf, PREDREG_UNITS_MAX, "%.*f" UNITS_SPACE "%%",
                 units_decimals(fabs(percent)), percent);
    }

    return buf;
}

char *predreg_count_str(uint64_t count, char *buf)
{
    char digits[24];
    char *p = buf;
    int length, i;

    length = snprintf(digits, sizeof(digits), "%llu",
                      (unsigned long long)count);
    for (i = 0; i < length; ++i) {
        if ((i > 0) && ((length - i) % 3 == 0)) {
            *(p++) = ',';
        }
        *(p++) = digits[i];
    }

    *p = '\0';
    return buf;
}
