/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_OBJECT_H_
#define PREDREG_REPORT_OBJECT_H_

#include <tools/report/data/report_data.h>

#include <ucs/datastruct/string_buffer.h>

BEGIN_C_DECLS

/** @file object.h
 *
 * Writes what a report knows as one JSON object: the interface between the
 * rules in data/ and the page. docs/replay.md describes its fields. report.c calls
 * this.
 */

/** Write the object. At least one rank must have been added, and the advice
 *  must have been made. @return UCS_ERR_NO_MEMORY. */
ucs_status_t
report_write_object(const report_data_t *report, ucs_string_buffer_t *strb);

END_C_DECLS

#endif
