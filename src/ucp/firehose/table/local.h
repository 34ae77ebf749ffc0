/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_LOCAL_H_
#define UCP_FH_LOCAL_H_

#include "types.h"

BEGIN_C_DECLS

/** @file local.h
 *
 * The local table: which memory of this process is pinned, and for whom (the
 * "local page table" of Table 2 of the paper). One a process.
 *
 * REGISTRATIONS. The unit of pinning is a bucket, with a handle of its own: all
 * bytes of the bucket, or a part of them. For a peer, the exposed part of a
 * bucket is pinned, and for a local pin the part that was asked for, since memory
 * beside that part may not be mapped; within exposed memory a local pin gets the
 * same part as a peer. A bucket may have several registrations: a pin that no
 * registration of the bucket covers gets a new one. Each registration counts
 * its local uses, and the peers with a firehose on it. A registration without
 * either is a victim: it stays pinned until another registration needs its room,
 * or the victims are more than ucp_fh_local_params_t::max_victim. States:
 *
 *   queued     to be pinned when there is room
 *   pinning    a thread pins it, without the lock
 *   pinned     in use, or in the victim FIFO, or doomed: withdrawn and not in
 *              use, to be unpinned
 *   unpinning  a thread unpins it, without the lock
 *
 * ROOM. No more than M + MAXVICTIM bytes are ever pinned, including bytes that
 * are being pinned or unpinned. A registration counts as a whole bucket.
 * Registrations with firehoses are at most M, since no peer gets more than its
 * share. Registrations with local uses are at most MAXVICTIM: local pins wait
 * for room in the order of arrival, and hold nothing while they wait. A
 * registration with local uses counts even if a firehose keeps it pinned anyway:
 * the peer may move the firehose away at any time, and is promised another
 * bucket at once. All other registrations are victims. Hence there are always
 * enough victims for a pin that was let in.
 *
 * A thread must not need a further local pin before it can release one.
 *
 * PHASES. Pins are let in under the lock. ucp_fh_local_next_work() then gives
 * one operation after the other. Any thread may carry out an operation without
 * the lock, by ucp_fh_work_do(), and then calls ucp_fh_local_work_done() under the
 * lock; several threads may do so at a time. While a bucket is being pinned or
 * unpinned, other pins that want the bucket wait.
 *
 * PEERS. Unlike the paper's table, this one knows which peers have a firehose on a
 * bucket. So the firehoses of a peer that dies are taken back; a peer is turned
 * down if it asks for more than its share, or gives back a firehose that it does
 * not have; and before memory goes away, the peers with firehoses on the memory
 * are asked to give these back.
 *
 * EXPOSED MEMORY. Peers get buckets of exposed memory only. Before memory goes
 * away it is withdrawn: nobody gets its buckets any more, and registrations that
 * cover some of it are unpinned as soon as nobody uses them.
 *
 * THREADS. As in remote.h: one lock, the caller's, around each call of a
 * function that takes a table. Both tables may have the same lock.
 *
 * ERRORS. Where no memory can be allocated, and where an operation fails, pins
 * end with an error, and the table is as if nobody had asked for these pins. A
 * registration that could not be unpinned stays a victim, and pins that need its
 * room fail. Where the system has no room for a registration
 * (UCS_ERR_EXCEEDS_LIMIT, UCS_ERR_NO_MEMORY), a victim is unpinned and pinning is
 * tried again, until there are no victims left. From then on pinning is tried
 * again when the caller says so (ucp_fh_local_try_again()), since others may have
 * the room only for a while. Others may also keep the room for ever, such as
 * peers, which give firehoses back only when they need more: once the caller has
 * waited long enough, the pins end with the error.
 */

/** In place of the number of a peer: a local use. */
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


