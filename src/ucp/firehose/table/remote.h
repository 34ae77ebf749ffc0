/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_REMOTE_H_
#define UCP_FH_REMOTE_H_

#include "types.h"

#include <ucs/base/buckets.h>
#include <ucs/sys/math.h>

BEGIN_C_DECLS

/** @file remote.h
 *
 * The remote table: which buckets of which peers this process has firehoses on,
 * and who uses them (the "firehose table" of Table 2 of the paper, with the
 * states of its sections 3.4 and 4). One for all peers of a process.
 *
 * ENTRIES. An entry is a bucket of a peer, with a count of the requests that
 * use it. It is
 *
 *   uncommitted  a firehose is set apart for it, but the request that wants it
 *                has not got all of its firehoses yet and may give this one up
 *   pending      to be pinned by a message that is to be sent, or was sent
 *   present      pinned by the peer, its key is known
 *
 * A present entry that nobody uses is in the victim FIFO of its peer, or
 * reaped: an uncommitted request has it in mind as the firehose to be moved. It
 * is still pinned then, and is found. Of a peer there are never more entries,
 * less the reaped ones, than it grants firehoses.
 *
 * REQUESTS. A request for a run of buckets whose entries are all present is
 * granted at once (a hit). If all are present or pending it is active: it joins
 * the messages under way. Else it needs firehoses for the missing ones, free
 * ones first and then those of the victim FIFO. If there are enough, it
 * commits: the missing entries become pending, and messages are to be sent. If
 * not, it waits: it uses what there is of its run from its first bucket on, has
 * as many uncommitted entries as it could get, and goes on when there are more
 * firehoses (optimistic acquisition, Figure 5 of the paper). It gives back what
 * it has (rolls back), to begin anew at the next opportunity, if it comes
 * across a bucket that another one has uncommitted or reaped, or that is being
 * recalled; or if a hit takes one that it has reaped.
 *
 * DEADLOCK AVOIDANCE. Requests can wait for firehoses that they have taken from
 * each other. A request that was tried in vain ucp_fh_remote_params_t::da_limit
 * times gets the bit of its peer, unless another one has it: all others that
 * wait roll back, and until it is committed nobody gets a firehose of this
 * peer, not even by a hit, which could go on for ever. The first that waits
 * gets it at once if nobody has anything that could be released. So each
 * request is granted in the end, if those who were granted release. A thread
 * must not need a further request to the same peer granted, nor memory of its
 * own pinned (local.h), before it can release one: it pins first, and requests
 * then.
 *
 * HELD BUCKETS. A request that was granted may hold its buckets: further ones
 * for these alone are granted at once, with the bit given to another one or the
 * buckets being recalled. So a thread may use what it has pinned before it
 * releases the pin. Nobody waits longer for that than until then, and until
 * what has begun before is released.
 *
 * The paper's threads poll until they have what they need. Here the function
 * that frees firehoses tries those that wait again, in the order in which they
 * came; there is nothing to be polled.
 *
 * MESSAGES. ucp_fh_remote_next_move() gives a message to be sent to a peer:
 * first the buckets that are given back and then those to be pinned. Messages
 * have to be handled by the peer in the order in which they were taken (a peer
 * that pins first and unpins later would see too many firehoses), and the
 * answers may come in any order.
 *
 * THREADS. All fields are protected by one lock, the caller's, that is held
 * around each call of a function that takes a table, a peer or a request, and
 * only there: nothing is called under it. A move is read without the lock.
 *
 * ERRORS. What cannot be allocated makes a request end with UCS_ERR_NO_MEMORY,
 * and the table is as if there had been no request.
 */

/** Most buckets of a message, see ucp_fh_remote_params_t::max_move. */
#define UCP_FH_MAX_MOVE 65536

/** So many granted requests are much, see ucp_fh_peer_has_lent_much(). */
#define UCP_FH_MAX_LENT 1024


typedef struct ucp_fh_remote ucp_fh_remote_t;
typedef struct ucp_fh_peer ucp_fh_peer_t;
typedef struct ucp_fh_request ucp_fh_request_t;


typedef struct ucp_fh_remote_params {
    uint32_t num_peers; /**< 1 and more */
    uint32_t max_move;  /**< Buckets of a message, given back or to be pinned, 1
                             to UCP_FH_MAX_MOVE */
    uint32_t da_limit;  /**< How often a request is tried in vain before it gets
                             the deadlock-avoidance bit, 1 and more: DA_LIMIT of
                             Figure 5. The paper gives no value */
} ucp_fh_remote_params_t;

#define UCP_FH_DEF_DA_LIMIT 8


typedef enum {
    UCP_FH_ENTRY_UNCOMMITTED,
    UCP_FH_ENTRY_PENDING,
    UCP_FH_ENTRY_PRESENT
} ucp_fh_entry_state_t;


