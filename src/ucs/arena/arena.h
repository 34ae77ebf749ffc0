/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_ARENA_H_
#define UCS_ARENA_ARENA_H_

#include <ucs/arena/memory/blocks.h>
#include <ucs/arena/memory/slabs.h>
#include <ucs/arena/memory/types.h>
#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file arena.h
 *
 * Memory that is registered once for many buffers (Gerofi, Takagi and Ishikawa,
 * "Revisiting RDMA buffer registration in the context of lightweight
 * multi-kernels", EuroMPI 2016). Allocations are served from slabs of an
 * address range. When a use asks for the registration of memory in a slab, a
 * helper registers the slab as a whole, and from then on a registration in the slab is
 * answered by looking up the slab (section 3 of the paper). Memory that no peer ever
 * gets is not pinned. Unmapping is lazy (end of section 3): freed memory is free
 * at once, and inaccessible soon. Pure: the arena knows the system by a table of
 * operations (types.h), and times are arguments, which do not go back but for the
 * difference between the clocks of two processors.
 *
 * Threads of the program allocate, free and look up, in memory hooks: they take one
 * lock for a moment, in which nothing is called. After that they have the kernel do no
 * more than an unmapping or mapping takes. One thread at a time is the helper, in
 * ucs_arena_tend() and ucs_arena_shrink(); the helper calls the operations, which may
 * take long, without that lock.
 *
 * docs/design/arena.md has the states of a page, and who changes them.
 */

/** An arena. */
typedef struct ucs_arena {
    ucs_arena_slabs_t   slabs;      /**< See there */
    ucs_arena_ops_t     ops;        /**< Constant */
    ucs_arena_params_t  params;     /**< Constant */
    unsigned            page_shift; /**< Logarithm of the page size. Constant */

    /** Nothing is allocated any more, and nothing freed: the arena has ended,
     *  or this is a forked child, in which the lock may be held by a thread
     *  that the child does not have. Written under the lock, or before the child has
     *  threads; relaxed, and read again under the lock. */
    _Atomic(int)        is_off;
    /** When the helper is to be called, see ucs_arena_due(). Written under the
     *  lock; relaxed. */
    _Atomic(uint64_t)   due;
    /** Whether freed memory of plain slabs is kept for the next request, see
     *  ucs_arena_keep(). Relaxed: nothing is read through it */
    _Atomic(int)        is_kept;
    _Atomic(uint64_t)   answered;   /**< See the statistics. Relaxed */
    _Atomic(uint64_t)   zeroed;     /**< Likewise */

    ucs_mutex_t         lock;       /**< Around all below. Held for moments;
                                         nothing is called under it. Taken after
                                         the lock of the helper. Hooks take the lock
                                         with signals blocked, and wait without
                                         the lock for pages that others work at (busy
                                         slabs, held blocks) */
    int                 is_woken;   /**< Whether due was lowered under this hold of the
                                         lock */
    ucs_arena_blocks_t  blocks;
    ucs_arena_time_t    dirty_since; /**< No dirty page was freed before this;
                                          undefined if there is none */
    int                 is_out_of_slabs; /**< Whether the last slab could not be given
                                              memory */
    unsigned            num_spoilt; /**< Slabs that are spoilt */
    int                 wants_mend; /**< Whether a slab was spoilt, or pages of a spoilt
                                         slab were freed, since the helper looked */
    int                 wants_enrolment; /**< Whether a use has asked for the
                                              registration of a plain slab */
    ucs_arena_time_t    enrol_at;   /**< No slab is registered before this */
    ucs_arena_time_t    enrol_step; /**< How long a registration waits after the next
                                         failure; 0: none has failed of late */
    uint32_t            withheld;   /**< First of the held blocks that a child
                                         is not to have, while the process
                                         forks; UCS_ARENA_NO_PAGE: there are
                                         none */
    int                 is_forking; /**< From ucs_arena_before_fork() to
                                         ucs_arena_after_fork() */
    pthread_t           forker;     /**< The thread that forks; undefined if none
                                         does */
    ucs_arena_stats_t   stats;      /**< Counters that are not kept elsewhere */

    ucs_mutex_t         work;       /**< Lock of the helper: around
                                         ucs_arena_tend() and
                                         ucs_arena_shrink(). Threads that wait for
                                         memory the helper works at lend the helper
                                         their priority by this lock */
} ucs_arena_t;


/** Set all parameters to the defaults for slabs of this size, all alike. start, size,
 *  page_size and is_strict are 0. */
void ucs_arena_params_default(size_t slab_size, ucs_arena_params_t *params);

/**
 * Let slabs be short while there are few, and set the size of the address range for short
 * slabs. Where short slabs are many, such as while the arena has
 * shrunk, the addresses may be used up before the limit is reached.
 *
 * @param [in] first_slab, limit  The parameters of these names; the limit is a
 *                                multiple of slab_size here.
 */
void ucs_arena_params_grow(ucs_arena_params_t *params, size_t first_slab,
                           size_t limit);

/** @return bytes of an arena's own memory: a structure, and
 *          16 bytes and a bit for each page. The part for slabs without memory is never
 *          accessed. 0: the parameters are not accepted. */
size_t ucs_arena_memory_size(const ucs_arena_params_t *params);

/**
 * Make an arena without memory.
 *
 * @param [in] memory  ucs_arena_memory_size() bytes, zero, aligned to 64, for the arena.
 *                     The caller gives the memory back after the arena's end, when no
 *                     thread can call the arena any more.
 * @return NULL if the parameters are not accepted.
 */
ucs_arena_t *ucs_arena_init(const ucs_arena_params_t *params,
                            const ucs_arena_ops_t *ops, void *memory);

/**
 * End an arena: deregister all slabs and take the memory of the empty ones
 * away; live memory stays, and ucs_arena_free() leaves it to the
 * caller. May be called again.
 *
 * @return UCS_ERR_BUSY if registrations are in use: these
 *         slabs stay as before. Else the status of the last operation that failed.
 */
ucs_status_t ucs_arena_stop(ucs_arena_t *arena);

/** At the exit of the process, when there is no helper any more: nothing is
 *  allocated any more, and freeing is left to the caller; slabs stay registered,
 *  but are not found any more. Takes the lock for a moment; any thread, and handlers of
 *  signals. */
void ucs_arena_abandon(ucs_arena_t *arena);

/** Free what ucs_arena_init() has made besides the memory. */
void ucs_arena_cleanup(ucs_arena_t *arena);

/**
 * Before the process forks: keep free memory from the child, since the kernel
 * would copy each page. Nobody gets this memory before
 * ucs_arena_after_fork(). The child inherits memory freed meanwhile, and short
 * blocks. One thread at a time, between ucs_hook_enter() and ucs_hook_leave():
 * a handler of a signal in between could wait for this memory (ucs_arena_spoil()).
 * Takes the lock for moments; does not wait for the helper.
 */
void ucs_arena_before_fork(ucs_arena_t *arena);

/** In the parent after the fork, or if there was none: the end of
 *  ucs_arena_before_fork(), by the same thread. */
void ucs_arena_after_fork(ucs_arena_t *arena);

/** In a forked child, before it has other threads: nothing is registered here,
 *  and there is no helper. Nothing is allocated any more, and freeing is left
 *  to the caller. Takes no lock. */
void ucs_arena_child(ucs_arena_t *arena);

/**
 * Allocate memory that reads as zero. Any thread, memory hooks included: takes
 * the lock of the arena for a constant time, and a word for each 64 pages. Without the
 * lock, the thread makes the memory accessible and zero, or opens a slab if none has
 * room.
 *
 * @param [in] length  Bytes, rounded up to pages.
 * @return NULL if there is no room.
 */
void *ucs_arena_allocate(ucs_arena_t *arena, size_t length);

/** From now on, keep freed memory of plain slabs for the lazy time, like that of
 *  registered slabs, instead of giving the memory back to the kernel at once: the
 *  program's allocator maps and unmaps now what it would have kept. Any thread. */
void ucs_arena_keep(ucs_arena_t *arena);

/**
 * Free the live pages of a range: one allocation, a part of it, or several, and
 * what is free already stays so. Any thread, memory hooks included: takes the
 * lock of the arena for a constant time, again and again for many allocations,
 * and a word for each 64 pages of slabs in which something is live. Without the lock,
 * the thread protects the memory, if strict, and gives memory of plain slabs back to
 * the kernel.
 *
 * @param [in] start   A multiple of the page size, as for munmap().
 * @param [in] length  Bytes, rounded up to pages. What is beyond the arena is
 *                     ignored, see ucs_arena_slabs_clip().
 * @param [in] now     The time.
 * @return UCS_ERR_NO_ELEM if nothing of the range is in the arena;
 *         UCS_ERR_INVALID_PARAM if it does not begin with a page;
 *         UCS_ERR_UNSUPPORTED if the arena has ended or this is a forked child:
 *         the caller is to unmap the memory.
 */
ucs_status_t ucs_arena_free(ucs_arena_t *arena, void *start, size_t length,
                            ucs_arena_time_t now);

/**
 * Make the pages behind live memory live as well, if there is room that is
 * accessible, and they are in the same slab. As ucs_arena_allocate().
 *
 * @param [in] end     Where the live memory ends, a multiple of the page size.
 * @param [in] length  Bytes, rounded up to pages.
 * @return UCS_ERR_NO_RESOURCE if there is none.
 */
ucs_status_t
ucs_arena_extend(ucs_arena_t *arena, void *end, size_t length);

/**
 * The program is about to map something else at addresses of the arena, whether
 * the memory there is live or not. They are live from now on, and the slabs that
 * they are in are spoilt. Any thread, memory hooks included; waits while others
 * work at this memory, at most for one operation that zeroes, protects or maps,
 * if the slab is empty, for its being given back, where there is free memory of a
 * slab that is being registered, for that, or for a fork.
 *
 * @param [in] start, length  As for ucs_arena_free().
 * @return as ucs_arena_free(): UCS_OK, or nothing was done.
 */
ucs_status_t ucs_arena_spoil(ucs_arena_t *arena, void *start, size_t length);

/**
 * Make a slab spoilt whose memory stays as before: nobody finds the slab or gets memory of
 * the slab any more, and the helper deregisters the slab after the last use. As
 * ucs_arena_spoil().
 *
 * @param [in] slab  One that was found.
 */
ucs_status_t ucs_arena_withdraw(ucs_arena_t *arena, ucs_arena_slab_t *slab);

/**
 * Ask for the registration of a range that was not found, if it lies in a plain
 * slab: the helper registers that. Any thread; takes the lock, for a slab that
 * nobody has asked for yet.
 *
 * @return 0 if the helper need not be called because of that; else 1, or -1 if the last
 *         registration has failed and it is tried again later.
 */
int ucs_arena_want(ucs_arena_t *arena, const void *address, size_t length);

/**
 * Keep plain slabs from being registered, as long as a thread changes the pages of live
 * memory in them: those that are registered have to stay. As ucs_arena_free().
 *
 * @return UCS_OK: ucs_arena_leave_plain() is to be called. UCS_ERR_BUSY if the helper
 *         works just now, whom nobody waits for.
 */
ucs_status_t ucs_arena_enter_plain(ucs_arena_t *arena);

void ucs_arena_leave_plain(ucs_arena_t *arena);

/** @return whether no part of a range is registered, in the arena or elsewhere: slabs
 *          that it is in are plain. After ucs_arena_enter_plain(). */
int ucs_arena_is_plain(ucs_arena_t *arena, const void *start, size_t length);

/**
 * Give the pages of live memory back to the kernel, so that it reads as zero, if all of
 * it is in plain slabs and the helper does nothing just now. As ucs_arena_free().
 *
 * @return an error if nothing was done.
 */
ucs_status_t
ucs_arena_discard_live(ucs_arena_t *arena, void *start, size_t length);

/** @return whether a range is live memory of the arena, all of it. As
 *          ucs_arena_free(). */
int ucs_arena_live(ucs_arena_t *arena, const void *start, size_t length);

/** @return whether any slab of a range is spoilt. Wait-free; any thread. */
int ucs_arena_is_spoilt(const ucs_arena_t *arena, const void *start,
                        size_t length);

/**
 * The work of the helper: protect what was freed, register slabs, give slabs back. Not
 * in memory hooks: blocks in operations.
 *
 * @return when it wants to be called next, as ucs_arena_due().
 */
ucs_arena_time_t ucs_arena_tend(ucs_arena_t *arena, ucs_arena_time_t now);

/**
 * Give back what is registered and not in use, since memory is short: empty slabs,
 * and then those in which the program has memory, which are plain then. For the idle
 * time no slab is registered. As ucs_arena_tend().
 *
 * @param [in] bytes  How much is to be given back.
 * @return how much was.
 */
size_t ucs_arena_shrink(ucs_arena_t *arena, size_t bytes,
                        ucs_arena_time_t now);

/** Deregister what is not in use: the slabs are plain then, and registered anew when
 *  they are used, such as in a further domain. As ucs_arena_tend(). */
void ucs_arena_lay_off(ucs_arena_t *arena);

/** What there is now, and what there was. Takes the lock for a moment; any
 *  thread, but not in a forked child. */
void ucs_arena_stats_get(ucs_arena_t *arena, ucs_arena_stats_t *stats);

/** @return when ucs_arena_tend() is to be called; 0: at once; UCS_ARENA_NEVER:
 *          there is nothing to do. Other calls may lower this, and call
 *          ucs_arena_ops_t::wake then. */
static UCS_F_ALWAYS_INLINE ucs_arena_time_t
ucs_arena_due(const ucs_arena_t *arena)
{
    return ucs_relaxed_load(&arena->due);
}

/**
 * Find the registration of a range. Wait-free; any thread, memory hooks
 * included. The slab may be closed at any time unless something in it is live,
 * or ucs_arena_slab_acquire() has kept it open.
 *
 * @return NULL if no slab has all of the range.
 */
static UCS_F_ALWAYS_INLINE ucs_arena_slab_t *
ucs_arena_find(const ucs_arena_t *arena, const void *address, size_t length)
{
    return ucs_arena_slabs_find(&arena->slabs, (uintptr_t)address, length);
}

/** @return whether a request that finds no room will find none later on, unless memory is
 *          freed: there is no further slab, or one cannot be had now. */
int ucs_arena_is_full(ucs_arena_t *arena);

/** Count a registration that was answered by the arena. Any thread. */
static UCS_F_ALWAYS_INLINE void ucs_arena_count_answered(ucs_arena_t *arena)
{
    ucs_relaxed_add(&arena->answered, 1);
}

/** @return whether an address is one of the arena's. Any thread. */
static UCS_F_ALWAYS_INLINE int
ucs_arena_has(const ucs_arena_t *arena, const void *address)
{
    return (uintptr_t)address - arena->slabs.base < arena->slabs.size;
}

END_C_DECLS

#endif
