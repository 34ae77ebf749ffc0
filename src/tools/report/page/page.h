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
 *  Writes the page of a report as one file of HTML. report.c calls this. */

/** Write the page. At least one rank must have been added, and the advice must
 *  have been made. The caller, who closes the stream, checks it for errors. */
void predreg_page_write(const report_data_t *report, FILE *out);

END_C_DECLS

#endif
