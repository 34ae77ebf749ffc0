/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_ACCESS_H_
#define UCP_FH_ACCESS_H_

#include "way.h"

/** @file access.h
 *
 * The public puts, gets, atomics and flushes: workers of the program and operations.
 *
 * A write by a memo (way.h) is one operation of UCP, and the program gets UCP's request.
 * For any other operation, the program gets the address of a ucp_fh_op_t with the lowest
 * bit set. In a request of UCP that bit is never set: it is an address aligned as by
 * malloc(). */

/** What has happened to an operation, flags. */
enum {
    UCP_FH_OP_RETURNED = UCS_BIT(0), /**< The program has the request */
    UCP_FH_OP_ENDED    = UCS_BIT(1), /**< The operation has a result */
    UCP_FH_OP_TOLD     = UCS_BIT(2), /**< The library has called the callback, or found
                                          none to call, and is done with the request */
    UCP_FH_OP_FREED    = UCS_BIT(3)  /**< The program has freed the request */
};


typedef struct ucp_fh_op ucp_fh_op_t;


/** The endpoint of a worker to a peer. No field changes, except those of @a super. */
typedef struct ucp_fh_peer_way {
    ucp_fh_way_t      super;          /**< First member, see ucp_fh_way_put() */
    ucp_fh_worker_h   worker;
    int               has_no_handler; /**< The endpoint calls no error handler when its
                                           peer ends */
} ucp_fh_peer_way_t;


struct ucp_fh_worker {
    ucp_fh_t        *fh;
    ucp_worker_h    worker;
    int             is_multi;  /**< Whether any thread may use the worker */
    ucs_list_link_t link;      /**< In ucp_fh::workers */
    ucp_fh_op_t     *last;     /**< The flush of ucp_fh_worker_destroy(), allocated early
                                    since that call cannot fail. Does not change */
    ucs_mutex_t     ways_lock; /**< Held while a way is made. Taken before all other locks
                                    except ucp_win.start_lock */
    /** Ways by number of the peer; NULL: not made yet. Written under ways_lock, with
     *  release */
    _Atomic(ucp_fh_peer_way_t*) *peers;
    /* Protected by ucp_fh::lock */
    ucp_fh_ways_t   ways;
    ucs_list_link_t ready;     /**< Operations of @a unposted that can go on: their piece
                                    was granted, or has failed */
    /** Operations with chunks to post, and flushes that have not begun, in the order in
     *  which the program asked for them. Written under the lock, only by a thread that
     *  may call UCP with the worker. If is_multi is 0, such a thread may read the list
     *  without lock */
    ucs_list_link_t unposted;
    unsigned        num_flushing; /**< Flushes of the program under way */
    unsigned        num_quick; /**< Calls of ucp_fh_worker_progress() in a row without a
                                    look at the tables. Needs no lock: only one thread at
                                    a time calls UCP with the worker. Unused if is_multi
                                    is set */
};


/** An operation. Fields without a note do not change once another thread can know the
 *  operation. */
struct ucp_fh_op {
    ucs_list_link_t     link;       /**< In ucp_fh_worker::unposted. Protected by
                                         ucp_fh::lock */
    ucs_list_link_t     ready;      /**< In ucp_fh_worker::ready. Protected by
                                         ucp_fh::lock */
    ucp_fh_worker_h     worker;     /**< The program may destroy the worker once the
                                         operation has ended */
    ucp_fh_way_t        *way;       /**< NULL: a flush */
    ucp_fh_access_t     access;     /**< Unused by a flush */
    size_t              posted;     /**< Bytes handed to UCP. Used by the thread that
                                         posts, one at a time */
    struct ucp_fh_op_piece *piece;  /**< The piece that the operation waits for. Used by
                                         the thread that posts */
    ucs_list_link_t     pieces;     /**< Of a flush: the pieces to release at its end.
                                         Protected by ucp_fh::lock */
    ucp_request_param_t param;      /**< The parameters for UCP */
    ucp_request_param_t told;       /**< The program's callback, and the argument for it */
    atomic_uint         pending;    /**< Requests of UCP under way, and one more until all
                                         bytes are posted */
    atomic_int          error;      /**< The first error, or UCS_OK. Written by the thread
                                         that meets the error */
    atomic_int          result;     /**< UCS_INPROGRESS, or the final status; written once,
                                         by the thread that ends the last request */
    /** The flags UCP_FH_OP_*. The thread of the program that makes the call sets RETURNED,
     *  the thread that ends the last request sets ENDED and then TOLD, and
     *  ucp_fh_request_free() sets FREED. Whoever sets the later one of RETURNED and ENDED
     *  sees to the callback; whoever sets the later one of TOLD and FREED frees the
     *  operation */
    atomic_uint         state;
};


/* op.c: the life of an operation */

/** @return UCS_ERR_UNSUPPORTED for parameters that the library does not know,
 *          UCS_ERR_INVALID_PARAM for a memory handle that is NULL, or UCS_OK. */
ucs_status_t ucp_fh_op_check_param(const ucp_request_param_t *param);

/** @return an operation that has not begun, with ucp_fh_op::pending 1, or NULL if there
 *          is no memory. The caller sets @a way and @a access, unless the operation is a
 *          flush. */
ucp_fh_op_t *
ucp_fh_op_make(ucp_fh_worker_h worker, const ucp_request_param_t *param);

/** Put an operation at the end of ucp_fh_worker::unposted, and post its chunks until it
 *  has to wait for firehoses.
 *
 *  @return what the program gets, as ucp_fh_put_nbx(). */
ucs_status_ptr_t ucp_fh_op_begin(ucp_fh_op_t *op);

/** Put a flush at the end of ucp_fh_worker::unposted, and begin the flush if all
 *  operations before it are posted.
 *
 *  @return as ucp_fh_flush_nbx(). If that is no request, @a op is freed. */
ucs_status_ptr_t ucp_fh_op_flush(ucp_fh_op_t *op);

/** @return whether ucp_fh_op_resume_all() has something to do. Under ucp_fh::lock. */
int ucp_fh_op_can_resume(ucp_fh_worker_h worker);

/** Go on with the operations in ucp_fh_worker::ready, and begin the flushes that have
 *  waited for these operations. */
void ucp_fh_op_resume_all(ucp_fh_worker_h worker);


/* worker.c: workers, for the library's thread as well */

/** Find the way of a worker to a peer, or make the way if there is none.
 *
 *  @return the way; NULL: it could not be made, and *@a status_p says why. */
ucp_fh_way_t *ucp_fh_worker_way(ucp_fh_worker_h worker, uint32_t peer,
                                ucs_status_t *status_p);

/** @return whether the library's thread should progress a worker: any thread may use the
 *          worker, and there are operations to post, or a flush is under way or due.
 *          Under ucp_fh::lock. */
int ucp_fh_worker_is_busy(ucp_fh_worker_h worker);

/** As ucp_fh_worker_progress(), but the caller does not drive (core.h).
 *
 *  @param [out] is_waiting_p  Whether operations wait, and none of them can go on: then a
 *                             thread of the program should drive.
 *  @return a number that is not 0 if anything was done, as ucp_worker_progress(). */
unsigned ucp_fh_worker_go_on(ucp_fh_worker_h worker, int *is_waiting_p);

#endif
