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
 * A table from buffers to the communications they were last posted for. UCP
 * registers a receive buffer, and at times a send buffer, from within progress,
 * long after the call and perhaps on another thread; this is how the
 * registration finds its call site. One table serves the process.
 *
 * A buffer's entry may be overwritten by another buffer's. The context is
 * unknown then, and prediction falls back on the buffer's own history.
 *
 * Progress: both functions are wait-free. Thread safe.
 */

/** Note the context of a communication. Another thread that is writing to the
 *  same entry goes first: this one's context is dropped then. */
void uct_predreg_posted_put(const void *buffer,
                            const ucs_rcache_pred_context_t *context);

/**
 * Find the context that the buffer was last posted with.
 *
 * @param [out] context  All 0 if it is unknown.
 */
void uct_predreg_posted_get(const void *buffer,
                            ucs_rcache_pred_context_t *context);

#endif
