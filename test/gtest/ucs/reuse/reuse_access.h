/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_REUSE_ACCESS_H_
#define PREDREG_GTEST_REUSE_ACCESS_H_

#include <ucs/reuse/sends.h>
#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/* The table of small buffers, the slots of hot ones and the tally, whose
 * headers have C atomics and so are not for C++. Addresses are numbers. */

typedef struct ucs_reuse_table  test_reuse_table_t;
typedef struct ucs_reuse_buffer test_reuse_buffer_t;
typedef struct ucs_reuse_slots  test_reuse_slots_t;
typedef struct ucs_reuse_tally  test_reuse_tally_t;
typedef struct ucs_reuse_slot   test_reuse_slot_t;

/* NULL if the table cannot be made */
test_reuse_table_t *test_reuse_table_make(unsigned bits, double min_hot);
void test_reuse_table_free(test_reuse_table_t *table);

test_reuse_buffer_t *
test_reuse_table_find(test_reuse_table_t *table, uintptr_t address);
test_reuse_buffer_t *
test_reuse_table_add(test_reuse_table_t *table, uintptr_t address);
int test_reuse_table_heat(test_reuse_table_t *table,
                          test_reuse_buffer_t *buffer, uintptr_t address,
                          uint32_t handle);
void test_reuse_table_cool(test_reuse_table_t *table,
                           test_reuse_buffer_t *buffer, uint32_t handle);
uint32_t test_reuse_table_num_buffers(test_reuse_table_t *table);
uint32_t test_reuse_table_num_hot(test_reuse_table_t *table);
int test_reuse_table_is_stopped(test_reuse_table_t *table);
/* Of which line the buffer of an address is */
unsigned test_reuse_table_line(test_reuse_table_t *table, uintptr_t address);

uint32_t test_reuse_buffer_count(test_reuse_buffer_t *buffer);
void test_reuse_buffer_restart(test_reuse_buffer_t *buffer);
uint32_t test_reuse_buffer_handle(test_reuse_buffer_t *buffer);
uint32_t test_reuse_max_count(void);
unsigned test_reuse_line_buffers(void);

test_reuse_slots_t *test_reuse_slots_make(void);
void test_reuse_slots_destroy(test_reuse_slots_t *slots);
unsigned test_reuse_max_slots(void);

uint32_t test_reuse_slots_fill(test_reuse_slots_t *slots, uintptr_t start,
                               uintptr_t end, void *handle);
test_reuse_slot_t *
test_reuse_slots_acquire(test_reuse_slots_t *slots, uint32_t number,
                         uintptr_t start, uintptr_t end);
void test_reuse_slot_release(test_reuse_slot_t *slot);
int test_reuse_slot_is_sent(test_reuse_slot_t *slot);
void *test_reuse_slot_handle(test_reuse_slot_t *slot);
void test_reuse_slots_unmapped(test_reuse_slots_t *slots, uintptr_t start,
                               uintptr_t end);
void test_reuse_slots_retire(test_reuse_slots_t *slots, uint32_t number);
test_reuse_slot_t *test_reuse_slots_at(test_reuse_slots_t *slots,
                                       uint32_t number);
test_reuse_slot_t *test_reuse_slots_take_dead(test_reuse_slots_t *slots);
test_reuse_slot_t *test_reuse_slots_take_victim(test_reuse_slots_t *slots);
test_reuse_slot_t *test_reuse_slots_take_any(test_reuse_slots_t *slots);
void test_reuse_slots_put_dead(test_reuse_slots_t *slots,
                               test_reuse_slot_t *slot);
void test_reuse_slots_free(test_reuse_slots_t *slots, test_reuse_slot_t *slot);
uint64_t test_reuse_slots_bytes(test_reuse_slots_t *slots);
uint32_t test_reuse_slots_num_dead(test_reuse_slots_t *slots);

/* NULL if the tally cannot be made */
test_reuse_tally_t *test_reuse_tally_make(unsigned bits);
void test_reuse_tally_free(test_reuse_tally_t *tally);
void test_reuse_tally_reset(test_reuse_tally_t *tally);
void test_reuse_tally_note(test_reuse_tally_t *tally, uintptr_t address,
                           size_t length, int is_copied);
void test_reuse_tally_for_each(test_reuse_tally_t *tally,
                               void (*func)(void *arg,
                                            const ucs_reuse_sends_t *sends),
                               void *arg);

END_C_DECLS

#endif
