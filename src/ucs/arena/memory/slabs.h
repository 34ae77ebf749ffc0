/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_SLABS_H_
#define UCS_ARENA_MEMORY_SLABS_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file slabs.h
 *
 * The slabs of an arena: parts of its address range, each of which has memory
 * and one registration, or none of both. A slab has addresses for the longest
 * one, and as much memory, from its beginning on, as was asked for when it got
 * some. Anybody finds the registration of an address without a lock. A slab is
 *
 *   vacant  without memory
 *   plain   it has memory that the program gets, like any of the kernel's: it is
 *           registered when a use asks for that
 *   open    it has memory, and is registered
 *   bare    it has memory that is not registered: the kernel would not take it
 *           back yet, or the program has some of it still
 *
 * Only the helper opens, registers and closes slabs. Any thread may spoil one: its
 * registration is not that of its memory any more, since the program has mapped
 * something else there. It is not found from then on.
 */

/** In the state of a slab: it is open. The bits below this one count the
 *  answered registrations that have not ended. */
#define UCS_ARENA_SLAB_OPEN   UCS_BIT(32)

/** In the state of a slab: it is spoilt. */
#define UCS_ARENA_SLAB_SPOILT UCS_BIT(33)

/** In the state of a slab: it is plain, and not spoilt. */
#define UCS_ARENA_SLAB_PLAIN  UCS_BIT(34)

/** In the state of a plain slab: a use has asked for its registration. */
#define UCS_ARENA_SLAB_WANTED UCS_BIT(35)


/** A slab. */
typedef struct ucs_arena_slab {
    /** The flags and the number of uses. The flags are written under the lock
     *  of the arena. OPEN is set with release, so that whoever sees it sees the
     *  handle; who removes it looks then whether there are uses, with acquire:
     *  the helper deregisters after all of them have ended. */
    _Atomic(uint64_t) state;
    void             *handle;  /**< What reg() has returned. Written by the
                                    helper before the slab is open; constant
                                    while it is */
    /** Bytes of its memory; 0: it has none. Written by the helper before the
     *  slab is open; constant while it is. Atomic, since who finds a slab may
     *  be late, and then read it while it changes; relaxed. */
    _Atomic(size_t)   length;
    int              is_registered; /**< Whether it has a handle. The helper's */
    int              is_bare;  /**< Whether it is bare. The helper's */
    int              is_plain; /**< Whether it is plain. The helper's */
} __attribute__((aligned(64))) ucs_arena_slab_t;


/** The slabs of an arena. */
typedef struct ucs_arena_slabs {
    uintptr_t        base;     /**< Where the first one begins. Constant */
    size_t           size;     /**< Addresses of all, bytes. Constant */
    size_t           mask;     /**< Those of one, bytes, less 1. Constant */
    unsigned         shift;    /**< Logarithm of those of one. Constant */
    uint32_t         num;      /**< How many there are. Constant */
    uint32_t         num_used; /**< None from this one on was ever open. The
                                    helper's */
    uint32_t         num_registered; /**< The helper's */
    uint32_t         num_bare; /**< The helper's */
    uint32_t         num_plain; /**< The helper's */
    size_t           bytes_registered; /**< Of those that are. The helper's */
    size_t           bytes_bare; /**< Likewise */
    size_t           bytes_plain; /**< Likewise */
    ucs_arena_slab_t *slabs;   /**< All. Constant, as memory */
} ucs_arena_slabs_t;


/** @return the slab that has all of a range and is open at this moment; NULL if
 *          none has. Wait-free. */
static UCS_F_ALWAYS_INLINE ucs_arena_slab_t *
ucs_arena_slabs_find(const ucs_arena_slabs_t *slabs, uintptr_t address,
                     size_t length)
{
    uintptr_t offset = address - slabs->base;
    ucs_arena_slab_t *slab;
    size_t start, slab_length;

    if (ucs_unlikely(offset >= slabs->size)) {
        return NULL;
    }

    slab = &slabs->slabs[offset >> slabs->shift];
    /* Acquire: who sees that it is open sees its length and its handle */
    if (!(atomic_load_explicit(&slab->state, memory_order_acquire) &
          UCS_ARENA_SLAB_OPEN)) {
        return NULL;
    }

    /* A length of 0 is wrapped, and so too long */
    slab_length = atomic_load_explicit(&slab->length, memory_order_relaxed);
    start       = offset & slabs->mask;
    return ((start < slab_length) && (length - 1 < slab_length - start)) ?
           slab : NULL;
}

/** Keep a slab open. @return 0 if it is not open any more. Wait-free. */
static UCS_F_ALWAYS_INLINE int ucs_arena_slab_acquire(ucs_arena_slab_t *slab)
{
    if (ucs_likely(atomic_fetch_add_explicit(&slab->state, 1,
                                             memory_order_acquire) &
                   UCS_ARENA_SLAB_OPEN)) {
        return 1;
    }

    atomic_fetch_sub_explicit(&slab->state, 1, memory_order_relaxed);
    return 0;
}

