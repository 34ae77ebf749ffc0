/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_REMOTE_H_
#define UCP_FH_REMOTE_H_

#include "types.h"

#include <ucs/sys/math.h>

BEGIN_C_DECLS

/** @file remote.h
 *
 * The remote table: on which buckets of which peers this process has firehoses,
 * and who uses them (the "firehose table" of Table 2 of the paper, with the
 * states of its sections 3.4 and 4). One for all peers of a process.
 *
 * ENTRIES. An entry is a bucket of a peer, and counts the requests that use the
 * bucket. States:
 *
 *   uncommitted  a firehose is set apart for the bucket, but the request for the
 *                bucket lacks other firehoses, and may give this firehose up
 *   pending      to be pinned by a message that is to be sent, or was sent
 *   present      pinned by the peer; the key is known
 *
 * A present entry that nobody uses is in the victim FIFO of its peer, or
 * reaped: a waiting request wants to move its firehose. The bucket of a reaped
 * entry is still pinned, and a hit may still use the entry. A peer never has more
 * entries, not counting the reaped ones, than it grants firehoses.
 *
 * REQUESTS. A request for some buckets whose entries are all present is granted
 * at once (a hit). If all are present or pending, the request is active: it
 * joins the messages under way. Else it needs firehoses for the missing buckets,
 * free ones first and then those of the victim FIFO. If there are enough, the
 * request commits: the missing entries become pending, and messages are to be
 * sent. If not, the request waits: from its first bucket on it uses the entries
 * that exist, adds as many uncommitted entries as it can get, and goes on when
 * there are more firehoses (optimistic acquisition, Figure 5 of the paper). The
 * request gives all this back (rolls back), to begin anew at the next
 * opportunity, if it needs a bucket whose entry another request has uncommitted or
 * reaped, or the peer recalls; or if a hit takes an entry that it has reaped.
 *
 * DEADLOCK AVOIDANCE. Requests can wait for firehoses of each other. A request
 * that was tried in vain ucp_fh_remote_params_t::da_limit times gets the bit of
 * its peer, unless another request has the bit: all others that wait roll back,
 * and until the request is committed nobody gets a firehose of this peer, not
 * even by a hit, since hits could go on for ever. The first waiting request gets
 * the bit at once if nobody has anything to release. So each request is granted
 * in the end, if all granted requests are released. A thread must not need a
 * further request to the same peer granted, nor memory of its own pinned
 * (local.h), before it can release a request: it pins first, and requests then.
 *
 * HELD BUCKETS. A granted request may hold its buckets: further requests for
 * these buckets alone are granted at once, although another request has the bit
 * or the buckets are being recalled. So a thread may use what it has pinned
 * before it releases the pin. Others wait for the end of the hold, and of the
 * uses that began before.
 *
 * The paper's threads poll until they have all firehoses. Here the function that
 * frees firehoses tries the waiting requests again, in the order of arrival:
 * nobody polls.
 *
 * MESSAGES. ucp_fh_remote_next_move() gives a message to be sent to a peer: first
 * the buckets to be given back and then those to be pinned. The peer has to
 * handle messages in the order in which they were taken (a peer that pins first
 * and unpins later would see too many firehoses); answers may come in any order.
 *
 * THREADS. All fields are protected by one lock, the caller's, around each call
 * of a function that takes a table, a peer or a request, and only there: nothing
 * is called under the lock. A move is read without the lock.
 *
 * ERRORS. Without memory, a request ends with UCS_ERR_NO_MEMORY, and the table is
 * as before the request.
 */

/** Most buckets of a message, see ucp_fh_remote_params_t::max_move. */
#define UCP_FH_MAX_MOVE 65536

/** Number of granted requests for ucp_fh_peer_has_lent_much(). */
#define UCP_FH_MAX_LENT 1024


typedef struct ucp_fh_remote ucp_fh_remote_t;
typedef struct ucp_fh_peer ucp_fh_peer_t;
typedef struct ucp_fh_request ucp_fh_request_t;


