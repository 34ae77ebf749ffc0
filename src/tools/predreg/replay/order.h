/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_ORDER_H_
#define PREDREG_REPLAY_ORDER_H_

#include "job.h"

BEGIN_C_DECLS

/** @file order.h
 *
 * Puts the ranks of a job in order, in which they are printed, and in time.
 * command.c calls this once all ranks are loaded.
 */

/**
 * Sort the ranks and their results, warn if two of the paths that were given
 * have traces of the same rank, number the ranks that have no number, and find
 * the offsets of all.
 *
 * @param [in] job  Has at least one rank.
 */
void predreg_job_order(predreg_job_t *job);

END_C_DECLS

#endif
