/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_LOCAL_H_
#define UCP_FH_LOCAL_H_

#include "types.h"

#include <ucs/base/buckets.h>

BEGIN_C_DECLS

/** @file local.h
 *
 * The local table: which memory of this process is pinned, and for whom (the
 * "local page table" of Table 2 of the paper). One a process.
 *
 * REGISTRATIONS. What is pinned is a bucket, with a handle of its own: all of its
 * bytes, or those that whoever pins it has. A peer has what is exposed of a
 * bucket, and a local pin what it was asked for, so that nothing has to be mapped
 * beside that; within exposed memory a local pin has as much as a peer. What needs
 * more of a bucket than its registrations cover gets one of its own: a bucket may
 * have several. Each has a count of local uses, and of the peers that have a
 * firehose on it. A registration without a count is a victim: it stays pinned until
 * there is no room for another one, or the victims are more than
 * ucp_fh_local_params_t::max_victim. It is
 *
 *   queued     to be pinned when there is room
 *   pinning    somebody pins it, without the lock
 *   pinned     in use, or in the victim FIFO, or doomed: withdrawn and not in
 *              use, to be unpinned
 *   unpinning  somebody unpins it, without the lock
 *
 * ROOM. No more than M + MAXVICTIM bytes are ever pinned, those that are being
 * pinned or unpinned included. A registration counts as a whole bucket.
 * Registrations with firehoses are at most M, since no peer gets more than its
 * share. Those with local uses are at most MAXVICTIM: a local pin waits until that
 * is so, in the order of arrival, and holds nothing while it waits. All
 * registrations with local uses count, also those which firehoses keep pinned
 * anyway: a firehose may be moved away at any time, and its peer is promised
 * another bucket at once. Those with neither are victims. Hence there are always
 * enough victims for a pin that was let in.
 *
 * A thread must not need a further local pin before it can release one.
 *
 * PHASES. Pins are let in under the lock. ucp_fh_local_next_work() then gives
 * one operation after the other, each to be carried out without the lock by
 * ucp_fh_work_do(), by any thread, several of them at a time; and
 * ucp_fh_local_work_done() is told under the lock. Others that want a bucket
 * which is being pinned or unpinned wait until it is.
 *
 * PEERS. Unlike the paper's, this table knows which peers have a firehose on a
 * bucket: so a peer that dies gives back what it had, one that asks for more
 * than its share or gives back what it does not have is turned down, and memory
 * that goes away is asked back from those who have it.
 *
 * EXPOSED MEMORY. Peers get buckets of exposed memory only. Before memory goes
 * away it is withdrawn: nobody gets its buckets any more; registrations that cover
 * some of it are unpinned as soon as nobody uses them.
 *
 * THREADS. As in remote.h: one lock, the caller's, around each call of a
 * function that takes a table. It may be the same lock, or another one.
 *
 * ERRORS. Where no memory can be allocated, and where an operation fails, pins
 * end with an error, and the table is as if they had not been asked for. What
 * could not be unpinned stays a victim, and pins that need its room fail. Where the
 * system has no room for a registration (UCS_ERR_EXCEEDS_LIMIT, UCS_ERR_NO_MEMORY), a
 * victim is unpinned, and it is tried again, until there are no victims left. Then
 * it is tried again when the caller says so, since others may have the room only for
 * a while; and when the caller has waited long enough, the pins end with that error.
 * Others may also have it for ever, such as peers, which give firehoses back only
 * when they need more.
 */

/** No peer: a local use. */
#define UCP_FH_LOCAL UINT32_MAX


typedef struct ucp_fh_local ucp_fh_local_t;
typedef struct ucp_fh_serve ucp_fh_serve_t;


typedef struct ucp_fh_local_params {
    unsigned shift;      /**< Logarithm of the size of a bucket, a page and
                              more; UCP_FH_MIN_SHIFT to UCP_FH_MAX_SHIFT */
    uint32_t num_peers;  /**< 1 and more */
    uint64_t m;          /**< M, bytes; at least a bucket for each peer */
    uint64_t max_victim; /**< MAXVICTIM, bytes, a bucket and more */
} ucp_fh_local_params_t;


