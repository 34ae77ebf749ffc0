/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_EAGER_CONTEXT_H_
#define UCT_PREDREG_EAGER_CONTEXT_H_

#include "flights.h"
#include "thresholds.h"

#include <ucs/reuse/slots.h>
#include <ucs/reuse/table.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/sender.h>
#include <uct/ib/predreg/core/state.h>

#include <ucp/api/ucp.h>

#include <pthread.h>
#include <stdatomic.h>

/** @file context.h
 *
 * The contexts of UCP whose small sends are looked at, and their workers.
 * A context's memory handles are its own, so it has its own table of buffers.
 */

typedef struct uct_predreg_eager_context {
    /* Constant while the context is listed */
    ucp_context_h      ucp;
    uct_predreg_core_t *core;
    const uct_predreg_real_t *real; /**< Functions of its UCP */
    ucs_reuse_table_t  table;
    ucs_reuse_slots_t  slots;
    uct_predreg_flights_t flights;
    size_t             min_length; /**< Shorter messages are left alone, bytes */
    size_t             max_length; /**< Longer ones as well */
    int                flag_decides; /**< Whether UCP chooses between the copy and
                                          zero-copy of a tag send by
                                          UCP_OP_ATTR_FLAG_FAST_CMPL, not by its
                                          cost model */
    int                has_rma; /**< See @ref uct_predreg_making_t */

    /** Found by the first thread that makes a worker, under the lock of the list,
     *  before the worker is known. */
    uct_predreg_thresholds_t thresholds;
    int                is_calibrated;

    /** The next one of the list. Written under its lock; sequentially
     *  consistent, see context.c */
    _Atomic(struct uct_predreg_eager_context*) next;
} uct_predreg_eager_context_t;


/** @return the context of a worker; NULL: its sends are left alone. Takes a lock
 *  if this thread did not use the worker of late. */
uct_predreg_eager_context_t *
uct_predreg_eager_find_slow(uct_predreg_sender_t *sender, ucp_worker_h worker);

static inline uct_predreg_eager_context_t *
uct_predreg_eager_find(uct_predreg_sender_t *sender, ucp_worker_h worker)
{
    uct_predreg_sender_worker_t *known = uct_predreg_sender_place(sender,
                                                                  worker);

    return ucs_likely((known->worker == worker) &&
                      uct_predreg_sender_is_recent(known->generation)) ?
           known->context : uct_predreg_eager_find_slow(sender, worker);
}


/**
 * List a context that was made.
 *
 * @return UCS_ERR_NO_MEMORY if there is no memory for it.
 */
ucs_status_t uct_predreg_eager_add(uct_predreg_core_t *core,
                                   const uct_predreg_real_t *real,
                                   ucp_context_h ucp,
                                   const uct_predreg_making_t *making);

/** Take a context off the list that is about to be cleaned up, and wait until
 *  nobody walks it any more (uct_predreg_eager_for_each()).
 *  @return the context, for the caller to free; NULL: it was not listed. */
uct_predreg_eager_context_t *uct_predreg_eager_remove(ucp_context_h ucp);

/** Free what the context has, after its memory was deregistered. */
void uct_predreg_eager_free(uct_predreg_eager_context_t *context);

/** A worker is about to be made in this thread. */
void uct_predreg_eager_making_worker(ucp_context_h ucp);

/** @return whether this thread is making a worker of a context whose field
 *  has_rma is set. */
int uct_predreg_eager_is_making_rma(void);

/** A worker was made; NULL: it was not, for an error. */
void uct_predreg_eager_add_worker(ucp_context_h ucp, ucp_worker_h worker);

/** A worker goes. */
void uct_predreg_eager_remove_worker(ucp_worker_h worker);

/** Call a function for each context. May be called in a memory hook, and waits
 *  for nobody: contexts that are being added or removed may be missed. */
void uct_predreg_eager_for_each(void (*func)(uct_predreg_eager_context_t *ctx,
                                             void *arg), void *arg);

/** In a forked child, where there is no other thread: forget all contexts,
 *  which are the parent's. */
void uct_predreg_eager_reset(void);

#endif
