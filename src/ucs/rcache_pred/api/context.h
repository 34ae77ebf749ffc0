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
 * communications came before it (CF'11, section 3.1). To fill in a context
 * takes a few loads and stores; the helper hashes it into a signature later.
 */

/** Length of the longest context window: how many communications before the
 *  present one it remembers. */
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
    uint64_t stack;   /**< What tells apart the calls of one caller: the path of
                           calls that led there, see ucs/callpath, or the value
                           of the stack pointer if no path is known */
    uint64_t window;  /**< Hash of the kinds and addresses of the communications
                           before this one */
} ucs_rcache_pred_context_t;


/** The context window of a thread: its last communications. Only that thread
 *  uses it, without a lock. */
typedef struct ucs_rcache_pred_window {
    uint64_t comm[UCS_RCACHE_PRED_MAX_WINDOW]; /**< The communications, the most
                                                    recent one first */
} ucs_rcache_pred_window_t;


/**
 * Fill in the context of a communication that is about to start, and remember
 * the communication in the window, for the contexts of later ones.
 *
 * @param [in]  length  How many communications of the window belong to the
 *                      context, 0..UCS_RCACHE_PRED_MAX_WINDOW.
 */
static UCS_F_ALWAYS_INLINE void
ucs_rcache_pred_context_add(ucs_rcache_pred_window_t *window,
                            unsigned length, ucs_rcache_pred_comm_t comm,
                            const void *address, const void *caller,
                            uint64_t stack,
                            ucs_rcache_pred_context_t *context)
{
    uint64_t hash = 0;
    unsigned i;

    for (i = 0; i < length; ++i) {
        /* The rotation makes the order count: A before B gives another hash
         * than B before A */
        hash = ((hash << 21) | (hash >> 43)) ^ window->comm[i];
    }

    context->caller = (uintptr_t)caller + ((uint64_t)comm << 56);
    context->stack  = stack;
    context->window = hash;

    for (i = UCS_RCACHE_PRED_MAX_WINDOW - 1; i > 0; --i) {
        window->comm[i] = window->comm[i - 1];
    }
    window->comm[0] = (uintptr_t)address + ((uint64_t)comm << 56);
}


END_C_DECLS

#endif
