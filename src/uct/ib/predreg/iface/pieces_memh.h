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
 * A pieces handle: a memory handle of this library, which UCP gets in place of
 * one of the domain. Its memory is not registered; the operation that moves
 * data through the handle registers the piece that it is moving. UCP treats the
 * handle like any other and passes it to the operations of a wrapped interface,
 * see iface.h.
 *
 * The thread that begins the use makes the handle, and the thread that ends the
 * use frees it. In between the handle belongs to the thread that is in the
 * interface.
 */

/** What tells an operation that is copied from others on the same memory. An
 *  operation that finds no place in the send queue is called again with all of
 *  this unchanged. */
typedef struct uct_predreg_copy_op {
    char             kind; /**< 'g': a get, 'p': a put, 0: no operation */
    uct_ep_h         ep;
    void             *buffer;
    size_t           length;
    uint64_t         remote_addr;
    uct_rkey_t       rkey;
    uct_completion_t *comp;
} uct_predreg_copy_op_t;


/** How far an operation that is copied has got, see copy.h. Zeroed at first, and written
 *  by copy.c while an operation is stuck half-way. */
typedef struct uct_predreg_copy {
    uct_predreg_copy_op_t       stuck;     /**< That operation */
    size_t                      done;      /**< How many of its bytes were
                                                posted */
    struct uct_predreg_copy_get *get;      /**< If it is a get: those of its
                                                fragments that were posted; NULL
                                                if none was */
} uct_predreg_copy_t;


typedef struct uct_predreg_pieces_memh {
    ucs_rcache_pred_pieces_t    use;
    unsigned                    flags;     /**< Flags of the registration that
                                                UCP asked for */
    int                         one_sided; /**< Whether its data is copied
                                                instead of moved piece by piece,
                                                see copy.h. That of memory which
                                                cannot be registered (use.unfit)
                                                is as well */
    int                         keyless;   /**< Whether UCP wants a key to the
                                                memory, which is withdrawn: see
                                                mkey.h. No operation of an
                                                interface gets the handle, as
                                                peers would access the memory */
    uct_predreg_copy_t          copy;      /**< Of operations that are copied from
                                                the start; a transfer has its
                                                own */
} uct_predreg_pieces_memh_t;


/** This bit is set in pieces handles. A handle of the domain is the address of
 *  a structure, whose lowest bit is 0. */
#define UCT_PREDREG_PIECES_BIT 1ul

/** @return the handle that is given to UCP. */
static inline uct_mem_h
uct_predreg_pieces_to_memh(uct_predreg_pieces_memh_t *pieces)
{
    return (uct_mem_h)((uintptr_t)pieces | UCT_PREDREG_PIECES_BIT);
}

/** @return the pieces handle behind a handle that UCP passes on, or NULL if
 *  that is one of the domain. */
static inline uct_predreg_pieces_memh_t *
uct_predreg_memh_to_pieces(uct_mem_h memh)
{
    uintptr_t value = (uintptr_t)memh;

    return (value & UCT_PREDREG_PIECES_BIT) ?
           (uct_predreg_pieces_memh_t*)(value & ~UCT_PREDREG_PIECES_BIT) : NULL;
}

#endif
