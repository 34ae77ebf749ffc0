/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CONTEXT_H_
#define UCS_RCACHE_PRED_CONTEXT_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file context.h
 *
 * The context of a communication: where it was called from, and which
 * communications came before it (CF'11, section 3.1). Filling one in takes a few
 * loads and stores; hashing it into a signature is left to the helper.
 */

/** Longest context window: communications remembered before the present one. */
#define UCS_RCACHE_PRED_MAX_WINDOW 4


/** Kind of communication. */
typedef enum {
    UCS_RCACHE_PRED_COMM_UNKNOWN,
    UCS_RCACHE_PRED_COMM_SEND,
    UCS_RCACHE_PRED_COMM_RECV,
    UCS_RCACHE_PRED_COMM_PUT,
    UCS_RCACHE_PRED_COMM_GET
} ucs_rcache_pred_comm_t;


/** A communication as the predictor sees it. Plain data. */
typedef struct ucs_rcache_pred_context {
    uint64_t caller;  /**< Address the communication was called from, mixed
                           with its kind */
    uint64_t stack;   /**< Stack depth at the call: the value of the stack
                           pointer, which tells call paths of one thread apart
                           nearly as well as unwinding them */
    uint64_t window;  /**< Kinds and addresses of the communications before */
} ucs_rcache_pred_context_t;


/** The last communications of a thread. Owned by that thread, no locking. */
typedef struct ucs_rcache_pred_window {
    uint64_t comm[UCS_RCACHE_PRED_MAX_WINDOW]; /**< Most recent first */
} ucs_rcache_pred_window_t;


/**
 * Fill the context of a communication that is about to start, and remember it
 * in the window for those after it.
 *
 * @param [in]  length  Window length to use, 0..UCS_RCACHE_PRED_MAX_WINDOW.
 */
static UCS_F_ALWAYS_INLINE void
ucs_rcache_pred_context_add(ucs_rcache_pred_window_t *window,
                            unsigned length, ucs_rcache_pred_comm_t comm,
                            const void *address, const void *caller,
                            const void *stack,
                            ucs_rcache_pred_context_t *context)
{
    uint64_t hash = 0;
    unsigned i;

    for (i = 0; i < length; ++i) {
        /* Rotation keeps the order: A, B is another history than B, A */
        hash = ((hash << 21) | (hash >> 43)) ^ window->comm[i];
    }

    context->caller = (uintptr_t)caller + ((uint64_t)comm << 56);
    context->stack  = (uintptr_t)stack;
    context->window = hash;

    for (i = UCS_RCACHE_PRED_MAX_WINDOW - 1; i > 0; --i) {
        window->comm[i] = window->comm[i - 1];
    }
    window->comm[0] = (uintptr_t)address + ((uint64_t)comm << 56);
}


END_C_DECLS

#endif
