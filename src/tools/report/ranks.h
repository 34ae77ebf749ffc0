/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_RANKS_H_
#define PREDREG_REPORT_RANKS_H_

#include <tools/report/data/report_data.h>
#include <ucs/base/json.h>

BEGIN_C_DECLS

/** @file ranks.h What the object of a report has about single ranks. object.c calls
 *  this. */

/** Write the members about single ranks: "rank_rows", and "rank_spread", which is empty
 *  unless there are more ranks than rows. @return UCS_ERR_NO_MEMORY. */
ucs_status_t report_write_ranks(ucs_json_t *json, const report_data_t *report);

END_C_DECLS

#endif