typedef enum {
    UCP_FH_REG_QUEUED,
    UCP_FH_REG_PINNING,
    UCP_FH_REG_PINNED,
    UCP_FH_REG_UNPINNING
} ucp_fh_reg_state_t;


/** A registration: what of a bucket is pinned. */
typedef struct ucp_fh_reg {
    ucs_hlist_link_t   hash;         /**< First member, see find() */
    ucp_fh_bucket_t    bucket;
    ucp_fh_span_t      span;         /**< Its memory */
    uint64_t           number;       /**< The higher, the later it was made */
    ucp_fh_reg_state_t state;
    int                is_withdrawn; /**< To be unpinned once it is not in use */
    int                is_kept;      /**< Withdrawn, but it could not be unpinned,
                                          which those who have withdrawn it know */
    uint32_t           uses;         /**< Local ones */
    uint32_t           num_grants;
    ucs_list_link_t    grants;       /**< Firehoses on it */
    void               *handle;      /**< Of the caller, once it is pinned */
    ucs_list_link_t    link;         /**< In to_pin, victims or doomed of the
                                          table; else empty */
    ucs_list_link_t    waiters;      /**< Pins of whose registrations this is the
                                          first that is not pinned */
} ucp_fh_reg_t;


/** A firehose that a peer has on a bucket of this process. */
typedef struct ucp_fh_grant {
    ucs_hlist_link_t hash;      /**< First member, see find() */
    uint32_t         peer;
    ucp_fh_reg_t     *reg;
    ucs_list_link_t  reg_link;  /**< In ucp_fh_reg_t::grants */
    ucs_list_link_t  peer_link; /**< In ucp_fh_holder_t::grants */
} ucp_fh_grant_t;


/** What this process knows of a peer. */
typedef struct ucp_fh_holder {
    uint32_t        num_grants;
    int             has_failed;
    ucs_list_link_t grants;
    ucs_list_link_t holding;  /**< In ucp_fh_local_t::holding if there are grants */
    ucs_list_link_t asked;    /**< In ucp_fh_local_t::asked, or empty */
} ucp_fh_holder_t;


typedef enum {
    UCP_FH_PIN_ENDED,  /**< Not in the table */
    UCP_FH_PIN_QUEUED, /**< Not let in yet */
    UCP_FH_PIN_ACTIVE, /**< Waits for registrations that are being
                            pinned */
    UCP_FH_PIN_PINNED  /**< A local pin, until it is released */
} ucp_fh_pin_state_t;


/** A run of buckets that is to be pinned for a local use, or one bucket for a peer.
 *  The caller provides the memory until it is released or has failed, and sets
 *  comp.func, unless it does not let the pin wait. */
typedef struct ucp_fh_pin {
    ucp_fh_comp_t      comp;
    ucp_fh_run_t       run;
    ucp_fh_span_t      wanted;   /**< Local: what was asked for */
    ucp_fh_span_t      span;     /**< What of the run is pinned, once it was let
                                      in: of a peer's, what is exposed; of a
                                      local one the same, unless it wants
                                      anything else */
    uint32_t           peer;     /**< Who gets firehoses; UCP_FH_LOCAL */
    ucp_fh_pin_state_t state;
    uint32_t           passed;   /**< How many others were let in before it,
                                      since it is queued */
    uint64_t           num_done; /**< Active: so many buckets, from the first
                                      one on, are known to be pinned */
    ucs_list_link_t    link;     /**< In the queue or the active ones */
    ucs_list_link_t    wait;     /**< In ucp_fh_reg_t::waiters if active */
    ucp_fh_serve_t     *serve;   /**< Message of a peer that it belongs to, or
                                      NULL */
} ucp_fh_pin_t;


/** A message of a peer that moves firehoses. Made by ucp_fh_serve_make(). */
struct ucp_fh_serve {
    ucp_fh_comp_t   comp;       /**< Ends with UCS_OK, if the peer is alive */
    void            *arg;       /**< Of the caller, as is @a number; the table
                                     does not look at them */
    uint64_t        number;
    uint32_t        peer;
    uint32_t        num_unpins;
    uint32_t        num_pins;   /**< Buckets to be pinned */
    uint32_t        num_left;   /**< Of these, those that have not ended yet */
    ucp_fh_bucket_t *unpins;
    ucp_fh_pin_t    pins[];     /**< What is told of each: comp.status, and what
                                     ucp_fh_serve_reg() returns */
};


