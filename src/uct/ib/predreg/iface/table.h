/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_TABLE_H_
#define UCT_PREDREG_TABLE_H_

#include "wrapped.h"

#include <ucs/base/hash.h>
#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stddef.h>

/** @file table.h
 *
 * The table of the wrapped interfaces of this process. It is searched by UCT's
 * handle of an interface, because UCT's structure has no room for a pointer to
 * ours. It grows: each worker of UCP opens some interfaces on each device.
 *
 * A hash table with linear probing. Whoever adds or removes an interface holds
 * the lock of table.c. Whoever searches holds none: a table that was outgrown
 * stays as it is for good, since somebody may still be searching it.
 */

/** A place of the table. Both fields are written under the table's lock.
 *  Relaxed: a thread gets an interface only after it was wrapped, from somebody
 *  who made sure that the thread also sees what was written before. */
typedef struct uct_predreg_place {
    _Atomic(uct_iface_h)          key;  /**< NULL: nothing was ever here;
                                             UCT_PREDREG_PLACE_LEFT: what was
                                             here was removed */
    _Atomic(uct_predreg_iface_t*) self;
} uct_predreg_place_t;

/** The table. Only the functions below may use it. */
typedef struct uct_predreg_table {
    struct uct_predreg_table *outgrown; /**< The one before; NULL: this is the
                                             first. Kept so that it is not
                                             taken for a leak */
    unsigned                 bits;      /**< It has 2^bits places; constant */
    size_t                   used;      /**< How many keys are not NULL. Under
                                             the table's lock */
    uct_predreg_place_t      places[];
} uct_predreg_table_t;

/** The present table; NULL before the first interface was wrapped. Written
 *  under the table's lock, with release, so that its places are seen by whoever
 *  reads it with acquire. */
extern _Atomic(uct_predreg_table_t*) uct_predreg_table;


/** A key that no interface has: the search goes on behind it. */
#define UCT_PREDREG_PLACE_LEFT ((uct_iface_h)1)


/** @return the state of a wrapped interface. Any thread may call this; it takes
 *  no lock. */
static UCS_F_ALWAYS_INLINE uct_predreg_iface_t *
uct_predreg_table_find(uct_iface_h iface)
{
    uct_predreg_table_t *table =
            atomic_load_explicit(&uct_predreg_table, memory_order_acquire);
    size_t mask                = (1ul << table->bits) - 1;
    size_t i                   = ucs_rcache_pred_hash_bits((uintptr_t)iface,
                                                           table->bits);

    /* Relaxed: see uct_predreg_place_t */
    while (atomic_load_explicit(&table->places[i].key, memory_order_relaxed) !=
           iface) {
        i = (i + 1) & mask;
    }

    return atomic_load_explicit(&table->places[i].self, memory_order_relaxed);
}

/**
 * Enter an interface. Thread safe.
 *
 * @param [in] self  Its state. It is the caller's, and has to stay until the
 *                   interface was removed.
 * @return UCS_ERR_NO_MEMORY if the table is full and cannot grow.
 */
ucs_status_t
uct_predreg_table_add(uct_iface_h iface, uct_predreg_iface_t *self);

/** Remove an interface. Thread safe. */
void uct_predreg_table_remove(uct_iface_h iface);

/** In a forked child, where there is no other thread: make the table usable
 *  again. The interfaces stay in it, since those who inherited them still call
 *  the replaced operations. */
void uct_predreg_table_reset(void);

#endif
