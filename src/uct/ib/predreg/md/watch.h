/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_WATCH_H_
#define UCT_PREDREG_WATCH_H_

#include "domain.h"

#include <uct/ib/predreg/compat/uct_v2.h>

/** @file watch.h
 *
 * Watching: under the leave-pinned policy this library only observes the
 * domains, whose registrations UCX's own cache keeps. It passes all uses on to
 * that cache, and records them if a trace is asked for.
 */

/** Make the clock and the recorder, once in each process, if a trace is asked
 *  for. To be called under core.lock. */
void uct_predreg_watch_open(uct_predreg_core_t *core);

/** Register memory with UCX, and record that a use has begun.
 *  @param [in] kind  The ucs_rcache_pred_use_kind_t that the use would have if
 *                    it were managed */
ucs_status_t uct_predreg_watch_mem_reg(uct_predreg_domain_t *domain,
                                       void *address, size_t length,
                                       unsigned flags, unsigned kind,
                                       uct_mem_h *memh_p);

/** Deregister memory with UCX, and record that a use has ended, if it was a
 *  use. */
ucs_status_t
uct_predreg_watch_mem_dereg(uct_predreg_domain_t *domain,
                            const uct_md_mem_dereg_params_t *params);

/** Record that memory is being unmapped. UCM calls this inside a memory
 *  hook. */
void uct_predreg_watch_unmapped(uct_predreg_core_t *core, uintptr_t start,
                                size_t length);

/** Forget all uses in a forked child: the parent's uses do not end there. */
void uct_predreg_watch_reset(void);

#endif
