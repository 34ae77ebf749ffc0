/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "value.h"

#include <ucs/sys/math.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>


static const char *string_end(const char *p)
{
    for (++p; *p != '"'; ++p) {
        p += (*p == '\\');
    }
    return p + 1;
}

const char *predreg_value_end(const char *value)
{
    const char *p = value;
    int depth     = 0;

    do {
        if (*p == '"') {
            p = string_end(p);
        } else if ((*p == '{') || (*p == '[')) {
            ++depth;
            ++p;
        } else if ((*p == '}') || (*p == ']')) {
            --depth;
            ++p;
        } else {
            p += ucs_max(strcspn(p, "\"{}[],"), 1u);
        }
    } while (depth > 0);

    return p;
}

/* @return the value of a member of an object, or an element, which begins
 *         here. */
static const char *value_of(const char *p)
{
    const char *end = (*p == '"') ? string_end(p) : p;

    return (*end == ':') ? (end + 1) : p;
}

const char *predreg_value_first(const char *value)
{
    return (((*value == '{') && (value[1] != '}')) ||
            ((*value == '[') && (value[1] != ']'))) ?
           value_of(value + 1) : NULL;
}

const char *predreg_value_next(const char *value)
{
    const char *end = predreg_value_end(value);

    return (*end == ',') ? value_of(end + 1) : NULL;
}

/* @return the value of a member of an object, or NULL. */
static const char *member(const char *object, const char *name, size_t length)
{
    const char *key, *value;

    for (key = object + 1; *object == '{' && *key == '"';
         key = predreg_value_end(value) + 1) {
        value = value_of(key);
        if (((size_t)(value - key) == length + 3) &&
            !memcmp(key + 1, name, length)) {
            return value;
        }
        if (*predreg_value_end(value) != ',') {
            break;
        }
    }

    return NULL;
}

const char *predreg_value_find(const char *object, const char *path,
                               size_t length)
{
    const char *end = path + length;
    size_t step;

    for (; (object != NULL) && (path < end); path += step + 1) {
        step   = ucs_min(strcspn(path, "."), (size_t)(end - path));
        object = member(object, path, step);
    }

    return object;
}

double predreg_value_number(const char *value)
{
    if ((value == NULL) || (strchr("{[\"", *value) != NULL)) {
        return NAN;
    }

    return (*value == 't') ? 1 : strtod(value, NULL);
}

int predreg_value_is_true(const char *value)
{
    return (value != NULL) &&
           ((*value == '"') ? (value[1] != '"') :
            (strchr("{[", *value) != NULL) ?
            (predreg_value_first(value) != NULL) :
            (predreg_value_number(value) != 0));
}