/** A registration: the part of a bucket with one handle. */
typedef struct ucp_fh_reg {
    ucs_hlist_link_t   hash;         /**< First member, see reg_key() */
    ucp_fh_bucket_t    bucket;
    ucp_fh_span_t      span;         /**< The part of the bucket */
    uint64_t           number;       /**< Registrations made later have higher
                                          numbers */
    ucp_fh_reg_state_t state;
    int                is_withdrawn; /**< To be unpinned once it is not in use */
    int                is_kept;      /**< Withdrawn, but could not be unpinned; the
                                          withdrawals have counted it as gone */
    uint32_t           uses;         /**< Local uses */
    uint32_t           num_grants;   /**< Firehoses on it */
    ucs_list_link_t    grants;       /**< The firehoses, ucp_fh_grant_t */
    void               *handle;      /**< Made by ucp_fh_pin_ops_t::pin(), once it
                                          is pinned */
    ucs_list_link_t    link;         /**< In ucp_fh_local_t::to_pin, victims or
                                          doomed; else in no list */
    ucs_list_link_t    waiters;      /**< Active pins that wait for this
                                          registration: the first one of theirs
                                          that is not pinned */
} ucp_fh_reg_t;


/** A firehose of a peer on a bucket of this process. */
typedef struct ucp_fh_grant {
    ucs_hlist_link_t hash;      /**< First member, see grant_key() */
    uint32_t         peer;
    ucp_fh_reg_t     *reg;
    ucs_list_link_t  reg_link;  /**< In ucp_fh_reg_t::grants */
    ucs_list_link_t  peer_link; /**< In ucp_fh_holder_t::grants */
} ucp_fh_grant_t;


/** A peer, as this process knows it. */
typedef struct ucp_fh_holder {
    uint32_t        num_grants;
    int             has_failed;
    ucs_list_link_t grants;
    ucs_list_link_t holding;  /**< In ucp_fh_local_t::holding if there are grants */
    ucs_list_link_t asked;    /**< In ucp_fh_local_t::asked, or empty */
} ucp_fh_holder_t;


typedef enum {
    UCP_FH_PIN_ENDED,  /**< Not begun, released or failed; of a peer, also pinned */
    UCP_FH_PIN_QUEUED, /**< Not let in yet */
    UCP_FH_PIN_ACTIVE, /**< Waits for registrations that are being
                            pinned */
    UCP_FH_PIN_PINNED  /**< A local pin, until it is released */
} ucp_fh_pin_state_t;


/** Some adjacent buckets to be pinned for a local use, or one bucket for a peer. The
 *  caller provides the memory until the pin is released or has failed, and sets
 *  comp.func if the pin may wait. */
typedef struct ucp_fh_pin {
    ucp_fh_comp_t      comp;
    ucp_fh_run_t       run;
    ucp_fh_span_t      wanted;   /**< Local: the memory that was asked for */
    ucp_fh_span_t      span;     /**< The memory to be pinned, set when the pin is
                                      let in: the exposed part of the run, or
                                      @a wanted, for a local pin of memory that
                                      is not all exposed, or is covered already */
    uint32_t           peer;     /**< Gets a firehose; UCP_FH_LOCAL: a local pin */
    ucp_fh_pin_state_t state;
    uint32_t           passed;   /**< If queued: number of local pins that came later
                                      than this one and were let in already */
    uint64_t           num_done; /**< If active: number of its buckets, from the
                                      first on, that are known to be pinned */
    ucs_list_link_t    link;     /**< In ucp_fh_local_t::queue or active */
    ucs_list_link_t    wait;     /**< In ucp_fh_reg_t::waiters if active */
    ucp_fh_serve_t     *serve;   /**< The message of a peer that has this pin; NULL: a
                                      local pin */
} ucp_fh_pin_t;


