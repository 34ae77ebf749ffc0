/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_H_
#define UCS_RCACHE_PRED_H_

#include "bound.h"
#include "context.h"
#include "event.h"

#include <ucs/node/node.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file rcache_pred.h
 *
 * Predictive registration cache: memory is registered shortly before its
 * predicted next use and deregistered after it, by a helper thread, so that
 * registration stays off the critical path and memory is not left pinned
 * (D. Li et al., "Scalable Memory Registration for High Performance Networks
 * Using Helper Threads", CF'11).
 *
 * The library knows no transport and no clock: both are handed in as one table
 * of functions. A fake clock and fake registration make every decision
 * reproducible.
 *
 * Times are nanoseconds of the clock handed in, sizes are bytes.
 */

/** Nanoseconds, of a clock that should not go back; if it jumps, predictions
 *  fail until new ones are made. */
typedef uint64_t ucs_rcache_pred_time_t;

/** A point in time that never comes. */
#define UCS_RCACHE_PRED_TIME_INF UINT64_MAX

typedef struct ucs_rcache_pred        ucs_rcache_pred_t;
typedef struct ucs_rcache_pred_domain ucs_rcache_pred_domain_t;


/** What is done between two uses of a region. */
typedef enum {
    UCS_RCACHE_PRED_POLICY_PREDICT,     /**< Deregister, and register again
                                             before the next predicted use */
    UCS_RCACHE_PRED_POLICY_ON_DEMAND,   /**< Register at every use, deregister
                                             after it, both by the caller */
    UCS_RCACHE_PRED_POLICY_LEAVE_PINNED,/**< UCX's own cache decides: nothing
                                             is managed, uses are counted */
    UCS_RCACHE_PRED_POLICY_LAST
} ucs_rcache_pred_policy_t;


/** Who does the helper's work, under the predict policy (CF'11, section 5). */
typedef enum {
    UCS_RCACHE_PRED_HELPER_CONSERVATIVE, /**< A thread, in as many processes of
                                              the node as there are idle
                                              processors, those that need it
                                              most; the program in others */
    UCS_RCACHE_PRED_HELPER_AGGRESSIVE,   /**< A thread in every process */
    UCS_RCACHE_PRED_HELPER_PROGRESS,     /**< The program, see @ref
                                              ucs_rcache_pred_progress */
    UCS_RCACHE_PRED_HELPER_OFF,          /**< Nobody: predict is on-demand */
    UCS_RCACHE_PRED_HELPER_LAST
} ucs_rcache_pred_helper_t;


/** Who does it now. */
typedef enum {
    UCS_RCACHE_PRED_MODE_NONE,     /**< There is none: on-demand */
    UCS_RCACHE_PRED_MODE_THREAD,   /**< The helper thread */
    UCS_RCACHE_PRED_MODE_PROGRESS, /**< The program */
    UCS_RCACHE_PRED_MODE_LAST
} ucs_rcache_pred_mode_t;


/** What a process knows of the others on its node. */
typedef struct ucs_rcache_pred_seat {
    unsigned               idle_cpus; /**< Processors no process needs itself */
    unsigned               rank;      /**< Of this process by demand; 0: most */
    unsigned               sharers;   /**< Helpers on the helper's processor,
                                           itself included, if every process
                                           has one */
    ucs_rcache_pred_time_t slice;     /**< How long each runs at a time, ns */
} ucs_rcache_pred_seat_t;


/**
 * The outside world. All functions but @ref now and @ref wake are allowed to
 * block; none of them is called with a lock held that @ref
 * ucs_rcache_pred_begin, @ref ucs_rcache_pred_end or @ref
 * ucs_rcache_pred_unmapped take.
 */
typedef struct ucs_rcache_pred_ops {
    /** Current time. Called on the critical path, by any thread. */
    ucs_rcache_pred_time_t (*now)(void *arg);

    /**
     * Sleep until the given time, or until @ref wake. May return early.
     * Called by the helper thread only.
     */
    void                   (*wait)(void *arg, ucs_rcache_pred_time_t until);

    /** End a present or the next @ref wait. Called by any thread. */
    void                   (*wake)(void *arg);

    /**
     * Register memory; @a flags are those of the use, opaque here. Called by
     * any thread with the argument of the domain. UCS_ERR_UNSUPPORTED means
     * that this memory is not to be managed; after UCS_ERR_NO_MEMORY idle
     * regions are given up and it is tried again.
     */
    ucs_status_t           (*mem_reg)(void *domain_arg, void *address,
                                      size_t length, unsigned flags,
                                      void **memh_p);

    /** Undo @ref mem_reg. Called by any thread. */
    ucs_status_t           (*mem_dereg)(void *domain_arg, void *memh);

    /**
     * Tell the other processes of the node what this one needs, in bytes, and
     * find its seat among them. Called now and then by whoever does the
     * helper's work. NULL: nobody knows; the thread keeps the work.
     */
    void                   (*seat)(void *arg, uint64_t demand,
                                   ucs_rcache_pred_seat_t *seat);

    /**
     * Let others get on: the caller waits for what another thread is doing.
     * Called by any thread. NULL: sched_yield().
     */
    void                   (*yield)(void *arg);

    /**
     * The statistics have changed: whoever shows them to others can get them
     * now. Called after what takes its time anyway, a round of the helper or a
     * registration by a use, not after each hit; and again when nothing else
     * will happen. By any thread, several at a time; must not wait for another
     * one. NULL: nobody shows them.
     */
    void                   (*publish)(void *arg);
} ucs_rcache_pred_ops_t;


typedef struct ucs_rcache_pred_params {
    const ucs_rcache_pred_ops_t *ops;
    void                        *arg;         /**< Passed to now, wait, wake,
                                                   seat, yield and publish */
    const ucs_rcache_pred_sink_t *sink;       /**< Told of what happens; NULL:
                                                   nobody is */
    ucs_rcache_pred_policy_t    policy;       /**< Not LEAVE_PINNED */
    ucs_rcache_pred_helper_t    helper;
    unsigned                    history;      /**< Recent intervals a period is
                                                   taken from;
                                                   1..MAX_HISTORY */
    unsigned                    max_sites;    /**< Call sites kept; >= 16 */
    unsigned                    known_regions; /**< Unregistered regions
                                                   remembered; >= 16 */
    uint64_t                    max_bytes;    /**< Bound on registered bytes,
                                                   whole pages, never exceeded;
                                                   UINT64_MAX: none; >= @ref
                                                   UCS_RCACHE_PRED_MIN_BYTES */
    uint64_t                    max_regions;  /**< Bound on registrations at a
                                                   time; UINT64_MAX: none; >= 4 */
    int                         pieces;       /**< Uses in pieces are registered in
                                                   pieces where that is faster;
                                                   else only where there is no
                                                   room otherwise */
    ucs_rcache_pred_node_t      *node;        /**< Keeps the bounds of the node;
                                                   NULL: none. Joined with
                                                   NODE_RESERVE; has to outlive
                                                   the cache */
    unsigned                    dq_size;      /**< Entries of the deregistration
                                                   queue, power of 2 */
    unsigned                    access_mask;  /**< Bits of the flags of a use
                                                   that widen access: a region
                                                   serves a use if it was
                                                   registered with all those
                                                   the use asks for */
    unsigned                    helper_flags; /**< Added to the flags of
                                                   registrations that may fail
                                                   without harm: keep quiet */
} ucs_rcache_pred_params_t;

#define UCS_RCACHE_PRED_MAX_HISTORY 16

/** A cache that is given a node has this held for it there, so that transfers
 *  in pieces get on whatever the others have: two of the smallest pieces. */
#define UCS_RCACHE_PRED_NODE_RESERVE         (128ul << 10)
#define UCS_RCACHE_PRED_NODE_RESERVE_REGIONS 2

/** Smaller bounds hold no two pieces of a transfer. */
#define UCS_RCACHE_PRED_MIN_BYTES   (256ul << 10)


/** Classes of errors of predictions: up to 0.5, 1, 5, 10 and 25 % of the
 *  interval observed, and more. The paper gives its accuracy within 0.5 % and
 *  5 % (section 3.1); the other bounds are ours. */
#define UCS_RCACHE_PRED_ERROR_CLASSES 6


/** Counters since creation. A snapshot, consistent within itself. */
typedef struct ucs_rcache_pred_stats {
    uint64_t uses;           /**< Uses begun */
    uint64_t hits;           /**< Uses that found their region registered */
    uint64_t late;           /**< Uses that came before the registration
                                  predicted for them was complete */
    uint64_t early;          /**< Hits on a region registered ahead by more
                                  than a quarter of its period */
    uint64_t wasted;         /**< Registrations ahead of uses that never came */
    uint64_t regs_critical;  /**< Registrations done by a use */
    uint64_t regs_helper;    /**< Registrations done ahead of a use */
    uint64_t deregs;         /**< Deregistrations */
    uint64_t evictions;      /**< Regions given up to make room, within the
                                  bounds or because the system refused a
                                  registration */
    uint64_t reg_failures;   /**< Registrations that failed for good */
    uint64_t dq_dropped;     /**< Entries the deregistration queue lost; their
                                  regions are found by a sweep */
    uint64_t unmapped;       /**< Regions whose memory was unmapped */
    uint64_t helper_rounds;  /**< Times the helper's work was looked after */
    uint64_t time_critical;  /**< Time uses spent registering, deregistering
                                  and waiting for the helper, ns */
    uint64_t refused;        /**< Uses or other reservations refused, or pieces
                                  put off, because there was no room */
    uint64_t in_pieces;      /**< Uses registered in pieces */
    uint64_t pieces;         /**< Registrations of pieces */
    uint64_t regions_now;    /**< Registrations now, of all subsystems */
    uint64_t regions_peak;   /**< Maximum of regions_now */
    uint64_t bytes_now;      /**< Registered now, whole pages, bytes, by all
                                  subsystems */
    uint64_t bytes_peak;     /**< Maximum of bytes_now */
    uint64_t byte_ns;        /**< Integral of bytes_now over time, byte * ns;
                                  saturates after some minutes of gigabytes */
    uint64_t bytes_avg;      /**< bytes_now averaged over duration; does not */
    uint64_t duration;       /**< Time since the first domain was created, ns;
                                  stands still while there is no domain */
    uint64_t prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
                             /**< Uses that came while one was predicted, by
                                  how wrong that was. The others were not
                                  predicted, or not any more */
    ucs_rcache_pred_subsystem_stats_t
             subsystems[UCS_RCACHE_PRED_SUBSYSTEM_LAST];
                             /**< What each has of bytes_now and regions_now */
} ucs_rcache_pred_stats_t;


/**
 * @param [in]  params  Must be within the ranges given there.
 * @return UCS_ERR_INVALID_PARAM (logged, naming the value) or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucs_rcache_pred_create(const ucs_rcache_pred_params_t *params,
                                    ucs_rcache_pred_t **pred_p);

/**
 * Change the bound on registered bytes. If more is registered, idle regions are
 * given up; what is in use stays. Thread safe.
 *
 * @param [in]  max_bytes  >= @ref UCS_RCACHE_PRED_MIN_BYTES; UINT64_MAX: none.
 */
void ucs_rcache_pred_set_max_bytes(ucs_rcache_pred_t *pred, uint64_t max_bytes);

/** All domains must have been destroyed and the helper stopped. */
void ucs_rcache_pred_destroy(ucs_rcache_pred_t *pred);


/**
 * A memory domain: registrations and their costs are kept apart by domain.
 *
 * @param [in]  name  For messages; copied.
 * @param [in]  arg   Passed to mem_reg and mem_dereg.
 */
ucs_status_t ucs_rcache_pred_domain_create(ucs_rcache_pred_t *pred,
                                           const char *name, void *arg,
                                           ucs_rcache_pred_domain_t **domain_p);

/** @return its number in events: the order in which domains were created, from
 *          0. */
unsigned
ucs_rcache_pred_domain_get_number(const ucs_rcache_pred_domain_t *domain);

/**
 * Deregisters whatever is still registered in the domain. No use may begin or
 * end in it any more. Waits for the helper to let go of the domain.
 */
void ucs_rcache_pred_domain_destroy(ucs_rcache_pred_domain_t *domain);


/**
 * A use of memory begins. On return the memory is registered, and stays so
 * until the matching @ref ucs_rcache_pred_end. Thread safe. Makes no system
 * call when the region is found registered.
 *
 * @param [in]  address  Start of the memory; together with the domain it names
 *                       the region.
 * @param [in]  length   > 0.
 * @param [in]  flags    Handed to mem_reg; see access_mask.
 * @param [in]  context  Where in the program the communication was issued.
 * @param [out] memh_p   The handle mem_reg returned.
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds; the
 *         status of mem_reg, if the memory had to be registered. In both cases
 *         giving up idle regions did not help either.
 */
ucs_status_t ucs_rcache_pred_begin(ucs_rcache_pred_domain_t *domain,
                                   void *address, size_t length,
                                   unsigned flags,
                                   const ucs_rcache_pred_context_t *context,
                                   void **memh_p);

/**
 * A use ends. Thread safe; makes no system call under the predict policy,
 * unless the helper is in deep sleep and is woken, or the program does its
 * work: then as @ref ucs_rcache_pred_progress.
 *
 * @return UCS_ERR_NO_ELEM if the handle is none of this domain's: it was
 *         registered by somebody else and is theirs to deregister.
 */
ucs_status_t ucs_rcache_pred_end(ucs_rcache_pred_domain_t *domain, void *memh);

/**
 * A use whose memory the caller can have registered piece by piece. It is one
 * where the region is not registered, and pieces either are faster than to
 * register it first, or all there is room for.
 *
 * Owned by the caller; opaque but for the first field and the last.
 */
typedef struct ucs_rcache_pred_pieces {
    int                           last_resort; /**< Set by the caller before the
                                                    use begins: only if there is
                                                    no room, not for speed */
    ucs_rcache_pred_domain_t      *domain;
    struct ucs_rcache_pred_region *region; /**< NULL: nothing to be learned */
    uint64_t                      generation;
    uint64_t                      id;      /**< In events; 0 if there is nobody
                                                to tell */
    ucs_rcache_pred_time_t        begin;
    size_t                        length;
    ucs_rcache_pred_context_t     context;
    size_t                        piece;   /**< Size of the pieces, whole pages,
                                                bytes */
    size_t                        min_piece; /**< May be set by the caller after
                                                the use began: the last piece is
                                                no smaller, if there is another;
                                                at most a page, bytes */
} ucs_rcache_pred_pieces_t;

/**
 * As @ref ucs_rcache_pred_begin, for a use that never has to be refused.
 *
 * @param [inout] pieces  Filled in if UCS_INPROGRESS is returned.
 * @return UCS_INPROGRESS: the memory is not registered, the use does that in
 *         pieces, and ends with @ref ucs_rcache_pred_end_in_pieces.
 */
ucs_status_t ucs_rcache_pred_begin_in_pieces(ucs_rcache_pred_domain_t *domain,
                                        void *address, size_t length,
                                        unsigned flags,
                                        const ucs_rcache_pred_context_t *context,
                                        ucs_rcache_pred_pieces_t *pieces,
                                        void **memh_p);

void ucs_rcache_pred_end_in_pieces(ucs_rcache_pred_pieces_t *pieces);

/** A registered piece. */
typedef struct ucs_rcache_pred_piece {
    uintptr_t start;
    size_t    length;
    void      *memh;
    int       held;   /**< Out of what the node holds for this process */
} ucs_rcache_pred_piece_t;

/**
 * Register the first part of what is left of a use in pieces, up to a piece of it.
 * Thread safe.
 *
 * @param [in]  flags   Handed to mem_reg.
 * @param [out] piece   Starts at @a start; its length is at most @a length.
 * @return UCS_ERR_NO_RESOURCE: not now, but as soon as some other piece is
 *         released; or the status of mem_reg.
 */
ucs_status_t ucs_rcache_pred_piece_reg(ucs_rcache_pred_pieces_t *pieces,
                                       uintptr_t start, size_t length,
                                       unsigned flags,
                                       ucs_rcache_pred_piece_t *piece);

void ucs_rcache_pred_piece_dereg(ucs_rcache_pred_domain_t *domain,
                                 const ucs_rcache_pred_piece_t *piece);


/**
 * A use ends, and the region serves no later one: when the last of its uses has
 * ended, the memory is deregistered and then @a cb is called, by the thread
 * that ends it (the caller of this function, if no other use is under way).
 *
 * @return as @ref ucs_rcache_pred_end, or UCS_ERR_NO_MEMORY. On error the use
 *         goes on and @a cb is not called.
 */
ucs_status_t ucs_rcache_pred_invalidate(ucs_rcache_pred_domain_t *domain,
                                        void *memh, void (*cb)(void *arg),
                                        void *arg);


/**
 * Memory is being unmapped. Only marks: no registration is found in the range
 * from now on; the helper deregisters. Safe inside a memory hook: does not
 * allocate, log or block. Thread safe.
 */
void ucs_rcache_pred_unmapped(ucs_rcache_pred_t *pred, uintptr_t start,
                              uintptr_t end);


/**
 * Nobody can do the helper's work: predict becomes on-demand, for good. To be
 * called before the first domain is created.
 */
void ucs_rcache_pred_without_helper(ucs_rcache_pred_t *pred);

/** The policy in force: on-demand also where predict was asked for and there is
 *  no helper. */
ucs_rcache_pred_policy_t ucs_rcache_pred_get_policy(ucs_rcache_pred_t *pred);

/** Who does the helper's work now. */
ucs_rcache_pred_mode_t ucs_rcache_pred_get_mode(ucs_rcache_pred_t *pred);

/**
 * One round of the helper: takes what is in the deregistration queue and
 * registers what is due. Called by the helper thread; does nothing while the
 * program does the work.
 *
 * @return the time of the next round. UCS_RCACHE_PRED_TIME_INF: not before
 *         wake is called.
 */
ucs_rcache_pred_time_t ucs_rcache_pred_poll(ucs_rcache_pred_t *pred);

/**
 * The program has nothing else to do: do some of the helper's work, a few
 * registrations and deregistrations at most, if it is the program's to do and
 * something is due. Else it takes a load, or if something is to be done later,
 * one look at the clock more. Also notices when the helper thread does not come
 * to do its work, and takes it over. Any thread; never waits for another one.
 */
void ucs_rcache_pred_progress(ucs_rcache_pred_t *pred);

/** Deregister every idle region now; predictions stay. */
void ucs_rcache_pred_purge(ucs_rcache_pred_t *pred);

/**
 * Hold still for fork: after @ref ucs_rcache_pred_quiesce every region that was
 * idle is deregistered and the helper does nothing, until @ref
 * ucs_rcache_pred_resume is called by the same thread in the parent. Uses and
 * unmaps go on. In the child the cache must not be touched any more: another
 * thread may have held its lock.
 */
void ucs_rcache_pred_quiesce(ucs_rcache_pred_t *pred);
void ucs_rcache_pred_resume(ucs_rcache_pred_t *pred);


void ucs_rcache_pred_get_stats(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_stats_t *stats);

END_C_DECLS

#endif