typedef struct ucp_fh_remote_params {
    uint32_t num_peers; /**< 1 and more */
    uint32_t max_move;  /**< Most buckets of a message, given back and to be pinned
                             together: 1 to UCP_FH_MAX_MOVE */
    uint32_t da_limit;  /**< Number of vain attempts before a request gets the
                             deadlock-avoidance bit, 1 and more: DA_LIMIT of
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
    ucs_hlist_link_t     hash;        /**< First member, see key_of() */
    ucp_fh_peer_t        *peer;
    ucp_fh_bucket_t      bucket;
    uint32_t             uses;        /**< Number of requests that use the entry */
    uint32_t             holds;       /**< Number of requests that hold the entry */
    uint8_t              state;       /**< @ref ucp_fh_entry_state_t */
    uint8_t              is_recalled; /**< To be given back to the peer after its
                                           last use */
    uint8_t              is_listed;   /**< Whether the entry is in the victim
                                           FIFO */
    uint8_t              is_spared;   /**< Was used since it was listed: instead
                                           of being reaped, it is listed anew */
    ucp_fh_request_t     *owner;      /**< Request for which the entry is
                                           uncommitted or reaped; else NULL */
    void                 *key;        /**< If present: the caller's key, see
                                           ucp_fh_answer_t */
    /** The entry's place in one list, which depends on its state. Uncommitted: ucp_fh_request_t::fresh; pending and not sent:
     *  ucp_fh_peer_t::to_pin; listed: ucp_fh_peer_t::fifo; reaped:
     *  ucp_fh_request_t::reaped; given back and not sent:
     *  ucp_fh_peer_t::to_unpin; given back and sent: ucp_fh_remote_t::dead. Else in no
     *  list. */
    ucs_list_link_t      link;
    ucs_list_link_t      waiters;     /**< Active requests whose first pending
                                           bucket has this entry */
} ucp_fh_entry_t;


typedef enum {
    UCP_FH_REQUEST_ENDED,   /**< Not begun, released or failed */
    UCP_FH_REQUEST_WAITING, /**< Waits for firehoses */
    UCP_FH_REQUEST_ACTIVE,  /**< Waits for answers of the peer */
    UCP_FH_REQUEST_GRANTED  /**< Granted, and not released yet */
} ucp_fh_request_state_t;


/** A request for the use of adjacent buckets. The caller provides the memory until
 *  the request is released or has failed, and sets comp.func if the request may
 *  wait. */
struct ucp_fh_request {
    ucp_fh_comp_t          comp;
    ucp_fh_peer_t          *peer;
    ucp_fh_run_t           run;
    ucp_fh_request_state_t state;
    uint32_t               attempts; /**< Number of vain attempts so far, up to
                                          ucp_fh_remote_params_t::da_limit */
    /** Number of buckets, from the first one on, that the request uses (waiting), or that
     *  are known to be present (active). */
    uint64_t               num_done;
    ucs_list_link_t        link;     /**< In ucp_fh_peer_t::waiting, or in
                                          ucp_fh_peer_t::active */
    ucs_list_link_t        wait;     /**< In ucp_fh_entry_t::waiters if
                                          active */
    ucs_list_link_t        fresh;    /**< Its uncommitted entries */
    ucs_list_link_t        reaped;   /**< Entries that it has reaped: not more than
                                          @a fresh has, to which their firehoses
                                          are to be moved */
    ucp_fh_entry_t         *first;   /**< Entry of its first bucket, if
                                          granted */
};


/** Another process. */
struct ucp_fh_peer {
    ucp_fh_remote_t  *table;
    uint32_t         index;
    uint32_t         limit;       /**< f: number of firehoses that the peer grants, by
                                       ucp_fh_share() in the peer. At first 0; set once
                                       by the user of the table, before the first
                                       request */
    uint32_t         used;        /**< Number of its entries, without the reaped ones */
    uint32_t         num_idle;    /**< Entries that are present, not in use, and
                                       not reaped */
    uint32_t         num_pending; /**< Pending entries */
    uint32_t         num_recalled; /**< Entries with is_recalled set */
    uint32_t         num_granted; /**< Granted requests */
    uint64_t         num_missed;  /**< Requests so far that were not granted at
                                       once */
    uint64_t         num_holds;   /**< Sum of ucp_fh_entry_t::holds of its entries */
    ucs_status_t     status;      /**< UCS_OK, or why the peer is out of reach */
    ucp_fh_request_t *da;         /**< Waiting request with the
                                       deadlock-avoidance bit, or NULL */
    ucs_list_link_t  fifo;        /**< The victim FIFO: all idle entries, and
                                       some that are in use */
    ucs_list_link_t  waiting;     /**< Waiting requests, the oldest first */
    ucs_list_link_t  active;      /**< Active requests */
    ucs_list_link_t  to_pin;      /**< Pending entries that no message has asked the
                                       peer to pin yet */
    ucs_list_link_t  to_unpin;    /**< Former entries that no message has given back
                                       yet */
    ucs_list_link_t  send;        /**< In ucp_fh_remote_t::senders if to_pin or
                                       to_unpin is not empty; else empty */
};


