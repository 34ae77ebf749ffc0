/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PAGE_H_
#define PREDREG_PAGE_H_

#include <tools/report/data/report_data.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file page.h
 *
 * The page of a report as one file of HTML. Called by report.c. */

/** Write the page. There must be a rank, and the advice must have been made.
 *  Errors of the stream are left for the one who closes it. */
void predreg_page_write(const report_data_t *report, FILE *out);

END_C_DECLS

#endif
