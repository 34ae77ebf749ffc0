/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_WAY_H_
#define UCP_FH_WAY_H_

#include <ucp/firehose/core/core.h>
#include <ucp/firehose/wire/wire.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file way.h
 *
 * How operations use firehoses. The core of two fronts: the public calls (access.h),
 * with endpoints of their own, and windows (ucp/windows), with the program's endpoints.
 *
 * A way is an endpoint and all firehoses in use by operations on the endpoint. An
 * operation asks the remote table for a piece, a run of buckets, and goes through the
 * piece chunk by chunk: a chunk lies in one bucket, and has one key.
 *
 * A read ends the use of its piece when its last request completes. A write does not:
 * after the completion of a put, the bytes may not have arrived yet. If the firehose were
 * given back, the peer could unpin the bucket, and its adapter would refuse the bytes. So
 * the piece of a write stays in use until the end of a flush that began after the write.
 *
 * MEMOS. Until that flush begins, further writes to the same bucket need no piece: the
 * flush covers these writes too. A memo keeps the key of the bucket: a write by a memo
 * takes no lock, and allocates no memory. Each way has a memo for each firehose of its
 * peer, up to UCP_FH_MAX_MEMOS. A flush makes all memos of its way void.
 * Other requests may wait for the firehoses meanwhile: after UCP_FH_MAX_QUICK writes by
 * memos the way looks at the table. If a request waits, the memos become void, and the
 * table counts an attempt of the waiting request (remote.h). So a thread that writes
 * without a pause at last gets no more firehoses, and has to progress its worker.
 * A worker that any thread may use has no memos: another thread could begin a flush
 * between the look at a memo and the write.
 *
 * "Under lock" means ucp_fh::lock. All other functions are called without lock, by a
 * thread that may use the worker of the way.
 */

/** Most memos of a way: 32 KB. */
#define UCP_FH_MAX_MEMOS 1024

/** Most writes by memos of a way without a look at the table. */
#define UCP_FH_MAX_QUICK 16


typedef enum {
    UCP_FH_OP_PUT,
    UCP_FH_OP_GET,
    UCP_FH_OP_ATOMIC
} ucp_fh_op_kind_t;


/** A put, get or atomic of the program. */
typedef struct ucp_fh_access {
    ucp_fh_op_kind_t kind;
    ucp_atomic_op_t  opcode; /**< For an atomic alone */
    void             *buffer;
    size_t           count;  /**< Number of elements */
    size_t           length; /**< Number of bytes; 0: there are none, or the datatype is
                                  not contiguous */
    uint64_t         remote; /**< Address at the peer */
} ucp_fh_access_t;


typedef struct ucp_fh_way ucp_fh_way_t;


/** The ways of a public worker, or of all windows, with writes that may not have
 *  arrived. */
typedef struct ucp_fh_ways {
    ucs_list_link_t list; /**< By ucp_fh_way_t::dirty. Protected by ucp_fh::lock */
    atomic_uint     num;  /**< Length of the list. Written under ucp_fh::lock, read
                               without lock, relaxed: a thread sees at least the changes
                               that it made itself, and needs no others */
} ucp_fh_ways_t;


/** A request for the firehoses of one operation. Each front adds its own fields. */
typedef struct ucp_fh_piece {
    ucp_fh_request_t request; /**< First member: a piece is freed by its address */
    ucp_fh_way_t     *way;    /**< The piece has a reference to the way */
    ucs_list_link_t  link;    /**< In ucp_fh_way_t::unflushed or ucp_fh_way_t::flushing,
                                   or in a list of the flush that took the piece */
} ucp_fh_piece_t;


/** The bytes of an operation in one bucket, and the key to these bytes. */
typedef struct ucp_fh_chunk {
    ucp_fh_key_t *key;
    ucp_rkey_h   rkey;   /**< NULL: not unpacked yet */
    size_t       length; /**< Set by ucp_fh_chunk_open() */
} ucp_fh_chunk_t;


/** A packed key to merge into the key of a bucket. If both keys have a part for the same
 *  memory domain, the part of the bucket's key is used. */
typedef struct ucp_fh_rest {
    const void *packed;
    size_t     length;
} ucp_fh_rest_t;


