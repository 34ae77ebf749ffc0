/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_POSTED_H_
#define UCT_PREDREG_POSTED_H_

#include <ucs/rcache_pred/api/context.h>

/** @file posted.h
 *
 * From buffers to the communications they were last posted for. UCP registers
 * a receive buffer, and at times a send buffer, from within progress, long
 * after the call and perhaps on another thread; this is how the registration
 * finds its call site.
 *
 * A buffer's entry may be overwritten by another one's: its context is unknown
 * then, and prediction falls back on the buffer's own history.
 *
 * Progress: both functions are wait-free. Thread safe.
 */

void uct_predreg_posted_put(const void *buffer,
                            const ucs_rcache_pred_context_t *context);

/** @param [out] context  All 0 if the buffer's communication is unknown. */
void uct_predreg_posted_get(const void *buffer,
                            ucs_rcache_pred_context_t *context);

#endif
