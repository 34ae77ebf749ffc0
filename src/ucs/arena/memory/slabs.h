/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_SLABS_H_
#define UCS_ARENA_MEMORY_SLABS_H_

#include "types.h"

#include <ucs/base/relaxed.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file slabs.h
 *
 * The slabs of an arena: parts of the address range. A vacant slab has no
 * memory, a plain one has memory without a registration, and a registered one
 * has memory with one registration. Each slab has addresses for the longest
 * slab, and memory from its first address on, as much as was chosen when the
 * slab was opened. Any thread finds the registration of an address without a
 * lock. The helper registers slabs and takes their memory away; a thread that
 * needs memory opens a vacant slab. Any thread may spoil a slab: the program
 * has mapped something else there, so nobody finds the registration from then
 * on.
 */

/** In the state of a slab: the slab is registered, and threads find it. The
 *  bits below this one count the uses of the registration that have not ended. */
#define UCS_ARENA_SLAB_OPEN   UCS_BIT(32)

/** In the state of a slab: the slab is spoilt. */
#define UCS_ARENA_SLAB_SPOILT UCS_BIT(33)

/** In the state of a slab: the slab is plain (with memory, not registered), and
 *  a use may ask for the registration. */
#define UCS_ARENA_SLAB_PLAIN  UCS_BIT(34)

/** In the state of a slab: a use has asked for the registration. */
#define UCS_ARENA_SLAB_WANTED UCS_BIT(35)

/** In the state of a slab: the process exits, and nobody finds the slab any more. */
#define UCS_ARENA_SLAB_CONCEALED UCS_BIT(36)


/** What a slab has. */
typedef enum ucs_arena_slab_kind {
    UCS_ARENA_SLAB_KIND_VACANT,     /**< Addresses only */
    UCS_ARENA_SLAB_KIND_PLAIN,      /**< Memory without a registration */
    UCS_ARENA_SLAB_KIND_REGISTERED, /**< Memory and a registration */
    UCS_ARENA_SLAB_KIND_LAST
} ucs_arena_slab_kind_t;


/** A slab. */
typedef struct ucs_arena_slab {
    /** The flags and the number of uses. The flags are written under the lock
     *  of the arena. OPEN is set with release, so that whoever sees the flag
     *  sees the handle. A thread that removes OPEN then looks, with acquire,
     *  whether there are uses: the helper deregisters after all uses have
     *  ended. */
    _Atomic(uint64_t)     state;
    void                  *handle; /**< The registration, from reg(). Written by the
                                        helper before the slab is open; constant
                                        while the slab is open */
    /** Bytes of memory; 0: the slab is vacant. Written under the lock of the arena
     *  while the slab is not open. Atomic and relaxed, since a thread that has found
     *  the slab may read the length late, while it changes. */
    _Atomic(size_t)       length;
    ucs_arena_slab_kind_t kind;    /**< Written under the lock of the arena: by the
                                        thread that opens a vacant slab, else by the
                                        helper */
    int                   is_busy; /**< Whether a thread, which does not have
                                        the lock meanwhile, is mapping or
                                        unmapping memory of the slab. Written
                                        under the lock of the arena */
} __attribute__((aligned(64))) ucs_arena_slab_t;


/** The slabs of an arena. */
typedef struct ucs_arena_slabs {
    uintptr_t         base;     /**< Where the first slab begins. Constant */
    size_t            size;     /**< Addresses of all slabs, bytes. Constant */
    size_t            mask;     /**< Addresses of one slab, bytes, less 1.
                                     Constant */
    unsigned          shift;    /**< Logarithm of the addresses of one slab.
                                     Constant */
    uint32_t          num;      /**< Number of slabs. Constant */
    _Atomic(uint32_t) num_used; /**< From this slab on, all slabs have always
                                     been vacant. Written under the lock of the
                                     arena, relaxed */
    size_t            bytes[UCS_ARENA_SLAB_KIND_LAST]; /**< Memory of the slabs
                                                            of each kind, bytes.
                                                            Under the lock of
                                                            the arena */
    ucs_arena_slab_t  *slabs;   /**< All slabs. The pointer is constant */
} ucs_arena_slabs_t;