typedef struct ucp_fh_memo {
    uint64_t   start; /**< First byte */
    uint64_t   end;   /**< The byte after the last */
    ucp_rkey_h rkey;
    uint64_t   epoch; /**< The memo is valid while ucp_fh_way_t::epoch is the same */
} ucp_fh_memo_t;


struct ucp_fh_way {
    /* These fields do not change; @a peer and @a max_unflushed are set by
     * ucp_fh_way_connect(), and do not change afterwards */
    ucp_worker_h    worker;
    /** Of a window: NULL from the time when the program begins to close the endpoint. The thread
     *  that closes the endpoint writes @a ep, after is_closing. Another thread reads @a ep
     *  under ucp_fh::lock if is_closing is 0, or uses the endpoint, which the program does not
     *  close then; or only compares @a ep with another endpoint, see ucp/windows/access.c */
    ucp_ep_h        ep;
    int             is_multi;    /**< Whether any thread may use the worker */
    int             owns_ep;     /**< Whether the library has made the endpoint: the
                                      program cannot close the endpoint then */
    uint32_t        peer;
    unsigned        max_unflushed; /**< The library begins a flush at this number of
                                        unflushed pieces */
    ucp_fh_ways_t   *ways;
    void            (*flushed)(ucp_fh_way_t *way); /**< The front's: called when a flush
                                                        has ended, to call
                                                        ucp_fh_way_flushed() */
    /** References: the owner's, and one for each piece, each flush and each thread at
     *  work on the way. Whoever drops the last one frees the way: to drop is acquire and
     *  release, to add is relaxed */
    atomic_uint     refs;
    /* Protected by ucp_fh::lock */
    ucs_list_link_t dirty;       /**< In @a ways if @a unflushed or @a flushing has
                                      pieces */
    ucs_list_link_t unflushed;   /**< Pieces with writes that no flush covers yet */
    unsigned        num_unflushed;
    ucs_list_link_t flushing;    /**< Pieces that flushes of the library cover */
    unsigned        num_flushes; /**< Flushes of the library under way */
    uint64_t        num_missed;  /**< ucp_fh_peer_t::num_missed when the last flush
                                      began */
    atomic_int      is_closing;  /**< The program closes the endpoint: only the flush by
                                      the thread that closes it may begin. Read without
                                      lock by a thread that may use the worker */
    ucs_list_link_t rkeys;       /**< Unpacked keys to buckets */
    ucs_list_link_t trash;       /**< Unpacked keys to destroy */
    /* Read and written by the threads that may use the worker, one at a time. If is_multi
     * is set, the way has no memos: nobody needs these fields then, and @a epoch is still
     * written, under ucp_fh::lock */
    uint64_t        epoch;       /**< From 1 on: an empty memo has epoch 0, and is not
                                      valid */
    unsigned        num_quick;   /**< Writes by memos since the last look at the table */
    uint64_t        num_uncounted; /**< Writes by memos that the table has not counted */
    unsigned        num_memos;   /**< A power of two; 0: the way has no memos */
    ucp_fh_memo_t   *memos;      /**< By the lowest bits of the number of the bucket */
};


/** Fill in a way, whose bytes are 0 before. The caller gets the first reference. */
void ucp_fh_way_init(ucp_fh_way_t *way, ucp_fh_ways_t *ways, ucp_worker_h worker,
                     ucp_ep_h ep, int is_multi, void (*flushed)(ucp_fh_way_t *way));

/** Set the peer of a way, and allocate the memos. Under lock. If there is no memory for
 *  memos, each write asks the table. */
void ucp_fh_way_connect(ucp_fh_t *fh, ucp_fh_way_t *way, uint32_t peer,
                        unsigned max_unflushed);

static inline void ucp_fh_way_ref(ucp_fh_way_t *way)
{
    ucs_relaxed_add(&way->refs, 1);
}

/** Drop a reference. The last one frees the way, and with it the structure of the front
 *  whose first member is the way. */
void ucp_fh_way_put(ucp_fh_way_t *way);


/** Find the buckets of the next piece of an operation. Under lock.
 *
 *  @param [in] takes_all  Whether a piece may have all firehoses of the peer, not just a
 *                         fourth of them. If the rest of the operation needs more
 *                         firehoses than a piece may have, the piece gets a fourth. */
