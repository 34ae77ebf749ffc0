/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_IFACE_INT_H_
#define UCT_PREDREG_IFACE_INT_H_

#include "iface.h"

#include <ucs/datastruct/khash.h>
#include <ucs/datastruct/list.h>

#include <uct/api/tl.h>

/** @file iface_int.h
 *
 * The state of an interface whose operations were replaced, and the functions of this
 * folder's files that other files of the folder call.
 *
 * Threads: UCT demands of its users that one thread at a time is in the functions of an
 * interface, or in the progress of its worker. Only that thread touches the state of the
 * interface and calls the functions below, so the state needs no lock. Interfaces share the
 * map of all interfaces (iface.c), the cache, and two numbers: uct_predreg_forks, and how
 * many interfaces progress has to call (endpoint.c).
 *
 * Callbacks: while this library calls UCP back, UCP may do anything with the interface and
 * its endpoints, except close the interface. So a function that calls UCP back holds no
 * pointer but the interface across the call.
 */

struct uct_predreg_endpoint;
KHASH_TYPE(uct_predreg_endpoints, uint64_t, struct uct_predreg_endpoint*)

/** Lines that a transfer can stand in. */
typedef enum {
    UCT_PREDREG_LINE_ROOM,  /**< The transfer waits for room within the bounds, or for
                                 memory that the system refuses */
    UCT_PREDREG_LINE_PLACE, /**< The transfer waits for a place in the send queue */
    UCT_PREDREG_LINE_OVER,  /**< The transfer is over, and UCP was not called back yet */
    UCT_PREDREG_LINE_NONE   /**< The transfer stands in no line: it waits for its pieces
                                 to land, or is over. Also the number of lines */
} uct_predreg_line_t;

typedef struct uct_predreg_iface {
    /* The fields down to forks are constant once the interface is wrapped */
    uct_iface_ops_t        ops;       /**< The operations that were replaced */
    uct_predreg_env_t      env;
    uct_worker_h           worker;
    ucs_callback_t         retry_func; /**< The worker's progress calls
                                            retry_func(interface) while something waits */
    size_t                 min_zcopy; /**< Fewest bytes that both ep_get_zcopy and
                                           ep_put_zcopy accept */
    size_t                 max_put;   /**< Most bytes that ep_put_bcopy accepts */
    size_t                 max_get;   /**< Most bytes that ep_get_bcopy accepts */
    unsigned               forks;     /**< The value of uct_predreg_forks when the
                                           interface was wrapped */

    int                    closing;   /**< The interface is being closed: new transfers and
                                           flushes are refused */
    uct_worker_cb_id_t     retry_id;  /**< Number of retry_func in the worker's progress;
                                           UCS_CALLBACKQ_ID_NULL: it is not called */
    uint64_t               tickets;   /**< Tickets so far. A transfer or flush that gets in
                                           line takes one. A round that serves a line stops
                                           at the first ticket taken since the round
                                           began */

    /* Written by endpoint.c */
    khash_t(uct_predreg_endpoints) endpoints; /**< Endpoints with something under way, by
                                                   UCT's handle */
    ucs_list_link_t        all_endpoints; /**< The endpoints of the map, and destroyed
                                               endpoints whose transfers have not ended */
    struct uct_predreg_watch *watches;    /**< Watches of endpoints that are being
                                               destroyed or cancelled, the last one first;
                                               NULL: none */
    ucs_list_link_t        ready;     /**< Flushes whose transfers have all ended, to be
                                           handed to the interface */
    ucs_list_link_t        cancelled; /**< Cancelled flushes, before UCP is told */

    /* Written by transfer.c and pieces.c */
    ucs_list_link_t        lines[UCT_PREDREG_LINE_NONE];
    uint64_t               releases;  /**< The number ucs_rcache_pred_releases() when the
                                           cache last refused room */
    ucs_rcache_pred_time_t asked_at;  /**< When the cache last refused room. Some time
                                           later a transfer asks again, even if the number
                                           is still the same */
    ucs_rcache_pred_time_t refused_at; /**< Since when the system has refused memory; 0: the
                                            system refuses none */
    int                    refusal_told; /**< Whether it was logged that transfers are
                                              copied because the system refuses memory */
} uct_predreg_iface_t;


