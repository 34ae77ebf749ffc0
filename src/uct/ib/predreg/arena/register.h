/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_REGISTER_H_
#define UCT_PREDREG_ARENA_REGISTER_H_

#include "altered.h"

#include <ucs/arena/arena.h>
#include <ucs/base/hash.h>
#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>


BEGIN_C_DECLS

/** @file arena/register.h
 *
 * The registrations of slabs: one in each memory domain known when the helper registers
 * the slab. Uses in a later domain register for themselves, until the slab is registered
 * anew. At the end of a use only UCT's handle is known, and most handles are not of the
 * arena: the lookup from a handle to the slab takes no lock and waits for nobody. Slabs
 * come and go a few times a second at most: then the helper makes a table anew, in the one
 * of two places that nobody reads.
 */

/** In how many domains at most slabs are registered. In further domains each use
 *  registers its memory. */
#define UCT_PREDREG_ARENA_DOMAINS 8

/** No slab. */
#define UCT_PREDREG_HANDLES_NONE  UINT32_MAX


typedef struct uct_predreg_handles_entry {
    _Atomic(uint64_t) handle; /**< 0: none. Relaxed, as the next one: the version
                                  orders both */
    _Atomic(uint32_t) slab;
} uct_predreg_handles_entry_t;


/** The slab of each handle. */
typedef struct uct_predreg_handles {
    unsigned                    bits;      /**< Logarithm of the entries of a
                                                table. Constant, as the next
                                                one */
    uct_predreg_handles_entry_t *tables[2]; /**< Readers read the table whose number is the
                                                 lowest bit of version */
    _Atomic(uint64_t)           version;   /**< Written with release, when the
                                                other table is complete */
} uct_predreg_handles_t;


/** The functions that register slabs and keep the bounds. Called by one thread at a time,
 *  and not in memory hooks. */
typedef struct uct_predreg_arena_reg_ops {
    ucs_status_t (*mem_reg)(void *domain, void *address, size_t length,
                            unsigned flags, uct_mem_h *memh_p);
    ucs_status_t (*mem_dereg)(void *domain, uct_mem_h memh);

    /** Take room within the bounds for one registration, and give the room back. */
    ucs_status_t (*reserve)(void *arg, size_t length);
    void         (*release)(void *arg, size_t length);
    void         *arg; /**< Of reserve and release */
} uct_predreg_arena_reg_ops_t;


/** The registrations of a slab. ucs_arena_slab_t::handle points to this structure. */
typedef struct uct_predreg_arena_memhs {
    /** The handle for each domain; NULL: uses there register for themselves. Written
     *  under the lock, before the arena lets uses find the slab, and cleared when there is
     *  no use in the slab, or in the domain, any more. */
    uct_mem_h memhs[UCT_PREDREG_ARENA_DOMAINS];
    size_t    length; /**< Bytes of the slab; undefined if there is no handle. Under
                           the lock */
} uct_predreg_arena_memhs_t;


typedef struct uct_predreg_arena_regs {
    uct_predreg_arena_reg_ops_t ops;       /**< Constant, as the next five */
    unsigned                    flags;     /**< Flags of each registration */
    uintptr_t                   base;      /**< Address of the first slab */
    size_t                      spacing;   /**< From the beginning of a slab
                                                to that of the next, bytes */
    uint32_t                    num_slabs;
    uct_predreg_arena_memhs_t   *slabs;    /**< The registrations of each slab */
    const uct_predreg_altered_t *advised;  /**< Memory with advice of the program, which
                                                gets no huge pages. Constant */
    uct_predreg_handles_t       handles;   /**< The handles of all slabs. Written under the
                                                lock */
    ucs_mutex_t                 lock;      /**< Protects the registrations; held during
                                                each registration and deregistration */
    void                        *domains[UCT_PREDREG_ARENA_DOMAINS];
                                           /**< NULL: none. Under the lock */
} uct_predreg_arena_regs_t;


