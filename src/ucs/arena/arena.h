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
 * answered by looking up the slab (section 3 of the paper). Memory that no peer
 * ever accesses is not pinned. Unmapping is lazy (end of section 3): freed
 * memory can be allocated again at once, and becomes inaccessible soon. Pure:
 * the arena calls the system through a table of operations (types.h), and times
 * are arguments, which do not go back but for the difference between the clocks
 * of two processors.
 *
 * Threads of the program allocate, free and look up, also in memory hooks. To
 * allocate or free, a thread takes the lock of the arena for moments, and calls
 * no operation under the lock. The operations that it calls without the lock take
 * no longer than the system call that maps or unmaps memory where there is no
 * arena. One thread at a time is the helper, in ucs_arena_tend() and
 * ucs_arena_shrink(); the helper calls the operations, which may take long,
 * without that lock.
 *
 * A slab is vacant (addresses only), plain (memory without a registration) or
 * registered. A slab is spoilt once the program has mapped something else
 * there. A page is live while it is the program's. docs/design/arena.md has the
 * states of a page, and who changes them.
 */

/** An arena. */
typedef struct ucs_arena {
    ucs_arena_slabs_t   slabs;      /**< See slabs.h */
    ucs_arena_ops_t     ops;        /**< Constant */
    ucs_arena_params_t  params;     /**< Constant */
    unsigned            page_shift; /**< Logarithm of the page size. Constant */

    /** Whether the arena has ended, or this is a forked child, in which the
     *  lock may be held by a thread that the child does not have: nothing is
     *  allocated or freed any more. Written under the lock, or before the child
     *  has threads; relaxed, and read again under the lock. */
    _Atomic(int)        is_off;
    /** When the helper is to be called, see ucs_arena_due(). Written under the
     *  lock; relaxed. */
    _Atomic(uint64_t)   due;
    /** Whether freed memory of plain slabs is kept for the next request, see
     *  ucs_arena_keep(). Relaxed: nothing is read through it */
    _Atomic(int)        is_kept;
    _Atomic(uint64_t)   answered;   /**< A counter of ucs_arena_stats_t. Relaxed */
    _Atomic(uint64_t)   zeroed;     /**< A counter of ucs_arena_stats_t. Relaxed */

    ucs_mutex_t         lock;       /**< Held to access any of the fields below
                                         but work. Held for moments; nothing is
                                         called under the lock. Taken after the
                                         lock of the helper (work). Hooks take
                                         the lock with signals blocked, and wait
                                         without the lock for pages at which
                                         other threads work (busy slabs, held
                                         blocks) */
    int                 is_woken;   /**< Whether due was lowered under this hold of the
                                         lock */
    ucs_arena_blocks_t  blocks;
    ucs_arena_time_t    dirty_since; /**< A time before which no dirty page was
                                          freed; undefined if no page is dirty */
    int                 is_out_of_slabs; /**< Whether the kernel has refused memory for
                                              the last slab that was to be opened */
    unsigned            num_spoilt; /**< Slabs that are spoilt */
    int                 wants_mend; /**< Whether a slab was spoilt, or pages of a spoilt
                                         slab were freed, since the helper last looked
                                         at spoilt slabs */
    int                 wants_enrolment; /**< Whether a use has asked for the
                                              registration of a plain slab */
    ucs_arena_time_t    enrol_at;   /**< The next registration of a slab is
                                         tried at this time at the earliest */
    ucs_arena_time_t    enrol_step; /**< If the next registration of a slab fails, the
                                         helper waits this long before another one; 0:
                                         the last one has not failed */
    uint32_t            withheld;   /**< While the process forks: first page of
                                         the first block in the chain of held
                                         blocks that the child does not inherit;
                                         UCS_ARENA_NO_PAGE: the chain is empty */
    int                 is_forking; /**< 1 from ucs_arena_before_fork() to the end
                                         of ucs_arena_after_fork() */
    pthread_t           forker;     /**< The thread that forks; undefined if none
                                         does */
    ucs_arena_stats_t   stats;      /**< Only the counters that no other field
                                         has; see ucs_arena_stats_get() */

    ucs_mutex_t         work;       /**< Lock of the helper, which holds it
                                         during ucs_arena_tend() and
                                         ucs_arena_shrink(). By this lock,
                                         threads that wait for memory at which
                                         the helper works lend their priority to
                                         the helper */
} ucs_arena_t;


/** Set all parameters to the defaults, with all slabs of this size. start,
 *  size, page_size and is_strict become 0. */
void ucs_arena_params_default(size_t slab_size, ucs_arena_params_t *params);

/**
 * Let slabs be short while the arena is small, and make the address range
 * larger, since a short slab takes as many addresses as a long one. Where there
 * are many short slabs, such as after the arena has shrunk, the addresses may
 * be used up before the limit is reached.
 *
 * @param [in] first_slab, limit  The parameters of these names; the limit is a
 *                                multiple of slab_size here.
 */
