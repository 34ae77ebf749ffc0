/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_IFACE_H_
#define UCT_PREDREG_IFACE_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file iface.h
 *
 * Transport interfaces on managed memory domains. This library replaces some operations
 * of the interfaces by its own, which understand handles of memory registered in pieces,
 * and pass everything else on.
 *
 * A pieces handle is a memory handle of this library, in place of a handle of the
 * domain. The memory is not registered: an operation that moves data through the handle
 * registers the piece to be moved. UCP treats the handle like any other and passes it to
 * the operations of a wrapped interface.
 *
 * The thread that begins the use makes the handle, and the thread that ends the use
 * frees the handle. In between the handle belongs to the thread in the interface.
 */

/** Tells a copied operation from other operations on the same memory. An operation
 *  without a place in the send queue is called again with all fields unchanged. */
typedef struct uct_predreg_copy_op {
    char             kind; /**< 'g': a get, 'p': a put, 0: no operation */
    uct_ep_h         ep;
    void             *buffer;
    size_t           length;
    uint64_t         remote_addr;
    uct_rkey_t       rkey;
    uct_completion_t *comp;
} uct_predreg_copy_op_t;

/** How far an operation that is copied has got. Zeroed at first, and written by copy.c while
 *  an operation is stuck half-way. */
typedef struct uct_predreg_copy {
    uct_predreg_copy_op_t       stuck; /**< That operation */
    size_t                      done;  /**< How many of its bytes were posted */
    struct uct_predreg_copy_get *get;  /**< A get: its fragments that were posted; NULL if
                                            none was */
} uct_predreg_copy_t;

typedef struct uct_predreg_pieces_memh {
    ucs_rcache_pred_pieces_t use;
    unsigned                 flags;     /**< Flags of the registration that UCP asked for */
    int                      one_sided; /**< The data is copied, and not moved piece by piece
                                             (copy.c). Memory that cannot be registered
                                             (use.unfit) is copied as well */
    int                      keyless;   /**< UCP wants a key to the memory, which is
                                             withdrawn (uct_predreg_mkey_pack_v2()). No
                                             operation of an interface gets the handle, as
                                             peers would access the memory */
    uct_predreg_copy_t       copy;      /**< Of operations that are copied from the start; a
                                             transfer has its own */
} uct_predreg_pieces_memh_t;

/** Set in pieces handles. A handle of the domain is the address of a structure, and has 0
 *  as its lowest bit. */
#define UCT_PREDREG_PIECES_BIT 1ul

/** @return the handle that is given to UCP. */
static inline uct_mem_h
uct_predreg_pieces_to_memh(uct_predreg_pieces_memh_t *pieces)
{
    return (uct_mem_h)((uintptr_t)pieces | UCT_PREDREG_PIECES_BIT);
}

/** @return the pieces handle behind a handle from UCP, or NULL for a handle of the
 *          domain. */
static inline uct_predreg_pieces_memh_t *uct_predreg_memh_to_pieces(uct_mem_h memh)
{
    uintptr_t value = (uintptr_t)memh;

    return (value & UCT_PREDREG_PIECES_BIT) ?
           (uct_predreg_pieces_memh_t*)(value & ~UCT_PREDREG_PIECES_BIT) : NULL;
}

/** Give up an operation half-way, because UCP takes its buffer back. Fragments of a get
 *  that are still on their way are dropped when they arrive. */
void uct_predreg_copy_cancel(uct_predreg_copy_t *copy);

/**
 * Tell a completion that one of its operations has ended, as UCX does by a function without
 * an installed header. The completion keeps the first error. When the last operation ends,
 * the user's function is called, and may free the completion.
 */
static inline void
uct_predreg_completion_invoke(uct_completion_t *comp, ucs_status_t status)
{
    if ((status != UCS_OK) && (comp->status == UCS_OK)) {
        comp->status = status;
    }

    if (--comp->count == 0) {
        comp->func(comp);
    }
}


/** Functions of UCX, and the clock, that a wrapped interface needs besides its own
 *  operations. Unit tests hand over functions of their own. */
typedef struct uct_predreg_env {
    /** uct_worker_progress_register_safe() of the UCX in this process. */
    void (*progress_register)(uct_worker_h worker, ucs_callback_t func, void *arg,
                              unsigned flags, uct_worker_cb_id_t *id_p);

    /** uct_worker_progress_unregister_safe() of the same UCX. Does nothing if the
     *  function is not registered. */
    void (*progress_unregister)(uct_worker_h worker, uct_worker_cb_id_t *id_p);

    /** Read the clock, ns. */
    ucs_rcache_pred_time_t (*now)(void *arg);
    void                   *now_arg; /**< Argument that now is called with */
} uct_predreg_env_t;

/**
 * Replace the operations of a new interface, until it is closed. Thread safe, but nobody
 * may use the interface before the function returns.
 *
 * @param [in] worker  The worker of the interface.
 * @param [in] env     Copied.
 * @return UCS_ERR_UNSUPPORTED if the interface has an operation that could be handed a
 *         pieces handle, would not understand the handle and is not replaced;
 *         UCS_ERR_NO_MEMORY. In both cases the interface is left as it is, and pieces
 *         handles must not be given out in its domain.
 */
ucs_status_t uct_predreg_iface_wrap(uct_iface_h iface, uct_worker_h worker,
                                    const uct_predreg_env_t *env);

/** In a forked child, where there is no other thread: interfaces that were wrapped so far are
 *  inherited. They can be used and destroyed as interfaces of UCX can; their transfers in
 *  pieces end with UCS_ERR_CANCELED, and nothing is done to the cache and the registrations,
 *  which are the parent's. Neither allocates nor frees. */
void uct_predreg_ifaces_reset(void);

/** @return whether no transfer or flush of this process waits for progress. Some wait for
 *          something that is no event of UCX, so that a program that slept until the next
 *          event might never wake up. Any thread. */
int uct_predreg_may_sleep(void);

END_C_DECLS

#endif
