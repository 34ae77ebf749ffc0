/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_ATTRACT_H_
#define UCT_PREDREG_ARENA_ATTRACT_H_

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file attract.h
 *
 * Which allocations the program's malloc() is to map, so that the arena gets to see them:
 * at first all, since buffers are often allocated before the first one is communicated, and
 * then those as long as what is communicated. Whatever malloc() has in its heap is warm and
 * has no zeros to be filled with, so others are left to it; and all are if the arena has no
 * room for them. Uses the times of the cache; arena.c calls it.
 */

/** How long memory that is free at the end of the heap goes back to the kernel at once:
 *  else the heap would serve what it is to map from then on, ns. */
#define UCT_PREDREG_ATTRACT_SETTLE (1ul * 1000 * 1000 * 1000)

/** When the program has unmapped memory of the arena so often, only what is as long as what
 *  it has communicated by then is mapped. What is allocated once costs the same in either
 *  place; what comes and goes is slower if it is mapped. */
#define UCT_PREDREG_ATTRACT_TRIAL 64

/** The length from which on malloc() maps, where it is to use its heap for all. */
#define UCT_PREDREG_ATTRACT_NONE (SIZE_MAX - 1)

/** So many requests have to find no room until the arena is taken to be too small. */
#define UCT_PREDREG_ATTRACT_MIN_REFUSED 64


/** What has changed. */
typedef enum {
    UCT_PREDREG_ATTRACT_NOTHING,
    UCT_PREDREG_ATTRACT_TRY,     /**< Malloc maps all that the arena serves */
    UCT_PREDREG_ATTRACT_UNUSED,  /**< Malloc uses its heap: nothing was communicated */
    UCT_PREDREG_ATTRACT_MORE,    /**< Malloc maps more than before, or as long memory as
                                      was communicated */
    UCT_PREDREG_ATTRACT_SETTLED, /**< The heap keeps what is free again */
    UCT_PREDREG_ATTRACT_OVER     /**< Malloc maps as little as it can from now on */
} uct_predreg_attract_change_t;


/** What malloc() is told. */
typedef struct uct_predreg_attract {
    size_t           min;       /**< Shortest mapping that is served. Constant */
    size_t           max;       /**< Longest one. Constant */
    /** The least length that was communicated, of those; SIZE_MAX: there was none.
     *  Written by any thread, relaxed: nothing is read through it */
    _Atomic(size_t)   wanted;
    /** How often memory of the arena was unmapped while all of that is mapped. Written by
     *  any thread, relaxed as above */
    _Atomic(unsigned) num_unmapped;
    size_t           attracted; /**< From this length on malloc() maps; SIZE_MAX: it was
                                     told nothing. The helper's, as all below */
    ucs_rcache_pred_time_t settle_at; /**< UCS_RCACHE_PRED_TIME_INF: it has */
    uint64_t         answered;  /**< Uses by the last look at which */
    uint64_t         refused;   /**< so many requests had found no room */
    int              is_trial;  /**< Whether malloc() maps all, or is to */
    int              is_over;
} uct_predreg_attract_t;


void uct_predreg_attract_init(uct_predreg_attract_t *attract, size_t min,
                              size_t max);

/** Note the length of what is communicated. Any thread; wait-free. @return whether that is
 *  news to the helper. */
int uct_predreg_attract_note(uct_predreg_attract_t *attract, size_t length);

/** Memory of the arena was unmapped. Any thread; wait-free. @return whether that is news to
 *  the helper. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_attract_unmapped(uct_predreg_attract_t *attract)
{
    /* No line is taken from other threads once that is known */
    return (atomic_load_explicit(&attract->num_unmapped, memory_order_relaxed) <
            UCT_PREDREG_ATTRACT_TRIAL) &&
           (atomic_fetch_add_explicit(&attract->num_unmapped, 1,
                                      memory_order_relaxed) ==
            UCT_PREDREG_ATTRACT_TRIAL - 1);
}

/** @return whether malloc() has mapped memory that begins at an address, by the header
 *          before it (glibc: "mmapped chunk"). @a address is of the program, which may
 *          read it. */
int uct_predreg_attract_is_malloced(const void *address, size_t page_size);

/**
 * Look at what has come of it. The helper.
 *
 * @param [in] answered, refused  Uses that were answered, and requests that found no room,
 *                                so far.
 * @param [in] is_full            Whether there is no room to come either: else requests
 *                                are refused only until the helper has made some.
 */
uct_predreg_attract_change_t
uct_predreg_attract_look(uct_predreg_attract_t *attract,
                         ucs_rcache_pred_time_t now, uint64_t answered,
                         uint64_t refused, int is_full);

END_C_DECLS

#endif
