/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_WORKER_H_
#define UCP_FH_WORKER_H_

#include <ucp/firehose/core/peer.h>
#include <ucp/firehose/core/state.h>
#include <ucp/firehose/wire/key.h>

#include <stdatomic.h>

/** @file worker.h
 *
 * Workers of the program, and their ways to peers: endpoints, and the firehoses
 * that were written through and are not known to be empty. */

typedef struct ucp_fh_op ucp_fh_op_t;
typedef struct ucp_fh_way ucp_fh_way_t;


/** Firehoses that an operation, or a part of it, goes through. */
typedef struct ucp_fh_piece {
    ucp_fh_request_t request; /**< First member, see op.c */
    ucp_fh_op_t      *op;
    ucp_fh_way_t     *way;
    ucs_list_link_t  link;    /**< In ucp_fh_way_t::unflushed or a flush */
    atomic_uint      pending; /**< Of a read: parts under way, and one while
                                   more may come */
} ucp_fh_piece_t;


/** A flush under way. It is part of what it flushes, or of the operation that is a
 *  flush, so that none needs memory. */
typedef struct ucp_fh_flush {
    struct ucp_fh_worker *worker;
    ucp_fh_way_t         *way;   /**< NULL: of all */
    ucs_list_link_t      pieces; /**< To be released afterwards. Protected by
                                      ucp_fh::lock */
    void                 (*done)(void *arg, ucs_status_t status);
    void                 *arg;
} ucp_fh_flush_t;


/** A way remembers as many buckets as its peer gives firehoses, so that what it may have
 *  firehoses on has a place each; but not more than so many, which take 32 KB. */
#define UCP_FH_HELD_MAX 1024


/** Memory of a peer that a way has firehoses on. */
typedef struct ucp_fh_held {
    uint64_t   start; /**< First byte */
    uint64_t   end;   /**< The byte after the last */
    ucp_rkey_h rkey;
    uint64_t   epoch; /**< ucp_fh_way_t::epoch when it got them: it has them as
                           long as that is the same */
} ucp_fh_held_t;


/** From a worker to a peer. Protected by ucp_fh::lock, but for the first four,
 *  which do not change, and what is said to be the worker's. */
struct ucp_fh_way {
    struct ucp_fh_worker *worker;
    ucp_fh_peer_arg_t    peer;
    ucp_ep_h             ep;
    int                  has_no_handler; /**< The endpoint does not tell when
                                              its peer is gone */
    ucs_list_link_t      unflushed;   /**< Pieces that were written through */
    unsigned             num_unflushed;
    uint64_t             num_missed;  /**< ucp_fh_peer_t::num_missed when the
                                           last flush began */
    int                  is_flushing;
    ucp_fh_flush_t       flush;       /**< Of whoever has set @a is_flushing, until
                                           that is cleared */
    ucs_list_link_t      link;        /**< In ucp_fh_worker::dirty if there are
                                           such pieces; else empty */
    /* See held.h. Read and written by the threads that may call UCP with the
     * worker, one at a time; not used if any thread may, except @a epoch, which
     * is written under the lock then and read by nobody */
    uint64_t             epoch;       /**< Counts the flushes that have taken the
                                           pieces, and how often others wanted
                                           the firehoses, from 1 on: in an empty
                                           place it is 0 */
    unsigned             num_quick;   /**< Writes since the table was looked
                                           at */
    unsigned             num_held;    /**< Places, a power of two. Does not change */
    ucp_fh_held_t        held[];      /**< By bucket */
};


struct ucp_fh_worker {
    ucp_fh_t               *fh;
    ucp_worker_h           worker;
    int                    is_multi;  /**< Whether any thread may use it */
    ucs_list_link_t        link;      /**< In ucp_fh::workers */
    ucp_fh_op_t            *last;     /**< A flush that is not begun, for
                                           ucp_fh_worker_destroy(), which cannot
                                           fail. Does not change */
    ucs_mutex_t            ways_lock; /**< A way is made. Before all locks but
                                           ucp_win.start_lock */
    /** By number of the peer; NULL: there is none yet. Written under
     *  ways_lock */
    _Atomic(ucp_fh_way_t*) *ways;
    /* Protected by ucp_fh::lock */
    uint64_t               next_number; /**< Of an operation */
    ucs_list_link_t        ready;     /**< The operations of @a unposted that can
                                           go on */
    /** These two are written under the lock by threads that may call UCP with the
     *  worker alone: unless any thread may, such a one reads them without lock */
    ucs_list_link_t        unposted;  /**< Operations that have not been posted
                                           completely, by number */
    ucs_list_link_t        flushes;   /**< Flushes that have not begun, by
                                           number */
    unsigned               num_flushing; /**< Flushes under way */
    ucs_list_link_t        dirty;     /**< Ways */
    ucs_list_link_t        rkeys;     /**< Its unpacked keys */
    ucs_list_link_t        trash;     /**< Those to be destroyed */
    /* Read and written by the threads that may call UCP with the worker, one at a
     * time. If any thread may, they stay 0 */
    uint64_t               num_uncounted; /**< Hits that the table does not know
                                               of yet */
    unsigned               num_quick; /**< How often in a row it got on without a
                                           look at the tables */
};


/** @return the way to a peer, which is made if there is none, or NULL: *@a
 *          status_p says why. */
ucp_fh_way_t *ucp_fh_worker_way(ucp_fh_worker_h worker, uint32_t peer,
                                ucs_status_t *status_p);

/** Unpack a key for a way. Without lock. The key is in use. */
ucs_status_t ucp_fh_worker_unpack(ucp_fh_way_t *way, ucp_fh_key_t *key,
                                  ucp_rkey_h *rkey_p);

/** Destroy keys that are not needed any more. */
void ucp_fh_worker_empty_trash(ucp_fh_worker_h worker);

/** Let the table know of the worker's hits. Under ucp_fh::lock, by a thread that
 *  may call UCP with the worker. */
static inline void ucp_fh_worker_count(ucp_fh_worker_h worker)
{
    ucp_fh_remote_count_hits(&worker->fh->remote, worker->num_uncounted);
    worker->num_uncounted = 0;
}

/** Release a piece and free it. Under ucp_fh::lock. */
void ucp_fh_piece_release(ucp_fh_piece_t *piece);

#endif
