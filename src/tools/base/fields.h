/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FIELDS_H_
#define PREDREG_FIELDS_H_

#include <ucs/base/json.h>

/** @file fields.h
 *
 * Writes fields of structures as members of JSON objects, with the names of the fields.
 * The calling function has a variable `json`, a pointer to the writer of the object. Uses
 * ucs/base/json.h.
 */

#define JSON_UINT(_object, _field) \
    ucs_json_uint(json, #_field, (_object)->_field)

#define JSON_REAL(_object, _field) \
    ucs_json_real(json, #_field, (_object)->_field)

#define JSON_BOOL(_object, _field) \
    ucs_json_bool(json, #_field, (_object)->_field)

#define JSON_STRING(_object, _field) \
    ucs_json_string(json, #_field, (_object)->_field)

/** Write a field in nanoseconds as a member in seconds. */
#define JSON_SECONDS(_object, _field) \
    ucs_json_real(json, #_field "_seconds", (_object)->_field / 1e9)

#endif
