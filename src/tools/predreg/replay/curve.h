/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_CURVE_H_
#define PREDREG_REPLAY_CURVE_H_

#include "job.h"

BEGIN_C_DECLS

/** @file curve.h
 *
 * Prints what `ucx_predreg replay --curve` adds: what predict comes to with
 * each budget, and which one to use. command.c calls this for a job that was
 * summed up, and whose policies predict and leave-pinned were played.
 */

/** Print a row, or a line of JSON, for each budget. */
void predreg_replay_print_curve(const predreg_job_t *job,
                                const predreg_replay_opts_t *opts);

/** Print in words which budget to use, and how. */
void predreg_replay_print_advice(const predreg_job_t *job,
                                 const predreg_replay_opts_t *opts);

END_C_DECLS

#endif
