/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_HANDLE_H_
#define UCT_PREDREG_HANDLE_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file handle.h
 *
 * A pieces handle is a memory handle of this library, which UCP gets in place of a handle
 * of the domain. The memory is not registered: an operation that gets the handle
 * registers one piece after the other, to move the piece. UCP treats the handle like any
 * other and passes it to the operations of a wrapped interface.
 *
 * The thread that begins the use makes the handle, and the thread that ends the use
 * frees the handle. In between the handle belongs to the thread in the interface.
 */

/** The arguments of a copied operation, which tell the operation from others on the same
 *  memory: if the send queue has no place, UCP calls again with the same arguments. */
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
    uct_predreg_copy_op_t       stuck; /**< The stuck operation */
    size_t                      done;  /**< How many of its bytes were posted */
    struct uct_predreg_copy_get *get;  /**< A get: its fragments that were posted; NULL if
                                            none was */
} uct_predreg_copy_t;

typedef struct uct_predreg_pieces_memh {
    ucs_rcache_pred_pieces_t use;
    unsigned                 flags;     /**< Flags of the registration that UCP asked for */
    int                      one_sided; /**< Whether the data is copied instead of being
                                             moved piece by piece (copy.c). Data in memory
                                             that cannot be registered (use.unfit) is
                                             copied anyway */
    int                      keyless;   /**< Whether UCP wants the handle only for a key
                                             for peers: the key is withdrawn
                                             (uct_predreg_mkey_pack_v2()), and no
                                             operation of an interface gets the handle */
    uct_predreg_copy_t       copy;      /**< How far an operation has got whose data is
                                             copied from the first byte on. A transfer in
                                             pieces that copies its rest has its own field
                                             (uct_predreg_transfer_t::copy) */
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

/** Give up the copying of an operation half-way, because UCP takes its buffer back.
 *  Fragments of a get that are still on their way are dropped when they arrive. */
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

END_C_DECLS

#endif
