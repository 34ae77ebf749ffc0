/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_BOUND_H_
#define UCS_RCACHE_PRED_BOUND_H_

#include "cache.h"

#include <ucs/rcache_pred/table/victim.h>

/** @file cache/bound.h
 *
 * Registrations, and the room for them.
 */


/* bound.c
 *
 * Room for registrations. reserve.c takes room within the bounds, deregisters idle
 * regions until there is enough, or refuses; bound.c says what fits the bounds, and gives
 * room back. Any thread may call these functions, without the lock unless their comment
 * says otherwise.
 */

/** What a caller needs room for. */
typedef enum {
    PRED_PART_WHOLE, /**< All memory of a use, or memory of another subsystem. Such
                          memory has to leave some room to pieces */
    PRED_PART_PIECE  /**< A piece of a transfer, which could not go on without
                          room */
} pred_part_t;


/** What leaves no room. */
typedef enum {
    PRED_SCARCE_BOUND, /**< A bound of this process */
    PRED_SCARCE_NODE,  /**< A bound of the node */
    PRED_SCARCE_SYSTEM /**< The system refuses a registration */
} pred_scarce_t;


/** A request for room, and the room that was granted for it. */
typedef struct pred_reservation {
    ucs_rcache_pred_subsystem_t subsystem;
    const ucs_rcache_pred_domain_t *domain;  /**< The domain whose limits the room
                                              has to fit; NULL: it need not fit
                                              limits */
    size_t                      length;  /**< Bytes that count against the limit
                                              of the domain */
    pred_part_t                 part;
    uint64_t                    bytes;   /**< Bytes of the pages that will be
                                              pinned */
    uint64_t                    regions;
    int                         held;    /**< Set when the room is granted. Not
                                              0: the room comes from the reserve
                                              that the node holds for this
                                              process, which only pieces may
                                              use */
    int                         own_only; /**< Not 0: if a bound of the node has
                                              no room, refuse at once, and evict
                                              no region for it */
    pred_scarce_t               scarce;  /**< Set when the room is refused: which
                                              bound had no room */
    int                         offered; /**< Not 0: this process has offered the
                                              room, which it gives back, to other
                                              processes of the node, see @ref
                                              pred_answer_node */
} pred_reservation_t;


/** @return the room that a registration of the cache needs. */
static inline pred_reservation_t
pred_reservation(const ucs_rcache_pred_t *pred,
                 const ucs_rcache_pred_range_t *range, pred_part_t part)
{
    return (pred_reservation_t){
        .subsystem = UCS_RCACHE_PRED_SUBSYSTEM_CACHE,
        .part      = part,
        .bytes     = pred_page_bytes(pred, range),
        .regions   = 1
    };
}

/** @return the room that a registration of a domain needs, which also has to fit the
 *          limits of the domain. */
static inline pred_reservation_t
pred_domain_reservation(const ucs_rcache_pred_domain_t *domain,
                        const ucs_rcache_pred_range_t *range, pred_part_t part)
{
    pred_reservation_t room = pred_reservation(domain->pred, range, part);

    room.domain = domain;
    room.length = ucs_rcache_pred_range_length(range);
    return room;
}


/* bound.c */

/** Bring the integral of the registered bytes, the duration, and the base of the
 *  budget up to now. Has to be called before bytes_now changes. Under lock. */
