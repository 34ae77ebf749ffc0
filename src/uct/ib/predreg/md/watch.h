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
 * Watching: observing the domains whose registrations UCX's own cache keeps,
 * under the leave-pinned policy. Uses pass through to that cache, and are
 * recorded if a trace is asked for.
 */

/** Make the clock and the recorder, in each process, if a trace is asked for.
 *  Under core.lock. */
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