/** A bucket of a peer. */
typedef struct ucp_fh_entry {
    ucs_hlist_link_t     hash;        /**< First member, see find() */
    ucp_fh_peer_t        *peer;
    ucp_fh_bucket_t      bucket;
    uint32_t             uses;        /**< Requests that use it */
    uint32_t             holds;       /**< Of these, those that hold it */
    uint8_t              state;       /**< @ref ucp_fh_entry_state_t */
    uint8_t              is_recalled; /**< To be given back once nobody uses
                                           it */
    uint8_t              is_listed;   /**< Present, and in the victim FIFO */
    uint8_t              is_spared;   /**< It was used since it is listed: it is
                                           listed anew before it is moved */
    ucp_fh_request_t     *owner;      /**< Request that it is uncommitted or
                                           reaped for; NULL: it is neither */
    void                 *key;        /**< The caller's, once it is present */
    /** Where it is: uncommitted: ucp_fh_request_t::fresh; pending and not sent:
     *  ucp_fh_peer_t::to_pin; listed: ucp_fh_peer_t::fifo; reaped:
     *  ucp_fh_request_t::reaped; given back and not sent:
     *  ucp_fh_peer_t::to_unpin. Else nowhere. */
    ucs_list_link_t      link;
    ucs_list_link_t      waiters;     /**< Active requests whose first pending
                                           bucket this is */
} ucp_fh_entry_t;


typedef enum {
    UCP_FH_REQUEST_ENDED,   /**< Not in the table */
    UCP_FH_REQUEST_WAITING, /**< For firehoses */
    UCP_FH_REQUEST_ACTIVE,  /**< For answers of the peer */
    UCP_FH_REQUEST_GRANTED  /**< Until it is released */
} ucp_fh_request_state_t;


/** A request for the use of a run of buckets. The caller provides the memory
 *  until the request is released or has failed, and sets comp.func, unless it
 *  does not let the request wait. */
struct ucp_fh_request {
    ucp_fh_comp_t          comp;
    ucp_fh_peer_t          *peer;
    ucp_fh_run_t           run;
    ucp_fh_request_state_t state;
    uint32_t               attempts; /**< How often it was tried in vain */
    /** Waiting: it uses so many of its buckets, the first ones. Active: so
     *  many, from the first one on, are known to be present. */
    uint64_t               num_done;
    ucs_list_link_t        link;     /**< In ucp_fh_peer_t::waiting or active */
    ucs_list_link_t        wait;     /**< In ucp_fh_entry_t::waiters if
                                          active */
    ucs_list_link_t        fresh;    /**< Its uncommitted entries */
    ucs_list_link_t        reaped;   /**< Entries whose firehoses it is to move,
                                          as many as @a fresh at most */
    ucp_fh_entry_t         *first;   /**< Entry of its first bucket, if
                                          granted */
};


/** Another process. */
struct ucp_fh_peer {
    ucp_fh_remote_t  *table;
    uint32_t         index;
    uint32_t         limit;       /**< f: firehoses that it grants; 0 until
                                       ucp_fh_remote_set_limit() */
    uint32_t         used;        /**< Its entries, less the reaped ones */
    uint32_t         num_idle;    /**< Those that are present, that nobody uses,
                                       and that are not reaped */
    uint32_t         num_pending; /**< Those that are pending */
    uint32_t         num_granted; /**< Requests */
    uint64_t         num_missed;  /**< Requests that were not granted at once, so
                                       far */
    uint64_t         num_holds;   /**< Buckets that requests hold, each as often
                                       as one does */
    ucs_status_t     status;      /**< UCS_OK, or why it cannot be reached any
                                       more */
    ucp_fh_request_t *da;         /**< Request that has the deadlock-avoidance
                                       bit, which is waiting; or NULL */
    ucs_list_link_t  fifo;        /**< The victim FIFO: all idle entries, and
                                       some that are in use */
    ucs_list_link_t  waiting;     /**< Requests, the oldest first */
    ucs_list_link_t  active;      /**< Requests */
    ucs_list_link_t  to_pin;      /**< Entries, not sent */
    ucs_list_link_t  to_unpin;    /**< Former entries, not sent */
    ucs_list_link_t  send;        /**< In ucp_fh_remote_t::senders if one of
                                       both is not empty; else empty */
    ucs_list_link_t  recalls;     /**< Recalls under way */
};


/** What has happened in a table, numbers. */
typedef struct ucp_fh_remote_stats {
    uint64_t requests;   /**< Calls of ucp_fh_remote_acquire(), others that were
                              a hit, and ucp_fh_remote_count_hits() */
    uint64_t hits;       /**< Of these, those that were granted at once */
    uint64_t moves;      /**< Messages */
    uint64_t moved;      /**< Buckets in them that were to be pinned */
    uint64_t roll_backs; /**< Of requests that had got something */
    uint64_t bits;       /**< How often a request got the deadlock-avoidance
                              bit */
    uint64_t stuck;      /**< Of these, how often since nothing could be
                              released */
} ucp_fh_remote_stats_t;


