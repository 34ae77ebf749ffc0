/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_JSON_H_
#define UCS_JSON_H_

#include <ucs/datastruct/string_buffer.h>
#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file json.h
 *
 * Writes JSON into a string buffer, member by member. The name of a member is NULL in an
 * array, and for the outermost value. Pure.
 */

typedef struct ucs_json {
    ucs_string_buffer_t *strb;
    int                 needs_comma; /**< Whether the next member has another
                                          member of the same object or array
                                          before it */
} ucs_json_t;


/** Begin an object or an array. @param [in] bracket  '{' or '['. */
void ucs_json_begin(ucs_json_t *json, const char *name, char bracket);

/** End the innermost object or array. @param [in] bracket '}' or ']'. */
void ucs_json_end(ucs_json_t *json, char bracket);

/** Write a string, in which bytes that are no UTF-8 become question marks.
 *  @param [in] value  NULL: null is written. */
void ucs_json_string(ucs_json_t *json, const char *name, const char *value);

void ucs_json_bool(ucs_json_t *json, const char *name, int value);

void ucs_json_uint(ucs_json_t *json, const char *name, uint64_t value);

/** Write a number with 12 digits; one that is not finite is written as null. */
void ucs_json_real(ucs_json_t *json, const char *name, double value);

/** Write a value that the format makes JSON, such as a number of a certain
 *  number of digits. */
void ucs_json_printf(ucs_json_t *json, const char *name, const char *format, ...)
        UCS_F_PRINTF(3, 4);

END_C_DECLS

#endif
