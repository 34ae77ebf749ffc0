/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SECTIONS_H_
#define PREDREG_SECTIONS_H_

#include <tools/report/data/report_data.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file sections.h
 *
 * The sections of the page, in the order in which they come on it. Each
 * function writes its heading and its content, or nothing at all if there is
 * nothing to say. page.c calls these functions after the advice was made. The
 * caller of the report, who closes the stream, checks it for errors.
 */

/** verdict.c: which policy to use, why, and how to start the program with
 *  it. */
void report_write_verdict(const report_data_t *report, FILE *out);

/** command.c: how to start the program with the setting, for verdict.c. */
void report_write_command(const report_data_t *report, FILE *out);

/** command.c: what the words of that command stand for, and how to do without
 *  it. Below the figures, which are to be on the first screen. */
void report_write_command_notes(const report_data_t *report, FILE *out);

/** reason.c: sentences that say why, for verdict.c. */
void report_write_reason(const report_data_t *report, FILE *out);

/** budgets.c: the curve of memory against run time, for verdict.c. */
void report_write_tradeoff(const report_data_t *report, FILE *out);

/** budgets.c: the numbers of that curve. */
void report_write_budgets(const report_data_t *report, FILE *out);

/** caveats.c: which of its costs the answer rests on are guesses, for
 *  verdict.c. */
void report_write_guesses(const report_data_t *report, FILE *out);

/** caveats.c: what else has to be said with the answer, for verdict.c. */
void report_write_caveats(const report_data_t *report, FILE *out);

/** curves.c: registered memory over time, a curve for each policy. */
void report_write_curves(const report_data_t *report, FILE *out);

/** policies.c: the results of each policy. */
void report_write_policies(const report_data_t *report, FILE *out);

/** policies.c: UCX's own cache with several bounds. */
void report_write_bounds(const report_data_t *report, FILE *out);

/** policies.c: what predict has registered, but the clairvoyant has not. */
void report_write_remainder(const report_data_t *report, FILE *out);

/** uses.c: how many uses of buffers found them registered. */
void report_write_uses(const report_data_t *report, FILE *out);

/** uses.c: by how much predictions were wrong. */
void report_write_errors(const report_data_t *report, FILE *out);

/** uses.c: how many uses an arena would answer, and what that would save. */
void report_write_arena(const report_data_t *report, FILE *out);

/** sends.c: buffers of small sends, and what it would save to send them without
 *  the copy. */
void report_write_sends(const report_data_t *report, FILE *out);

/** places.c: the call sites that cost most. */
void report_write_places(const report_data_t *report, FILE *out);

/** ranks.c: each rank by itself or, if there are many, those that stand out. */
void report_write_ranks(const report_data_t *report, FILE *out);

/** run.c: what the traces say of the run. */
void report_write_recording(const report_data_t *report, FILE *out);

/** glossary.c: the words of the page. */
void report_write_glossary(FILE *out);

END_C_DECLS

#endif