struct ucp_fh_remote {
    ucp_fh_remote_params_t    params;
    ucp_fh_remote_stats_t     stats;
    ucp_fh_peer_t             *peers;
    ucs_rcache_pred_buckets_t entries; /**< By peer and bucket */
    uint32_t                  num_entries;
    ucs_list_link_t           senders; /**< Peers with something to be sent */
    ucs_list_link_t           dead;    /**< Former entries whose keys the caller
                                            has to destroy */
    ucs_list_link_t           ended;   /**< See ucp_fh_comp_next() */
};


/** A message that moves firehoses. What is in it does not change. */
typedef struct ucp_fh_move {
    uint32_t        peer;       /**< Index of the peer */
    uint32_t        num_unpins; /**< Buckets that are given back */
    uint32_t        num_pins;   /**< Buckets to be pinned. If there are none,
                                     the peer need not answer */
    /** The buckets: those given back, and then those to be pinned. */
    ucp_fh_bucket_t buckets[];
} ucp_fh_move_t;


/** The answer of a peer about a bucket that it was to pin. */
typedef struct ucp_fh_answer {
    ucs_status_t status; /**< UCS_OK: it is pinned */
    void         *key;   /**< The caller's, for ucp_fh_remote_key(), not NULL;
                              if it is pinned */
} ucp_fh_answer_t;


/** A run of buckets to be given back since the peer needs them back. The caller
 *  provides the memory until it has ended, and sets comp.func. */
typedef struct ucp_fh_recall {
    ucp_fh_comp_t   comp;
    ucp_fh_run_t    run;
    uint64_t        num_left; /**< Buckets of it that were not given back yet */
    ucs_list_link_t link;     /**< In ucp_fh_peer_t::recalls */
} ucp_fh_recall_t;


/** Make a table in which no peer grants anything yet.
 *
 *  @return UCS_ERR_INVALID_PARAM, which the log explains, or
 *          UCS_ERR_NO_MEMORY. */
ucs_status_t ucp_fh_remote_init(ucp_fh_remote_t *table,
                                const ucp_fh_remote_params_t *params);

/** No request, move or recall may be under way. Frees all entries; the keys
 *  that are left are handed to a function. */
void ucp_fh_remote_cleanup(ucp_fh_remote_t *table,
                           void (*destroy)(void *arg, void *key), void *arg);

/** Tell how many firehoses a peer grants, as ucp_fh_share() finds there: once
 *  for each peer, before the first request to it. */
void ucp_fh_remote_set_limit(ucp_fh_remote_t *table, uint32_t peer,
                             uint32_t limit);

/**
 * Request the use of a run of buckets (firehose_remote_pin()).
 *
 * @return UCS_OK: it is granted, and comp.func is not called. UCS_INPROGRESS:
 *         it ends later. An error is final, and comp.func is not called either:
 *         UCS_ERR_INVALID_PARAM if the run is empty; UCS_ERR_EXCEEDS_LIMIT if
 *         it has more buckets than the peer grants firehoses, so that it must
 *         be requested in parts; UCS_ERR_NO_MEMORY; or the status that
 *         ucp_fh_remote_fail_peer() was told. Later, through comp.status, it
 *         may also be the error with which the peer has answered.
 */
ucs_status_t ucp_fh_remote_acquire(ucp_fh_remote_t *table,
                                   ucp_fh_request_t *request, uint32_t peer,
                                   const ucp_fh_run_t *run);

/** As ucp_fh_remote_acquire(), but only if that is a hit
 *  (firehose_try_remote_pin()).
 *
 *  @return UCS_OK; UCS_ERR_NO_RESOURCE if it would not be granted at once; or
 *          another error, as above. */
ucs_status_t ucp_fh_remote_try(ucp_fh_remote_t *table,
                               ucp_fh_request_t *request, uint32_t peer,
                               const ucp_fh_run_t *run);

/** Count requests that were hits of which the table need not know more: for
 *  buckets that the caller has been granted already. */
static inline void
ucp_fh_remote_count_hits(ucp_fh_remote_t *table, uint64_t num)
{
    table->stats.requests += num;
    table->stats.hits     += num;
}

/** As ucp_fh_remote_try(), but for the longest part of the run that is a hit,
 *  the first of several (firehose_partial_remote_pin()). It is
 *  ucp_fh_request_t::run afterwards. */
ucs_status_t ucp_fh_remote_partial(ucp_fh_remote_t *table,
                                   ucp_fh_request_t *request, uint32_t peer,
                                   const ucp_fh_run_t *run);