/** Counters of a table. */
typedef struct ucp_fh_remote_stats {
    uint64_t requests;   /**< Requests that ucp_fh_remote_acquire() did not turn
                              down, hits of ucp_fh_remote_try(), and hits by
                              ucp_fh_remote_count_hits() */
    uint64_t hits;       /**< Requests granted at once */
    uint64_t moves;      /**< Messages that ucp_fh_remote_next_move() has given */
    uint64_t moved;      /**< Buckets to be pinned in all these messages */
    uint64_t roll_backs; /**< Roll backs of requests that had an entry to give
                              back */
    uint64_t bits;       /**< How often a request got the deadlock-avoidance bit */
    uint64_t stuck;      /**< How often a request got the bit because nobody had
                              anything to release */
} ucp_fh_remote_stats_t;


struct ucp_fh_remote {
    ucp_fh_remote_params_t    params;
    ucp_fh_remote_stats_t     stats;
    ucp_fh_peer_t             *peers;
    ucs_buckets_t entries; /**< By peer and bucket */
    uint32_t                  num_entries;
    ucs_list_link_t           senders; /**< Peers with something to be sent */
    ucs_list_link_t           dead;    /**< Former entries, with keys for the
                                            caller to destroy */
    ucs_list_link_t           ended;   /**< See ucp_fh_comp_next() */
};


/** A message that moves firehoses. Does not change, except for the first two fields. */
typedef struct ucp_fh_move {
    ucs_list_link_t link;       /**< For the caller: the table does not use it */
    uint64_t        number;     /**< For the caller: the table does not use it */
    uint32_t        peer;       /**< Index of the peer */
    uint32_t        num_unpins; /**< Buckets that are given back */
    uint32_t        num_pins;   /**< Buckets to be pinned; 0: the peer need not
                                     answer */
    /** The buckets given back, and then the buckets to be pinned. */
    ucp_fh_bucket_t buckets[];
} ucp_fh_move_t;


/** The answer of a peer about a bucket to be pinned. */
typedef struct ucp_fh_answer {
    ucs_status_t status; /**< UCS_OK: the bucket is pinned */
    void         *key;   /**< If UCS_OK: the caller's key, not NULL, which
                              ucp_fh_remote_key() will return */
} ucp_fh_answer_t;


/** Make a table in which no peer grants anything yet.
 *
 *  @return UCS_ERR_NO_MEMORY, or UCS_OK. */
ucs_status_t ucp_fh_remote_init(ucp_fh_remote_t *table,
                                const ucp_fh_remote_params_t *params);

/** Free all entries, and call @a destroy for their keys. No request, move or recall may
 *  be under way. */
void ucp_fh_remote_cleanup(ucp_fh_remote_t *table,
                           void (*destroy)(void *arg, void *key), void *arg);

/**
 * Request the use of adjacent buckets (firehose_remote_pin()).
 *
 * @return UCS_OK: the request is granted, and comp.func is not called.
 *         UCS_INPROGRESS: the request ends later. An error is final, and
 *         comp.func is not called either: UCS_ERR_INVALID_PARAM if the run is
 *         empty; UCS_ERR_EXCEEDS_LIMIT if the run has more buckets than the peer
 *         grants firehoses: the caller has to request parts; UCS_ERR_NO_MEMORY;
 *         or the status given to ucp_fh_remote_fail_peer(). Later, comp.status
 *         may also be an error in the peer's answer.
 */
ucs_status_t ucp_fh_remote_acquire(ucp_fh_remote_t *table,
                                   ucp_fh_request_t *request, uint32_t peer,
                                   const ucp_fh_run_t *run);

/** As ucp_fh_remote_acquire(), but only a hit is granted (firehose_try_remote_pin(),
 *  firehose_partial_remote_pin()).
 *
 *  @param [in] form  Not UCP_FH_FORM_WAIT. UCP_FH_FORM_PARTIAL: ucp_fh_request_t::run is
 *                    the longest hit afterwards.
 *  @return UCS_OK; UCS_ERR_NO_RESOURCE if the request is not a hit; or another
 *          error, as above. */
ucs_status_t ucp_fh_remote_try(ucp_fh_remote_t *table,
                               ucp_fh_request_t *request, uint32_t peer,
                               const ucp_fh_run_t *run, ucp_fh_form_t form);

/** Count uses of buckets as requests that were hits: the caller still has the buckets
 *  from a granted request, and did not ask the table again. */
static inline void
ucp_fh_remote_count_hits(ucp_fh_remote_t *table, uint64_t num)
{
    table->stats.requests += num;
    table->stats.hits     += num;
}