void ucs_arena_params_grow(ucs_arena_params_t *params, size_t first_slab,
                           size_t limit);

/** @return how many bytes an arena needs for itself: a structure, 128 bytes at most
 *          for each slab, and 16 bytes and a bit for each page. The bytes for the
 *          pages of a slab are accessed only once the slab has memory. 0: the
 *          parameters are not accepted. */
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
 * End an arena: deregister all slabs, and unmap the empty ones; live memory
 * stays, and ucs_arena_free() lets its caller unmap it. May be called again.
 *
 * @return UCS_OK, or the status of the last slab for which the call has failed:
 *         UCS_ERR_BUSY if its registration is in use and so stays, else the status
 *         of the operation that failed.
 */
ucs_status_t ucs_arena_stop(ucs_arena_t *arena);

/** At the exit of the process, when there is no helper any more: nothing is
 *  allocated any more, and ucs_arena_free() lets its caller unmap the memory;
 *  slabs stay registered, but nobody finds their registrations. Takes the lock
 *  for a moment; any thread, and handlers of signals. */
void ucs_arena_abandon(ucs_arena_t *arena);

/** Undo ucs_arena_init(). The caller then gives the memory of the arena back. */
void ucs_arena_cleanup(ucs_arena_t *arena);

/**
 * Before the process forks: let the child not inherit free memory, since the
 * kernel would copy each pinned page. Nobody can allocate this memory before
 * ucs_arena_after_fork(). The child does inherit short free blocks, and memory
 * that is freed meanwhile. One thread at a time, between ucs_hook_enter() and
 * ucs_hook_leave(): a handler of a signal in between could wait for this memory
 * (ucs_arena_spoil()). Takes the lock for moments; does not wait for the
 * helper.
 */
void ucs_arena_before_fork(ucs_arena_t *arena);

/** Undo ucs_arena_before_fork(), in the parent after the fork, or if the fork has
 *  failed. Called by the thread that has called ucs_arena_before_fork(). */
void ucs_arena_after_fork(ucs_arena_t *arena);

/**
 * Allocate memory that reads as zero. Any thread, memory hooks included: holds
 * the lock of the arena for a constant time, plus a step for each 64 pages.
 * Without the lock, the thread makes the memory accessible and zero, or opens a
 * slab if none has room.
 *
 * @param [in] length  Bytes, rounded up to pages.
 * @return NULL if there is no room.
 */
void *ucs_arena_allocate(ucs_arena_t *arena, size_t length);

/** From now on, keep freed memory of plain slabs (without a registration) for
 *  the lazy time, as in registered slabs, instead of giving it back to the
 *  kernel at once: for an allocator that was told to map and unmap memory which
 *  it would have kept by itself. Any thread. */
void ucs_arena_keep(ucs_arena_t *arena);

/**
 * Free the live pages of a range: one allocation, a part of an allocation, or
 * several ones; free pages stay free. Any thread, memory hooks included: holds
 * the lock of the arena for a constant time, plus a step for each 64 pages of
 * slabs with live pages; for many allocations, the lock is taken several times.
 * Without the lock, the thread protects the memory, if strict, and gives memory
 * of plain slabs back to the kernel.
 *
 * @param [in] start   A multiple of the page size, as for munmap().
 * @param [in] length  Bytes, rounded up to pages. The part of the range outside
 *                     of the arena is ignored, see ucs_arena_slabs_clip().
 * @param [in] now     The time.
 * @return UCS_ERR_NO_ELEM if nothing of the range is in the arena;
 *         UCS_ERR_INVALID_PARAM if it does not begin with a page;
 *         UCS_ERR_UNSUPPORTED if the arena has ended or this is a forked child:
 *         the caller is to unmap the memory.
 */
ucs_status_t ucs_arena_free(ucs_arena_t *arena, void *start, size_t length,
                            ucs_arena_time_t now);

/**
 * Make the pages behind live memory live as well, if they are free and in the
 * same slab. Otherwise as ucs_arena_allocate().
 *
 * @param [in] end     Where the live memory ends, a multiple of the page size.
 * @param [in] length  Bytes, rounded up to pages.
 * @return UCS_ERR_NO_RESOURCE if the pages are not free.
 */
ucs_status_t
ucs_arena_extend(ucs_arena_t *arena, void *end, size_t length);

/**
 * The program is about to map something else at addresses of the arena, whether
 * the pages there are live or not. The pages are live from now on, and their
 * slabs are spoilt. Any thread, memory hooks included. The call waits until no
 * other thread works at these pages: at most for one operation that zeroes,
 * protects or maps memory, for the end of a fork, for the unmapping of the slab
 * if the slab is empty, and for its registration if free pages of the range
 * belong to a slab that is just being registered.
 *
 * @param [in] start, length  As for ucs_arena_free().
 * @return as ucs_arena_free(): UCS_OK, or nothing was done.
 */