/** A message of a peer that moves firehoses. Made by ucp_fh_serve_make(). */
struct ucp_fh_serve {
    ucp_fh_comp_t   comp;       /**< Ends with UCS_OK, if the peer is alive */
    void            *arg;       /**< For the caller: the table does not use it */
    uint64_t        number;     /**< For the caller: the table does not use it */
    uint32_t        peer;
    uint32_t        num_unpins; /**< Buckets that are given back */
    uint32_t        num_pins;   /**< Buckets to be pinned */
    uint32_t        num_left;   /**< Pins that have not ended yet */
    const ucp_fh_bucket_t *unpins; /**< The buckets that are given back */
    ucp_fh_pin_t    pins[];     /**< A pin for each bucket. The answer about the bucket
                                     is comp.status of its pin, and the key of
                                     ucp_fh_serve_reg() */
};


/** Memory on which peers may have firehoses. The caller provides the structure
 *  until the memory is withdrawn. */
typedef struct ucp_fh_exposed {
    ucp_fh_place_t place; /**< Its buckets. First member, see
                               ucp_fh_local_exposed() */
    ucp_fh_span_t  span;
} ucp_fh_exposed_t;


/** Memory that goes away. The caller provides the structure until the withdrawal
 *  has ended, and sets comp.func. */
typedef struct ucp_fh_withdraw {
    ucp_fh_comp_t   comp;
    ucp_fh_place_t  place;    /**< The buckets of the memory */
    ucp_fh_span_t   span;     /**< The memory */
    uint64_t        num_left; /**< Registrations of the memory that are not gone yet */
    ucs_status_t    result;   /**< Status with which the withdrawal will end */
} ucp_fh_withdraw_t;


/** The functions by which the caller pins and unpins memory. Called without any lock. */
typedef struct ucp_fh_pin_ops {
    /** @param [in]  start, length  Bytes.
     *  @param [out] handle_p       For unpin(), and for packing a key. */
    ucs_status_t (*pin)(void *arg, uint64_t start, uint64_t length,
                        void **handle_p);

    /** After an error, which the log explains, the memory is pinned still. */
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
    uint32_t                  share;        /**< f: most firehoses of a peer */
    /* Numbers of registrations: limits, and how many there are */
    uint64_t                  max_pinned;   /**< M + MAXVICTIM */
    uint64_t                  max_local;    /**< MAXVICTIM */
    uint64_t                  num_pinned;   /**< Pinning, pinned or unpinning */
    uint64_t                  num_unpinning;
    int                       is_short;     /**< The system had no room for the
                                                 first of to_pin: unpin a victim
                                                 before the next try */
    int                       is_refused;   /**< Do not try the first of to_pin
                                                 again before
                                                 ucp_fh_local_try_again() */
    int                       is_impatient; /**< Pins do not wait for the system to
                                                 have room: a pin has waited in
                                                 vain */
    uint64_t                  num_local;    /**< With local uses */
    uint64_t                  num_victims;  /**< In the victim FIFO */
    ucs_buckets_t regs;         /**< By bucket */
    uint32_t                  num_regs;
    uint64_t                  next_number;  /**< Of a registration */
    ucs_buckets_t grants;       /**< By peer and bucket */
    uint32_t                  num_grants;
    ucp_fh_holder_t           *holders;     /**< The peers */
    int                       keeps_victims; /**< A registration could not be
                                                  unpinned, and no further victim
                                                  has come since */
    ucs_list_link_t           holding;      /**< Peers that have firehoses */
    ucs_list_link_t           asked;        /**< Peers with firehoses on the memory
                                                 that was withdrawn last, or the
                                                 bucket that was picked last, for
                                                 ucp_fh_local_next_holder() */
    ucs_list_link_t           to_pin;       /**< Queued registrations */
    ucs_list_link_t           victims;      /**< Registrations, the oldest victim
                                                 first */
    ucs_list_link_t           doomed;       /**< Registrations that are withdrawn,
                                                 and not in use */
    ucs_list_link_t           queue;        /**< Pins not let in yet, the oldest
                                                 first */
    ucs_list_link_t           active;       /**< Active pins */
    ucs_tree_t    exposed;      /**< ucp_fh_exposed_t */
    ucs_tree_t    withdraws;    /**< ucp_fh_withdraw_t */
    ucs_list_link_t           ended;        /**< See ucp_fh_comp_next() */
};


