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
 * The operations and parameters with which an arena is made, and its counters.
 */

/** A time, nanoseconds, from any clock that never goes back. */
typedef uint64_t ucs_arena_time_t;

/** Never. */
#define UCS_ARENA_NEVER    UINT64_MAX

/** Longest time among the parameters, some three days: 64 times as long, added to a
 *  time, is before UCS_ARENA_NEVER. */
#define UCS_ARENA_MAX_TIME (1ul << 48)


/** Operations of the system. The arena calls each with whole pages of the address range
 *  that the caller has reserved, and without any lock that ucs_arena_allocate() or
 *  ucs_arena_free() takes. */
typedef struct ucs_arena_ops {
    /** Give a slab memory that reads as zero, and may be read and written. Called by
     *  threads that allocate. */
    ucs_status_t (*map)(void *arg, void *start, size_t length);

    /** Take away the memory of a slab, or pages of a spoilt slab, even if the program
     *  has mapped something else there. The addresses stay reserved, and may not be
     *  accessed. Called by threads that free, too. */
    ucs_status_t (*unmap)(void *arg, void *start, size_t length);

    /** Let memory be read and written, or neither. After an error the memory may be
     *  either. */
    ucs_status_t (*protect)(void *arg, void *start, size_t length,
                            int is_accessible);

    /** Let children that are forked have memory, or have nothing there. After an
     *  error the children may have any part of the memory. */
    ucs_status_t (*inherit)(void *arg, void *start, size_t length,
                            int is_inherited);

    /** Give pages of a plain slab back to the kernel. The pages, accessible or not,
     *  read as zero then. After an error nothing has changed. */
    ucs_status_t (*discard)(void *arg, void *start, size_t length);

    /** Register a slab with the adapter, if the bounds on pinned memory have
     *  room for it.
     *
     *  @param [out] handle_p  The handle of the registration:
     *                         ucs_arena_slab_t::handle. */
    ucs_status_t (*reg)(void *arg, void *start, size_t length,
                        void **handle_p);

    /** Deregister a slab. After an error the slab is still registered. */
    ucs_status_t (*dereg)(void *arg, void *handle);

    /** Fill accessible memory with zeros. Called by threads that allocate. */
    void (*zero)(void *arg, void *start, size_t length);

    /** Let the helper run earlier, since ucs_arena_due() is earlier now. Called by
     *  threads that allocate or free. */
    void (*wake)(void *arg);

    void *arg; /**< Handed to each operation */
} ucs_arena_ops_t;


/** Parameters of an arena. Sizes are bytes, and powers of 2 if nothing else
 *  is said; times are at most UCS_ARENA_MAX_TIME. */
typedef struct ucs_arena_params {
    uintptr_t        start;       /**< Address range, reserved by the caller;
                                       a multiple of slab_size */
    size_t           size;        /**< Size of the address range: any multiple
                                       of slab_size, below 2^32 - 1 pages */
    size_t           page_size;   /**< Size of a page of the kernel, 64 and more */
    size_t           slab_size;   /**< Size of the longest slab: a page and
                                       more, up to 2^20 pages and to
                                       UCS_ARENA_MAX_SLAB */
    size_t           first_slab;  /**< Size of the shortest slab: a page and
                                       more, up to slab_size. The length of each
                                       slab is a multiple of this size: the more
                                       memory all slabs have already, the longer
                                       a new one is. slab_size: all slabs are
                                       alike */
    size_t           limit;       /**< Most memory of all slabs together:
                                       first_slab and more; need not be a power
                                       of 2 */
    ucs_arena_time_t lazy;        /**< Freed memory is protected at the latest
                                       after this time */
    ucs_arena_time_t idle;        /**< A slab that was empty for this time is
                                       unmapped */
    ucs_arena_time_t retry;       /**< A registration that has failed is tried again
                                       after this time, above 0, and after each
                                       further failure after twice as long, up to 64
                                       times as long */
    int              is_strict;   /**< Whether memory is protected before
                                       ucs_arena_free() returns */
} ucs_arena_params_t;

/** Largest slab, bytes. Remote reads from larger registrations are reported to be
 *  slower (LMCache/LMCache#4432). */
#define UCS_ARENA_MAX_SLAB        (4ul << 30)

/* Defaults, nanoseconds. The lazy time is too short for people to notice, and
 * long beside a system call; the other times let slabs come and go a few times
 * a second at most. */
#define UCS_ARENA_DEF_LAZY  10000000ul
#define UCS_ARENA_DEF_IDLE  1000000000ul
#define UCS_ARENA_DEF_RETRY 100000000ul


/** Counters of an arena, bytes if nothing else is said. */
typedef struct ucs_arena_stats {
    uint64_t committed;      /**< Memory of all slabs */
    uint64_t registered;     /**< Memory of registered slabs */
    uint64_t live;           /**< Pages that are the program's */
    uint64_t dirty;          /**< Free pages in this state, as the next three
                                  counters */
    uint64_t muzzy;
    uint64_t retained;
    uint64_t fresh;
    uint64_t held;           /**< Free pages that a thread works at */
    uint64_t allocations;    /**< Requests that were met, number */
    uint64_t refused;        /**< Requests that found no room, number */
    uint64_t too_large;      /**< Requests for more than a slab, number */
    uint64_t frees;          /**< Calls that have freed live memory, number */
    uint64_t answered;       /**< Calls of ucs_arena_count_answered(), number */
    uint64_t zeroed;         /**< Memory that was filled with zeros */
    uint64_t slabs_spoilt;   /**< Slabs spoilt so far, number */
    uint64_t slabs_opened;   /**< Slabs that got memory so far, number */
    uint64_t slabs_enrolled; /**< Slabs registered so far, number */
    uint64_t slabs_closed;   /**< Empty slabs unmapped so far, number */
    uint64_t failures;       /**< Attempts that have failed, number: to open,
                                  register or close a slab, to protect memory or
                                  make it accessible */
} ucs_arena_stats_t;

#endif
