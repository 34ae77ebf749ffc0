/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_OBJECT_H_
#define PREDREG_REPORT_OBJECT_H_

#include <tools/report/data/report_data.h>
#include <ucs/base/json.h>

#include <math.h>

BEGIN_C_DECLS

/** @file object.h
 *
 * Writes what a report knows as one JSON object: the interface between the
 * rules in data/ and the page. docs/replay.md describes its fields. report.c calls
 * this.
 */

static inline void
report_json_uint(ucs_json_t *json, const char *name, uint64_t value)
{
    ucs_json_printf(json, name, "%lu", (unsigned long)value);
}

/** Write a number with 12 digits; one that is not finite is written as null. */
static inline void
report_json_real(ucs_json_t *json, const char *name, double value)
{
    if (isfinite(value)) {
        ucs_json_printf(json, name, "%.12g", value);
    } else {
        ucs_json_string(json, name, NULL);
    }
}

/** Write the object. At least one rank must have been added, and the advice
 *  must have been made. */
void
report_write_object(const report_data_t *report, ucs_string_buffer_t *strb);

/** Write the members about single ranks: "rank_rows", and "rank_spread" if
 *  there are more ranks than rows. */
void report_write_ranks(ucs_json_t *json, const report_data_t *report);

END_C_DECLS

#endif