/** Set whether a granted request holds its buckets. At its release a request must not
 *  hold its buckets any more. */
void ucp_fh_remote_hold(const ucp_fh_request_t *request, int is_held);

/** @return whether requests wait for firehoses of a peer, or the peer wants back
 *          firehoses that are in use. */
static inline int ucp_fh_peer_is_wanted(const ucp_fh_peer_t *peer)
{
    return !ucs_list_is_empty((ucs_list_link_t*)&peer->waiting) ||
           (peer->num_recalled > 0);
}

/**
 * Find out whether the caller should release granted requests before anybody waits for
 * their firehoses: if it has UCP_FH_MAX_LENT of them, to bound their memory; or, while
 * firehoses are being moved, as many as half of the peer's firehoses, so that others
 * are left to be moved.
 *
 * @param [in] num         Number of granted requests that the caller could release.
 * @param [in] num_missed  ucp_fh_peer_t::num_missed at the last release for this
 *                         reason.
 */
static inline int ucp_fh_peer_has_lent_much(const ucp_fh_peer_t *peer,
                                            unsigned num, uint64_t num_missed)
{
    return (num >= UCP_FH_MAX_LENT) ||
           ((num >= ucs_max(1, peer->limit / 2)) &&
            (num_missed != peer->num_missed));
}

/** Release a granted request (firehose_release()): its uses of buckets end. */
void ucp_fh_remote_release(ucp_fh_remote_t *table, ucp_fh_request_t *request);

/** Try the waiting requests of a peer again. To be called when firehoses may have been
 *  freed, when nobody is left to free any, and now and then while users of the firehoses
 *  go on although requests wait: each attempt counts, until a request gets the
 *  deadlock-avoidance bit and no further hit is granted. */
void ucp_fh_acquire_settle(ucp_fh_peer_t *peer);

/** Give back firehoses that nobody uses, the oldest first. To be called when the peer has
 *  no room to pin other buckets beside these.
 *
 *  @param [in] most  Maximum number.
 *  @return the number of firehoses. */
uint64_t
ucp_fh_remote_shed(ucp_fh_remote_t *table, uint32_t peer, uint64_t most);

/** @return the key of a bucket of a granted request, valid until the request is released.
 *
 *  @param [in] index  0 for the first bucket. */
void *ucp_fh_remote_key(ucp_fh_remote_t *table, const ucp_fh_request_t *request,
                        uint64_t index);

/**
 * Take a message to be sent. To be called after each call of another function of the
 * table, until no message is left.
 *
 * @return the message, to be handed to ucp_fh_remote_moved() once. NULL if there is
 *         none, or no memory for a message: then the peer is still the first of
 *         ucp_fh_remote_t::senders.
 */
ucp_fh_move_t *ucp_fh_remote_next_move(ucp_fh_remote_t *table);

/**
 * End a message: it was answered, or was sent and needs no answer, or could not be
 * sent. Frees the message.
 *
 * @param [in] status   UCS_OK, or why there are no answers. The peer may or may
 *                      not have handled the message then, and is out of step: the
 *                      caller has to call ucp_fh_remote_fail_peer() as well.
 * @param [in] answers  For each of the buckets to be pinned, in their order.
 * @return UCS_ERR_CANCELED if the peer has failed before: the caller destroys
 *         the keys of the answers. Else UCS_OK.
 */
ucs_status_t
ucp_fh_remote_moved(ucp_fh_remote_t *table, ucp_fh_move_t *move,
                    ucs_status_t status, const ucp_fh_answer_t *answers);

/** @return the key of a bucket that was given back, for the caller to destroy; NULL if no
 *          such key is left. To be called again and again until then, after
 *          ucp_fh_remote_next_move(). */
void *ucp_fh_remote_next_key(ucp_fh_remote_t *table);

/** A peer wants the buckets of a run back. Each firehose on these buckets is given back
 *  by a message of ucp_fh_remote_next_move(), once no request uses the firehose. Requests
 *  for the bucket wait meanwhile, and ask the peer anew afterwards. If the peer has
 *  failed, nothing is given back. */
void ucp_fh_remote_recall(ucp_fh_remote_t *table, uint32_t peer,
                          const ucp_fh_run_t *run);

/** A peer is out of reach: all requests to the peer that are not granted end with this
 *  error, and further requests fail with the same error. Granted requests are
 *  released as usual. */
void ucp_fh_remote_fail_peer(ucp_fh_remote_t *table, uint32_t peer,
                             ucs_status_t status);

END_C_DECLS

#endif