/** Make a table in which nothing is exposed. Each peer gets
 *  ucp_fh_local_t::share firehoses.
 *
 *  @return UCS_ERR_INVALID_PARAM or UCS_ERR_EXCEEDS_LIMIT, which the log
 *          explains; UCS_ERR_NO_MEMORY. */
ucs_status_t ucp_fh_local_init(ucp_fh_local_t *table,
                               const ucp_fh_local_params_t *params);

/** Unpin all registrations, by @a ops, and free everything. No pin, work or withdrawal
 *  may be under way. */
void ucp_fh_local_cleanup(ucp_fh_local_t *table, const ucp_fh_pin_ops_t *ops);

/**
 * Pin memory, exposed or not, for a local use (firehose_local_pin(),
 * firehose_try_local_pin(), firehose_partial_local_pin()).
 *
 * @param [in] span  Whole pages, which is not checked.
 * @param [in] form  UCP_FH_FORM_PARTIAL: ucp_fh_pin_t::wanted is the pinned part
 *                   afterwards.
 * @return UCS_OK: the memory is pinned, and comp.func is not called.
 *         UCS_INPROGRESS, with UCP_FH_FORM_WAIT only: the pin ends later, in the
 *         course of operations of ucp_fh_local_next_work(). An error is final:
 *         UCS_ERR_INVALID_PARAM if the span is empty, UCS_ERR_EXCEEDS_LIMIT if it
 *         is more than MAXVICTIM, UCS_ERR_INVALID_ADDR if some of it is being
 *         withdrawn, UCS_ERR_NO_MEMORY; UCS_ERR_NO_RESOURCE if no or not all memory
 *         is pinned already, or if others have to be let in first; later also the
 *         error of an operation.
 */
ucs_status_t ucp_fh_local_pin(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                              const ucp_fh_span_t *span, ucp_fh_form_t form);

