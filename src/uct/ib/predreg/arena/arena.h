/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_ARENA_H_
#define UCT_PREDREG_ARENA_ARENA_H_

#include "attract.h"
#include "calls.h"
#include "register.h"

#include <ucs/arena/arena.h>
#include <ucs/host/pressure.h>
#include <ucs/host/thread.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file uct/ib/predreg/arena/arena.h
 *
 * The arena of a process: memory, the registrations of slabs, and a
 * helper thread. A process makes one arena when it opens the first domain, and keeps the
 * arena until the end.
 */

/** What an arena is made with. */
typedef struct uct_predreg_arena_params {
    size_t                      size;       /**< Of all slabs at most, bytes, a
                                                 multiple of slab_size */
    size_t                      slab_size;  /**< Of the longest slab, bytes, a
                                                 power of 2, at least 16
                                                 pages */
    size_t                      first_slab; /**< Of the shortest slab, bytes, a power of 2
                                                 as well */
    size_t                      min_length; /**< Shortest mapping that is
                                                 served, bytes */
    int                         is_strict;  /**< See ucs_arena_params_t */
    unsigned                    flags;      /**< Flags of the registrations of slabs: the
                                                 allowed access, and how the memory is
                                                 registered */
    unsigned                    access;     /**< The allowed access alone: a use that needs
                                                 more is not answered */
    uct_predreg_arena_reg_ops_t ops;
    /** Show other processes the statistics, since uses that the arena answers do not show
     *  them. The helper thread calls the function once a second, with ops.arg, outside of
     *  all locks. NULL: nobody is shown the statistics */
    void                        (*publish)(void *arg);
    /** Have malloc() map allocations of a length and more, so that the arena gets to see
     *  them, see attract.h. Called by the helper thread outside of all locks, when the
     *  length or is_eager changes. NULL: malloc() is told nothing.
     *  @param [in] length   SIZE_MAX: malloc() is to map as little as possible.
     *  @param [in] is_eager Whether free memory of the heap goes back to the kernel at
     *                       once. */
    void                        (*attract)(size_t length, int is_eager);
} uct_predreg_arena_params_t;


typedef struct uct_predreg_arena {
    uct_predreg_served_t     served;
    uct_predreg_arena_regs_t regs;
    ucs_rcache_pred_thread_t *thread; /**< Constant */
    void                     (*publish)(void *arg); /**< See the parameters.
                                                         Constant */
    void                     (*attract)(size_t length, int is_eager); /**< See the
                                                                          parameters.
                                                                          Constant */
    uct_predreg_attract_t    attraction;
    unsigned                 access;  /**< What registrations of slabs allow.
                                           Constant */
    /** Whether this process has made the arena: 1 in this process. The number is in a
     *  page that the kernel fills with zeros in a forked child, since memory hooks may
     *  run in the child before any handler of the fork. */
    volatile int             *is_here;
    _Atomic(int)              has_events; /**< Whether a call of the program has
                                              come to the arena. Written by any thread,
                                              relaxed: nothing is read through
                                              it */
    _Atomic(uint64_t)         zero_time;  /**< Time for filling memory with zeros, ns.
                                               Relaxed */
    ucs_rcache_pred_pressure_t pressure; /**< Used by the helper alone, as the next one */
    ucs_rcache_pred_time_t   look_at;    /**< When the helper looks again whether memory
                                              is short, and shows the statistics */
    size_t                   size;       /**< Size of the mapping of this
                                              structure and the tables behind this
                                              structure, bytes. Constant */
} uct_predreg_arena_t;


/** Make an arena. @return UCS_ERR_UNSUPPORTED if the kernel has no MADV_WIPEONFORK
 *  (before 4.14); UCS_ERR_NO_MEMORY. The function logs nothing. */
ucs_status_t uct_predreg_arena_create(const uct_predreg_arena_params_t *params,
                                      uct_predreg_arena_t **arena_p);

/** Give back all that uct_predreg_arena_create() has made. Nobody else may know of
 *  the arena. */
void uct_predreg_arena_destroy(uct_predreg_arena_t *arena);

/** Start the helper thread, unless it runs already. */
ucs_status_t uct_predreg_arena_start(uct_predreg_arena_t *arena);

/** At the exit of the process: end the helper thread, and leave the program's
 *  memory to the kernel.
 *
 * @param [in] patience  How long to wait for the end of the thread at most, ns. */
void uct_predreg_arena_stop(uct_predreg_arena_t *arena, uint64_t patience);

/** From now on register slabs in a domain as well. Slabs without uses are deregistered,
 *  and registered in all domains at their next use. Waits for the helper. @return as
 *  uct_predreg_arena_regs_add(). */
int uct_predreg_arena_add(uct_predreg_arena_t *arena, void *domain);

/** Deregister at least one slab whose registration nobody uses, to make room within the
 *  bounds. May wait for a registration. @return 0 if there is no such slab. */
int uct_predreg_arena_give_way(uct_predreg_arena_t *arena);

/** A use was not answered, since its memory is not registered in the arena. If the memory
 *  is in a plain slab, which has memory and no registration, have the helper register the
 *  slab. Any thread. */
void uct_predreg_arena_want(uct_predreg_arena_t *arena, const void *address,
                            size_t length);

/**
 * Begin a use of memory in a slab: no lock, no system call. Any thread.
 *
 * @param [in] number  The domain's number.
 * @param [in] access  UCT_MD_MEM_ACCESS_*.
 * @return whether the arena answers the use: then uct_predreg_arena_end() ends the use.
 *         0: the caller registers the memory itself.
 */
static UCS_F_ALWAYS_INLINE int
uct_predreg_arena_begin(uct_predreg_arena_t *arena, unsigned number,
                        const void *address, size_t length, unsigned access,
                        uct_mem_h *memh_p)
{
    ucs_arena_slab_t *slab = ucs_arena_find(arena->served.arena, address,
                                            length);

    if (access & ~arena->access) {
        return 0;
    }

    if ((slab == NULL) || !ucs_arena_slab_acquire(slab)) {
        uct_predreg_arena_want(arena, address, length);
        return 0;
    }

    *memh_p = uct_predreg_arena_regs_get(slab, number);
    if (ucs_unlikely(*memh_p == NULL)) {
        ucs_arena_slab_release(slab);
        return 0;
    }

    ucs_arena_count_answered(arena->served.arena);
    return 1;
}

/**
 * End a use, if the arena has answered the use. Any thread.
 *
 * @param [in] is_invalid  Whether no peer may have access any more: then the
 *                         slab is deregistered after the last use.
 * @return whether the arena had answered the use.
 */
static UCS_F_ALWAYS_INLINE int
uct_predreg_arena_end(uct_predreg_arena_t *arena, uct_mem_h memh,
                      int is_invalid)
{
    ucs_arena_t *inner = arena->served.arena;
    uint32_t number    = uct_predreg_handles_find(&arena->regs.handles,
                                                  (uintptr_t)memh);
    ucs_arena_slab_t *slab;

    if (number == UCT_PREDREG_HANDLES_NONE) {
        return 0;
    }

    slab = &inner->slabs.slabs[number];
    if (ucs_unlikely(is_invalid)) {
        (void)ucs_arena_withdraw(inner, slab);
    }
    ucs_arena_slab_release(slab);
    return 1;
}

END_C_DECLS

#endif