ucp_fh_run_t ucp_fh_way_run(const ucp_fh_t *fh, const ucp_fh_way_t *way,
                            uint64_t address, size_t length, int takes_all);

/** As ucp_fh_remote_acquire(), for the request of a piece. Sets ucp_fh_piece_t::way, with
 *  a reference. If the piece is granted at once, *@a chunk has the key of the first
 *  bucket. Under lock. */
ucs_status_t ucp_fh_piece_acquire(ucp_fh_t *fh, ucp_fh_piece_t *piece, ucp_fh_way_t *way,
                                  const ucp_fh_run_t *run, ucp_fh_chunk_t *chunk);

/** Find the key of the bucket that has an address, for a chunk of a granted piece. */
void ucp_fh_piece_find(ucp_fh_t *fh, const ucp_fh_piece_t *piece, uint64_t address,
                       ucp_fh_chunk_t *chunk);

/**
 * Prepare the chunk that begins at an address: set its length, unpack its key, and, for a
 * write, note a memo.
 *
 * @param [in] rest    NULL: the key of the bucket is unpacked as it is.
 * @param [in] length  Bytes from @a address to the end of the operation.
 * @return UCS_ERR_INVALID_ADDR if part of the chunk is not exposed; UCS_ERR_NO_MEMORY; or
 *         an error of UCP.
 */
ucs_status_t ucp_fh_chunk_open(ucp_fh_t *fh, const ucp_fh_piece_t *piece,
                               const ucp_fh_rest_t *rest, uint64_t address, size_t length,
                               int is_write, ucp_fh_chunk_t *chunk);

/** Free a piece without firehoses. */
static inline void ucp_fh_piece_free(ucp_fh_piece_t *piece)
{
    ucp_fh_way_put(piece->way);
    free(piece);
}

/** Release all pieces of a list, and free the pieces. Under lock. */
void ucp_fh_pieces_release(ucp_fh_t *fh, ucs_list_link_t *pieces);


/** Have the table count the writes by memos. If other requests want firehoses of the
 *  peer, make the memos of the way void. Then flush the way if a flush is due. */
void ucp_fh_way_look(ucp_fh_t *fh, ucp_fh_way_t *way);

/** @return the key for a write by a memo; NULL if no valid memo covers the write: the
 *          caller has to ask the table. */
static inline ucp_rkey_h
ucp_fh_way_memo(ucp_fh_t *fh, ucp_fh_way_t *way, uint64_t address, size_t length)
{
    const ucp_fh_link_t *link = &fh->links[way->peer];
    const ucp_fh_memo_t *memo;

    if ((way->num_memos == 0) || (ucs_relaxed_load(&link->status) != UCS_OK)) {
        return NULL;
    }

    if (ucs_unlikely(way->num_quick == UCP_FH_MAX_QUICK)) {
        ucp_fh_way_look(fh, way);
    }

    memo = &way->memos[(address >> link->shift) & (way->num_memos - 1)];
    if ((memo->epoch != way->epoch) || (address < memo->start) ||
        (address > memo->end) || (length > memo->end - address)) {
        return NULL;
    }

    ++way->num_quick;
    ++way->num_uncounted;
    return memo->rkey;
}


/** Writes were begun through a piece: keep the piece in its way until a flush ends, and
 *  begin that flush if it is due. */
void ucp_fh_piece_keep(ucp_fh_t *fh, ucp_fh_piece_t *piece);

/** Flush an endpoint or, if @a ep is NULL, a worker, for the program. A way whose
 *  endpoint is being closed is left out: it has a last flush of its own.
 *
 *  @param [out] pieces  The pieces that the flush covers, to be released at its end.
 *                       Filled before UCP is called; empty if UCP has no memory for a
 *                       flush.
 *  @return what UCP returns. */
ucs_status_ptr_t
ucp_fh_ways_flush(ucp_fh_t *fh, ucp_fh_ways_t *ways, ucp_worker_h worker, ucp_ep_h ep,
                  const ucp_request_param_t *param, ucs_list_link_t *pieces);

/** Release all pieces of a way, those that flushes under way cover as well, and put all
 *  unpacked keys of the way into its trash. Under lock. */
void ucp_fh_way_drop(ucp_fh_t *fh, ucp_fh_way_t *way);