/** How often this process, and its ancestors, were forked. Written by the fork handler of a
 *  child, when the child has no other thread. */
extern unsigned uct_predreg_forks;

/** @return whether the interface belongs to the parent that this process was forked from. A
 *  child may destroy the interface, and must not use the cache of its parent. */
static inline int uct_predreg_is_inherited(const uct_predreg_iface_t *iface)
{
    return iface->forks != uct_predreg_forks;
}


/*
 * endpoint.c: endpoints with something under way: transfers in pieces, and flushes that
 * wait for transfers. UCX's interface knows of the pieces in flight only, so its own
 * flush would not cover later pieces. So a flush of such an endpoint waits until the
 * transfers before the flush have ended, and the next progress hands the flush to the
 * interface.
 */

/** A transfer or a flush: the first field of both. */
typedef struct uct_predreg_entry {
    ucs_list_link_t             list;     /**< In endpoint->entries; a flush without any
                                               transfer before it is in iface->ready */
    struct uct_predreg_endpoint *endpoint;
    int                         is_flush;
} uct_predreg_entry_t;

typedef struct uct_predreg_endpoint {
    ucs_list_link_t list;    /**< In iface->all_endpoints */
    uct_ep_h        ep;      /**< UCT's handle; NULL: it was destroyed */
    ucs_list_link_t entries; /**< The transfers and flushes of the endpoint, in the order of
                                  their start. Never empty, and never with a flush at the
                                  front: such a flush moves to iface->ready */
} uct_predreg_endpoint_t;

/** The note of a function that calls UCP back on behalf of an endpoint: the function has
 *  to know whether UCP, when called back, destroys the endpoint. On the stack of the
 *  function. */
typedef struct uct_predreg_watch {
    uct_ep_h                 ep;
    int                      dying; /**< The endpoint is being destroyed: new transfers and
                                         flushes on it are refused */
    int                      gone;  /**< Whether the endpoint was destroyed since the
                                         watch began */
    struct uct_predreg_watch *outer;
} uct_predreg_watch_t;

/** Prepare an interface that is being wrapped. */
void uct_predreg_endpoints_init(uct_predreg_iface_t *iface);

/** Free the map of endpoints of an interface on which nothing is under way. */
void uct_predreg_endpoints_cleanup(uct_predreg_iface_t *iface);