/** The end of ucs_arena_slab_acquire(). Wait-free. */
static UCS_F_ALWAYS_INLINE void ucs_arena_slab_release(ucs_arena_slab_t *slab)
{
    /* Release: the helper deregisters after this */
    atomic_fetch_sub_explicit(&slab->state, 1, memory_order_release);
}

/** @return whether the program gets memory of a slab: it is open or plain, and
 *          not spoilt. */
int ucs_arena_slab_is_served(const ucs_arena_slab_t *slab);

/** @return whether registrations of a slab are in use. */
int ucs_arena_slab_is_used(const ucs_arena_slab_t *slab);

/** @return the memory of a slab, by its number. */
void *ucs_arena_slabs_memory(const ucs_arena_slabs_t *slabs, uint32_t slab);

/** Whether there is a slab that could be opened: a vacant one. */
int ucs_arena_slabs_has_vacant(const ucs_arena_slabs_t *slabs);

/** @return whether a slab is spoilt. */
int ucs_arena_slab_is_spoilt(const ucs_arena_slab_t *slab);

/** @return the first vacant slab that is not spoilt; the number of all slabs if
 *          there is none. The helper only. */
uint32_t ucs_arena_slabs_first_vacant(const ucs_arena_slabs_t *slabs);

/** Give a vacant slab memory: it is plain. The helper only, without the lock of
 *  the arena.
 *
 * @param [in] length  Bytes, whole pages, at most those of its addresses.
 * @return what the operation has returned. */
ucs_status_t ucs_arena_slabs_map(ucs_arena_slabs_t *slabs,
                                 const ucs_arena_ops_t *ops, uint32_t slab,
                                 size_t length);

/** @return bytes of a slab's memory. The helper only. */
size_t ucs_arena_slab_length(const ucs_arena_slab_t *slab);

/** Make a bare slab plain, which was registered. The helper only. */
void ucs_arena_slabs_leave_plain(ucs_arena_slabs_t *slabs, uint32_t slab);

/** Make a plain slab shorter. The helper only, under the lock of the arena; the
 *  memory behind its new end is the caller's to take away.
 *
 * @param [in] length  Bytes, whole pages, less than it has. */
void ucs_arena_slabs_cut(ucs_arena_slabs_t *slabs, uint32_t slab,
                         size_t length);

/**
 * Register a plain slab. The helper only, without the lock of the arena.
 * The slab cannot be found before ucs_arena_slab_publish().
 *
 * @return what the operation has returned. On error the slab is plain still.
 */
ucs_status_t ucs_arena_slabs_register(ucs_arena_slabs_t *slabs,
                                      const ucs_arena_ops_t *ops,
                                      uint32_t slab);

/** Let a registered slab be found, or a registration be asked for of a plain one,
 *  unless it is spoilt. Under the lock of the arena, as the next four. */
void ucs_arena_slab_publish(ucs_arena_slab_t *slab);

/** Forget that the registration of a slab was asked for. */
void ucs_arena_slab_unwant(ucs_arena_slab_t *slab);

/** Let a slab not be found any more. @return 0 if it is in use: then it is found
 *  as before. */
int ucs_arena_slab_hide(ucs_arena_slab_t *slab);

/** Make a slab spoilt, in use or not. */
void ucs_arena_slab_spoil(ucs_arena_slab_t *slab);

/** The end of ucs_arena_slab_spoil(): the slab is vacant. */
void ucs_arena_slab_mend(ucs_arena_slab_t *slab);

/**
 * Deregister a hidden slab, which then is bare, as is a plain one. To be called
 * by the helper only, without the lock of the arena.
 *
 * @return an error if it is registered still, and so as open as it was.
 */
ucs_status_t ucs_arena_slabs_deregister(ucs_arena_slabs_t *slabs,
                                        const ucs_arena_ops_t *ops,
                                        uint32_t slab);

/** Take the memory of a slab away, and what the program has mapped at its other
 *  addresses, after which it is not bare. To be called by the helper only,
 *  without the lock of the arena. @return an error if nothing has changed. */
ucs_status_t ucs_arena_slabs_clear(ucs_arena_slabs_t *slabs,
                                   const ucs_arena_ops_t *ops, uint32_t slab);

/** At the exit of the process: none is found any more, in use or not. What uses
 *  it ends as ever. */
void ucs_arena_slabs_conceal(ucs_arena_slabs_t *slabs);

/** In a forked child: none is open or in use any more. */
void ucs_arena_slabs_abandon(ucs_arena_slabs_t *slabs);

END_C_DECLS

#endif