/** Put pieces that ucp_fh_ways_flush() has taken back into their ways: the next flush
 *  covers these pieces. */
void ucp_fh_pieces_give_back(ucp_fh_t *fh, ucs_list_link_t *pieces);

/** @return whether ucp_fh_ways_flush() with these arguments would cover any piece. Under
 *          lock. */
int ucp_fh_ways_have(const ucp_fh_ways_t *ways, ucp_worker_h worker, ucp_ep_h ep);

typedef enum {
    UCP_FH_FLUSH_IF_DUE,   /**< If no flush is under way, and a request waits for
                                firehoses of the peer, the peer wants firehoses back, or
                                the way has many unflushed pieces, see
                                ucp_fh_peer_has_lent_much() */
    UCP_FH_FLUSH_IF_DIRTY, /**< If the way has pieces that no flush covers yet */
    UCP_FH_FLUSH_ALWAYS    /**< In any case: by the thread that closes the endpoint */
} ucp_fh_flush_when_t;

/** Begin a flush of the library for a way. The flush has a reference to the way.
 *
 *  @return whether the flush has begun. If not, the condition @a when is not met, or UCP
 *          has no memory: then the pieces stay in the way for the next flush. */
int ucp_fh_way_flush(ucp_fh_t *fh, ucp_fh_way_t *way, ucp_fh_flush_when_t when);

/** A flush of the library has ended: if no other one is under way, release the pieces
 *  that flushes covered. Pieces of a failed flush are released as well: the peer is gone
 *  then. Drops the reference of the flush. */
void ucp_fh_way_flushed(ucp_fh_t *fh, ucp_fh_way_t *way);

/** @return a way of a worker whose flush is due, or NULL. Under lock. */
ucp_fh_way_t *ucp_fh_ways_find_due(ucp_fh_t *fh, const ucp_fh_ways_t *ways,
                                   ucp_worker_h worker);

/** Begin all flushes of a worker that are due. */
void ucp_fh_ways_flush_due(ucp_fh_t *fh, ucp_fh_ways_t *ways, ucp_worker_h worker);


/** Destroy the unpacked keys of firehoses that are gone. */
void ucp_fh_way_empty_trash(ucp_fh_t *fh, ucp_fh_way_t *way);

/** @return whether an operation only writes: the firehoses of such an operation stay in
 *          use until a flush. */
static inline int
ucp_fh_is_write(ucp_fh_op_kind_t kind, const ucp_request_param_t *param)
{
    return (kind == UCP_FH_OP_PUT) ||
           ((kind == UCP_FH_OP_ATOMIC) &&
            !(param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER));
}


/* post.c: calls of UCP for a worker of the program, and their parameters */

/** @return whether any thread may use a worker; 1 if UCP does not tell. */
int ucp_fh_is_multi(ucp_worker_h worker);

/** Call UCP's function for an access or for a part of the access.
 *
 *  @param [in] done   Bytes of the access before the part.
 *  @param [in] count  Elements of the part. */
ucs_status_ptr_t ucp_fh_post(ucp_ep_h ep, const ucp_fh_access_t *access, size_t done,
                             size_t count, ucp_rkey_h rkey,
                             const ucp_request_param_t *param);

/** @return the bytes of @a count elements; SIZE_MAX if a size_t is too small for the
 *          number of bytes; 0 if the datatype is not contiguous. */
size_t ucp_fh_param_length(const ucp_request_param_t *param, size_t count);

/** @return an access with the arguments of the program. For an atomic the caller then
 *          sets @a opcode. */
static inline ucp_fh_access_t
ucp_fh_access_make(ucp_fh_op_kind_t kind, const void *buffer, size_t count,
                   uint64_t remote, const ucp_request_param_t *param)
{
    return (ucp_fh_access_t){
        .kind   = kind,
        .buffer = (void*)buffer,
        .count  = count,
        .length = ucp_fh_param_length(param, count),
        .remote = remote
    };
}

/** Copy those fields and flags of parameters that the program has set. No other field is
 *  read: the program's structure may be shorter, from an earlier version of UCX.
 *
 *  @param [in] mask  The fields and flags to copy, if they are set. */
void ucp_fh_param_copy(ucp_request_param_t *copy, const ucp_request_param_t *param,
                       uint32_t mask);

END_C_DECLS

#endif
