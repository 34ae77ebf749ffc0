/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_DESCRIBE_H_
#define PREDREG_REPLAY_DESCRIBE_H_

#include "job.h"

BEGIN_C_DECLS

/** @file describe.h
 *
 * Says what `ucx_predreg replay` has been given: the ranks, what registrations
 * cost them, and what is missing. command.c calls this. If there are many
 * ranks, they are summarised, unless the user asks for each of them.
 */

/** Warn on standard error of what is missing in the traces. */
void predreg_replay_warn_damage(const predreg_job_t *job);

/** Print what is replayed, above the table. */
void predreg_replay_print_ranks(const predreg_job_t *job,
                                const predreg_replay_opts_t *opts);

END_C_DECLS

#endif