/** A request that was granted holds its buckets until ucp_fh_remote_unhold(),
 *  which is called before it is released. */
void ucp_fh_remote_hold(ucp_fh_remote_t *table,
                        const ucp_fh_request_t *request);
void ucp_fh_remote_unhold(ucp_fh_remote_t *table,
                          const ucp_fh_request_t *request);

/** @return whether somebody needs firehoses of a peer back that are in use. */
static inline int ucp_fh_peer_is_wanted(const ucp_fh_peer_t *peer)
{
    return !ucs_list_is_empty((ucs_list_link_t*)&peer->waiting) ||
           !ucs_list_is_empty((ucs_list_link_t*)&peer->recalls);
}

/**
 * Whether requests that were granted should be released before anybody waits
 * for that: half of the peer's firehoses, when firehoses are being moved, so
 * that there is always one to be moved; and a number of requests where all
 * firehoses are where they are needed, to bound their memory.
 *
 * @param [in] num         Requests.
 * @param [in] num_missed  ucp_fh_peer_t::num_missed when requests were released
 *                         for this reason last.
 */
static inline int ucp_fh_peer_has_lent_much(const ucp_fh_peer_t *peer,
                                            unsigned num, uint64_t num_missed)
{
    return (num >= UCP_FH_MAX_LENT) ||
           ((num >= ucs_max(1, peer->limit / 2)) &&
            (num_missed != peer->num_missed));
}

/** End the use of a request that was granted (firehose_release()). */
void ucp_fh_remote_release(ucp_fh_remote_t *table, ucp_fh_request_t *request);

/** Those who use firehoses of a peer go on with them although requests wait: it
 *  counts as an attempt of these, as if something had been released, so that they
 *  get the deadlock-avoidance bit, and no further hit is granted. */
void ucp_fh_remote_insist(ucp_fh_remote_t *table, uint32_t peer);

/** Give back firehoses that nobody uses, the oldest first: the peer has no room to pin
 *  what it was asked for beside them.
 *
 *  @param [in] most  So many at most.
 *  @return how many. */
uint64_t
ucp_fh_remote_shed(ucp_fh_remote_t *table, uint32_t peer, uint64_t most);

/** @return the key of a bucket of a request that is granted, which is valid
 *          until it is released.
 *
 *  @param [in] index  0 for its first bucket. */
void *ucp_fh_remote_key(ucp_fh_remote_t *table, const ucp_fh_request_t *request,
                        uint64_t index);

/**
 * Take a message to be sent. To be called after each call of another function,
 * until there is none.
 *
 * @return NULL if there is none, or if there is no memory for one: then its peer
 *         is the first of ucp_fh_remote_t::senders still. Else it has to be
 *         handed to ucp_fh_remote_moved() once.
 */
ucp_fh_move_t *ucp_fh_remote_next_move(ucp_fh_remote_t *table);

/**
 * A message was answered, or was sent and has nothing to be answered, or could
 * not be sent. It is freed.
 *
 * @param [in] status   UCS_OK, or why there are no answers. Since the peer may
 *                      or may not have handled the message then, it is out of
 *                      step: ucp_fh_remote_fail_peer() has to be called as
 *                      well.
 * @param [in] answers  For each of the buckets to be pinned, in their order.
 * @return UCS_ERR_CANCELED if the peer has failed before: the caller destroys
 *         the keys of the answers. Else UCS_OK.
 */
ucs_status_t
ucp_fh_remote_moved(ucp_fh_remote_t *table, ucp_fh_move_t *move,
                    ucs_status_t status, const ucp_fh_answer_t *answers);

/** @return a key that the caller has to destroy, since its bucket was given
 *          back; NULL if there is none. To be called as
 *          ucp_fh_remote_next_move() is, after it. */
void *ucp_fh_remote_next_key(ucp_fh_remote_t *table);

/**
 * Give the firehoses of a run back, once they are not in use. Requests for it
 * that come meanwhile wait, and ask the peer anew afterwards.
 *
 * @return UCS_OK: nothing is left to be given back, and comp.func is not
 *         called; what is given back is in moves to be taken. UCS_INPROGRESS:
 *         it ends later, always with UCS_OK, since a peer that has failed gets
 *         nothing back.
 */
ucs_status_t
ucp_fh_remote_recall(ucp_fh_remote_t *table, ucp_fh_recall_t *recall,
                     uint32_t peer, const ucp_fh_run_t *run);

/** A peer cannot be reached any more: all requests to it that are not granted
 *  end with this error, and further ones fail with it. What was granted is
 *  released as usual. */
void ucp_fh_remote_fail_peer(ucp_fh_remote_t *table, uint32_t peer,
                             ucs_status_t status);

END_C_DECLS

#endif
