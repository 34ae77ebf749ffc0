/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_TYPES_H_
#define UCS_ARENA_MEMORY_TYPES_H_

#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

/** @file types.h
 *
 * What an arena is made with: times, what it needs of the system, and its
 * parameters; and what it tells of itself.
 */

/** A time, nanoseconds, from any clock that never goes back. */
typedef uint64_t ucs_arena_time_t;

/** Never. */
#define UCS_ARENA_NEVER    UINT64_MAX

/** Longest of the times that an arena is made with, some three days: added to a
 *  time, even 64 times, it is before UCS_ARENA_NEVER. */
#define UCS_ARENA_MAX_TIME (1ul << 48)


/** What the arena needs of the system. Each operation is called with whole
 *  pages of the address range that the caller has reserved, and without any
 *  lock that ucs_arena_allocate() or ucs_arena_free() takes. One that fails
 *  says so in the log. */
typedef struct ucs_arena_ops {
    /** Give a slab memory that reads as zero, and may be read and written. */
    ucs_status_t (*map)(void *arg, void *start, size_t length);

    /** Take the memory of a slab away, or of pages of a spoilt slab, whatever the
     *  program has mapped there. The addresses stay reserved, so that nobody
     *  else gets them, and may not be accessed. Also called by threads that
     *  free. */
    ucs_status_t (*unmap)(void *arg, void *start, size_t length);

    /** Let memory be read and written, or neither. A range may span slabs. On
     *  error nothing is known of its protection. */
    ucs_status_t (*protect)(void *arg, void *start, size_t length,
                            int is_accessible);

    /** Let children that are forked have memory, or have nothing there. A range
     *  may span slabs. On error either may be the case for any part of it. */
    ucs_status_t (*inherit)(void *arg, void *start, size_t length,
                            int is_inherited);

    /** Give the pages of a range back that lies in a slab which is not registered,
     *  so that it reads as zero, accessible or not. On error nothing has
     *  changed. */
    ucs_status_t (*discard)(void *arg, void *start, size_t length);

    /** Register a slab with the adapter, if the bounds on pinned memory have
     *  room for it.
     *
     *  @param [out] handle_p  What ucs_arena_slab_t::handle is to be. */
    ucs_status_t (*reg)(void *arg, void *start, size_t length,
                        void **handle_p);

    /** Deregister a slab. On error it is registered still. */
    ucs_status_t (*dereg)(void *arg, void *handle);

    /** Fill accessible memory with zeros, as ucs_arena_zero() does. It is also
     *  called by threads that allocate. */
    void (*zero)(void *arg, void *start, size_t length);

    void *arg; /**< Handed to each operation */
} ucs_arena_ops_t;


/** What an arena is made with. Sizes are bytes, and powers of 2 if nothing else
 *  is said; times are at most UCS_ARENA_MAX_TIME. */
typedef struct ucs_arena_params {
    uintptr_t        start;       /**< Address range, reserved by the caller;
                                       a multiple of slab_size */
    size_t           size;        /**< Of that range, any multiple of slab_size
                                       below 2^32 - 1 pages */
    size_t           page_size;   /**< The kernel's, 64 and more */
    size_t           slab_size;   /**< Of the longest registration: a page and
                                       more, up to 2^20 pages and to
                                       UCS_ARENA_MAX_SLAB */
    size_t           first_slab;  /**< Of the shortest one: a page and more, up
                                       to slab_size. Slabs are multiples of it
                                       that grow with what there is, and have
                                       room for the longest request by then;
                                       slab_size: all are alike */
    size_t           limit;       /**< Slabs have at most so many bytes together,
                                       first_slab and more, not a power of 2 */
    size_t           zero_budget; /**< Dirty memory that the helper fills with
                                       zeros in one call, bytes, not a power of
                                       2, a page and more */
    size_t           warm;        /**< Requests of up to so many bytes get memory
                                       that was freed just now, if there is
                                       some, rather than clean memory: the
                                       caches may have it. Not a power of 2; 0:
                                       none do */
    ucs_arena_time_t lazy;        /**< Freed memory is protected at the latest
                                       after this time */
    ucs_arena_time_t idle;        /**< A slab is given back when it was empty
                                       for this time */
    ucs_arena_time_t retry;       /**< What has failed is tried again after this
                                       time, and after twice as long each time,
                                       up to 64 times as long; above 0 */
    int              is_strict;   /**< Whether memory is protected before
                                       ucs_arena_free() returns */
} ucs_arena_params_t;

/** Largest slab, bytes. Remote reads from larger registrations are reported to be
 *  slower (LMCache/LMCache#4432). */
#define UCS_ARENA_MAX_SLAB        (4ul << 30)

/* Defaults. The lazy time is short for people, and long beside a system call;
 * the other times have slabs come and go a few times a second at most. */
#define UCS_ARENA_DEF_ZERO_BUDGET (16ul << 20)
#define UCS_ARENA_DEF_WARM        (2ul << 20) /**< What the cache of a core has,
                                                   by and large: filling that
                                                   with zeros takes less time
                                                   there than fetching memory
                                                   that is zero */
#define UCS_ARENA_DEF_LAZY        10000000ul  /**< Nanoseconds */
#define UCS_ARENA_DEF_IDLE        1000000000ul
#define UCS_ARENA_DEF_RETRY       100000000ul


/** What has happened in an arena, and what there is in it now. Bytes if nothing
 *  else is said. */
typedef struct ucs_arena_stats {
    uint64_t committed;      /**< Slabs with memory */
    uint64_t registered;     /**< Slabs that are registered */
    uint64_t live;           /**< The program's */
    uint64_t clean;          /**< Pages by state */
    uint64_t retired;
    uint64_t dark;
    uint64_t blank;
    uint64_t held;           /**< Pages that somebody works at */
    uint64_t allocations;    /**< Requests that were met, number */
    uint64_t refused;        /**< Requests that found no room, number */
    uint64_t too_large;      /**< Requests for more than a slab, number */
    uint64_t frees;          /**< Calls that have freed live memory, number */
    uint64_t answered;       /**< Registrations answered, number: what
                                  ucs_arena_count_answered() has counted */
    uint64_t zeroed_helper;  /**< Filled with zeros by the helper */
    uint64_t zeroed_callers; /**< Filled with zeros by threads that allocate */
    uint64_t slabs_spoilt;   /**< Number, ever */
    uint64_t slabs_opened;   /**< Number, ever */
    uint64_t slabs_enrolled; /**< Registered, number, ever */
    uint64_t slabs_closed;   /**< Number, ever */
    uint64_t failures;       /**< Attempts that have failed, number: to open,
                                  register or close a slab, to protect memory or
                                  make it accessible */
} ucs_arena_stats_t;

#endif
