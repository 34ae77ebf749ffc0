/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_RECORD_H_
#define UCT_PREDREG_RECORD_H_

#include <ucs/rcache_pred/api/event.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file record.h
 *
 * The trace of this process, if there is to be one (UCX_RCACHE_PRED_TRACE).
 */

/** Whether traces are asked for. */
int uct_predreg_is_traced(void);

/** Make the recorder, if one is asked for. Without memory there is none, and a
 *  warning. Under core.lock, before the cache, whose sink it is. */
void uct_predreg_record_create(void);

/** @return where events of the cache go, or NULL if there is no recorder. */
const ucs_rcache_pred_sink_t *uct_predreg_record_sink(void);

/**
 * A domain is managed or watched from now on. With the first one the file is
 * made; if it cannot be, one warning says so, and nothing is recorded. Under
 * core.lock, before the domain is used.
 */
void uct_predreg_record_domain(unsigned number, const char *name);

/** The process exits: write what is left, and the counters. */
void uct_predreg_record_finish(void);

/** In a forked child: the file is the parent's. */
void uct_predreg_record_reset(void);

END_C_DECLS

#endif
