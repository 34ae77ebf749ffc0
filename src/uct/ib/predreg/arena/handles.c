/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "handles.h"


/* Logarithm of the entries of the smallest table. A table has twice as many
 * entries as there can be handles, so that a search soon meets an empty one */
#define MIN_BITS 4


static unsigned bits_of(size_t max)
{
    unsigned bits = MIN_BITS;

    while ((1ul << bits) < 2 * max) {
        ++bits;
    }
    return bits;
}

static size_t table_size(unsigned bits)
{
    return sizeof(uct_predreg_handles_entry_t) << bits;
}

size_t uct_predreg_handles_memory_size(size_t max)
{
    return 2 * table_size(bits_of(max));
}

void uct_predreg_handles_init(uct_predreg_handles_t *handles, size_t max,
                              void *memory)
{
    handles->bits      = bits_of(max);
    handles->tables[0] = memory;
    handles->tables[1] = (void*)((char*)memory + table_size(handles->bits));
    atomic_init(&handles->version, 0);
}

static void put(const uct_predreg_handles_t *handles,
                uct_predreg_handles_entry_t *table, uint64_t handle,
                uint32_t slab)
{
    size_t mask = (1ul << handles->bits) - 1;
    size_t i    = ucs_hash_bits(handle, handles->bits);

    while (atomic_load_explicit(&table[i].handle, memory_order_relaxed) != 0) {
        i = (i + 1) & mask;
    }
    atomic_store_explicit(&table[i].slab, slab, memory_order_relaxed);
    atomic_store_explicit(&table[i].handle, handle, memory_order_relaxed);
}

void uct_predreg_handles_set(uct_predreg_handles_t *handles,
                             uct_predreg_handles_next_t next, void *arg)
{
    uint64_t version = atomic_load_explicit(&handles->version,
                                            memory_order_relaxed);
    uct_predreg_handles_entry_t *table = handles->tables[(version + 1) & 1];
    size_t pos = 0;
    uint64_t handle;
    uint32_t slab;
    size_t i;

    /* Who still reads this table sees that the version has changed since it has
     * begun, if it sees any of the stores below */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < 1ul << handles->bits; ++i) {
        atomic_store_explicit(&table[i].handle, 0, memory_order_relaxed);
    }
    while (next(arg, &pos, &handle, &slab)) {
        put(handles, table, handle, slab);
    }

    atomic_store_explicit(&handles->version, version + 1,
                          memory_order_release);
}
