/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knobs.h"

#include <ucs/base/number.h>
#include <ucs/base/strb.h>

#include <ucs/config/types.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How many characters of a refused value the message prints: the accepted values have to
 * fit into the message, too */
#define MAX_TYPED 100

#define TERA_SHIFT 40


/* @return the largest accepted number. For a knob without a maximum it is LONG_MAX: no
 * count is larger, and UCX prints some larger numbers as words */
static unsigned long largest(const uct_predreg_knob_t *knob)
{
    return (knob->max == ULONG_MAX) ? LONG_MAX : knob->max;
}

/* @return whether the text is an accepted value. */
static int parse_number(const uct_predreg_knob_t *knob, const char *text,
                        unsigned long *value_p)
{
    if ((knob->max == ULONG_MAX) && !strcasecmp(text, UCS_NUMERIC_INF_STR)) {
        *value_p = ULONG_MAX;
        return 1;
    }

    if (!ucs_number_parse(text, knob->is_bytes, value_p)) {
        return 0;
    }

    return ((*value_p == 0) && knob->is_zero_ok) ||
           ((*value_p >= knob->min) && (*value_p <= largest(knob)) &&
            (!knob->is_power_of_2 || ucs_is_pow2(*value_p)));
}

/* @return whether the text is an accepted value. */
static int parse_percent(const uct_predreg_knob_t *knob, const char *text,
                         double *value_p)
{
    double value = 0;
    double unit  = 1;
    const char *digit;

    if (!knob->is_finite && !strcasecmp(text, UCS_NUMERIC_INF_STR)) {
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

    if ((digit == text) || (*digit != '\0') || (value < knob->min) ||
        (value > knob->max)) {
        return 0;
    }

    *value_p = value;
    return 1;
}

/* Print a percentage such that parse_percent() reads it; decimals after the sixth
 * are left out */
static void print_percent(double value, char *buf, size_t max)
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

void uct_predreg_knob_accepted(const uct_predreg_knob_t *knob,
                               ucs_string_buffer_t *strb)
{
    char bytes[32], max[32];

    if (knob->names != NULL) {
        accepted_names(knob->names, strb);
    } else if (knob->is_percent) {
        ucs_string_buffer_appendf(strb, "numbers from %lu to %lu, such as "
                                  "%lu.5%s", knob->min, knob->max,
                                  knob->min, knob->is_finite ? "" :
                                  ", or " UCS_NUMERIC_INF_STR);
    } else if (knob->is_bytes && (knob->max != ULONG_MAX)) {
        ucs_memunits_to_str(knob->min, bytes, sizeof(bytes));
        ucs_memunits_to_str(knob->max, max, sizeof(max));
        ucs_string_buffer_appendf(strb, "%s%s%s to %s, with a unit such as in "
                                  "64M", knob->is_zero_ok ? "0, or " : "",
                                  knob->is_power_of_2 ? "powers of 2 from " :
                                                          "", bytes, max);
    } else if (knob->is_bytes) {
        ucs_memunits_to_str(knob->min, bytes, sizeof(bytes));
        ucs_string_buffer_appendf(strb, "%s to %luT, with a unit such as in "
                                  "64M, or " UCS_NUMERIC_INF_STR, bytes,
                                  largest(knob) >> TERA_SHIFT);
    } else if (knob->max == ULONG_MAX) {
        ucs_string_buffer_appendf(strb, "whole numbers from %lu to %lu, or "
                                  UCS_NUMERIC_INF_STR, knob->min,
                                  largest(knob));
    } else {
        ucs_string_buffer_appendf(strb, "%s from %lu to %lu",
                                  knob->is_power_of_2 ? "powers of 2" :
                                                          "whole numbers",
                                  knob->min, knob->max);
    }
}

/* Log a refused value, and set is_refused of the knobs. @return 1, which tells UCX that
 * the value was read: UCX's own message would not have the whole name of the variable. */
static int refuse(const uct_predreg_knob_t *knob, const char *text,
                  void *dest)
{
    uct_predreg_knobs_t *knobs = UCS_PTR_BYTE_OFFSET(dest, -knob->field.offset);
    UCS_STRB(accepted, 256);

    uct_predreg_knob_accepted(knob, &accepted);
    ucs_error(UCT_PREDREG_ENV_PREFIX UCT_PREDREG_KNOB_PREFIX
              "%s=%.*s%s is not accepted; accepted: %s", knob->field.name,
              MAX_TYPED, text, (strlen(text) > MAX_TYPED) ? "..." : "",
              ucs_string_buffer_cstr(&accepted));
    knobs->is_refused = 1;
    return 1;
}

/* UCX has a value freed: nothing to do for a type whose values are all in the table */
static void release_nop(void *value, const void *knob)
{
}

static void help_accepted(char *buf, size_t max, const void *knob)
{
    UCS_STRB(accepted, 256);

    uct_predreg_knob_accepted(knob, &accepted);
    ucs_strncpy_safe(buf, ucs_string_buffer_cstr(&accepted), max);
}


static int read_number(const char *text, void *dest, const void *arg)
{
    const uct_predreg_knob_t *knob = arg;
    unsigned long number;

    if (!parse_number(knob, text, &number)) {
        return refuse(knob, text, dest);
    }

    if (knob->size == sizeof(unsigned)) {
        *(unsigned*)dest = number;
    } else {
        *(unsigned long*)dest = number;
    }
    return 1;
}

static int write_number(char *buf, size_t max, const void *src,
                        const void *arg)
{
    const uct_predreg_knob_t *knob = arg;

    if (knob->size == sizeof(unsigned)) {
        snprintf(buf, max, "%u", *(const unsigned*)src);
    } else if (knob->is_bytes) {
        ucs_memunits_to_str(*(const size_t*)src, buf, max);
    } else if (*(const unsigned long*)src == ULONG_MAX) {
        ucs_strncpy_safe(buf, UCS_NUMERIC_INF_STR, max);
    } else {
        snprintf(buf, max, "%lu", *(const unsigned long*)src);
    }
    return 1;
}

const uct_predreg_config_type_t uct_predreg_knob_number = {
    read_number, write_number, release_nop, help_accepted
};


static int read_percent(const char *text, void *dest, const void *arg)
{
    const uct_predreg_knob_t *knob = arg;

    return parse_percent(knob, text, dest) ||
           refuse(knob, text, dest);
}

static int write_percent(char *buf, size_t max, const void *src,
                         const void *knob)
{
    print_percent(*(const double*)src, buf, max);
    return 1;
}

const uct_predreg_config_type_t uct_predreg_knob_percent = {
    read_percent, write_percent, release_nop, help_accepted
};


/* @return the place of a text in a list, in any case of its letters; -1: the text is not
 * in the list. */
static int find_name(const char *text, const char *const *names)
{
    int i;

    for (i = 0; names[i] != NULL; ++i) {
        if (!strcasecmp(text, names[i])) {
            return i;
        }
    }
    return -1;
}

static int read_name(const char *text, void *dest, const void *arg)
{
    const uct_predreg_knob_t *knob = arg;
    int place                      = find_name(text, knob->names);

    if (place < 0) {
        return refuse(knob, text, dest);
    }

    *(unsigned*)dest = place;
    return 1;
}

static int write_name(char *buf, size_t max, const void *src, const void *arg)
{
    const uct_predreg_knob_t *knob = arg;

    ucs_strncpy_safe(buf, knob->names[*(const unsigned*)src], max);
    return 1;
}

/* As UCX prints accepted names: [one|other] */
static void help_name(char *buf, size_t max, const void *arg)
{
    const uct_predreg_knob_t *knob = arg;
    const char *const *names       = knob->names;
    size_t length                  = 0;
    const char *const *name;

    for (name = names; (*name != NULL) && (length < max); ++name) {
        length += snprintf(buf + length, max - length, "%c%s",
                           (name == names) ? '[' : '|', *name);
    }
    if (length < max) {
        snprintf(buf + length, max - length, "]");
    }
}

const uct_predreg_config_type_t uct_predreg_knob_name = {
    read_name, write_name, release_nop, help_name
};


static int read_bool(const char *text, void *dest, const void *knob)
{
    static const char *yes[] = {"y", "yes", "1", NULL};
    static const char *no[]  = {"n", "no", "0", NULL};

    if (find_name(text, yes) >= 0) {
        *(int*)dest = 1;
        return 1;
    }

    if (find_name(text, no) >= 0) {
        *(int*)dest = 0;
        return 1;
    }

    return refuse(knob, text, dest);
}

static int write_bool(char *buf, size_t max, const void *src, const void *knob)
{
    ucs_strncpy_safe(buf, *(const int*)src ? "y" : "n", max);
    return 1;
}

const uct_predreg_config_type_t uct_predreg_knob_bool = {
    read_bool, write_bool, release_nop, help_name
};


static int read_string(const char *text, void *dest, const void *knob)
{
    *(char**)dest = strdup(text);
    return *(char**)dest != NULL;
}

static int write_string(char *buf, size_t max, const void *src,
                        const void *knob)
{
    ucs_strncpy_safe(buf, *(char *const*)src, max);
    return 1;
}

static void release_string(void *value, const void *knob)
{
    free(*(char**)value);
}

static void help_string(char *buf, size_t max, const void *knob)
{
    ucs_strncpy_safe(buf, "string", max);
}

const uct_predreg_config_type_t uct_predreg_knob_string = {
    read_string, write_string, release_string, help_string
};


/* A list has its names in one block of memory: the pointers to the names, and then the
 * text, cut into the names */
static int read_list(const char *text, void *dest, const void *knob)
{
    ucs_config_names_array_t *list = dest;
    size_t num                     = 1;
    const char *comma;
    char *copy, *name, *rest;

    for (comma = strchr(text, ','); comma != NULL;
         comma = strchr(comma + 1, ',')) {
        ++num;
    }

    *list       = (ucs_config_names_array_t){0};
    list->names = malloc(num * sizeof(*list->names) + strlen(text) + 1);
    if (list->names == NULL) {
        return 0;
    }

    copy = strcpy((char*)(list->names + num), text);
    for (name = strtok_r(copy, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        list->names[list->count++] = name;
    }
    return 1;
}

static int write_list(char *buf, size_t max, const void *src, const void *knob)
{
    const ucs_config_names_array_t *list = src;
    size_t length                        = 0;
    unsigned i;

    buf[0] = '\0';
    for (i = 0; (i < list->count) && (length < max); ++i) {
        length += snprintf(buf + length, max - length, "%s%s",
                           (i == 0) ? "" : ",", list->names[i]);
    }
    return 1;
}

static void release_list(void *value, const void *knob)
{
    ucs_config_names_array_t *list = value;

    free(list->names);
}

static void help_list(char *buf, size_t max, const void *knob)
{
    ucs_strncpy_safe(buf, "comma-separated list of: string", max);
}

const uct_predreg_config_type_t uct_predreg_knob_list = {
    read_list, write_list, release_list, help_list
};