/** End a local pin that is pinned: its memory may be unpinned from now on. */
void ucp_fh_local_release(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** @return the handle of a local pin of one bucket, valid until the pin is released;
 *          NULL if the pin has more buckets, with a handle each. */
void *ucp_fh_local_handle(const ucp_fh_local_t *table, const ucp_fh_pin_t *pin);

/** Take an operation to be carried out. To be called after each call of another function
 *  of the table, until there is no operation.
 *
 *  @return whether there is an operation, for ucp_fh_work_do() and then
 *          ucp_fh_local_work_done(). */
int ucp_fh_local_next_work(ucp_fh_local_t *table, ucp_fh_work_t *work);

/** Carry out an operation: to be called without the lock. */
void ucp_fh_work_do(ucp_fh_work_t *work, const ucp_fh_pin_ops_t *ops);

/** Hand back an operation that was carried out.
 *
 *  @return whether the operation was to pin, and has failed for good: pins that
 *          waited for the registration end with its error. 0: the operation has
 *          succeeded, or will be tried again. */
int ucp_fh_local_work_done(ucp_fh_local_t *table, const ucp_fh_work_t *work);

/** Try again to pin the registration for which the system had no room, if
 *  ucp_fh_local_t::is_refused is set. The caller then asks
 *  ucp_fh_local_next_work().
 *
 *  @param [in] is_last  Whether pins end with the error if there is still no room, now
 *                       and until ucp_fh_local_be_patient(). */
void ucp_fh_local_try_again(ucp_fh_local_t *table, int is_last);

/** Let pins wait again until the system has room. Since ucp_fh_local_try_again() with
 *  @a is_last, pins have ended with the error at once. */
void ucp_fh_local_be_patient(ucp_fh_local_t *table);

/**
 * Allocate a message of a peer. Needs no lock.
 *
 * @param [in] unpins  Read by ucp_fh_local_serve(), and not later.
 * @return NULL if there is no memory. The caller frees the message after its end.
 */
ucp_fh_serve_t *
ucp_fh_serve_make(uint32_t peer, const ucp_fh_bucket_t *unpins,
                  uint32_t num_unpins, const ucp_fh_bucket_t *pins,
                  uint32_t num_pins);

/**
 * Handle a message of a peer, the next one in its order: take buckets back, and
 * pin others.
 *
 * @return UCS_OK: serve->pins have the answer; UCS_INPROGRESS: they will have it when
 *         comp.func is called. UCS_ERR_INVALID_PARAM: the peer gives back
 *         a bucket without having a firehose there; the peer is out of step, and
 *         the caller should call ucp_fh_local_fail_peer(). UCS_ERR_UNREACHABLE: the
 *         peer has failed, and there is nobody to be answered; comp.status may
 *         also have this error later.
 *
 * How a bucket may end: UCS_ERR_INVALID_ADDR for memory that is not exposed,
 * UCS_ERR_EXCEEDS_LIMIT if the peer would have more than its share,
 * UCS_ERR_ALREADY_EXISTS if the peer has the bucket already, UCS_ERR_NO_MEMORY,
 * and errors of operations. Other buckets of the message are pinned nevertheless.
 */
ucs_status_t ucp_fh_local_serve(ucp_fh_local_t *table, ucp_fh_serve_t *serve);

/** @return the registration for a bucket, by index from 0, of a message that has
 *          ended with UCS_OK. NULL if the bucket ended with an error, or if the
 *          peer has given it back before the answer. */
const ucp_fh_reg_t *
ucp_fh_serve_reg(const ucp_fh_local_t *table, const ucp_fh_serve_t *serve,
                 uint32_t index);

/** A peer has died: take back all of its firehoses, and end its messages. */
void ucp_fh_local_fail_peer(ucp_fh_local_t *table, uint32_t peer);

/** Allow peers to have firehoses on memory. The memory must not share a bucket with other
 *  exposed memory.
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

/** Give peers no further firehoses on memory. Peers keep the firehoses that they have
 *  until the memory is withdrawn. */
static inline void
ucp_fh_local_conceal(ucp_fh_local_t *table, ucp_fh_exposed_t *exposed)
{
    ucp_fh_places_remove(&table->exposed, &exposed->place);
}

/**
 * Memory is to go away: nobody gets its buckets any more, and as long as some of its
 * registrations are pinned, no memory in the same buckets can be exposed. Afterwards
 * ucp_fh_local_next_holder() gives the peers that the caller has to ask for the buckets
 * of withdraw->place.run.
 *
 * @param [in] span  The memory, which is concealed: whole pages, which is not
 *                   checked; not empty.
 * @return UCS_OK: nothing of the memory is pinned. UCS_INPROGRESS: the withdrawal
 *         ends later, with UCS_OK or with the error of an operation that could
 *         not unpin a part, which stays pinned.
 */
ucs_status_t ucp_fh_local_withdraw(ucp_fh_local_t *table,
                                   ucp_fh_withdraw_t *withdraw,
                                   const ucp_fh_span_t *span);

/** Pick a bucket for peers to give back, to make room for other pins. Of the firehoses of
 *  the peer with most of them, the one is picked that was granted or picked longest ago.
 *  Afterwards ucp_fh_local_next_holder() gives the peers that the caller has to ask for
 *  the bucket.
 *
 *  @return 0 if there is no firehose. */
int ucp_fh_local_pick_recall(ucp_fh_local_t *table, ucp_fh_run_t *run);

/** @return the next peer with firehoses on the memory that was withdrawn last, or on the
 *          bucket that was picked last; UCP_FH_LOCAL after the last peer. Each peer is
 *          returned once. */
uint32_t ucp_fh_local_next_holder(ucp_fh_local_t *table);

END_C_DECLS

#endif
