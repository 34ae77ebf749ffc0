/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_VALUE_H_
#define PREDREG_VALUE_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file value.h
 *
 * Reads values of a JSON text that ucs/base/json.h has written, without spaces,
 * where they stand: a value is a pointer to its first character. template.c calls
 * this.
 */

/** @return what follows a value. */
const char *predreg_value_end(const char *value);

/** @return the first member's value of an object, the first element of an
 *          array, or NULL if there is none. */
const char *predreg_value_first(const char *value);

/** @return the value that follows this one in its object or array, or NULL. */
const char *predreg_value_next(const char *value);

/** @return the member at a path, such as "policies.predict.uses", or NULL.
 *  @param [in] length  Of the path. */
const char *predreg_value_find(const char *object, const char *path,
                               size_t length);

/** @return a number, 1 for true, 0 for false and null, else NaN. */
double predreg_value_number(const char *value);

/** @return whether a value is there and not null, false, 0, "", [] or {}. */
int predreg_value_is_true(const char *value);

END_C_DECLS

#endif
