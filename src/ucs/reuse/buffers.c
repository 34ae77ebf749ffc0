/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "buffers.h"

#include <ucs/base/align.h>
#include <ucs/base/relaxed.h>

#include <stdlib.h>

#define FLAG_DEAD  UCS_REUSE_SLOT_DEAD
#define FLAG_TAKEN UCS_REUSE_SLOT_TAKEN
#define FLAGS      UCS_REUSE_SLOT_FLAGS

#define LINE_SIZE 64

/* A stopped table starts anew once it has refused this many buffers for each
 * buffer that it has, and at least one for each line. The walk through all lines
 * costs little for each refused buffer then, and a few buffers that happen to
 * share one line do not lead to it */
#define REFUSED_PER_BUFFER 4


/* Allocate zeroed cache lines. The kernel provides their pages as they are used.
 * calloc() rather than mmap(), so that leak checkers follow pointers from here.
 * @return the first line.
 * @param [out] memory_p  Memory to free; NULL: there is none */
static void *allocate_lines(size_t num, void **memory_p)
{
    *memory_p = calloc(num + 1, LINE_SIZE);
    return (void*)ucs_round_up((uintptr_t)*memory_p, LINE_SIZE);
}

ucs_status_t ucs_reuse_table_init(ucs_reuse_table_t *table, unsigned bits,
                                  double min_hot)
{
    UCS_STATIC_ASSERT(sizeof(ucs_reuse_line_t) == LINE_SIZE);

    *table = (ucs_reuse_table_t){.bits = bits, .min_hot = min_hot};

    /* Zeros are an empty table */
    table->lines = allocate_lines(1ul << bits, &table->memory);
    if (table->memory == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

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

/* @return whether longer chains of lines are not worth their memory, since too few
 * buffers are hot */
static int is_wasted(const ucs_reuse_table_t *table)
{
    return ucs_relaxed_load(&table->num_hot) <
           table->min_hot * ucs_relaxed_load(&table->num_buffers);
}

static void forget_cold(ucs_reuse_table_t *table, ucs_reuse_line_t *line)
{
    unsigned i;

    for (i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
        if ((ucs_relaxed_load(&line->buffers[i].address) != 0) &&
            (ucs_reuse_buffer_handle(&line->buffers[i]) == 0)) {
            ucs_relaxed_store(&line->buffers[i].uses, 0);
            ucs_relaxed_store(&line->buffers[i].address, 0);
            ucs_relaxed_sub(&table->num_buffers, 1);
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
            line = ucs_relaxed_load(&line->next);
        } while (line != NULL);
    }
    ucs_relaxed_store(&table->num_refused, 0);
    ucs_relaxed_store(&table->is_stopped, 0);
    ucs_mutex_unlock(&table->lock);
}

static void refuse(ucs_reuse_table_t *table)
{
    uint32_t refused = ucs_relaxed_load(&table->num_refused) + 1;

    ucs_relaxed_store(&table->num_refused, refused);
    if ((refused >= (1ul << table->bits)) &&
        (refused / REFUSED_PER_BUFFER >=
         ucs_relaxed_load(&table->num_buffers))) {
        start_anew(table);
    }
}

/* Take a free entry of a line. @return NULL if there is none */
static ucs_reuse_buffer_t *
take_entry(ucs_reuse_table_t *table, ucs_reuse_line_t *line, uint64_t key)
{
    uint64_t free_entry;
    unsigned i;

    for (i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
        free_entry = 0;
        if (ucs_relaxed_cas(&line->buffers[i].address, &free_entry, key)) {
            ucs_relaxed_add(&table->num_buffers, 1);
            return &line->buffers[i];
        }
    }

    return NULL;
}

/* Add a line to the end of a chain, or stop the table from growing.
 * @return whether there may be a free entry now */
static int grow(ucs_reuse_table_t *table, ucs_reuse_line_t *last)
{
    ucs_reuse_line_t *line;
    int grown = 0;

    ucs_mutex_lock(&table->lock);
    if (ucs_relaxed_load(&last->next) != NULL) {
        grown = 1; /* Another thread was faster */
    } else if (is_wasted(table)) {
        ucs_relaxed_store(&table->is_stopped, 1);
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
    ucs_reuse_line_t *line = &table->lines[ucs_hash_bits(
            key, table->bits)];
    ucs_reuse_buffer_t *buffer;
    ucs_reuse_line_t *next;

    if (ucs_relaxed_load(&table->is_stopped)) {
        refuse(table);
        return NULL;
    }

    for (;;) {
        buffer = take_entry(table, line, key);
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
    if ((ucs_relaxed_load(&buffer->address) == (uintptr_t)address) &&
        (ucs_reuse_buffer_handle(buffer) == 0)) {
        ucs_relaxed_store(&buffer->handle, handle);
        ucs_relaxed_add(&table->num_hot, 1);
        if (!is_wasted(table)) {
            ucs_relaxed_store(&table->is_stopped, 0);
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
        ucs_relaxed_store(&buffer->handle, 0);
        ucs_reuse_buffer_restart(buffer);
        ucs_relaxed_sub(&table->num_hot, 1);
    }
    ucs_mutex_unlock(&table->lock);
}


ucs_status_t ucs_reuse_slots_init(ucs_reuse_slots_t *slots)
{
    UCS_STATIC_ASSERT(sizeof(ucs_reuse_slot_t) == LINE_SIZE);

    *slots       = (ucs_reuse_slots_t){};
    slots->slots = allocate_lines(UCS_REUSE_MAX_SLOTS, &slots->memory);
    if (slots->memory == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ucs_mutex_init(&slots->lock, UCS_RANK_REUSE_SLOTS, 0);
    return UCS_OK;
}

void ucs_reuse_slots_cleanup(ucs_reuse_slots_t *slots)
{
    free(slots->memory);
    ucs_mutex_destroy(&slots->lock);
}

static uint64_t length_of(const ucs_reuse_slot_t *slot)
{
    return ucs_relaxed_load(&slot->end) - ucs_relaxed_load(&slot->start);
}

/* Find a free slot, or one that was never used. To be called under the lock */
static ucs_reuse_slot_t *find_free(ucs_reuse_slots_t *slots)
{
    uint32_t num = ucs_relaxed_load(&slots->num);
    ucs_reuse_slot_t *slot;

    for (slot = slots->slots; slot < slots->slots + num; ++slot) {
        if (length_of(slot) == 0) {
            return slot;
        }
    }

    if (num == UCS_REUSE_MAX_SLOTS) {
        return NULL;
    }

    ucs_relaxed_store(&slot->state, FLAGS);
    atomic_store_explicit(&slots->num, num + 1, memory_order_release);
    return slot;
}

uint32_t ucs_reuse_slots_fill(ucs_reuse_slots_t *slots, uintptr_t start,
                              uintptr_t end, void *handle,
                              ucs_reuse_buffer_t *buffer)
{
    ucs_reuse_slot_t *slot;

    ucs_mutex_lock(&slots->lock);
    slot = find_free(slots);
    if (slot != NULL) {
        ucs_relaxed_store(&slot->start, start);
        ucs_relaxed_store(&slot->end, end);
        ucs_relaxed_store(&slot->is_used, 1);
        ucs_relaxed_store(&slot->is_proven, 0);
        slot->handle = handle;
        slot->buffer = buffer;
        ucs_relaxed_add(&slots->bytes, end - start);
        atomic_fetch_and_explicit(&slot->state, ~FLAGS, memory_order_release);
    }
    ucs_mutex_unlock(&slots->lock);

    return (slot == NULL) ? 0 : ucs_reuse_slots_number(slots, slot);
}

void ucs_reuse_slots_retire(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot)
{
    if (!(ucs_relaxed_load(&slot->state) & FLAGS) &&
        !(ucs_relaxed_or(&slot->state, FLAG_DEAD) & FLAGS)) {
        ucs_relaxed_add(&slots->num_dead, 1);
    }
}

void ucs_reuse_slots_unmapped(ucs_reuse_slots_t *slots, uintptr_t start,
                              uintptr_t end)
{
    uint32_t num = atomic_load_explicit(&slots->num, memory_order_acquire);
    ucs_reuse_slot_t *slot;

    for (slot = slots->slots; slot < slots->slots + num; ++slot) {
        if ((ucs_relaxed_load(&slot->start) < end) &&
            (ucs_relaxed_load(&slot->end) > start)) {
            ucs_reuse_slots_retire(slots, slot);
        }
    }
}

/* Take a slot if it has no sends in flight, and exactly these flags. @return
 * whether it was taken */
static int take(ucs_reuse_slot_t *slot, uint64_t flags)
{
    /* Acquire: the caller goes on after the last send from the slot */
    return atomic_compare_exchange_strong_explicit(&slot->state, &flags, FLAGS,
                                                   memory_order_acquire,
                                                   memory_order_relaxed);
}

ucs_reuse_slot_t *ucs_reuse_slots_take_dead(ucs_reuse_slots_t *slots)
{
    ucs_reuse_slot_t *slot, *found = NULL;
    uint32_t num;

    if (ucs_likely(ucs_relaxed_load(&slots->num_dead) == 0)) {
        return NULL;
    }

    ucs_mutex_lock(&slots->lock);
    num = ucs_relaxed_load(&slots->num);
    for (slot = slots->slots; (slot < slots->slots + num) && (found == NULL);
         ++slot) {
        if (take(slot, FLAG_DEAD)) {
            ucs_relaxed_sub(&slots->num_dead, 1);
            found = slot;
        }
    }
    ucs_mutex_unlock(&slots->lock);
    return found;
}

ucs_reuse_slot_t *ucs_reuse_slots_take_victim(ucs_reuse_slots_t *slots)
{
    ucs_reuse_slot_t *slot, *found = NULL;
    uint32_t num, i;

    ucs_mutex_lock(&slots->lock);
    num = ucs_relaxed_load(&slots->num);

    /* As the hand of a clock: the first round finds slots without a use since
     * the last call, the second round finds the others */
    for (i = 0; (i < 2 * num) && (found == NULL); ++i) {
        slot        = &slots->slots[slots->hand];
        slots->hand = (slots->hand + 1) % num;
        if (!atomic_exchange_explicit(&slot->is_used, 0,
                                      memory_order_relaxed) &&
            take(slot, 0)) {
            found = slot;
        }
    }
    ucs_mutex_unlock(&slots->lock);
    return found;
}

ucs_reuse_slot_t *ucs_reuse_slots_take_any(ucs_reuse_slots_t *slots)
{
    uint32_t num = ucs_relaxed_load(&slots->num);
    ucs_reuse_slot_t *slot;
    uint64_t state;

    for (slot = slots->slots; slot < slots->slots + num; ++slot) {
        state = atomic_fetch_or_explicit(&slot->state, FLAGS,
                                         memory_order_acquire);
        if (!(state & FLAG_TAKEN)) {
            if (state & FLAG_DEAD) {
                ucs_relaxed_sub(&slots->num_dead, 1);
            }
            return slot;
        }
    }

    return NULL;
}

void ucs_reuse_slots_put_dead(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot)
{
    atomic_fetch_and_explicit(&slot->state, ~FLAG_TAKEN, memory_order_release);
    ucs_relaxed_add(&slots->num_dead, 1);
}

void ucs_reuse_slots_free(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot)
{
    ucs_mutex_lock(&slots->lock);
    ucs_relaxed_sub(&slots->bytes, length_of(slot));
    ucs_relaxed_store(&slot->start, 0);
    ucs_relaxed_store(&slot->end, 0);
    ucs_mutex_unlock(&slots->lock);
}
