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
 * What the calls that a program makes of the kernel have in common: the pages that
 * they are about, and what becomes of those of the arena. Any thread may call these
 * functions, memory hooks included: they allocate nothing, log nothing and wait for
 * nobody but the lock of the arena. */

/** The arena as the program sees it. Constant but for what the pointers lead
 *  to. */
typedef struct uct_predreg_served {
    ucs_arena_t           *arena;
    uct_predreg_altered_t is_protected; /**< What mprotect() or mlock() was
                                             called for */
    uct_predreg_altered_t is_advised;   /**< What madvise() was called for with
                                             an effect that lasts */
    size_t                page_size;
    size_t                min_length;   /**< Shortest mapping that is served,
                                             bytes */

    /** The clock, ns. It may go back, see uct_predreg_served_time(). */
    ucs_rcache_pred_time_t (*now)(void *arg);
    void                  *arg;
    /** What the clock said of late, and how far it has gone back in all. Written by any
     *  thread. Relaxed: nothing is read through them. */
    _Atomic(uint64_t)      last;
    _Atomic(uint64_t)      lost;
} uct_predreg_served_t;


/** Addresses of whole pages, from the first byte to before the last. */
typedef struct uct_predreg_pages {
    uintptr_t start;
    uintptr_t end;
} uct_predreg_pages_t;


static inline int uct_predreg_pages_is_same(const uct_predreg_pages_t *pages,
                                            const uct_predreg_pages_t *other)
{
    return (pages->start == other->start) && (pages->end == other->end);
}

/** @return bytes. */
static inline size_t uct_predreg_pages_length(const uct_predreg_pages_t *pages)
{
    return pages->end - pages->start;
}

/** @return the time of the arena, ns: that of the clock, but where the clock jumps back
 *          this one goes on, since what is to be done at a time would not be done until
 *          that came again. It differs between threads as much as the clock does. */
ucs_rcache_pred_time_t uct_predreg_served_time(uct_predreg_served_t *served);

/** @return a time of the arena as one of the clock. */
ucs_rcache_pred_time_t
uct_predreg_served_clock(const uct_predreg_served_t *served,
                         ucs_rcache_pred_time_t time);

/** The pages that a call is about. @return 0 if the kernel refuses them, as they do
 *  not begin with a page, or there are none, or too many. */
int uct_predreg_served_pages(const uct_predreg_served_t *served,
                             const void *address, size_t length,
                             uct_predreg_pages_t *pages);

/** Those of them that are in the addresses of the arena. @return 0 if there are
 *  none. */
int uct_predreg_served_part(const uct_predreg_served_t *served,
                            const uct_predreg_pages_t *pages,
                            uct_predreg_pages_t *part);

/*
 * Of pages in the addresses of the arena
 */

/** @return whether some of them are in slabs that are spoilt. */
int uct_predreg_served_is_spoilt(const uct_predreg_served_t *served,
                                 const uct_predreg_pages_t *part);

/** @return whether they are in several slabs. */
int uct_predreg_served_is_across(const uct_predreg_served_t *served,
                                 const uct_predreg_pages_t *part);

/** @return whether all of them are the program's. */
int uct_predreg_served_is_live(const uct_predreg_served_t *served,
                               const uct_predreg_pages_t *part);

/** @return whether the program has protected or locked some of them. */
int uct_predreg_served_is_protected(const uct_predreg_served_t *served,
                                    const uct_predreg_pages_t *part);

/** @return whether the program has done something to them that the kernel keeps with
 *          them. */
int uct_predreg_served_is_altered(const uct_predreg_served_t *served,
                                  const uct_predreg_pages_t *part);

/** @return whether new memory of the program can be the pages that it has there. */
int uct_predreg_served_may_stay(const uct_predreg_served_t *served,
                                const uct_predreg_pages_t *part);

/** Undo what the program has done to memory but writing to it, which it does not need
 *  any more. @return 0 if the kernel refuses that. */
int uct_predreg_served_renew(uct_predreg_served_t *served,
                             const uct_predreg_pages_t *part);

/** The program is about to have something else there, see ucs_arena_spoil(). */
void uct_predreg_served_spoil(uct_predreg_served_t *served,
                              const uct_predreg_pages_t *part);

/** The kernel is to do something to live memory, of which a slab is spoilt. It may take
 *  pages away in the other slabs as well, which must not stay registered. */
void uct_predreg_served_spoil_others(uct_predreg_served_t *served,
                                     const uct_predreg_pages_t *part);

/** Free memory of the arena. @return 0 if the kernel is to unmap it. */
int uct_predreg_served_release(uct_predreg_served_t *served,
                               const uct_predreg_pages_t *part);

/** Let live memory read as zero: the kernel would give the program new pages, while
 *  the adapter may have the old ones. */
void uct_predreg_served_clear(uct_predreg_served_t *served,
                              const uct_predreg_pages_t *part);

END_C_DECLS

#endif