/** Memory that peers may have firehoses on. The caller provides the memory of
 *  this structure until it is withdrawn. */
typedef struct ucp_fh_exposed {
    ucp_fh_place_t place; /**< The buckets that it is in. First member, see
                               ucp_fh_local_exposed() */
    ucp_fh_span_t  span;
} ucp_fh_exposed_t;


/** Memory that goes away. The caller provides the memory of this structure
 *  until it has ended, and sets comp.func. */
typedef struct ucp_fh_withdraw {
    ucp_fh_comp_t   comp;
    ucp_fh_place_t  place;    /**< The buckets of what goes away */
    ucp_fh_span_t   span;     /**< What goes away */
    uint64_t        num_left; /**< Registrations that are pinned still */
    ucs_status_t    result;   /**< With what it ends */
} ucp_fh_withdraw_t;


/** What to pin and unpin with. Called without any lock. */
typedef struct ucp_fh_pin_ops {
    /** @param [in]  start, length  Bytes.
     *  @param [out] handle_p       For unpin(), and for packing a key. */
    ucs_status_t (*pin)(void *arg, uint64_t start, uint64_t length,
                        void **handle_p);

    /** On error, which the log says, it is pinned still. */
    ucs_status_t (*unpin)(void *arg, void *handle);

    void *arg;
} ucp_fh_pin_ops_t;


/** An operation to be carried out. */
typedef struct ucp_fh_work {
    ucp_fh_reg_t *reg;
    int          is_pin;
    uint64_t     start;   /**< Bytes */
    uint64_t     length;
    void         *handle; /**< Result of pin; argument of unpin */
    ucs_status_t status;  /**< Result */
} ucp_fh_work_t;


struct ucp_fh_local {
    ucp_fh_local_params_t     params;
    uint32_t                  share;        /**< f */
    /* Numbers of registrations */
    uint64_t                  max_pinned;   /**< M + MAXVICTIM */
    uint64_t                  max_local;    /**< MAXVICTIM */
    uint64_t                  num_pinned;   /**< That are pinning, pinned or
                                                 unpinning */
    uint64_t                  num_unpinning;
    int                       is_short;     /**< Whether a victim is to be unpinned
                                                 before the first of to_pin is
                                                 tried again, for which the
                                                 system had no room */
    int                       is_refused;   /**< Whether the first of to_pin is
                                                 not tried again before
                                                 ucp_fh_local_try_again() */
    int                       is_impatient; /**< Whether nobody waits for that,
                                                 since one has waited in vain */
    uint64_t                  num_local;    /**< With local uses */
    uint64_t                  num_victims;  /**< In the FIFO */
    ucs_rcache_pred_buckets_t regs;         /**< By bucket */
    uint32_t                  num_regs;
    uint64_t                  next_number;  /**< Of a registration */
    ucs_rcache_pred_buckets_t grants;       /**< By peer and bucket */
    uint32_t                  num_grants;
    ucp_fh_holder_t           *holders;     /**< The peers */
    int                       keeps_victims; /**< Whether one could not be
                                                  unpinned since another
                                                  became one */
    ucs_list_link_t           holding;      /**< Peers that have firehoses */
    ucs_list_link_t           asked;        /**< Peers that the last withdrawal, or
                                                 pick, concerns, for
                                                 ucp_fh_local_next_holder() */
    ucs_list_link_t           to_pin;       /**< Queued ones */
    ucs_list_link_t           victims;      /**< The oldest first */
    ucs_list_link_t           doomed;       /**< Withdrawn ones that nobody
                                                 uses */
    ucs_list_link_t           queue;        /**< Pins that were not let in yet,
                                                 the oldest first */
    ucs_list_link_t           active;       /**< Pins */
    ucs_rcache_pred_tree_t    exposed;      /**< ucp_fh_exposed_t */
    ucs_rcache_pred_tree_t    withdraws;    /**< ucp_fh_withdraw_t */
    ucs_list_link_t           ended;        /**< See ucp_fh_comp_next() */
};


