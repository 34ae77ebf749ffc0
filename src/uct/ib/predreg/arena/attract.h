/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_ATTRACT_H_
#define UCT_PREDREG_ARENA_ATTRACT_H_

#include <ucs/base/relaxed.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>


BEGIN_C_DECLS

/** @file attract.h
 *
 * Which allocations malloc() is to map, so that the arena gets to see them: at first all
 * allocations, since programs often allocate buffers before the first communication, and
 * later only those as long as communicated buffers. Memory in malloc()'s heap is warm,
 * and nobody fills it with zeros: the heap is better for all other allocations, and for
 * all allocations if the arena has no room. The times are those of the cache's clock;
 * arena.c calls these functions.
 */

/** After malloc() was told to map more, free memory at the end of its heap goes back to the
 *  kernel at once for this time, ns: otherwise the heap would serve allocations that are to
 *  be mapped. */
#define UCT_PREDREG_ATTRACT_SETTLE (1ul * 1000 * 1000 * 1000)

/** The trial, in which malloc() maps all allocations, ends when the program has unmapped
 *  memory of the arena this many times. Then malloc() maps only allocations as long as
 *  communicated buffers. An allocation that stays costs the same in either place; one
 *  that comes and goes is slower if it is mapped. */
#define UCT_PREDREG_ATTRACT_TRIAL 64

/** The length that malloc() is told if its heap is to serve all allocations. */
#define UCT_PREDREG_ATTRACT_NONE (SIZE_MAX - 1)

/** The least number of refused requests by which the arena is taken to be too small. */
#define UCT_PREDREG_ATTRACT_MIN_REFUSED 64


/** What the helper has to tell malloc() now. */
typedef enum {
    UCT_PREDREG_ATTRACT_NOTHING,
    UCT_PREDREG_ATTRACT_TRY,     /**< Malloc maps all allocations that an arena serves */
    UCT_PREDREG_ATTRACT_UNUSED,  /**< Malloc uses its heap: nothing was communicated */
    UCT_PREDREG_ATTRACT_MORE,    /**< Malloc maps from the shortest communicated length
                                      on */
    UCT_PREDREG_ATTRACT_SETTLED, /**< The heap keeps its free memory again */
    UCT_PREDREG_ATTRACT_OVER     /**< Malloc maps as little as possible from now on */
} uct_predreg_attract_change_t;


/** The settings of malloc() that the arena has made, and the numbers by which it chooses the
 *  next ones. */
typedef struct uct_predreg_attract {
    size_t           min;       /**< Shortest mapping that is served. Constant */
    size_t           max;       /**< Longest mapping that is served. Constant */
    /** The shortest communicated length between min and max; SIZE_MAX: there was none.
     *  Written by any thread, relaxed: nothing is read through the length */
    _Atomic(size_t)   wanted;
    /** How often memory of the arena was unmapped since malloc() maps all allocations.
     *  Written by any thread, relaxed for the same reason as wanted */
    _Atomic(unsigned) num_unmapped;
    size_t           attracted; /**< From this length on malloc() maps; SIZE_MAX: malloc()
                                     was told nothing. Used by the helper alone, as all
                                     fields below */
    ucs_rcache_pred_time_t settle_at; /**< When the heap is to keep its free memory again;
                                           UCS_RCACHE_PRED_TIME_INF: the heap keeps it
                                           already */
    uint64_t         answered;  /**< How many uses the arena had answered, */
    uint64_t         refused;   /**< and how many requests had found no room, at an earlier
                                     look, from which is_too_small() counts */
    int              is_trial;  /**< Whether the trial is under way or to come: malloc()
                                     maps all allocations that the arena serves */
    int              is_over;   /**< Whether malloc() uses its heap for good, since the
                                     arena was too small */
} uct_predreg_attract_t;


void uct_predreg_attract_init(uct_predreg_attract_t *attract, size_t min,
                              size_t max);

/** Note the length of a communicated buffer. Any thread; wait-free. @return whether the
 *  caller has to wake the helper. */
int uct_predreg_attract_note(uct_predreg_attract_t *attract, size_t length);

/** Count that memory of the arena was unmapped. Any thread; wait-free. @return whether
 *  the caller has to wake the helper. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_attract_unmapped(uct_predreg_attract_t *attract)
{
    /* After the trial the number is only read, so that threads do not take its cache line
     * from each other */
    return (ucs_relaxed_load(&attract->num_unmapped) <
            UCT_PREDREG_ATTRACT_TRIAL) &&
           (ucs_relaxed_add(&attract->num_unmapped, 1) ==
            UCT_PREDREG_ATTRACT_TRIAL - 1);
}

/** @return whether malloc() has made a mapping for the memory at an address, by the
 *          header before the memory (glibc: "mmapped chunk"). @a address is readable. */
int uct_predreg_attract_is_malloced(const void *address, size_t page_size);

/**
 * Decide what malloc() is to be told now. Called by the helper alone.
 *
 * @param [in] answered, refused  How many uses were answered, and how many requests have
 *                                found no room, so far.
 * @param [in] is_full            Whether the helper cannot make room either; 0: requests
 *                                are refused only until it has made some.
 */
uct_predreg_attract_change_t
uct_predreg_attract_look(uct_predreg_attract_t *attract,
                         ucs_rcache_pred_time_t now, uint64_t answered,
                         uint64_t refused, int is_full);

END_C_DECLS

#endif
