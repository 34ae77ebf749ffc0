/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_API_FREE_H_
#define UCS_RCACHE_PRED_API_FREE_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file api/free.h
 *
 * For who may have interrupted a function of the cache: the handler of a signal
 * that ends the program, or a call with which the program stops its threads.
 */

struct ucs_rcache_pred;

/**
 * Wait until each thread that is in the cache has left it, in real time. Thread
 * safe.
 *
 * @param [in] patience  So long at most, ns.
 *
 * @return 0 if its lock was held all that time, or a thread was in its lane, as
 *         for ever if a handler has interrupted this thread there, or another
 *         one and does not return. Then no function of the cache may be called
 *         any more, since it would not return.
 */
int ucs_rcache_pred_is_free(struct ucs_rcache_pred *pred, uint64_t patience);

/** @return whether this thread does a round of the helper's work, or is about to begin or has
 *          just ended one: as above, for the mutex of the rounds. */
int ucs_rcache_pred_is_in_round(void);

/** @return whether this thread has the lock of the cache, or is in its lane: it is the
 *          handler of a signal that has interrupted it there, and must not call a function
 *          of the cache that may not be called in handlers. */
int ucs_rcache_pred_is_interrupted(struct ucs_rcache_pred *pred);

END_C_DECLS

#endif