/** Make a table in which nothing is exposed. Each peer gets
 *  ucp_fh_local_t::share firehoses.
 *
 *  @return UCS_ERR_INVALID_PARAM or UCS_ERR_EXCEEDS_LIMIT, which the log
 *          explains; UCS_ERR_NO_MEMORY. */
ucs_status_t ucp_fh_local_init(ucp_fh_local_t *table,
                               const ucp_fh_local_params_t *params);

/** Unpin everything, with these operations, and free everything. No pin, work
 *  or withdrawal may be under way. */
void ucp_fh_local_cleanup(ucp_fh_local_t *table, const ucp_fh_pin_ops_t *ops);

/**
 * Pin memory for a local use (firehose_local_pin()). It need not be exposed.
 *
 * @param [in] span  Whole pages, which is not checked.
 * @return UCS_OK: it is pinned, and comp.func is not called. UCS_INPROGRESS: it
 *         ends later, after ucp_fh_local_next_work() was asked. An error is
 *         final: UCS_ERR_INVALID_PARAM if the span is empty,
 *         UCS_ERR_EXCEEDS_LIMIT if it is more than MAXVICTIM,
 *         UCS_ERR_INVALID_ADDR if it is being withdrawn, UCS_ERR_NO_MEMORY;
 *         later also the error of an operation.
 */
ucs_status_t ucp_fh_local_pin(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              const ucp_fh_span_t *span);

/** As ucp_fh_local_pin(), but only if it is pinned already
 *  (firehose_try_local_pin()).
 *
 *  @return UCS_OK; UCS_ERR_NO_RESOURCE if it would take longer, or if others
 *          have to be let in first; another error as above. */
ucs_status_t ucp_fh_local_try(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              const ucp_fh_span_t *span);

/** As ucp_fh_local_try(), for the longest part, in buckets, that is pinned, the
 *  first of several (firehose_partial_local_pin()). It is ucp_fh_pin_t::wanted
 *  afterwards. */
ucs_status_t ucp_fh_local_partial(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                                  const ucp_fh_span_t *span);

