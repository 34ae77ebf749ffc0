/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_LOAD_H_
#define PREDREG_REPLAY_LOAD_H_

#include "job.h"

BEGIN_C_DECLS

/** @file load.h
 *
 * Replays the ranks of a job. Each trace is loaded, replayed under all policies
 * and freed before the next one is loaded, so that a job of any size fits into
 * memory: of a rank there remain some numbers, and for each policy its curve of
 * registered memory. command.c calls this.
 */

/**
 * Load and replay all traces of the paths that were given.
 *
 * Traces that are damaged are left out with a warning, unless there are no
 * others. Policies that would take too long for one of the ranks are left out
 * for all.
 *
 * @param [out] job  The ranks as they were loaded, at least one if this returns
 *                   UCS_OK. The caller has to clean it up in any case.
 * @return the first error; the reason has been printed.
 */
ucs_status_t predreg_job_load(const predreg_replay_opts_t *opts,
                              predreg_job_t *job);

END_C_DECLS

#endif
