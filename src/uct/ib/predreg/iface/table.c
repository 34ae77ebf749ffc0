/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "table.h"

#include <ucs/base/mutex.h>

#include <stdlib.h>

/* The first table has 2^6 places, room for the interfaces of most processes */
#define FIRST_BITS 6


_Atomic(uct_predreg_table_t*) uct_predreg_table;

/* Protects changes to the table. No other lock is taken while it is held. */
static ucs_mutex_t lock = UCS_MUTEX_INITIALIZER(UCS_RANK_IFACES);


static size_t table_mask(const uct_predreg_table_t *table)
{
    return (1ul << table->bits) - 1;
}

/* The key at a place, which may be any number: the places form a ring */
static uct_iface_h get_key(const uct_predreg_table_t *table, size_t i)
{
    /* Relaxed: under the lock */
    return atomic_load_explicit(&table->places[i & table_mask(table)].key,
                                memory_order_relaxed);
}

/* Relaxed, here and below: see uct_predreg_place_t */
static void set_key(uct_predreg_table_t *table, size_t i, uct_iface_h iface)
{
    atomic_store_explicit(&table->places[i & table_mask(table)].key, iface,
                          memory_order_relaxed);
}

/* Enter an interface that is not in the table, in which there is room */
static void
insert(uct_predreg_table_t *table, uct_iface_h iface, uct_predreg_iface_t *self)
{
    size_t i = ucs_rcache_pred_hash_bits((uintptr_t)iface, table->bits);

    while ((get_key(table, i) != NULL) &&
           (get_key(table, i) != UCT_PREDREG_PLACE_LEFT)) {
        ++i;
    }

    table->used += (get_key(table, i) == NULL);
    atomic_store_explicit(&table->places[i & table_mask(table)].self, self,
                          memory_order_relaxed);
    set_key(table, i, iface);
}

/* Replace the table by one that is twice as large. @return NULL if there is no
 * memory for it. */
static uct_predreg_table_t *grow(uct_predreg_table_t *old)
{
    unsigned bits = (old == NULL) ? FIRST_BITS : (old->bits + 1);
    uct_predreg_table_t *table;
    uct_iface_h key;
    size_t i;

    table = calloc(1, sizeof(*table) + (sizeof(*table->places) << bits));
    if (table == NULL) {
        return NULL;
    }

    table->bits     = bits;
    table->outgrown = old;
    for (i = 0; (old != NULL) && (i <= table_mask(old)); ++i) {
        key = get_key(old, i);
        if ((key != NULL) && (key != UCT_PREDREG_PLACE_LEFT)) {
            insert(table, key, atomic_load_explicit(&old->places[i].self,
                                                    memory_order_relaxed));
        }
    }

    /* Release: see uct_predreg_table */
    atomic_store_explicit(&uct_predreg_table, table, memory_order_release);
    return table;
}

ucs_status_t
uct_predreg_table_add(uct_iface_h iface, uct_predreg_iface_t *self)
{
    ucs_status_t status = UCS_OK;
    uct_predreg_table_t *table;

    ucs_mutex_lock(&lock);
    /* Relaxed: it is written under this lock */
    table = atomic_load_explicit(&uct_predreg_table, memory_order_relaxed);
    /* Half of the places stay free, so that searches are short and end */
    if ((table == NULL) || (table->used > table_mask(table) / 2)) {
        table = grow(table);
    }

    if (table != NULL) {
        insert(table, iface, self);
    } else {
        status = UCS_ERR_NO_MEMORY;
    }
    ucs_mutex_unlock(&lock);
    return status;
}

void uct_predreg_table_remove(uct_iface_h iface)
{
    uct_predreg_table_t *table;
    size_t i;

    ucs_mutex_lock(&lock);
    /* Relaxed: it is written under this lock */
    table = atomic_load_explicit(&uct_predreg_table, memory_order_relaxed);
    /* Not 0, so that i - 1 is the place before */
    i     = ucs_rcache_pred_hash_bits((uintptr_t)iface, table->bits) +
            (1ul << table->bits);
    while (get_key(table, i) != iface) {
        ++i;
    }

    set_key(table, i, UCT_PREDREG_PLACE_LEFT);
    /* No search has to go beyond places that were left before a free one. So
     * the table does not fill up where interfaces come and go */
    while ((get_key(table, i + 1) == NULL) &&
           (get_key(table, i) == UCT_PREDREG_PLACE_LEFT)) {
        set_key(table, i--, NULL);
        --table->used;
    }
    ucs_mutex_unlock(&lock);
}

void uct_predreg_table_reset(void)
{
    /* The lock may have been held at the fork, by a thread that only the parent
     * has. What that thread was changing is a place that the child has no use
     * for */
    ucs_mutex_init(&lock, UCS_RANK_IFACES, 0);
}
