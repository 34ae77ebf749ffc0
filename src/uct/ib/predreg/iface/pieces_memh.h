/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PIECES_MEMH_H_
#define UCT_PREDREG_PIECES_MEMH_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <uct/api/uct.h>

/** @file pieces_memh.h
 *
 * A memory handle of our own, in place of the domain's: its memory is not
 * registered, and whoever moves data through it registers what is being moved.
 * UCP carries it about as it does others and gives it back to the wrapped
 * operations of an interface, see iface.h.
 *
 * The thread that begins the use makes the handle, and the one that ends it
 * frees it. In between it belongs to the thread that is in the interface.
 */

typedef struct uct_predreg_pieces_memh {
    ucs_rcache_pred_pieces_t    use;
    unsigned                    flags;     /**< Of the registration that UCP
                                                asked for */
    int                         one_sided; /**< Its data is copied instead of
                                                moved piece by piece, see
                                                copy.h */

    /* By copy.c, while an operation got stuck half-way */
    uint64_t                    remote_addr; /**< Of the operation; 0: none */
    size_t                      done;        /**< Bytes posted */
    struct uct_predreg_copy_get *get;        /**< Fragments of a get that were
                                                  posted; NULL if none was */
} uct_predreg_pieces_memh_t;


/** What tells our handles from the domain's own, which are addresses of
 *  structures: their lowest bit is 0. */
#define UCT_PREDREG_PIECES_BIT 1ul

/** @return the handle that UCP is given. */
static inline uct_mem_h
uct_predreg_pieces_to_memh(uct_predreg_pieces_memh_t *pieces)
{
    return (uct_mem_h)((uintptr_t)pieces | UCT_PREDREG_PIECES_BIT);
}

/** @return NULL if the handle is one of the domain's own. */
static inline uct_predreg_pieces_memh_t *
uct_predreg_memh_to_pieces(uct_mem_h memh)
{
    uintptr_t value = (uintptr_t)memh;

    return (value & UCT_PREDREG_PIECES_BIT) ?
           (uct_predreg_pieces_memh_t*)(value & ~UCT_PREDREG_PIECES_BIT) : NULL;
}

#endif
