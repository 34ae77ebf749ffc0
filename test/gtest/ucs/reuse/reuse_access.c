/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "reuse_access.h"

#include <ucs/reuse/buffers.h>
#include <ucs/reuse/sends.h>

#include <stdlib.h>


test_reuse_table_t *test_reuse_table_make(unsigned bits, double min_hot)
{
    ucs_reuse_table_t *table = malloc(sizeof(*table));

    if ((table != NULL) &&
        (ucs_reuse_table_init(table, bits, min_hot) != UCS_OK)) {
        free(table);
        return NULL;
    }
    return table;
}

void test_reuse_table_free(test_reuse_table_t *table)
{
    ucs_reuse_table_cleanup(table);
    free(table);
}

test_reuse_buffer_t *
test_reuse_table_find(test_reuse_table_t *table, uintptr_t address)
{
    return ucs_reuse_table_find(table, (void*)address);
}

test_reuse_buffer_t *
test_reuse_table_add(test_reuse_table_t *table, uintptr_t address)
{
    return ucs_reuse_table_add(table, (void*)address);
}

int test_reuse_table_heat(test_reuse_table_t *table,
                          test_reuse_buffer_t *buffer, uintptr_t address,
                          uint32_t handle)
{
    return ucs_reuse_table_heat(table, buffer, (void*)address, handle);
}

void test_reuse_table_cool(test_reuse_table_t *table,
                           test_reuse_buffer_t *buffer, uint32_t handle)
{
    ucs_reuse_table_cool(table, buffer, handle);
}

uint32_t test_reuse_table_num_buffers(test_reuse_table_t *table)
{
    return atomic_load(&table->num_buffers);
}

uint32_t test_reuse_table_num_hot(test_reuse_table_t *table)
{
    return atomic_load(&table->num_hot);
}

int test_reuse_table_is_stopped(test_reuse_table_t *table)
{
    return atomic_load(&table->is_stopped);
}

unsigned test_reuse_table_line(test_reuse_table_t *table, uintptr_t address)
{
    return ucs_hash_bits(address, table->bits);
}

uint32_t test_reuse_buffer_count(test_reuse_buffer_t *buffer)
{
    return ucs_reuse_buffer_count(buffer);
}

void test_reuse_buffer_restart(test_reuse_buffer_t *buffer)
{
    ucs_reuse_buffer_restart(buffer);
}

uint32_t test_reuse_buffer_handle(test_reuse_buffer_t *buffer)
{
    return ucs_reuse_buffer_handle(buffer);
}

uint32_t test_reuse_max_count(void)
{
    return UCS_REUSE_MAX_COUNT;
}

unsigned test_reuse_line_buffers(void)
{
    return UCS_REUSE_LINE_BUFFERS;
}


test_reuse_slots_t *test_reuse_slots_make(void)
{
    ucs_reuse_slots_t *slots = malloc(sizeof(*slots));

    if ((slots != NULL) && (ucs_reuse_slots_init(slots) != UCS_OK)) {
        free(slots);
        return NULL;
    }
    return slots;
}

void test_reuse_slots_destroy(test_reuse_slots_t *slots)
{
    ucs_reuse_slots_cleanup(slots);
    free(slots);
}

unsigned test_reuse_max_slots(void)
{
    return UCS_REUSE_MAX_SLOTS;
}

uint32_t test_reuse_slots_fill(test_reuse_slots_t *slots, uintptr_t start,
                               uintptr_t end, void *handle)
{
    return ucs_reuse_slots_fill(slots, start, end, handle, NULL);
}

test_reuse_slot_t *
test_reuse_slots_acquire(test_reuse_slots_t *slots, uint32_t number,
                         uintptr_t start, uintptr_t end)
{
    return ucs_reuse_slots_acquire(slots, number, start, end);
}

void test_reuse_slot_release(test_reuse_slot_t *slot)
{
    ucs_reuse_slot_release(slot);
}

int test_reuse_slot_is_sent(test_reuse_slot_t *slot)
{
    return ucs_reuse_slot_is_sent(slot);
}

void *test_reuse_slot_handle(test_reuse_slot_t *slot)
{
    return slot->handle;
}

void test_reuse_slots_unmapped(test_reuse_slots_t *slots, uintptr_t start,
                               uintptr_t end)
{
    ucs_reuse_slots_unmapped(slots, start, end);
}

void test_reuse_slots_retire(test_reuse_slots_t *slots, uint32_t number)
{
    ucs_reuse_slots_retire(slots, ucs_reuse_slots_at(slots, number));
}

test_reuse_slot_t *test_reuse_slots_at(test_reuse_slots_t *slots,
                                       uint32_t number)
{
    return ucs_reuse_slots_at(slots, number);
}

test_reuse_slot_t *test_reuse_slots_take_dead(test_reuse_slots_t *slots)
{
    return ucs_reuse_slots_take_dead(slots);
}

test_reuse_slot_t *test_reuse_slots_take_victim(test_reuse_slots_t *slots)
{
    return ucs_reuse_slots_take_victim(slots);
}

test_reuse_slot_t *test_reuse_slots_take_any(test_reuse_slots_t *slots)
{
    return ucs_reuse_slots_take_any(slots);
}

void test_reuse_slots_put_dead(test_reuse_slots_t *slots,
                               test_reuse_slot_t *slot)
{
    ucs_reuse_slots_put_dead(slots, slot);
}

void test_reuse_slots_free(test_reuse_slots_t *slots, test_reuse_slot_t *slot)
{
    ucs_reuse_slots_free(slots, slot);
}

uint64_t test_reuse_slots_bytes(test_reuse_slots_t *slots)
{
    return atomic_load(&slots->bytes);
}

uint32_t test_reuse_slots_num_dead(test_reuse_slots_t *slots)
{
    return atomic_load(&slots->num_dead);
}


test_reuse_tally_t *test_reuse_tally_make(unsigned bits)
{
    ucs_reuse_tally_t *tally = malloc(sizeof(*tally));

    if ((tally != NULL) && (ucs_reuse_tally_init(tally, bits) != UCS_OK)) {
        free(tally);
        return NULL;
    }
    return tally;
}

void test_reuse_tally_free(test_reuse_tally_t *tally)
{
    ucs_reuse_tally_cleanup(tally);
    free(tally);
}

void test_reuse_tally_reset(test_reuse_tally_t *tally)
{
    ucs_reuse_tally_reset(tally);
}

void test_reuse_tally_note(test_reuse_tally_t *tally, uintptr_t address,
                           size_t length, int is_copied)
{
    ucs_reuse_tally_note(tally, (void*)address, length, is_copied);
}

void test_reuse_tally_for_each(test_reuse_tally_t *tally,
                               void (*func)(void *arg,
                                            const ucs_reuse_sends_t *sends),
                               void *arg)
{
    ucs_reuse_tally_for_each(tally, func, arg);
}
