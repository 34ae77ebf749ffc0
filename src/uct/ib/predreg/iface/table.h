/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_TABLE_H_
#define UCT_PREDREG_TABLE_H_

#include "wrapped.h"

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stddef.h>

/** @file table.h
 *
 * The table of the wrapped interfaces of this process. It is searched by UCT's
 * handle of an interface, because UCT's structure has no room for a pointer to
 * ours.
 */

/** How many interfaces can be wrapped at a time. Each worker of UCP opens some
 *  on each device. */
#define UCT_PREDREG_MAX_IFACES 256


/** The table. Only the functions below may use it. */
typedef struct uct_predreg_table {
    /** Handles of the wrapped interfaces; NULL where a place is free. Written
     *  under the table's lock. Relaxed: a thread gets an interface only after
     *  it was wrapped, from somebody who made sure that the thread also sees
     *  what was written before. */
    _Atomic(uct_iface_h) keys[UCT_PREDREG_MAX_IFACES];
    uct_predreg_iface_t  ifaces[UCT_PREDREG_MAX_IFACES];
} uct_predreg_table_t;

extern uct_predreg_table_t uct_predreg_table;


/** @return the state of an interface, or NULL if it is not wrapped. Any thread
 *  may call this; it takes no lock. */
static UCS_F_ALWAYS_INLINE uct_predreg_iface_t *
uct_predreg_table_find(uct_iface_h iface)
{
    unsigned i;

    for (i = 0; i < UCT_PREDREG_MAX_IFACES; ++i) {
        /* Relaxed: see uct_predreg_table_t */
        if (atomic_load_explicit(&uct_predreg_table.keys[i],
                                 memory_order_relaxed) == iface) {
            return &uct_predreg_table.ifaces[i];
        }
    }

    return NULL;
}

/**
 * Give an interface a place. Thread safe.
 *
 * @return the place, all 0, for the caller to fill in before anybody else uses
 *         the interface; NULL if the table is full.
 */
uct_predreg_iface_t *uct_predreg_table_add(uct_iface_h iface);

/** Free the place of an interface. Thread safe. */
void uct_predreg_table_remove(uct_predreg_iface_t *self);

/** Free all places, in a forked child. There is no other thread. */
void uct_predreg_table_reset(void);

#endif