/** @return the open slab (registered, and not hidden) that contains a whole
 *          range; NULL if there is none. Wait-free. */
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
    /* Acquire: a thread that sees the flag sees length and handle */
    if (!(atomic_load_explicit(&slab->state, memory_order_acquire) &
          UCS_ARENA_SLAB_OPEN)) {
        return NULL;
    }

    /* A length of 0 wraps around, and is too long for any slab */
    slab_length = ucs_relaxed_load(&slab->length);
    start       = offset & slabs->mask;
    return ((start < slab_length) && (length - 1 < slab_length - start)) ?
           slab : NULL;
}

/** Begin a use of the registration of a slab, which keeps the slab open.
 *  @return 0 if the slab is not open any more. Wait-free. */
static UCS_F_ALWAYS_INLINE int ucs_arena_slab_acquire(ucs_arena_slab_t *slab)
{
    if (ucs_likely(atomic_fetch_add_explicit(&slab->state, 1,
                                             memory_order_acquire) &
                   UCS_ARENA_SLAB_OPEN)) {
        return 1;
    }

    ucs_relaxed_sub(&slab->state, 1);
    return 0;
}

/** The end of ucs_arena_slab_acquire(). Wait-free. */
static UCS_F_ALWAYS_INLINE void ucs_arena_slab_release(ucs_arena_slab_t *slab)
{
    /* Release: the helper, which sees the end of the use, deregisters after it */
    atomic_fetch_sub_explicit(&slab->state, 1, memory_order_release);
}

/** @return how many slabs there are up to the last one that ever had memory. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_arena_slabs_num_used(const ucs_arena_slabs_t *slabs)
{
    return ucs_relaxed_load(&slabs->num_used);
}

/** @return whether registrations of a slab are in use. */
int ucs_arena_slab_is_used(const ucs_arena_slab_t *slab);

/** @return whether a slab is spoilt. */
int ucs_arena_slab_is_spoilt(const ucs_arena_slab_t *slab);

/** @return where the memory of a slab begins, by the number of the slab. */
void *ucs_arena_slabs_memory(const ucs_arena_slabs_t *slabs, uint32_t slab);

/** @return the first vacant slab that is not spoilt; the number of all slabs if
 *          there is none. Under the lock of the arena. */
uint32_t ucs_arena_slabs_first_vacant(const ucs_arena_slabs_t *slabs);

/** @return the length of the memory of a slab, bytes. */
size_t ucs_arena_slab_length(const ucs_arena_slab_t *slab);

/** Note the kind of a slab, and the length of its memory, bytes. Under the lock
 *  of the arena. */
void ucs_arena_slabs_set(ucs_arena_slabs_t *slabs, uint32_t slab,
                         ucs_arena_slab_kind_t kind, size_t length);

/** @return the memory of all slabs, bytes. Under the lock of the arena. */
size_t ucs_arena_slabs_committed(const ucs_arena_slabs_t *slabs);

/** Let threads find a registered slab, or ask for the registration of a plain
 *  one, unless the slab is spoilt or the process exits. Under the lock of the
 *  arena, as the next four functions. */
void ucs_arena_slab_publish(ucs_arena_slab_t *slab);

/** Forget that the registration of a slab was asked for. */
void ucs_arena_slab_unwant(ucs_arena_slab_t *slab);

/** Let nobody find a slab any more. @return 0 if the registration is in use:
 *  threads find the slab as before. */
int ucs_arena_slab_hide(ucs_arena_slab_t *slab);

/** Make a slab spoilt, in use or not. */
void ucs_arena_slab_spoil(ucs_arena_slab_t *slab);

/** Undo ucs_arena_slab_spoil(), for a slab whose memory was unmapped. */
void ucs_arena_slab_mend(ucs_arena_slab_t *slab);

/** Clip a range to the addresses of the slabs. Any thread. @return 0 if the
 *  range has none of these addresses, and stays as it is. */
int ucs_arena_slabs_clip(const ucs_arena_slabs_t *slabs, uintptr_t *start_p,
                         uintptr_t *end_p);

/** At the exit of the process: no slab is found from now on, in use or not. Under the lock
 *  of the arena. */
void ucs_arena_slabs_conceal(ucs_arena_slabs_t *slabs);

END_C_DECLS

#endif
