/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "table.h"

#include <ucs/base/align.h>

#include <stdlib.h>

/* A table that has stopped starts anew after it has turned down so many times
 * as many buffers as it holds, and as many as it has lines: walking through it
 * costs little then, spread over them. The few buffers that fill one line do
 * not suffice, however unfortunate their addresses */
#define REFUSED_PER_BUFFER 4


static size_t lines_size(const ucs_reuse_table_t *table)
{
    return sizeof(*table->lines) << table->bits;
}

ucs_status_t ucs_reuse_table_init(ucs_reuse_table_t *table, unsigned bits,
                                  double min_hot)
{
    UCS_STATIC_ASSERT(sizeof(ucs_reuse_line_t) == 64);

    *table = (ucs_reuse_table_t){.bits = bits, .min_hot = min_hot};

    /* Zeros are an empty table, and pages that nobody touches are not there.
     * Memory of the allocator, so that leak checkers follow the chains */
    table->memory = calloc(1, lines_size(table) + sizeof(*table->lines));
    if (table->memory == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    table->lines = (ucs_reuse_line_t*)ucs_rcache_pred_align_up(
            (uintptr_t)table->memory, sizeof(*table->lines));
    ucs_mutex_init(&table->lock, UCS_RANK_REUSE_TABLE, 0);
    return UCS_OK;
}

void ucs_reuse_table_cleanup(ucs_reuse_table_t *table)
{
    ucs_reuse_line_t *line, *next;
    size_t i;

    for (i = 0; i < (1ul << table->bits); ++i) {
        for (line = table->lines[i].next; line != NULL; line = next) {
            next = line->next;
            free(line);
        }
    }

    free(table->memory);
    ucs_mutex_destroy(&table->lock);
}

/* Whether so few buffers are hot that chains are not worth growing */
static int is_wasted(const ucs_reuse_table_t *table)
{
    return atomic_load_explicit(&table->num_hot, memory_order_relaxed) <
           table->min_hot * atomic_load_explicit(&table->num_buffers,
                                                 memory_order_relaxed);
}

static void forget_cold(ucs_reuse_table_t *table, ucs_reuse_line_t *line)
{
    unsigned i;

    for (i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
        if ((atomic_load_explicit(&line->buffers[i].address,
                                  memory_order_relaxed) != 0) &&
            (ucs_reuse_buffer_handle(&line->buffers[i]) == 0)) {
            atomic_store_explicit(&line->buffers[i].uses, 0,
                                  memory_order_relaxed);
            atomic_store_explicit(&line->buffers[i].address, 0,
                                  memory_order_relaxed);
            atomic_fetch_sub_explicit(&table->num_buffers, 1,
                                      memory_order_relaxed);
        }
    }
}

/* Remove all buffers that are not hot, and take new ones again */
static void start_anew(ucs_reuse_table_t *table)
{
    ucs_reuse_line_t *line;
    size_t i;

    ucs_mutex_lock(&table->lock);
    for (i = 0; i < (1ul << table->bits); ++i) {
        line = &table->lines[i];
        do {
            forget_cold(table, line);
            line = atomic_load_explicit(&line->next, memory_order_relaxed);
        } while (line != NULL);
    }
    atomic_store_explicit(&table->num_refused, 0, memory_order_relaxed);
    atomic_store_explicit(&table->is_stopped, 0, memory_order_relaxed);
    ucs_mutex_unlock(&table->lock);
}

static void refuse(ucs_reuse_table_t *table)
{
    uint32_t refused = atomic_load_explicit(&table->num_refused,
                                            memory_order_relaxed) + 1;

    atomic_store_explicit(&table->num_refused, refused, memory_order_relaxed);
    if ((refused >= (1ul << table->bits)) &&
        (refused / REFUSED_PER_BUFFER >=
         atomic_load_explicit(&table->num_buffers, memory_order_relaxed))) {
        start_anew(table);
    }
}

/* Take a free place of a line. @return NULL if there is none */
static ucs_reuse_buffer_t *
take_place(ucs_reuse_table_t *table, ucs_reuse_line_t *line, uint64_t key)
{
    uint64_t free_place;
    unsigned i;

    for (i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
        free_place = 0;
        if (atomic_compare_exchange_strong_explicit(&line->buffers[i].address,
                                                    &free_place, key,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed)) {
            atomic_fetch_add_explicit(&table->num_buffers, 1,
                                      memory_order_relaxed);
            return &line->buffers[i];
        }
    }

    return NULL;
}

/* Add a line to the end of a chain, or stop the table from growing.
 * @return whether there may be a free place now */
static int grow(ucs_reuse_table_t *table, ucs_reuse_line_t *last)
{
    ucs_reuse_line_t *line;
    int grown = 0;

    ucs_mutex_lock(&table->lock);
    if (atomic_load_explicit(&last->next, memory_order_relaxed) != NULL) {
        grown = 1; /* Another thread was faster */
    } else if (is_wasted(table)) {
        atomic_store_explicit(&table->is_stopped, 1, memory_order_relaxed);
    } else {
        line = aligned_alloc(sizeof(*line), sizeof(*line));
        if (line != NULL) {
            *line = (ucs_reuse_line_t){};
            atomic_store_explicit(&last->next, line, memory_order_release);
            grown = 1;
        }
    }
    ucs_mutex_unlock(&table->lock);
    return grown;
}

ucs_reuse_buffer_t *ucs_reuse_table_add(ucs_reuse_table_t *table,
                                        const void *address)
{
    uint64_t key           = (uintptr_t)address;
    ucs_reuse_line_t *line = &table->lines[ucs_rcache_pred_hash_bits(
            key, table->bits)];
    ucs_reuse_buffer_t *buffer;
    ucs_reuse_line_t *next;

    if (atomic_load_explicit(&table->is_stopped, memory_order_relaxed)) {
        refuse(table);
        return NULL;
    }

    for (;;) {
        buffer = take_place(table, line, key);
        if (buffer != NULL) {
            return buffer;
        }

        next = atomic_load_explicit(&line->next, memory_order_acquire);
        if (next != NULL) {
            line = next;
        } else if (!grow(table, line)) {
            return NULL;
        }
    }
}

int ucs_reuse_table_heat(ucs_reuse_table_t *table, ucs_reuse_buffer_t *buffer,
                         const void *address, uint32_t handle)
{
    int heated = 0;

    ucs_mutex_lock(&table->lock);
    if ((atomic_load_explicit(&buffer->address, memory_order_relaxed) ==
         (uintptr_t)address) &&
        (ucs_reuse_buffer_handle(buffer) == 0)) {
        atomic_store_explicit(&buffer->handle, handle, memory_order_relaxed);
        atomic_fetch_add_explicit(&table->num_hot, 1, memory_order_relaxed);
        if (!is_wasted(table)) {
            atomic_store_explicit(&table->is_stopped, 0, memory_order_relaxed);
        }
        heated = 1;
    }
    ucs_mutex_unlock(&table->lock);
    return heated;
}

void ucs_reuse_table_cool(ucs_reuse_table_t *table, ucs_reuse_buffer_t *buffer,
                          uint32_t handle)
{
    ucs_mutex_lock(&table->lock);
    if (ucs_reuse_buffer_handle(buffer) == handle) {
        atomic_store_explicit(&buffer->handle, 0, memory_order_relaxed);
        ucs_reuse_buffer_restart(buffer);
        atomic_fetch_sub_explicit(&table->num_hot, 1, memory_order_relaxed);
    }
    ucs_mutex_unlock(&table->lock);
}