/** End a local use. */
void ucp_fh_local_release(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** @return the handle of a local pin of one bucket, which is pinned until the pin is
 *          released; NULL if it has more buckets, each of which has its own. */
void *ucp_fh_local_handle(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin);

/** Take an operation to be carried out. To be called after each call of another
 *  function, until there is none.
 *
 *  @return whether there is one, for ucp_fh_work_do() and then
 *          ucp_fh_local_work_done(). */
int ucp_fh_local_next_work(ucp_fh_local_t *table, ucp_fh_work_t *work);

/** Carry out an operation: to be called without the lock. */
void ucp_fh_work_do(ucp_fh_work_t *work, const ucp_fh_pin_ops_t *ops);

/** An operation was carried out.
 *
 *  @return whether it was a pin that has failed for good: who waited for it
 *          ends with its error. 0: it has succeeded, or will be tried again. */
int ucp_fh_local_work_done(ucp_fh_local_t *table, const ucp_fh_work_t *work);

/** Try again to pin what the system had no room for, if
 *  ucp_fh_local_t::is_refused says that there is something.
 *  ucp_fh_local_next_work() is to be asked then.
 *
 *  @param [in] is_last  Whether it ends with the error if there is still
 *  none. */
void ucp_fh_local_try_again(ucp_fh_local_t *table, int is_last);

/** Once something has waited in vain, everything else that there is no room for
 *  ends with the error at once; no longer from now on. */
void ucp_fh_local_be_patient(ucp_fh_local_t *table);

/**
 * Allocate what a message of a peer needs, and copy its buckets. Needs no lock.
 *
 * @return NULL if there is no memory. Freed by ucp_fh_serve_free() after it has
 *         ended.
 */
ucp_fh_serve_t *
ucp_fh_serve_make(uint32_t peer, const ucp_fh_bucket_t *unpins,
                  uint32_t num_unpins, const ucp_fh_bucket_t *pins,
                  uint32_t num_pins);

void ucp_fh_serve_free(ucp_fh_serve_t *serve);

/**
 * Handle a message of a peer, the next one in its order: take what it gives
 * back, and pin what it wants.
 *
 * @return UCS_OK: serve->pins is what is to be answered; UCS_INPROGRESS: it
 *         will be, when comp.func is to be called. UCS_ERR_INVALID_PARAM: it
 *         gives back what the peer does not have; the peer is out of step, and
 *         ucp_fh_local_fail_peer() should be called. UCS_ERR_UNREACHABLE: the
 *         peer has failed; this may also come later, in comp.status: there is
 *         nobody to be answered.
 *
 * How a bucket may end: UCS_ERR_INVALID_ADDR for memory that is not exposed,
 * UCS_ERR_EXCEEDS_LIMIT if the peer would have more than its share,
 * UCS_ERR_ALREADY_EXISTS if it has what it wants, UCS_ERR_NO_MEMORY, and errors of
 * operations. Others of the message are pinned nevertheless.
 */
ucs_status_t ucp_fh_local_serve(ucp_fh_local_t *table, ucp_fh_serve_t *serve);

/** @return what is pinned for a bucket of a message that has ended with UCS_OK, the
 *          first one having index 0. NULL if it ended with an error, or if the peer
 *          has given it back before it was told that it has it. */
const ucp_fh_reg_t *
ucp_fh_serve_reg(const ucp_fh_local_t *table, const ucp_fh_serve_t *serve,
                 uint32_t index);

/** A peer has died: it gives back all of its firehoses, and its messages
 *  end. */
void ucp_fh_local_fail_peer(ucp_fh_local_t *table, uint32_t peer);

/** Let peers have firehoses on memory, which shares no bucket with other memory
 *  that is exposed.
 *
 *  @param [in] span  Whole pages, which is not checked; not empty.
 *  @return UCS_ERR_BUSY while some of its buckets are being withdrawn; else
 *          UCS_OK. */
ucs_status_t ucp_fh_local_expose(ucp_fh_local_t *table,
                                 ucp_fh_exposed_t *exposed,
                                 const ucp_fh_span_t *span);

/** @return exposed memory that has a bucket of a run, or NULL. */
static inline ucp_fh_exposed_t *
ucp_fh_local_exposed(const ucp_fh_local_t *table, const ucp_fh_run_t *run)
{
    return (ucp_fh_exposed_t*)ucp_fh_places_first(&table->exposed, run);
}

/** Let peers have no more firehoses on memory. Those that they have they keep
 *  until it is withdrawn. */
void
ucp_fh_local_conceal(ucp_fh_local_t *table, ucp_fh_exposed_t *exposed);

/**
 * Memory is to go away: nobody gets its buckets any more. What was exposed
 * there is not any more, and other exposed memory has to be in other buckets.
 * Afterwards ucp_fh_local_next_holder() tells whom to ask for withdraw->place.run.
 *
 * @param [in] exposed  What was exposed, or NULL if that was nothing.
 * @param [in] span     The memory: whole pages, which is not checked; not
 *                      empty.
 * @return UCS_OK: nothing of it is pinned. UCS_INPROGRESS: it ends later, with
 *         UCS_OK or with the error of an operation that could not unpin some of
 *         it, which stays pinned.
 */
ucs_status_t ucp_fh_local_withdraw(ucp_fh_local_t *table,
                                   ucp_fh_withdraw_t *withdraw,
                                   ucp_fh_exposed_t *exposed,
                                   const ucp_fh_span_t *span);

/** Pick what peers are to give back so that there is room for others: the bucket of
 *  the firehose that the peer with most of them has had longest, of those that were not
 *  picked yet. Afterwards ucp_fh_local_next_holder() tells whom to ask for it.
 *
 *  @return 0 if there is none. */
int ucp_fh_local_pick_recall(ucp_fh_local_t *table, ucp_fh_run_t *run);

/** @return a peer that has firehoses on what was withdrawn, or picked, last, and was
 *          not returned yet; UCP_FH_LOCAL if there is no further one. */
uint32_t ucp_fh_local_next_holder(ucp_fh_local_t *table);

END_C_DECLS

#endif
