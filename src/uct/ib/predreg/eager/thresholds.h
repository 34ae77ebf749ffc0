/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_THRESHOLDS_H_
#define UCT_PREDREG_THRESHOLDS_H_

#include "context.h"

/** @file thresholds.h
 *
 * After how many sends a buffer of a context is registered, by what a
 * registration and a copy cost there.
 */

/** A memory domain that is managed was opened. The name counts in what the
 *  costs depend on. */
void uct_predreg_thresholds_add_domain(const char *name);

/** Find the costs, which may take some milliseconds, and set the thresholds of
 *  a context, unless that was done before. Registers memory with UCP. */
void uct_predreg_thresholds_find(uct_predreg_eager_context_t *context);

/** @return from which length on messages may gain, bytes; 0: none does. See
 *  uct_predreg_measure_gain_from(); the first call measures. */
size_t uct_predreg_thresholds_gain_from(void);

/** Say once that no length gains. Of a job, the first rank speaks for all. */
void uct_predreg_thresholds_tell_useless(const uct_predreg_core_t *core);

/** In a forked child, where there is no other thread: forget the domains. */
void uct_predreg_thresholds_reset(void);

#endif