ucs_status_t ucs_arena_spoil(ucs_arena_t *arena, void *start, size_t length);

/**
 * Make a slab spoilt, although its memory stays as before: nobody finds the
 * registration or allocates memory of the slab any more, and the helper
 * deregisters the slab after the last use. Otherwise as ucs_arena_spoil().
 *
 * @param [in] slab  A slab of the arena, such as one from ucs_arena_find().
 */
ucs_status_t ucs_arena_withdraw(ucs_arena_t *arena, ucs_arena_slab_t *slab);

/**
 * Ask for the registration of a range for which ucs_arena_find() has found
 * none. If the range lies in a plain slab (with memory, not registered), the
 * helper registers that slab. Any thread; takes the lock if the registration of
 * the slab was not asked for yet.
 *
 * @return 0 if there is nothing to do for the helper; else 1, or -1 if the last
 *         registration has failed, so that the helper tries later.
 */
int ucs_arena_want(ucs_arena_t *arena, const void *address, size_t length);

/**
 * Keep the helper from registering plain slabs while this thread replaces pages
 * of live memory there: a registration would keep the former pages. Otherwise
 * as ucs_arena_free().
 *
 * @return UCS_OK: the caller calls ucs_arena_leave_plain() afterwards.
 *         UCS_ERR_BUSY if the helper is just working: this call does not wait.
 */
ucs_status_t ucs_arena_enter_plain(ucs_arena_t *arena);

void ucs_arena_leave_plain(ucs_arena_t *arena);

/** @return whether all slabs that a range touches are plain, so that the arena
 *          has registered no part of the range. To be called after
 *          ucs_arena_enter_plain(). */
int ucs_arena_is_plain(ucs_arena_t *arena, const void *start, size_t length);

/**
 * Give the pages of live memory back to the kernel, so that the memory reads as
 * zero, if all of the memory is in plain slabs and the helper is not just
 * working. Otherwise as ucs_arena_free().
 *
 * @return an error if nothing was done.
 */
ucs_status_t
ucs_arena_discard_live(ucs_arena_t *arena, void *start, size_t length);

/** @return whether all pages of a range are live pages of the arena. Any
 *          thread, as ucs_arena_free(). */
int ucs_arena_live(ucs_arena_t *arena, const void *start, size_t length);

/** @return whether any slab of a range is spoilt. Wait-free; any thread. */
int ucs_arena_is_spoilt(const ucs_arena_t *arena, const void *start,
                        size_t length);

/**
 * The work of the helper: protect what was freed, register slabs, give slabs back. Not
 * in memory hooks: blocks in operations.
 *
 * @return when to call the function next, as ucs_arena_due().
 */
ucs_arena_time_t ucs_arena_tend(ucs_arena_t *arena, ucs_arena_time_t now);

/**
 * Unpin memory, since memory is short: unmap empty registered slabs, and then
 * deregister slabs with live pages whose registration nobody uses, so that they
 * are plain. No slab is registered for the idle time afterwards. Called by the
 * helper, as ucs_arena_tend().
 *
 * @param [in] bytes  How many bytes to deregister.
 * @return how many bytes were deregistered.
 */
size_t ucs_arena_shrink(ucs_arena_t *arena, size_t bytes,
                        ucs_arena_time_t now);

/** Deregister all slabs whose registration nobody uses. The slabs are plain
 *  then. When a use asks again, the helper registers its slab anew, for example
 *  in one more domain than before. Called by the helper, as ucs_arena_tend(). */
void ucs_arena_lay_off(ucs_arena_t *arena);

/** Get the counters. Takes the lock for a moment; any thread, but not in a
 *  forked child. */
void ucs_arena_stats_get(ucs_arena_t *arena, ucs_arena_stats_t *stats);

/** @return when ucs_arena_tend() is to be called; 0: at once; UCS_ARENA_NEVER:
 *          there is nothing to do. Other calls may lower the time, and call
 *          ucs_arena_ops_t::wake then. */
static UCS_F_ALWAYS_INLINE ucs_arena_time_t
ucs_arena_due(const ucs_arena_t *arena)
{
    return ucs_relaxed_load(&arena->due);
}

/**
 * Find the registration of a range. Wait-free; any thread, memory hooks
 * included. The slab may be closed at any time, unless a page of the slab is
 * live, or ucs_arena_slab_acquire() keeps the slab open.
 *
 * @return NULL if no registered slab contains the whole range.
 */
static UCS_F_ALWAYS_INLINE ucs_arena_slab_t *
ucs_arena_find(const ucs_arena_t *arena, const void *address, size_t length)
{
    return ucs_arena_slabs_find(&arena->slabs, (uintptr_t)address, length);
}

/** @return whether a request that finds no room can find room only after memory
 *          was freed: no slab is vacant, the limit is reached, or the kernel
 *          has refused the memory of the last slab. */
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
