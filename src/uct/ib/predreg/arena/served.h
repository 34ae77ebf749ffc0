/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_SERVED_H_
#define UCT_PREDREG_ARENA_SERVED_H_

#include "altered.h"

#include <ucs/arena/arena.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file served.h
 *
 * Operations on pages of the arena, for the program's calls of the kernel. Any thread may
 * call these functions, memory hooks included: nothing here allocates, logs, or waits but
 * for the lock of the arena. */

/** The arena as the program sees it. The fields are constant, but for the last two. */
typedef struct uct_predreg_served {
    ucs_arena_t           *arena;
    uct_predreg_altered_t is_protected; /**< Pages after mprotect() or mlock() */
    uct_predreg_altered_t is_advised;   /**< Pages after madvise() with a lasting
                                             effect */
    size_t                page_size;
    size_t                min_length;   /**< Shortest mapping that is served,
                                             bytes */

    /** The clock, ns. It may go back, see uct_predreg_served_time(). */
    ucs_rcache_pred_time_t (*now)(void *arg);
    void                  *arg;
    /** A recent time of the clock, and how far the clock has gone back in all. Written by
     *  any thread. Relaxed: nothing is read through either. */
    _Atomic(uint64_t)      last;
    _Atomic(uint64_t)      lost;
} uct_predreg_served_t;


/** Addresses of whole pages, from start to before end. */
typedef struct uct_predreg_pages {
    uintptr_t start;
    uintptr_t end;
} uct_predreg_pages_t;


static inline int uct_predreg_pages_is_same(const uct_predreg_pages_t *pages,
                                            const uct_predreg_pages_t *other)
{
    return (pages->start == other->start) && (pages->end == other->end);
}

/** @return the length of pages, bytes. */
static inline size_t uct_predreg_pages_length(const uct_predreg_pages_t *pages)
{
    return pages->end - pages->start;
}

/** @return the time of the arena, ns. It is the clock's time, but goes on where the clock
 *          jumps back: otherwise work that is due at a time would wait until the clock
 *          reaches the time again. Differs between threads as much as the clock does. */
ucs_rcache_pred_time_t uct_predreg_served_time(uct_predreg_served_t *served);

/** @return the clock's time for a time of the arena. */
ucs_rcache_pred_time_t
uct_predreg_served_clock(const uct_predreg_served_t *served,
                         ucs_rcache_pred_time_t time);

/** Find the pages of a call. @return 0 if the kernel refuses the call: the address is not
 *  that of a page, or there are no pages, or too many. */
int uct_predreg_served_pages(const uct_predreg_served_t *served,
                             const void *address, size_t length,
                             uct_predreg_pages_t *pages);

/** Find the part of some pages that is in the addresses of the arena. @return 0 if there
 *  is none. */
int uct_predreg_served_part(const uct_predreg_served_t *served,
                            const uct_predreg_pages_t *pages,
                            uct_predreg_pages_t *part);

/*
 * Functions about a part, i.e. pages in the addresses of the arena
 */

/** @return whether any of the pages are in spoilt slabs. */
int uct_predreg_served_is_spoilt(const uct_predreg_served_t *served,
                                 const uct_predreg_pages_t *part);

/** @return whether the pages are in several slabs. */
int uct_predreg_served_is_across(const uct_predreg_served_t *served,
                                 const uct_predreg_pages_t *part);

/** @return whether all of the pages are the program's. */
int uct_predreg_served_is_live(const uct_predreg_served_t *served,
                               const uct_predreg_pages_t *part);

/** @return whether the program has protected or locked any of the pages. */
int uct_predreg_served_is_protected(const uct_predreg_served_t *served,
                                    const uct_predreg_pages_t *part);

/** @return whether the program has protected, locked or advised any of the pages. */
int uct_predreg_served_is_altered(const uct_predreg_served_t *served,
                                  const uct_predreg_pages_t *part);

/** @return whether the pages can become new memory of the program where they are: all are
 *  the program's, and none is in a spoilt slab. */
int uct_predreg_served_may_stay(const uct_predreg_served_t *served,
                                const uct_predreg_pages_t *part);

/** Undo the program's protection, locks and advice of memory that the program gives up.
 *  @return 0 if the kernel refuses. */
int uct_predreg_served_renew(uct_predreg_served_t *served,
                             const uct_predreg_pages_t *part);

/** Spoil the slabs of the pages, since the program or the kernel is about to change what
 *  is mapped there, see ucs_arena_spoil(). */
void uct_predreg_served_spoil(uct_predreg_served_t *served,
                              const uct_predreg_pages_t *part);

/** Before a call of the kernel for live memory that is partly in a spoilt slab: spoil all
 *  slabs of the memory. The kernel may take pages away from any of the slabs, and pages
 *  that it takes away must not stay registered. */
void uct_predreg_served_spoil_others(uct_predreg_served_t *served,
                                     const uct_predreg_pages_t *part);

/** Free memory of the arena. @return 0: the caller has the kernel unmap the memory. */
int uct_predreg_served_release(uct_predreg_served_t *served,
                               const uct_predreg_pages_t *part);

/** Let live memory read as zero. The kernel is not asked where pages are registered: it
 *  would give the program new pages, while the adapter has the old ones. */
void uct_predreg_served_clear(uct_predreg_served_t *served,
                              const uct_predreg_pages_t *part);

END_C_DECLS

#endif