void pred_stats_advance(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Give back the room of memory that is no longer registered, or never was. @return 0
 *  if the subsystem has taken less room than that; then nothing was done. */
int pred_bound_give(ucs_rcache_pred_t *pred, const pred_reservation_t *room);

/** The part of pred_bound_give() about the bounds of this process. Under the
 *  lock. */
int pred_bound_give_own(ucs_rcache_pred_t *pred, const pred_reservation_t *room,
                        ucs_rcache_pred_time_t now);

/** The part of pred_bound_give() about the bounds of the node. The node must have
 *  bounds. */
void pred_bound_give_node(ucs_rcache_pred_t *pred,
                          const pred_reservation_t *room);

/** The last part of pred_bound_give(): room was given back. Under the lock. */
static inline void pred_bound_note_release(pred_bound_t *bound)
{
    /* Relaxed: see pred_bound_t */
    ucs_relaxed_add(&bound->releases, 1);
}

/** @return whether the room would not fit even if the cache had nothing registered: the
 *          memory of other subsystems is not given up for it. Then the caller refuses
 *          without a wait. Under lock. */
int pred_bound_never_fits(const ucs_rcache_pred_t *pred,
                          const pred_reservation_t *room);

/** @return whether the room fits the bounds of this process now. Under lock. */
int pred_bound_fits(const ucs_rcache_pred_t *pred,
                    const pred_reservation_t *room);

/** @param [in] alone  0: say whether the room fits the limits of its domain now. Not 0:
 *                     whether it would if nothing else were registered in the domain.
 *                     Under lock. */
int pred_limits_fit(const pred_reservation_t *room, int alone);

/** @return whether the keys of the domain's device are counted for all processes. */
static inline int pred_counts_keys(const ucs_rcache_pred_domain_t *domain)
{
    return domain->limits.node != NULL;
}

/** @return whether a registration in the domain that the system has refused may lack a
 *          key: the kernel does not say that something else was short. */
static inline int pred_may_lack_keys(const ucs_rcache_pred_domain_t *domain)
{
    const ucs_rcache_pred_ops_t *ops = &domain->pred->ops;

    return pred_counts_keys(domain) &&
           ((ops->may_lack_keys == NULL) || ops->may_lack_keys(domain->arg));
}

/** @return whether the processes of the job may take one more key of the device. Under
 *          lock. */
int pred_has_key(const ucs_rcache_pred_domain_t *domain);

/** @return whether no bound on the number of registrations has room for one more in a
 *          domain. Under lock. */
int pred_keys_are_scarce(const ucs_rcache_pred_domain_t *domain);

/** @return whether one registration of a range fits the bounds of this process
 *          now. Under lock. */
int pred_range_fits(const ucs_rcache_pred_t *pred,
                    const ucs_rcache_pred_range_t *range);

/** @return whether @a num registrations of the size of a range would not fit even if the
 *          cache had nothing else registered. Under lock. */
int pred_ranges_never_fit(const ucs_rcache_pred_t *pred,
                          const ucs_rcache_pred_range_t *range, unsigned num);

/** @return whether one registration of a range would not fit even if the cache had
 *          nothing else registered. Under lock. */
int pred_range_never_fits(const ucs_rcache_pred_t *pred,
                          const ucs_rcache_pred_range_t *range);


/* register.c: what gives way */

/** Deregister one idle region: the one whose next use is farthest away, if that use is
 *  expected after @a deadline. @return its pinned bytes; 0 if there is no such region.
 *  @param [in] scarce  What had no room. */
uint64_t pred_evict(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline,
                    pred_scarce_t scarce);

/**
 * As @ref pred_evict.
 *
 * @param [in]  domain    The domain of which the extent has to be; NULL: any.
 * @param [in]  scarce    What had no room.
 * @param [in]  releases  How often room had been given back before the caller
 *                        last tried to take room.
 * @param [out] idle_p    Written if an extent was deregistered: for how long nobody
 *                        would have used it, ns.
 * @param [out] wait_p    Written if no extent was found: whether the caller shall
 *                        wait and try again, since room was given back meanwhile,
 *                        or another thread is about to give room back.
 * @return the bytes of the extent that was deregistered; 0: none was.
 */
uint64_t pred_evict_of(ucs_rcache_pred_t *pred, const ucs_rcache_pred_domain_t *domain,
                       ucs_rcache_pred_time_t deadline, pred_scarce_t scarce,
                       uint64_t releases, uint64_t *idle_p, int *wait_p);

/** A registration that the system has refused, and what was given up for it. */
typedef struct pred_cure {
    ucs_rcache_pred_domain_t *domain;
    uint64_t                 bytes;   /**< What was refused */
    uint64_t                 given;   /**< Bytes given up so far; 0 at first, as the next
                                           ones */
    unsigned                 regions; /**< Regions given up so far */
    uint64_t                 idle;    /**< For how long nobody would have used the last
                                           one, ns */
    int                      others;  /**< Whether others were asked for keys, and have
                                           some */
} pred_cure_t;

/**
 * Deregister one idle region for a registration that the system has refused: the one whose
 * next use is farthest away, if that use is expected after @a deadline. If this process has
 * given up its part, or has no such region, and the registration may lack a key, ask the
 * other processes of the node for keys, unless there is a deadline. Without the lock.
 *
 * @return whether a region was deregistered, and so the caller shall try again.
 */
int pred_cure(pred_cure_t *cure, ucs_rcache_pred_time_t deadline);

/** Ask the other processes of the node for keys, if a registration in the domain may have
 *  lacked one. @param [in] idle  As for @ref ucs_rcache_pred_node_ask. @return whether
 *  other processes have keys. */
int pred_ask_keys(const ucs_rcache_pred_domain_t *domain, uint64_t idle);

/** If another process of the node lacks room or keys, deregister idle regions until it has
 *  enough, as long as nobody will use them for longer than the other process can wait.
 *  Under helper_mutex. */
void pred_answer_node(ucs_rcache_pred_t *pred);

/** How often to look whether other processes ask, ns, where they ask often. */
#define PRED_ANSWER_INTERVAL 4000000

/** @return when to call @ref pred_answer_node next, if no ask wakes the thread before. Under
 *  helper_mutex. */
ucs_rcache_pred_time_t
pred_answer_due(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);


/* reserve.c */

/**
 * Take room, and deregister idle regions until there is enough, those with the
 * farthest deadlines first. If the limits of the domain have no room, only memory that
 * is registered ahead of its use is refused.
 *
 * @param [in] deadline  Only regions that are needed later than this time may be
 *                       deregistered. 0: all idle regions may, and the call also
 *                       waits while other threads are deregistering memory, and
 *                       while the helper is registering regions ahead, which can
 *                       be deregistered afterwards.
 * @return 0 if there is no room.
 */
int pred_reserve(ucs_rcache_pred_t *pred, pred_reservation_t *room,
                 ucs_rcache_pred_time_t deadline);


/* register.c
 *
 * Registers and deregisters memory, and measures what that costs. Any thread
 * may call these functions; uses, pieces, evictions and the helper do. The lock
 * is not held while memory is being registered or deregistered.
 *
 * The cache guards a region whose memory could not be registered again. The adapter may
 * write to registered memory, and so the system refuses to register memory that the
 * program may not write; UCX's own cache would still have the registration from before.
 * The cache holds a reference to a guarded region, as if a use were under way: nobody
 * gives the region up, and a use that needs more memory or access than the region has
 * gets a region of its own. The guard ends when the program gets its rights back; at an
 * unmap, an invalidation, a purge, a fork, or the end of the domain; and for a use that
 * would find no room otherwise.
 */

/** Register memory for which room was taken, and fill in its handle. Without
 *  the lock.
 *  @param [out] end_p  When the registration ended. */
ucs_status_t pred_register(pred_handle_t *handle, ucs_rcache_pred_by_t by,
                           unsigned flags, ucs_rcache_pred_time_t *end_p);

/** Take the handle of a registered extent, which is IDLE from now on. The
 *  caller has to deregister the handle. Under lock. */
pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_extent_t *extent);

/** Deregister a handle that was taken, and give its room back. Without the lock.
 *  @return when the deregistration ended. */
ucs_rcache_pred_time_t
pred_deregister(const pred_handle_t *handle, ucs_rcache_pred_by_t by);

#endif
