/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_RECORD_H_
#define UCT_PREDREG_RECORD_H_

#include "core.h"

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


/* watch.c: uses under the leave-pinned policy, which pass through to UCX's own
 * cache */

/** Install what tells of unmaps, if a trace is recorded. */
void uct_predreg_watch_start(void);

/** Make the clock and the recorder, in each process. Under core.lock. */
void uct_predreg_watch_open(void);

/** Register, and record that a use has begun.
 *  @param [in] kind  ucs_rcache_pred_use_kind_t, as it would be if managed */
ucs_status_t uct_predreg_watch_mem_reg(uct_predreg_domain_t *domain,
                                       void *address, size_t length,
                                       unsigned flags, unsigned kind,
                                       uct_mem_h *memh_p);

/** Deregister, and record that a use has ended, if it is one. */
ucs_status_t
uct_predreg_watch_mem_dereg(uct_predreg_domain_t *domain,
                            const uct_md_mem_dereg_params_t *params);

/** Memory is being unmapped. Inside a memory hook. */
void uct_predreg_watch_unmapped(uintptr_t start, size_t length);

/** In a forked child: none of the parent's uses ends here. */
void uct_predreg_watch_reset(void);

#endif
