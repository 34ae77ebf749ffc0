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
 */

struct uct_predreg_copy_get;

typedef struct uct_predreg_pieces_memh {
    ucs_rcache_pred_pieces_t      use;
    unsigned                    flags;     /**< Of the registration UCP asked
                                                for */
    int                         one_sided; /**< Copied instead, see copy.c */

    /* Of a one-sided operation that got stuck half-way. By the thread that is
     * in the interface. */
    uint64_t                    remote_addr;
    size_t                      done;      /**< Bytes posted */
    struct uct_predreg_copy_get *get;
} uct_predreg_pieces_memh_t;


/** Let go of a one-sided operation that was not posted to its end. */
void uct_predreg_copy_cancel(uct_predreg_pieces_memh_t *pieces);


/* The domain's own handles are addresses of structures: their lowest bit is
 * 0 */
#define UCT_PREDREG_PIECES_BIT 1ul

static inline uct_mem_h
uct_predreg_pieces_to_memh(uct_predreg_pieces_memh_t *pieces)
{
    return (uct_mem_h)((uintptr_t)pieces | UCT_PREDREG_PIECES_BIT);
}

/** @return NULL if the handle is one of the domain's own. */
static inline uct_predreg_pieces_memh_t *uct_predreg_memh_to_pieces(uct_mem_h memh)
{
    uintptr_t value = (uintptr_t)memh;

    return (value & UCT_PREDREG_PIECES_BIT) ?
           (uct_predreg_pieces_memh_t*)(value & ~UCT_PREDREG_PIECES_BIT) : NULL;
}

#endif