/** @return the state of UCT's endpoint; NULL: nothing is under way on the endpoint. */
uct_predreg_endpoint_t *
uct_predreg_endpoint_find(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Note that something starts on an endpoint. @return UCS_ERR_NO_MEMORY; UCS_ERR_CANCELED if
 *  the endpoint is being destroyed, or the interface closed. */
ucs_status_t uct_predreg_endpoint_add(uct_predreg_iface_t *iface, uct_ep_h ep,
                                      uct_predreg_entry_t *entry);

/** Note the end of a transfer. Flushes that have waited for this transfer alone become
 *  ready. */
void uct_predreg_endpoint_remove(uct_predreg_iface_t *iface, uct_predreg_entry_t *entry);

/** Note that an endpoint was destroyed: its transfers end when their pieces have landed, and
 *  have nothing to do with a later endpoint at the same address. */
void uct_predreg_endpoint_forget(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Begin to watch an endpoint. Watches end in the opposite order.
 *  @param [in] dying  Whether the caller is about to destroy the endpoint: the watches of
 *                     the endpoint that have begun before are told so (gone). */
void uct_predreg_watch_begin(uct_predreg_iface_t *iface, uct_ep_h ep, int dying,
                             uct_predreg_watch_t *watch);

/** End a watch. @return whether the endpoint was destroyed meanwhile. */
int uct_predreg_watch_end(uct_predreg_iface_t *iface, uct_predreg_watch_t *watch);

/**
 * Flush an endpoint as soon as its present transfers, at least one, have ended.
 *
 * @param [in] comp  Completed when the flush is complete; NULL: nothing is started, and
 *                   the caller asks again later.
 * @return UCS_INPROGRESS, UCS_ERR_NO_MEMORY, or UCS_ERR_CANCELED if the endpoint is being
 *         destroyed.
 */
ucs_status_t uct_predreg_flush_start(uct_predreg_iface_t *iface, uct_ep_h ep,
                                     unsigned flags, uct_completion_t *comp);

/** Hand flushes whose transfers have all ended to the interface, until the send queue has
 *  had no place for a few of them. @return how many flushes the interface took. */
unsigned uct_predreg_flush_retry(uct_predreg_iface_t *iface);

/** End the waiting flushes of an endpoint with UCS_ERR_CANCELED. */
void uct_predreg_flush_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/** End all waiting flushes of an interface with UCS_ERR_CANCELED. */
void uct_predreg_flush_cancel_all(uct_predreg_iface_t *iface);

/** Have the worker's progress call retry_func until @ref uct_predreg_retry_stop is called,
 *  because something waits. */
void uct_predreg_retry_start(uct_predreg_iface_t *iface);

/** Have the worker's progress call retry_func no longer, because nothing waits any more.
 *  retry_func itself may call this. */
void uct_predreg_retry_stop(uct_predreg_iface_t *iface);

/** To be called in a forked child, where there is no other thread: all present interfaces
 *  count as inherited from now on. */
void uct_predreg_endpoints_forked(void);


/*
 * copy.c: operations with data copied through UCX's bounce buffers, one fragment after
 * the other: one-sided operations with local buffers that could not be registered for
 * lack of room, and all operations on memory that cannot be registered. One-sided
 * operations cannot go piece by piece, as messages do: all of an operation has to be in
 * the send queue before a later fence of UCP. If the send queue is full, UCP calls again
 * with the same operation, and the copying goes on where it stopped.
 */

/**
 * Copy the data of a put or a get.
 *
 * @param [inout] copy  How far the operation has got. There is room for one operation: if
 *                      it is stuck and another one begins, the stuck one is given up.
 * @param [in] iov   One buffer. Its handle is ignored.
 * @param [in] comp  Completed once if UCS_INPROGRESS is returned.
 * @return UCS_ERR_NO_RESOURCE if the caller has to call again with the same operation;
 *         UCS_OK if all is done, and comp was not touched; or the interface's error.
 */
typedef ucs_status_t
(*uct_predreg_copy_func_t)(uct_predreg_iface_t *iface, uct_predreg_copy_t *copy,
                           uct_ep_h ep, const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** Copy a put, see @ref uct_predreg_copy_func_t. It never returns UCS_INPROGRESS: when all
 *  data is posted, the data has been copied out of the buffer. */
ucs_status_t uct_predreg_copy_put(uct_predreg_iface_t *iface, uct_predreg_copy_t *copy,
                                  uct_ep_h ep, const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);

/** Copy a get, see @ref uct_predreg_copy_func_t. It returns UCS_ERR_NO_MEMORY if the list of
 *  fragments cannot be allocated. */
ucs_status_t uct_predreg_copy_get(uct_predreg_iface_t *iface, uct_predreg_copy_t *copy,
                                  uct_ep_h ep, const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);


/*
 * pieces.c: registers, posts and releases the pieces of one transfer. None of the functions
 * calls UCP back.
 */

typedef enum {
    UCT_PREDREG_PIECE_FREE,
    UCT_PREDREG_PIECE_READY, /**< The piece is registered, or is to be copied; the send
                                  queue had no place yet for all of the piece */
    UCT_PREDREG_PIECE_IN_FLIGHT
} uct_predreg_piece_state_t;

struct uct_predreg_transfer;

typedef struct uct_predreg_piece {
    uct_completion_t            comp;
    ucs_rcache_pred_piece_t     reg;       /**< The memory, and its registration unless the
                                                piece is copied */
    struct uct_predreg_transfer *transfer;
    uint64_t                    remote_addr;
    uct_predreg_piece_state_t   state;
    int                         is_copied; /**< Whether the piece is copied, since its
                                                memory cannot be registered. Such a piece is
                                                the whole rest of the transfer */
} uct_predreg_piece_t;

typedef struct uct_predreg_transfer {
    uct_predreg_entry_t       entry;       /**< First */
    uct_predreg_iface_t       *iface;
    uct_ep_get_zcopy_func_t   post;
    uct_predreg_copy_func_t   copy_func;
    uct_predreg_copy_t        copy;        /**< How far the copied piece has got */
    uct_ep_h                  ep;
    uct_rkey_t                rkey;
    uct_predreg_pieces_memh_t *memh;
    ucs_rcache_pred_domain_t  *domain;     /**< The domain of memh */
    uct_completion_t          *comp;       /**< UCP's completion */
    ucs_status_t              status;      /**< The first error */
    uintptr_t                 start;       /**< Data without a piece yet: local address, */
    uint64_t                  remote_addr; /**< remote address */
    size_t                    length;      /**< and length, bytes */
    uct_predreg_piece_t       pieces[UCS_RCACHE_PRED_PIECES_IN_FLIGHT];

    /* Written by transfer.c */
    uct_predreg_line_t        line;
    ucs_list_link_t           link;        /**< In the list of the line */
    uint64_t                  ticket;      /**< Taken when the transfer got in line */
} uct_predreg_transfer_t;

/**
 * Bring a transfer as far as possible now.
 *
 * @param [in] may_register  Whether further pieces may be registered; if not, only pieces
 *                           that are registered already are posted.
 * @return the line in which the transfer waits from now on. NONE if it is over or only waits
 *         for pieces to land.
 */
uct_predreg_line_t
uct_predreg_pieces_push(uct_predreg_transfer_t *transfer, int may_register);

/** Let a transfer fail: it keeps the first error, no further piece is registered, and pieces
 *  that were not posted are released. The transfer is over when its pieces in flight have
 *  landed. */
void uct_predreg_pieces_fail(uct_predreg_transfer_t *transfer, ucs_status_t status);

/** Note that a piece has landed, or will never land (@a status is an error then). */
void uct_predreg_pieces_landed(uct_predreg_piece_t *piece, ucs_status_t status);

/** @return whether a transfer is over: all data was moved, or the transfer has failed,
 *  and no piece is in flight. */
int uct_predreg_pieces_are_over(const uct_predreg_transfer_t *transfer);


/*
 * transfer.c: transfers whose local memory is registered piece by piece. Two pieces are
 * in flight at a time: when one of them has landed it is deregistered, and the next one
 * is registered and posted, while the other one keeps the adapter busy. So the adapter
 * need not wait for registrations, and no work is handed to another thread.
 *
 * A transfer waits in line if it finds no room within the bounds, if the system refuses
 * memory, or if the send queue has no place. The worker's progress serves the lines, in a
 * time that does not depend on how many transfers wait: only the first transfer in line
 * asks for room, if room was given back since its last refusal or some time has passed;
 * and a few transfers, in turn, ask for a place in the send queue.
 */

/**
 * Move the data of a use piece by piece.
 *
 * @param [in] post         The interface's ep_get_zcopy or ep_put_zcopy, which moves a
 *                          registered piece.
 * @param [in] copy         Copies the rest once a piece has shown that the memory cannot be
 *                          registered.
 * @param [in] iov          One buffer, with a pieces handle.
 * @param [in] remote_addr  Address of the data at the peer.
 * @param [in] comp         Completed once if UCS_INPROGRESS is returned, else not touched.
 * @return UCS_INPROGRESS; UCS_OK if all pieces landed at once; or the error that made the
 *         transfer fail at once.
 */
ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface, uct_ep_get_zcopy_func_t post,
                           uct_predreg_copy_func_t copy, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr, uct_rkey_t rkey,
                           uct_completion_t *comp);

/** End the transfers of an endpoint with UCS_ERR_CANCELED. A transfer with pieces in flight
 *  ends when these have landed. */
void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/** End all transfers of an interface with UCS_ERR_CANCELED.
 *
 * @param [in] closed  Whether the interface is closed by now: pieces in flight will never
 *                     land, so that transfers do not wait for them. */
void uct_predreg_transfer_cancel_all(uct_predreg_iface_t *iface, int closed);

/** Let the transfers in line for a place and for room go on as far as possible. @return
 *  how many transfers have left these lines, or changed from one to the other. */
unsigned uct_predreg_transfer_retry(uct_predreg_iface_t *iface);

/** @return whether no transfer waits in line. */
int uct_predreg_transfer_is_idle(uct_predreg_iface_t *iface);

#endif
