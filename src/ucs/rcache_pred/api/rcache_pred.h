/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_H_
#define UCS_RCACHE_PRED_H_

#include "event.h"
#include "ops.h"

#include <ucs/node/node.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file rcache_pred.h
 *
 * Predictive registration cache. A helper thread registers memory shortly
 * before its predicted next use and deregisters it afterwards, so that
 * registration stays off the critical path and memory is not left pinned (D. Li
 * et al., "Scalable Memory Registration for High Performance Networks Using
 * Helper Threads", CF'11).
 *
 * The library knows no transport and no clock: its user hands in both as one
 * table of functions, see ops.h.
 *
 * Times are nanoseconds of that clock, sizes are bytes.
 */

/*
 * One bound over all memory that a process registers. Every subsystem that
 * registers memory reserves room for it here first, and gives the room back
 * when the memory is deregistered. The bounds of the process (max_bytes,
 * max_regions) and of the node hold for the sum of all subsystems, at every
 * instant. When a subsystem needs room, the cache deregisters regions that no
 * use needs at the moment.
 */

struct ucs_rcache_pred;

/** Who registers memory. */
typedef enum {
    UCS_RCACHE_PRED_SUBSYSTEM_CACHE,    /**< The cache itself, for regions and
                                             for pieces of transfers */
    UCS_RCACHE_PRED_SUBSYSTEM_EAGER,    /**< Handles of small reused sends */
    UCS_RCACHE_PRED_SUBSYSTEM_ARENA,    /**< The pre-registered arena */
    UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE, /**< Memory that peers access */
    UCS_RCACHE_PRED_SUBSYSTEM_LAST
} ucs_rcache_pred_subsystem_t;


/** The room that one subsystem has reserved. */
typedef struct ucs_rcache_pred_subsystem_stats {
    uint64_t bytes_now;   /**< Bytes reserved now */
    uint64_t bytes_peak;  /**< Most bytes ever reserved at a time */
    uint64_t regions_now; /**< Registrations reserved now */
} ucs_rcache_pred_subsystem_stats_t;


/**
 * Reserve room for registrations that are about to be made. If there is not
 * enough, the cache deregisters idle regions, those with the farthest deadlines
 * first, and the call waits for deregistrations of the cache that other threads
 * have begun. Thread safe. Since the call may deregister memory, no memory hook
 * may call it, and no thread under a lock that a memory hook takes.
 *
 * No subsystem gets the last part of the bound: one registration, and the bytes
 * that @ref ucs_rcache_pred_bound_reserve says. This part stays free for
 * transfers in pieces, which could not go on without room.
 *
 * @param [in] subsystem  Any but CACHE, which reserves for itself.
 * @param [in] bytes      Bytes of all pages that the registrations touch, since
 *                        the kernel pins whole pages; may be 0.
 * @param [in] regions    Number of registrations; 0 if a registration that
 *                        exists grows.
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds of this
 *         process or of the node, and giving up idle regions did not help;
 *         UCS_ERR_INVALID_PARAM if @a subsystem is CACHE or unknown. On error
 *         nothing is reserved.
 */
ucs_status_t ucs_rcache_pred_reserve(struct ucs_rcache_pred *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions);

/**
 * Give back all or a part of the room that a subsystem has reserved, after the
 * memory was deregistered. Thread safe; does not block.
 *
 * @return UCS_ERR_INVALID_PARAM, logged, if the subsystem is CACHE or unknown,
 *         or has reserved less than @a bytes or @a regions. Then nothing is
 *         given back, and the bound still holds.
 */
ucs_status_t ucs_rcache_pred_release(struct ucs_rcache_pred *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions);


typedef struct ucs_rcache_pred        ucs_rcache_pred_t;
typedef struct ucs_rcache_pred_domain ucs_rcache_pred_domain_t;


/** What the cache does with a region between two uses. */
typedef enum {
    UCS_RCACHE_PRED_POLICY_PREDICT,     /**< Deregister the region, and register
                                             it again before its next predicted
                                             use */
    UCS_RCACHE_PRED_POLICY_ON_DEMAND,   /**< Every use registers its region at
                                             its begin and deregisters it at its
                                             end */
    UCS_RCACHE_PRED_POLICY_LEAVE_PINNED,/**< UCX's own cache manages all memory;
                                             uses are only counted */
    UCS_RCACHE_PRED_POLICY_LAST
} ucs_rcache_pred_policy_t;


/** Who does the helper's work, under the predict policy (CF'11, section 5). */
typedef enum {
    UCS_RCACHE_PRED_HELPER_CONSERVATIVE, /**< If the node has n idle processors: a thread
                                              in the n processes with most registered
                                              memory, the program in the other ones */
    UCS_RCACHE_PRED_HELPER_AGGRESSIVE,   /**< A thread in every process */
    UCS_RCACHE_PRED_HELPER_PROGRESS,     /**< The program, when it calls @ref
                                              ucs_rcache_pred_progress */
    UCS_RCACHE_PRED_HELPER_OFF,          /**< Nobody. The policy becomes
                                              on-demand then */
    UCS_RCACHE_PRED_HELPER_LAST
} ucs_rcache_pred_helper_t;


/** Who does the helper's work at present. */
typedef enum {
    UCS_RCACHE_PRED_MODE_NONE,     /**< Nobody: the policy in force is
                                        on-demand */
    UCS_RCACHE_PRED_MODE_THREAD,   /**< The helper thread */
    UCS_RCACHE_PRED_MODE_PROGRESS, /**< The program */
    UCS_RCACHE_PRED_MODE_LAST
} ucs_rcache_pred_mode_t;


typedef struct ucs_rcache_pred_params {
    const ucs_rcache_pred_ops_t *ops;
    void                        *arg;         /**< Passed to now, wait, wake,
                                                   seat, yield, publish and
                                                   busy */
    const ucs_rcache_pred_sink_t *sink;       /**< Receives the events of the
                                                   cache; NULL: nobody does */
    ucs_rcache_pred_policy_t    policy;       /**< Any but LEAVE_PINNED, under
                                                   which there is no cache */
    ucs_rcache_pred_helper_t    helper;
    double                      budget;       /**< What deregistering memory,
                                                   and registering it again, may
                                                   cost, as a part of the run
                                                   time; 0 or more; INFINITY: no
                                                   bound; see
                                                   docs/design/budget.md */
    unsigned                    history;      /**< How many recent intervals
                                                   each history considers, be it
                                                   that of one context or that of
                                                   a region; 1..MAX_HISTORY */
    unsigned                    max_sites;    /**< Call sites that are
                                                   remembered at most; >= 16 */
    unsigned                    known_regions; /**< The most unregistered
                                                    regions that the cache ever
                                                    remembers. It remembers
                                                    fewer until the program uses
                                                    forgotten ones again;
                                                    16..2^30 */
    uint64_t                    max_bytes;    /**< Bound on registered bytes,
                                                   counted in whole pages and
                                                   never exceeded; >= @ref
                                                   UCS_RCACHE_PRED_MIN_BYTES;
                                                   UINT64_MAX: no bound */
    uint64_t                    max_regions;  /**< Bound on registrations at a
                                                   time; >= 4; UINT64_MAX: no
                                                   bound */
    int                         pieces;       /**< Not 0: a use that can
                                                   register its memory in pieces
                                                   does so where pieces are
                                                   faster. 0: the use does so
                                                   only where there is no room
                                                   for all of its memory */
    ucs_rcache_pred_node_t      *node;        /**< Keeps the bounds of the node;
                                                   NULL: the node has no bounds.
                                                   The caller has joined the
                                                   node, with a reserve of @ref
                                                   ucs_rcache_pred_pieces_reserve
                                                   bytes, and leaves it after
                                                   the cache was destroyed */
    size_t                      page_size;    /**< Size of a page, bytes: a power
                                                   of 2, MIN_PAGE_SIZE to
                                                   MAX_PAGE_SIZE. 0: that of
                                                   this machine */
    unsigned                    dq_size;      /**< Entries of the deregistration
                                                   queue; a power of 2 */
    unsigned                    access_mask;  /**< The bits of flags that allow more
                                                   access to the memory. A region serves a
                                                   use only if it is registered with all
                                                   bits in this mask that the use has */
    unsigned                    helper_flags; /**< Flags that tell mem_reg not to log a
                                                   failure. The cache adds the flags where
                                                   a failure does no harm */
} ucs_rcache_pred_params_t;

#define UCS_RCACHE_PRED_MAX_HISTORY 16

/** The range of page sizes, bytes. All systems on which Linux runs have pages
 *  in this range. Huge pages do not count, since a part of one can be
 *  registered. */
#define UCS_RCACHE_PRED_MIN_PAGE_SIZE (4ul << 10)
#define UCS_RCACHE_PRED_MAX_PAGE_SIZE (1ul << 20)

/** How many pieces of a transfer are registered at a time: while one piece is
 *  in flight, the next piece is registered. */
#define UCS_RCACHE_PRED_PIECES_IN_FLIGHT 2

/** The least size of a piece, bytes. A piece has at least two pages, since the
 *  memory of the use may begin in the middle of the first page, and since the
 *  piece may have to leave its last page to the last piece. */
static inline size_t ucs_rcache_pred_min_piece(size_t page_size)
{
    return ucs_max((size_t)64 << 10, 2 * page_size);
}

/** Bytes and regions that a node reserves for each of its caches: room for the smallest
 *  pieces of one transfer. With the reserve, a transfer in pieces can go on whatever
 *  other processes have registered. */
static inline uint64_t ucs_rcache_pred_pieces_reserve(size_t page_size)
{
    return UCS_RCACHE_PRED_PIECES_IN_FLIGHT *
           ucs_rcache_pred_min_piece(page_size);
}
#define UCS_RCACHE_PRED_NODE_RESERVE_REGIONS UCS_RCACHE_PRED_PIECES_IN_FLIGHT

/** The least bound on bytes. A smaller bound would have no room for the pieces
 *  of a transfer that are in flight at a time. */
#define UCS_RCACHE_PRED_MIN_BYTES   (256ul << 10)


/** Number of classes into which the errors of predictions fall: up to 0.5, 1,
 *  5, 10 and 25 % of the observed interval, and more than that. The paper gives
 *  its accuracy within 0.5 % and 5 % (section 3.1); the other limits were
 *  chosen for this library. */
#define UCS_RCACHE_PRED_ERROR_CLASSES 6


/** What a cache has counted since its creation. All numbers are of the same
 *  instant. */
typedef struct ucs_rcache_pred_stats {
    uint64_t uses;           /**< Uses begun: how often a communication needed
                                  its buffer registered */
    uint64_t hits;           /**< Uses that found their region registered */
    uint64_t late;           /**< Uses that came before the registration
                                  predicted for them was complete */
    uint64_t early;          /**< Uses that found a region registered ahead by more than a
                                  quarter of its period */
    uint64_t wasted;         /**< Registrations ahead of uses that did not come */
    uint64_t regs_critical;  /**< Registrations done by a use */
    uint64_t regs_helper;    /**< Registrations done by the helper: ahead of a
                                  use, or of several regions merged into one */
    uint64_t deregs;         /**< Deregistrations */
    uint64_t precedents;     /**< Uses after which the next use was predicted
                                  from other regions that were used in the same
                                  way, or from uses of the same region in
                                  another context */
    uint64_t evictions;      /**< Idle regions that were deregistered to make
                                  room, because a bound had no room or because
                                  the system refused a registration */
    uint64_t evictions_node; /**< Evictions because a bound of the node had no
                                  room, for this process or for another one, or
                                  because another process asked for keys */
    uint64_t evictions_system; /**< Evictions because the system refused a
                                    registration */
    uint64_t reg_failures;   /**< Registrations that failed for good */
    uint64_t dq_dropped;     /**< Entries, one for each use that ended, that the
                                  full deregistration queue has overwritten. The
                                  helper does not learn of these uses, except of
                                  the last use of each region */
    uint64_t forgotten;      /**< Uses of memory whose region the cache had
                                  forgotten, since it remembered as many as
                                  known_regions allows */
    uint64_t unmapped;       /**< Regions whose memory was unmapped */
    uint64_t helper_rounds;  /**< Rounds of the helper, whoever did them */
    uint64_t time_critical;  /**< Time that uses spent on registering, on
                                  deregistering and on waiting for the helper,
                                  ns */
    uint64_t budget_spent;   /**< Cost of deregistering memory and registering
                                  it again so far, by the rules of the budget,
                                  ns; see docs/design/budget.md */
    uint64_t budget_time;    /**< Processor time that the process could have had
                                  so far, the base of the budget, ns: less than
                                  duration where processes share processors */
    uint64_t room_lost;      /**< Time spent on registering regions again that
                                  were deregistered for room, ns: by uses, and by
                                  a helper without a processor of its own. The
                                  budget does not count this time */
    uint64_t refused;        /**< Uses, pieces and reservations of subsystems
                                  that were refused, because a bound had no room
                                  or the system refused the memory. A refused
                                  piece may be tried again later */
    uint64_t refused_node;   /**< How often a bound of the node had no room, and
                                  the cache asked other processes for room */
    uint64_t refused_system; /**< Uses and pieces that the system refused */
    uint64_t in_pieces;      /**< Uses whose memory was registered in pieces,
                                  or, where the data was moved in another way,
                                  not at all */
    uint64_t pieces;         /**< Registrations of pieces */
    uint64_t regions_now;    /**< Registrations now, of all subsystems */
    uint64_t regions_peak;   /**< Largest value that regions_now has had */
    uint64_t bytes_now;      /**< Bytes registered now by all subsystems,
                                  counted in whole pages */
    uint64_t bytes_peak;     /**< Largest value that bytes_now has had */
    uint64_t byte_ns;        /**< Integral of bytes_now over time, byte * ns. The
                                  number stops at UINT64_MAX, after some 17 s
                                  with 1 GiB registered */
    uint64_t bytes_avg;      /**< Average of bytes_now over duration; right even
                                  if byte_ns has reached its maximum */
    uint64_t duration;       /**< Time since the first domain was created, ns;
                                  stands still while there is no domain */
    uint64_t prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
                             /**< Uses that came while a prediction held, by the class of
                                  its error. All other uses had no prediction, or an
                                  expired one */
    ucs_rcache_pred_subsystem_stats_t
             subsystems[UCS_RCACHE_PRED_SUBSYSTEM_LAST];
                             /**< The part of each subsystem in bytes_now and
                                  regions_now */
} ucs_rcache_pred_stats_t;


/**
 * Create a cache without domains.
 *
 * @param [in]  params  Each value must be in the range that the comment on its
 *                      field gives.
 * @return UCS_ERR_INVALID_PARAM (logged, naming the value) or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t ucs_rcache_pred_create(const ucs_rcache_pred_params_t *params,
                                    ucs_rcache_pred_t **pred_p);

/**
 * Change the bound on registered bytes. If more is registered, idle regions are
 * deregistered; regions in use stay registered. Thread safe.
 *
 * @param [in]  max_bytes  >= @ref UCS_RCACHE_PRED_MIN_BYTES; UINT64_MAX: no
 *                         bound.
 */
void ucs_rcache_pred_set_max_bytes(ucs_rcache_pred_t *pred, uint64_t max_bytes);

/** @return the bound on registered bytes in force; UINT64_MAX: none. Thread safe. */
uint64_t ucs_rcache_pred_get_max_bytes(ucs_rcache_pred_t *pred);

/** Destroy a cache. All its domains must have been destroyed before, and the
 *  helper thread must have been stopped. */
void ucs_rcache_pred_destroy(ucs_rcache_pred_t *pred);


/**
 * Create a memory domain. Each domain has its own regions, and its own
 * estimates of what registrations cost.
 *
 * @param [in]  name  Name of the domain in messages; it is copied.
 * @param [in]  arg   Handed to mem_reg and mem_dereg for this domain.
 */
ucs_status_t ucs_rcache_pred_domain_create(ucs_rcache_pred_t *pred,
                                           const char *name, void *arg,
                                           ucs_rcache_pred_domain_t **domain_p);

/** Limits of a domain that takes the place of a cache of UCX's own, and has the
 *  limits of that cache. */
typedef struct ucs_rcache_pred_limits {
    uint64_t max_bytes;      /**< If a registration would exceed this number of
                                  bytes in the domain, it first deregisters idle
                                  regions of the domain. No use is refused,
                                  whatever its length. The lengths of
                                  registrations count, not their pages;
                                  UINT64_MAX: no limit */
    uint64_t max_regions;    /**< Limit on the number of registrations in the
                                  domain, which is kept in the same way;
                                  UINT64_MAX: no limit */
    int      keeps_at_fork;  /**< Whether idle regions stay registered at a
                                  fork */
    ucs_rcache_pred_node_t *node; /**< Where the user of the cache counts the keys of
                                  the device, and what its refusals have told of it is
                                  kept. It has to last as long as the domain; NULL: nobody
                                  counts the keys */
    unsigned device;         /**< Number of the device there, see @ref
                                  ucs_rcache_pred_node_device */
} ucs_rcache_pred_limits_t;


/** Limit the registrations of a domain. To be called before the first use in
 *  the domain. Without this call there are no limits, and idle regions are
 *  deregistered at a fork. */
void ucs_rcache_pred_domain_limit(ucs_rcache_pred_domain_t *domain,
                                  const ucs_rcache_pred_limits_t *limits);

/** @return the number that the domain has in events: domains are numbered from
 *          0 in the order of their creation. */
unsigned
ucs_rcache_pred_domain_get_number(const ucs_rcache_pred_domain_t *domain);

/**
 * Destroy a domain, and deregister its regions. No use may begin or end in the domain any
 * more. Waits until the helper has finished its work in the domain.
 */
void ucs_rcache_pred_domain_destroy(ucs_rcache_pred_domain_t *domain);


/**
 * Begin a use of memory. On return the memory is registered, and it stays
 * registered until the matching @ref ucs_rcache_pred_end. Thread safe. Makes no
 * system call if the region is registered already.
 *
 * @param [in]  address  Start of the memory. Uses of one domain with the same start
 *                       are uses of one region, unless they need different lengths
 *                       or access at the same time.
 * @param [in]  length   > 0.
 * @param [in]  flags    Handed to mem_reg if the memory has to be registered;
 *                       see access_mask.
 * @param [in]  context  Context of the communication that uses the memory.
 * @param [out] memh_p   The handle that mem_reg has returned.
 * @return UCS_ERR_INVALID_PARAM if the range is empty or goes beyond the top of
 *         the address space; UCS_ERR_EXCEEDS_LIMIT if there is no room within
 *         the bounds, or the status of mem_reg if it failed. If there was no
 *         room, the cache has deregistered all idle regions in vain; if there was no
 *         memory, as many as @ref ucs_rcache_pred_cure does.
 */
ucs_status_t ucs_rcache_pred_begin(ucs_rcache_pred_domain_t *domain,
                                   void *address, size_t length,
                                   unsigned flags,
                                   const ucs_rcache_pred_context_t *context,
                                   void **memh_p);

/**
 * The system has refused a registration past the cache: deregister idle regions, at least
 * as many bytes if there are so many, and ask the other processes of the node for keys,
 * which they give up within some ms. Thread safe.
 *
 * @return 0 if this process had nothing to give up, and the others have no keys.
 */
int ucs_rcache_pred_cure(ucs_rcache_pred_domain_t *domain, size_t length);

/**
 * End a use. Thread safe. Makes no system call under the predict policy, with two
 * exceptions: a sleeping helper thread without a time to wake is woken, and if the
 * program does the helper's work, some of the work is done here, as in @ref
 * ucs_rcache_pred_progress.
 *
 * @return UCS_ERR_NO_ELEM if the domain has no use with the handle. Then the
 *         cache has not registered the memory: the caller deregisters it, if the
 *         caller has registered it.
 */
ucs_status_t ucs_rcache_pred_end(ucs_rcache_pred_domain_t *domain, void *memh);

/**
 * A use whose memory the caller can register piece by piece while it moves the
 * data. The cache asks for pieces if the region is not registered, and either
 * pieces are faster than registering the whole region first, or there is room
 * only for pieces.
 *
 * The memory of this structure is the caller's. The caller may access the first
 * field and the last two only.
 */
typedef struct ucs_rcache_pred_pieces {
    int                           last_resort; /**< Set by the caller before the
                                                    use begins. Not 0: the cache
                                                    asks for pieces only if the
                                                    whole region cannot be
                                                    registered, and not because
                                                    pieces are faster */
    ucs_rcache_pred_domain_t      *domain;
    struct ucs_rcache_pred_region *region; /**< The region to whose history the
                                                helper adds the use; NULL: there
                                                is no region */
    uint64_t                      generation; /**< Generation of the region at the
                                                   begin of the use: the region
                                                   may be freed during the use */
    uint64_t                      id;      /**< Number of the use in events; 0
                                                if nobody receives events */
    ucs_rcache_pred_time_t        begin;
    uintptr_t                     start;   /**< Where the memory of the use
                                                starts */
    size_t                        length;  /**< Bytes that the use needs */
    unsigned                      access;  /**< Access that the use needs */
    ucs_rcache_pred_context_t     context;
    size_t                        piece;   /**< Size of the pieces in bytes, a
                                                multiple of the page size */
    size_t                        min_piece; /**< The least length of the last
                                                  piece, at most a page, unless
                                                  it is the only piece. The
                                                  caller may set it after the
                                                  use has begun */
    int                           unfit;     /**< Not 0: the system has refused
                                                  the memory for another reason
                                                  than lack of room, such as
                                                  that the program may not write
                                                  to it now. Pieces of the
                                                  memory will be refused as
                                                  well, so that the caller has
                                                  to move the data in another
                                                  way. Set at the begin of the
                                                  use, and when a piece fails */
} ucs_rcache_pred_pieces_t;

/**
 * Begin a use as @ref ucs_rcache_pred_begin does, but let the caller register
 * pieces where there is no room for the whole region, or where pieces are
 * faster.
 *
 * @param [inout] pieces  Filled in if UCS_INPROGRESS is returned.
 * @return UCS_INPROGRESS if the memory was not registered. Then the caller
 *         registers it in pieces with @ref ucs_rcache_pred_piece_reg, and ends
 *         the use with @ref ucs_rcache_pred_end_in_pieces. Otherwise as @ref
 *         ucs_rcache_pred_begin.
 */
ucs_status_t
ucs_rcache_pred_begin_in_pieces(ucs_rcache_pred_domain_t *domain,
                                void *address, size_t length, unsigned flags,
                                const ucs_rcache_pred_context_t *context,
                                ucs_rcache_pred_pieces_t *pieces,
                                void **memh_p);

/** End a use in pieces. Thread safe. */
void ucs_rcache_pred_end_in_pieces(ucs_rcache_pred_pieces_t *pieces);

/** A piece of the memory of a use, which is registered by itself. */
typedef struct ucs_rcache_pred_piece {
    uintptr_t start;
    size_t    length;
    void      *memh;
    int       held;   /**< Not 0: the room of the piece is part of the reserve
                           that the process has in the bound of the node */
} ucs_rcache_pred_piece_t;

/**
 * Register the next piece of a use in pieces. The piece begins where the piece
 * before it has ended. Thread safe.
 *
 * @param [in]  flags   Handed to mem_reg.
 * @param [out] piece   The piece, which starts at @a start and is not longer
 *                      than @a length.
 * @return UCS_ERR_NO_RESOURCE if the bound has no room for the piece until
 *         another piece is deregistered; or the status of mem_reg.
 */
ucs_status_t ucs_rcache_pred_piece_reg(ucs_rcache_pred_pieces_t *pieces,
                                       uintptr_t start, size_t length,
                                       unsigned flags,
                                       ucs_rcache_pred_piece_t *piece);

/** Deregister a piece. Thread safe. */
void ucs_rcache_pred_piece_dereg(ucs_rcache_pred_domain_t *domain,
                                 const ucs_rcache_pred_piece_t *piece);

/** @return a number that changes whenever the cache of the domain releases room.
 *  A caller whose piece was refused tries again when the number has changed;
 *  while it stays the same, only other processes and ending uses can have made
 *  room. Thread safe; takes no lock. */
uint64_t ucs_rcache_pred_releases(const ucs_rcache_pred_domain_t *domain);


/**
 * End a use, and let no later use find the region. The thread that ends the
 * last use of the region deregisters the memory and then calls @a cb; if no
 * other use is under way, that thread is the caller of this function.
 *
 * @return as @ref ucs_rcache_pred_end, or UCS_ERR_NO_MEMORY. On error the use
 *         has not ended, and @a cb is not called.
 */
ucs_status_t ucs_rcache_pred_invalidate(ucs_rcache_pred_domain_t *domain,
                                        void *memh, void (*cb)(void *arg),
                                        void *arg);


/**
 * Tell the cache that the program is about to change its rights to memory.
 * Memory that the program may not write cannot be registered again. So present
 * registrations, and registrations under way, stay until as many pages have got
 * their rights back, by calls of this function, as have lost them. The call
 * allocates, logs and registers nothing.
 *
 * The call does nothing in two cases: in the handler of a signal that has
 * interrupted this thread in a function of the cache; and if another thread
 * stays in such a function for 1 ms, perhaps because a signal has stopped that
 * thread. Thread safe.
 *
 * @param [in] start    The first address of a page.
 * @param [in] length   Bytes.
 * @param [in] is_lost  Not 0: the program loses the right to read or to write the
 *                      memory. 0: the program gets both rights.
 */
void ucs_rcache_pred_protect(ucs_rcache_pred_t *pred, uintptr_t start,
                             size_t length, int is_lost);

/**
 * Give up memory that stays registered only because the program has lost a right
 * to it, without which the memory could not be registered again. A caller that
 * needs room for a use then tries again: the cache may evict the memory now.
 * Thread safe.
 *
 * @return 0 if there is no such memory.
 */
int ucs_rcache_pred_unguard(ucs_rcache_pred_t *pred);

/**
 * Tell the cache that memory is unmapped: all pages that the range touches.
 * From now on no use finds a region in these pages; the helper deregisters the
 * regions later. The helper registers one of these pages ahead of a use only
 * if a later use has needed the page. Safe inside a memory hook: the
 * call only marks regions, and does not allocate, log or block. Safe as well in
 * the handler of a signal that has interrupted the thread in a function of the
 * cache. Thread safe.
 *
 * @param [in] end  The address behind the last byte. If it is below @a start,
 *                  the range goes on to the top of the address space; if it is
 *                  equal to @a start, nothing is unmapped.
 */
void ucs_rcache_pred_unmapped(ucs_rcache_pred_t *pred, uintptr_t start,
                              uintptr_t end);


/**
 * Tell the cache that nobody can do the helper's work. The predict policy
 * becomes on-demand for good. Has to be called before the first domain is
 * created.
 */
void ucs_rcache_pred_without_helper(ucs_rcache_pred_t *pred);

/** @return the policy in force: that of the parameters, or on-demand if nobody can
 *          do the helper's work. */
ucs_rcache_pred_policy_t ucs_rcache_pred_get_policy(ucs_rcache_pred_t *pred);

/** @return who does the helper's work now. */
ucs_rcache_pred_mode_t ucs_rcache_pred_get_mode(ucs_rcache_pred_t *pred);

/**
 * Do one round of the helper: process the entries of the deregistration queue,
 * and register the regions that are due. Called by the helper thread. Does
 * nothing while the program does the helper's work.
 *
 * @return the time of the next round, or UCS_RCACHE_PRED_TIME_INF if none is to
 *         be done before wake is called.
 */
ucs_rcache_pred_time_t ucs_rcache_pred_poll(ucs_rcache_pred_t *pred);

/**
 * Do some of the helper's work, at a moment when the program has nothing else to do. If
 * the work is the program's and some of it is due, the call makes a few registrations and
 * deregistrations at most. Without due work, the call costs one load, and one look at the
 * clock if work will be due later. The call also notices when the helper thread does not
 * get to its work, and takes the work over. Any thread; never waits for another thread.
 */
void ucs_rcache_pred_progress(ucs_rcache_pred_t *pred);


/** How often a thread that waits for messages looks at the clock. All 0 at first. Only
 *  the thread itself uses the fields. */
typedef struct ucs_rcache_pred_idle {
    unsigned               skip;   /**< How many of the next polls that find
                                        nothing the thread skips, without a call */
    unsigned               period; /**< Polls from the last look to the next */
    ucs_rcache_pred_time_t last;   /**< When the thread has looked at the clock
                                        last */
} ucs_rcache_pred_idle_t;

/** The most polls in a row that a thread skips. */
#define UCS_RCACHE_PRED_IDLE_MAX 64

/**
 * Do what @ref ucs_rcache_pred_progress does, in a thread that polls for messages and
 * has found none. The call writes to idle->skip how many of the next polls without a
 * message the thread shall count instead of calling this: as many as have lately taken a
 * microsecond together. So due work is done a microsecond late at most, as long as polls
 * take no longer than before. If polls become slower, the work is late once, by at most
 * @ref UCS_RCACHE_PRED_IDLE_MAX polls.
 */
void ucs_rcache_pred_idle(ucs_rcache_pred_t *pred, ucs_rcache_pred_idle_t *idle);

/** @return from what time on @ref ucs_rcache_pred_progress has something to do. Any call
 *          of the cache may change this time; UCS_RCACHE_PRED_TIME_INF: progress has
 *          nothing to do before some call changes the time. Any thread. */
ucs_rcache_pred_time_t ucs_rcache_pred_due(ucs_rcache_pred_t *pred);

/** Deregister every idle region now. What was learned about the regions is
 *  kept. */
void ucs_rcache_pred_purge(ucs_rcache_pred_t *pred);

/**
 * Prepare the cache for a fork. @ref ucs_rcache_pred_quiesce deregisters the
 * idle regions of all domains but those with keeps_at_fork, and stops the work of
 * the helper until the same thread calls @ref ucs_rcache_pred_resume in the parent.
 * Uses and unmaps go on meanwhile.
 * The child must not touch the cache any more, since another thread of the
 * parent may have held the lock of the cache at the fork.
 */
void ucs_rcache_pred_quiesce(ucs_rcache_pred_t *pred);
void ucs_rcache_pred_resume(ucs_rcache_pred_t *pred);


/** Get the statistics as they are now. Thread safe. */
void ucs_rcache_pred_get_stats(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_stats_t *stats);


/*
 * For callers that may have interrupted a function of the cache: the handler of
 * a signal that ends the program, or a call with which the program stops its
 * threads.
 */

struct ucs_rcache_pred;

/**
 * Wait until each thread that is in the cache has left it. Thread safe.
 *
 * @param [in] patience  The longest wait, ns of real time, and not of the
 *                       cache's clock.
 *
 * @return 0 if the lock of the cache, or the lane of a thread, was still taken
 *         after that time: perhaps for ever, if a handler has interrupted this
 *         thread there, or has interrupted another thread and does not return.
 *         Then the caller must call no function of the cache any more, since
 *         the function might not return.
 */
int ucs_rcache_pred_is_free(struct ucs_rcache_pred *pred, uint64_t patience);

/** @return whether this thread does a round of the helper's work inside a call of
 *          the program, or is about to begin the round or has just ended it. Then
 *          the thread may have the mutex of the rounds, and the caller, a handler
 *          that has interrupted the thread, must not wait for that mutex. */
int ucs_rcache_pred_is_in_round(void);

/** @return whether this thread has the lock of the cache, or is in its lane. Then the
 *  caller is the handler of a signal that has interrupted the thread there, and must call
 *  no function of the cache but those whose comment allows a handler to. */
int ucs_rcache_pred_is_interrupted(struct ucs_rcache_pred *pred);

END_C_DECLS

#endif
