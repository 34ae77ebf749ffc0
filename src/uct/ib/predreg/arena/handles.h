/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_HANDLES_H_
#define UCT_PREDREG_ARENA_HANDLES_H_

#include <ucs/base/hash.h>
#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file handles.h
 *
 * Which slab a handle of UCT's is the registration of. A use ends with nothing
 * but the handle, which most often is not one of the arena: so looking up takes
 * no lock and waits for nobody. Slabs come and go a few times a second at most:
 * then the table is made anew, in the one of two places that is not read.
 */

/** No slab. */
#define UCT_PREDREG_HANDLES_NONE UINT32_MAX

typedef struct uct_predreg_handles_entry {
    _Atomic(uint64_t) handle; /**< 0: none. Relaxed, as the next one: the version
                                  orders them */
    _Atomic(uint32_t) slab;
} uct_predreg_handles_entry_t;


typedef struct uct_predreg_handles {
    unsigned                    bits;      /**< Logarithm of the entries of a
                                                table. Constant, as the next
                                                one */
    uct_predreg_handles_entry_t *tables[2]; /**< The one to be read is that of
                                                 the version's lowest bit */
    _Atomic(uint64_t)            version;   /**< Written with release, when the
                                                other table is complete */
} uct_predreg_handles_t;


/** Tells all handles there are, one after the other.
 *
 * @param [inout] pos_p  0 at first.
 * @return 0 if there are no more. */
typedef int (*uct_predreg_handles_next_t)(void *arg, size_t *pos_p,
                                          uint64_t *handle_p,
                                          uint32_t *slab_p);


/** @return bytes for the tables of up to so many handles. */
size_t uct_predreg_handles_memory_size(size_t max);

/** @param [in] memory  uct_predreg_handles_memory_size() bytes, zero. */
void uct_predreg_handles_init(uct_predreg_handles_t *handles, size_t max,
                              void *memory);

/** Replace all handles. One thread at a time. */
void uct_predreg_handles_set(uct_predreg_handles_t *handles,
                             uct_predreg_handles_next_t next, void *arg);

/** @return the slab that a handle belongs to. Lock-free: looks again only if all
 *          handles were replaced meanwhile. Any thread. */
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
        while ((key = atomic_load_explicit(&table[i].handle,
                                           memory_order_relaxed)) != 0) {
            if (key == handle) {
                slab = atomic_load_explicit(&table[i].slab,
                                            memory_order_relaxed);
                break;
            }
            i = (i + 1) & mask;
        }

        /* The table is written again only after the version has changed: with
         * these fences, who has read anything of that sees the change */
        atomic_thread_fence(memory_order_acquire);
    } while (ucs_unlikely(atomic_load_explicit(&handles->version,
                                               memory_order_relaxed) !=
                          version));
    return slab;
}

END_C_DECLS

#endif