/** @return how many bytes the tables of up to @a max handles need. */
size_t uct_predreg_handles_memory_size(size_t max);

/** @param [in] memory  uct_predreg_handles_memory_size() bytes, zero. */
void uct_predreg_handles_init(uct_predreg_handles_t *handles, size_t max,
                              void *memory);

/** Begin to replace all handles: no handle is in the new table. One thread at a time. */
void uct_predreg_handles_begin(uct_predreg_handles_t *handles);

/** Add a handle to the new table. */
void uct_predreg_handles_put(uct_predreg_handles_t *handles, uint64_t handle,
                             uint32_t slab);

/** Have readers use the new table from now on. */
void uct_predreg_handles_end(uct_predreg_handles_t *handles);

/** @return the slab of a handle; UCT_PREDREG_HANDLES_NONE: the handle is not of the
 *          arena. Lock-free: searches again only if the table was replaced meanwhile. Any
 *          thread. */
static UCS_F_ALWAYS_INLINE uint32_t
uct_predreg_handles_find(const uct_predreg_handles_t *handles, uint64_t handle)
{
    size_t mask = (1ul << handles->bits) - 1;
    const uct_predreg_handles_entry_t *table;
    uint64_t version, key;
    uint32_t slab;
    size_t i;

    do {
        /* Acquire: pairs with the release when the table was complete */
        version = atomic_load_explicit(&handles->version,
                                       memory_order_acquire);
        table   = handles->tables[version & 1];
        slab    = UCT_PREDREG_HANDLES_NONE;
        i       = ucs_hash_bits(handle, handles->bits);
        while ((key = ucs_relaxed_load(&table[i].handle)) != 0) {
            if (key == handle) {
                slab = ucs_relaxed_load(&table[i].slab);
                break;
            }
            i = (i + 1) & mask;
        }

        /* The table is written again only after the version has changed: with
         * these fences, a reader of any new entry sees the change */
        atomic_thread_fence(memory_order_acquire);
    } while (ucs_unlikely(ucs_relaxed_load(&handles->version) != version));
    return slab;
}

/** @return how many bytes the registrations of @a num_slabs slabs need. */
size_t uct_predreg_arena_regs_memory_size(uint32_t num_slabs);

/** @param [in] memory  uct_predreg_arena_regs_memory_size() bytes, zero. The
 *                      other fields that are constant are set already. */
void uct_predreg_arena_regs_init(uct_predreg_arena_regs_t *regs, void *memory);

void uct_predreg_arena_regs_cleanup(uct_predreg_arena_regs_t *regs);

/** Register slabs in one more domain from now on.
 *
 * @return the domain's number; -1: there are too many domains. */
int uct_predreg_arena_regs_add(uct_predreg_arena_regs_t *regs, void *domain);

/** Deregister all slabs in a domain that has no uses any more, and forget the domain. */
void uct_predreg_arena_regs_remove(uct_predreg_arena_regs_t *regs,
                                   unsigned number);

/** The operation reg() of an arena. */
ucs_status_t uct_predreg_arena_regs_reg(uct_predreg_arena_regs_t *regs,
                                        void *start, size_t length,
                                        void **handle_p);

/** The operation dereg() of an arena. */
void uct_predreg_arena_regs_dereg(uct_predreg_arena_regs_t *regs,
                                  uct_predreg_arena_memhs_t *memhs);

/** @return the registration of a slab in a domain; NULL: there is none in the domain. The
 *          caller has begun a use of the slab, so that the registration stays. Wait-free;
 *          any thread. */
static UCS_F_ALWAYS_INLINE uct_mem_h
uct_predreg_arena_regs_get(const ucs_arena_slab_t *slab, unsigned number)
{
    /* The cast is for C++ */
    return ((const uct_predreg_arena_memhs_t*)slab->handle)->memhs[number];
}

END_C_DECLS

#endif
