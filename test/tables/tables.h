/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TABLES_TABLES_H_
#define TABLES_TABLES_H_

#include "run.h"

#include <stdio.h>

/** @file tables.h
 *
 * The commands of the program, see its usage. */

#define MIB 1048576.0

/** A number as text; "-" if it is not known. The text is good until this was
 *  called 16 times more. */
const char *number(const char *format, double value);

/** Copies the next of the names, which are separated by spaces, to a buffer of
 *  RUN_NAME_MAX bytes, and moves on. @return 0 after the last. */
int next_name(const char **names_p, char *name);

/** The table of demo.sh. */
void demo_table(const runs_t *runs, FILE *out);

/** The same for programs: a line of JSON for each program and policy.
 *  @param [in] rig  Where it was, which begins the lines. */
void demo_json(const runs_t *runs, const char *rig, FILE *out);

/** Registered memory over time in the first run of each program and policy, as
 *  a picture (SVG). */
void demo_picture(const runs_t *runs, const char *subtitle, FILE *out);

/** A line of results.csv for each run.
 *  @param [in] rig  Where it was, which begins the lines. */
void evaluate_results(const runs_t *runs, const char *rig, FILE *out);

/** Tables of evaluate.sh, in markdown.
 *  @param [in] programs  Names, separated by spaces. There is a row for each of
 *                        them with each policy, in this order, if there was
 *                        such a run.
 *  @param [in] policies  Likewise; ratios are to the first one.
 */
void evaluate_policies(const runs_t *runs, const char *programs,
                       const char *policies, FILE *out);

/** As @ref evaluate_policies, without times: those of an emulated guest mean
 *  nothing. */
void evaluate_counts(const runs_t *runs, const char *programs,
                     const char *policies, FILE *out);

/** What the policies but the first did to all programs together: the median and
 *  the highest of their ratios to the first policy. */
void evaluate_summary(const runs_t *runs, const char *programs,
                      const char *policies, FILE *out);

/** As @ref evaluate_policies, of how wrong predictions were. */
void evaluate_errors(const runs_t *runs, const char *programs,
                     const char *policies, FILE *out);

/** A table of what others measured beside this, in markdown.
 *  @param [in] path  A file with lines of seven fields, separated by "|": the
 *                    place in their paper, what they measured, and what came
 *                    out; then the program, the policy and the policy it is
 *                    compared with here, and the quantity: time, transfer,
 *                    memory (average) or peak. Lines that begin with # are
 *                    comments. What was not measured here is left out.
 *  @return 0, or 2 after a message.
 */
int compare(const runs_t *runs, const char *path, FILE *out);

#endif
