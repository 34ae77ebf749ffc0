/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_REGISTER_H_
#define UCT_PREDREG_ARENA_REGISTER_H_

#include "altered.h"
#include "handles.h"

#include <ucs/arena/arena.h>
#include <ucs/base/mutex.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file arena/register.h
 *
 * The registrations of slabs: one in each memory domain that there is when the
 * slab is registered. Uses in a domain that was opened later register for
 * themselves, until the slab is registered anew.
 */

/** In how many domains at most slabs are registered. Uses in others register for
 *  themselves. */
#define UCT_PREDREG_ARENA_DOMAINS 8


/** What registers. Called by one thread at a time, and not in memory hooks. */
typedef struct uct_predreg_arena_reg_ops {
    ucs_status_t (*mem_reg)(void *domain, void *address, size_t length,
                            unsigned flags, uct_mem_h *memh_p);
    ucs_status_t (*mem_dereg)(void *domain, uct_mem_h memh);

    /** Room within the bounds for one registration. */
    ucs_status_t (*reserve)(void *arg, size_t length);
    void         (*release)(void *arg, size_t length);
    void         *arg; /**< Of reserve and release */
} uct_predreg_arena_reg_ops_t;


/** The registrations of a slab: what ucs_arena_slab_t::handle points to. */
typedef struct uct_predreg_arena_memhs {
    /** What uses in each domain get; NULL: they register for themselves. Written
     *  under the lock, with release after the handle can be looked up. */
    _Atomic(uct_mem_h) memhs[UCT_PREDREG_ARENA_DOMAINS];
    /** What can be looked up. Under the lock. */
    uct_mem_h          known[UCT_PREDREG_ARENA_DOMAINS];
    size_t             length; /**< Bytes of the slab; undefined if it is not
                                    registered. Under the lock */
} uct_predreg_arena_memhs_t;


typedef struct uct_predreg_arena_regs {
    uct_predreg_arena_reg_ops_t ops;       /**< Constant, as the next five */
    unsigned                    flags;     /**< Of each registration */
    uintptr_t                   base;      /**< Of the first slab */
    size_t                      spacing;   /**< From the beginning of a slab
                                                to that of the next, bytes */
    uint32_t                    num_slabs;
    uct_predreg_arena_memhs_t   *slabs;    /**< Of each slab */
    const uct_predreg_altered_t *advised;  /**< Memory that the program has given advice
                                                for, which is not to consist of huge
                                                pages. Constant */
    uct_predreg_handles_t       handles;
    ucs_mutex_t                 lock;      /**< Around all registrations; held
                                                while they are made */
    void                        *domains[UCT_PREDREG_ARENA_DOMAINS];
                                           /**< NULL: none. Under the lock */
} uct_predreg_arena_regs_t;


/** @return bytes that are needed for so many slabs. */
size_t uct_predreg_arena_regs_memory_size(uint32_t num_slabs);

/** @param [in] memory  uct_predreg_arena_regs_memory_size() bytes, zero. The
 *                      other fields that are constant are set already. */
void uct_predreg_arena_regs_init(uct_predreg_arena_regs_t *regs, void *memory);

void uct_predreg_arena_regs_cleanup(uct_predreg_arena_regs_t *regs);

/** Let slabs that are registered from now on be so in a domain, too.
 *
 * @return its number; -1: there are too many domains. */
int uct_predreg_arena_regs_add(uct_predreg_arena_regs_t *regs, void *domain);

/** Deregister all slabs in a domain, in which there are no uses any more. */
void uct_predreg_arena_regs_remove(uct_predreg_arena_regs_t *regs,
                                   unsigned number);

/* Operations of an arena, see ucs_arena_ops_t; the argument is
 * uct_predreg_arena_regs_t */

ucs_status_t uct_predreg_arena_regs_op_reg(void *arg, void *start,
                                           size_t length, void **handle_p);

ucs_status_t uct_predreg_arena_regs_op_dereg(void *arg, void *handle);

/** @return the registration of a slab that is kept open; NULL: it is not
 *          registered in that domain. Wait-free; any thread. */
static UCS_F_ALWAYS_INLINE uct_mem_h
uct_predreg_arena_regs_get(const ucs_arena_slab_t *slab, unsigned number)
{
    /* The cast is for C++ */
    const uct_predreg_arena_memhs_t *memhs =
            (const uct_predreg_arena_memhs_t*)slab->handle;

    /* Acquire: who ends the use of the handle finds it in the table */
    return atomic_load_explicit(&memhs->memhs[number], memory_order_acquire);
}

END_C_DECLS

#endif
