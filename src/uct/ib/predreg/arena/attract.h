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
 * those as long as what is communicated. Whatever malloc() has in its heap is warm and has
 * no zeros to be filled with, so others are left to it; and all are if the arena has no room
 * for them. Uses the times of the cache; arena.c calls it.
 */

/** How long memory that is free at the end of the heap goes back to the kernel at once:
 *  else the heap would serve what it is to map from then on, ns. */
#define UCT_PREDREG_ATTRACT_SETTLE (1ul * 1000 * 1000 * 1000)

/** So many requests have to find no room until the arena is taken to be too small. */
#define UCT_PREDREG_ATTRACT_MIN_REFUSED 64


/** What has changed. */
typedef enum {
    UCT_PREDREG_ATTRACT_NOTHING,
    UCT_PREDREG_ATTRACT_MORE,    /**< Malloc maps more than before */
    UCT_PREDREG_ATTRACT_SETTLED, /**< The heap keeps what is free again */
    UCT_PREDREG_ATTRACT_OVER     /**< Malloc maps as little as it can from now on */
} uct_predreg_attract_change_t;


/** What malloc() is told. */
typedef struct uct_predreg_attract {
    size_t           min;       /**< Shortest mapping that is served. Constant */
    size_t           max;       /**< Longest one. Constant */
    /** The least length that was communicated, of those; SIZE_MAX: there was none.
     *  Written by any thread, relaxed: nothing is read through it */
    _Atomic size_t   wanted;
    size_t           attracted; /**< From this length on malloc() maps; SIZE_MAX: it was
                                     told nothing. The helper's, as all below */
    ucs_rcache_pred_time_t settle_at; /**< UCS_RCACHE_PRED_TIME_INF: it has */
    uint64_t         answered;  /**< Uses by the last look at which */
    uint64_t         refused;   /**< so many requests had found no room */
    int              is_over;
} uct_predreg_attract_t;


/** @param [in] wanted  What is attracted from the beginning on; SIZE_MAX: nothing. */
void uct_predreg_attract_init(uct_predreg_attract_t *attract, size_t min,
                              size_t max, size_t wanted);

/** Note the length of what is communicated. Any thread; wait-free. @return whether that is
 *  news to the helper. */
int uct_predreg_attract_note(uct_predreg_attract_t *attract, size_t length);

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
