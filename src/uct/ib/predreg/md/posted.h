/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_POSTED_H_
#define UCT_PREDREG_POSTED_H_

#include <ucs/rcache_pred/api/context.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file posted.h
 *
 * A table that maps a buffer to the context of the communication that it was
 * last posted for. UCP registers a receive buffer, and at times a send buffer,
 * from within its progress function, long after the call and perhaps on another
 * thread. This table lets such a registration find its call site. One table
 * serves the process.
 *
 * The entry of one buffer may be overwritten by that of another one. Then the
 * context is unknown, and prediction falls back on the history of the buffer
 * itself. Where two threads write the same entry at a time, or one writes it while
 * another one looks, the context may be one that no call has had, which is the same.
 *
 * Progress: both functions are wait-free. Thread safe.
 */

/** Note the context of a communication. */
void uct_predreg_posted_put(const void *buffer,
                            const ucs_rcache_pred_context_t *context);

/**
 * Find the context that the buffer was last posted with.
 *
 * @param [out] context  All 0 if it is unknown.
 */
void uct_predreg_posted_get(const void *buffer,
                            ucs_rcache_pred_context_t *context);

END_C_DECLS

#endif
