/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slots.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

#define FLAG_DEAD  UCS_REUSE_SLOT_DEAD
#define FLAG_TAKEN UCS_REUSE_SLOT_TAKEN
#define FLAGS      UCS_REUSE_SLOT_FLAGS

#define SIZE       (UCS_REUSE_MAX_SLOTS * sizeof(ucs_reuse_slot_t))


ucs_status_t ucs_reuse_slots_init(ucs_reuse_slots_t *slots)
{
    *slots = (ucs_reuse_slots_t){};

    /* The kernel provides the pages of those that are used. Memory of the
     * allocator, so that leak checkers follow the handles in it */
    slots->memory = calloc(1, SIZE + sizeof(ucs_reuse_slot_t));
    if (slots->memory == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    slots->slots = (ucs_reuse_slot_t*)ucs_rcache_pred_align_up(
            (uintptr_t)slots->memory, sizeof(ucs_reuse_slot_t));
    ucs_mutex_init(&slots->lock, UCS_RANK_REUSE_SLOTS, 0);
    return UCS_OK;
}

void ucs_reuse_slots_cleanup(ucs_reuse_slots_t *slots)
{
    free(slots->memory);
    ucs_mutex_destroy(&slots->lock);
}

static uint64_t state_of(const ucs_reuse_slot_t *slot)
{
    return atomic_load_explicit(&slot->state, memory_order_relaxed);
}

static uint64_t length_of(const ucs_reuse_slot_t *slot)
{
    return atomic_load_explicit(&slot->end, memory_order_relaxed) -
           atomic_load_explicit(&slot->start, memory_order_relaxed);
}

/* Find a free slot, or one that was never used. To be called under the lock */
static ucs_reuse_slot_t *find_free(ucs_reuse_slots_t *slots)
{
    uint32_t num = atomic_load_explicit(&slots->num, memory_order_relaxed);
    ucs_reuse_slot_t *slot;

    for (slot = slots->slots; slot < slots->slots + num; ++slot) {
        if (length_of(slot) == 0) {
            return slot;
        }
    }

    if (num == UCS_REUSE_MAX_SLOTS) {
        return NULL;
    }

    atomic_store_explicit(&slot->state, FLAGS, memory_order_relaxed);
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
        atomic_store_explicit(&slot->start, start, memory_order_relaxed);
        atomic_store_explicit(&slot->end, end, memory_order_relaxed);
        atomic_store_explicit(&slot->is_used, 1, memory_order_relaxed);
        atomic_store_explicit(&slot->is_proven, 0, memory_order_relaxed);
        slot->handle = handle;
        slot->buffer = buffer;
        atomic_fetch_add_explicit(&slots->bytes, end - start,
                                  memory_order_relaxed);
        atomic_fetch_and_explicit(&slot->state, ~FLAGS, memory_order_release);
    }
    ucs_mutex_unlock(&slots->lock);

    return (slot == NULL) ? 0 : ucs_reuse_slots_number(slots, slot);
}

void ucs_reuse_slots_retire(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot)
{
    if (!(state_of(slot) & FLAGS) &&
        !(atomic_fetch_or_explicit(&slot->state, FLAG_DEAD,
                                   memory_order_relaxed) & FLAGS)) {
        atomic_fetch_add_explicit(&slots->num_dead, 1, memory_order_relaxed);
    }
}

void ucs_reuse_slots_unmapped(ucs_reuse_slots_t *slots, uintptr_t start,
                              uintptr_t end)
{
    uint32_t num = atomic_load_explicit(&slots->num, memory_order_acquire);
    ucs_reuse_slot_t *slot;

    for (slot = slots->slots; slot < slots->slots + num; ++slot) {
        if ((atomic_load_explicit(&slot->start, memory_order_relaxed) < end) &&
            (atomic_load_explicit(&slot->end, memory_order_relaxed) > start)) {
            ucs_reuse_slots_retire(slots, slot);
        }
    }
}

/* Take a slot that has no sends in flight, and exactly these flags */
static int take(ucs_reuse_slot_t *slot, uint64_t flags)
{
    /* Acquire: after the last send of it */
    return atomic_compare_exchange_strong_explicit(&slot->state, &flags, FLAGS,
                                                   memory_order_acquire,
                                                   memory_order_relaxed);
}

ucs_reuse_slot_t *ucs_reuse_slots_take_dead(ucs_reuse_slots_t *slots)
{
    ucs_reuse_slot_t *slot, *found = NULL;
    uint32_t num;

    if (ucs_likely(atomic_load_explicit(&slots->num_dead,
                                        memory_order_relaxed) == 0)) {
        return NULL;
    }

    ucs_mutex_lock(&slots->lock);
    num = atomic_load_explicit(&slots->num, memory_order_relaxed);
    for (slot = slots->slots; (slot < slots->slots + num) && (found == NULL);
         ++slot) {
        if (take(slot, FLAG_DEAD)) {
            atomic_fetch_sub_explicit(&slots->num_dead, 1,
                                      memory_order_relaxed);
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
    num = atomic_load_explicit(&slots->num, memory_order_relaxed);

    /* The hand of a clock: in the first round it finds those that nobody has
     * used since it last passed, in the second one all */
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
    uint32_t num = atomic_load_explicit(&slots->num, memory_order_relaxed);
    ucs_reuse_slot_t *slot;
    uint64_t state;

    for (slot = slots->slots; slot < slots->slots + num; ++slot) {
        state = atomic_fetch_or_explicit(&slot->state, FLAGS,
                                         memory_order_acquire);
        if (!(state & FLAG_TAKEN)) {
            if (state & FLAG_DEAD) {
                atomic_fetch_sub_explicit(&slots->num_dead, 1,
                                          memory_order_relaxed);
            }
            return slot;
        }
    }

    return NULL;
}

void ucs_reuse_slots_put_dead(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot)
{
    atomic_fetch_and_explicit(&slot->state, ~FLAG_TAKEN, memory_order_release);
    atomic_fetch_add_explicit(&slots->num_dead, 1, memory_order_relaxed);
}

void ucs_reuse_slots_free(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot)
{
    ucs_mutex_lock(&slots->lock);
    atomic_fetch_sub_explicit(&slots->bytes, length_of(slot),
                              memory_order_relaxed);
    atomic_store_explicit(&slot->start, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->end, 0, memory_order_relaxed);
    ucs_mutex_unlock(&slots->lock);
}
