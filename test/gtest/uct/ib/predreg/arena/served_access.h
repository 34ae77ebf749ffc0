/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_SERVED_ACCESS_H_
#define PREDREG_GTEST_SERVED_ACCESS_H_

#include <ucs/arena/memory/types.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/api/uct.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/* The arena of a process, whose headers have C atomics and so are not for C++.
 * Its helper thread is not started unless a test does so: a test is the helper,
 * and the clock stands still. */

typedef struct uct_predreg_arena   test_served_t;
typedef struct uct_predreg_handles test_handles_t;
typedef struct uct_predreg_altered test_altered_t;
typedef struct uct_predreg_attract test_attract_t;

/* uct_predreg_attract_change_t, and what attract.h says of it */
enum {
    TEST_ATTRACT_NOTHING,
    TEST_ATTRACT_TRY,
    TEST_ATTRACT_UNUSED,
    TEST_ATTRACT_MORE,
    TEST_ATTRACT_SETTLED,
    TEST_ATTRACT_OVER
};
#define TEST_ATTRACT_NONE        (SIZE_MAX - 1)
#define TEST_ATTRACT_SETTLE      1000000000ul
#define TEST_ATTRACT_TRIAL       64u
#define TEST_ATTRACT_MIN_REFUSED 64ul

/* What registers, see uct_predreg_arena_reg_ops_t */
typedef struct test_served_ops {
    ucs_status_t (*mem_reg)(void *domain, void *address, size_t length,
                            unsigned flags, uct_mem_h *memh_p);
    ucs_status_t (*mem_dereg)(void *domain, uct_mem_h memh);
    ucs_status_t (*reserve)(void *arg, size_t length);
    void         (*release)(void *arg, size_t length);
    void         (*publish)(void *arg);
    void         (*attract)(size_t length, int is_eager);
    void         *arg;
} test_served_ops_t;

ucs_status_t served_make(size_t size, size_t slab_size, size_t min_length,
                         int is_strict, unsigned access,
                         const test_served_ops_t *ops,
                         test_served_t **served_p);
void served_destroy(test_served_t *served);
ucs_status_t served_start(test_served_t *served);
void served_stop(test_served_t *served);
int served_give_way(test_served_t *served);
void served_before_fork(test_served_t *served);
void served_after_fork(test_served_t *served);

/* The helper, so long after now */
ucs_arena_time_t served_tend(test_served_t *served, ucs_arena_time_t later);
/* The clock goes back, ns, of an arena whose helper thread does not run */
void served_set_back(uint64_t by);
void served_stats(test_served_t *served, ucs_arena_stats_t *stats);

int served_add(test_served_t *served, void *domain);
void served_remove(test_served_t *served, unsigned number);
int served_begin(test_served_t *served, unsigned number, const void *address,
                 size_t length, unsigned access, uct_mem_h *memh_p);
int served_end(test_served_t *served, uct_mem_h memh, int is_invalid);

/* Whether an address is one of the arena */
int served_has(test_served_t *served, const void *address);

/* Calls of the program, as UCM hands them on: to the arena, and to the kernel if
 * that does not answer. They return what the functions of libc do. In a forked
 * child they go to the kernel */
void *served_mmap(test_served_t *served, void *address, size_t length,
                  int prot, int flags, int fd);
int served_munmap(test_served_t *served, void *address, size_t length);
void *served_mremap(test_served_t *served, void *address, size_t old_length,
                    size_t new_length, int flags, void *target);
int served_madvise(test_served_t *served, void *address, size_t length,
                   int advice);
int served_mprotect(test_served_t *served, void *address, size_t length,
                    int prot);
int served_mlock(test_served_t *served, const void *address, size_t length);

test_handles_t *handles_make(size_t max);
void handles_destroy(test_handles_t *handles);
void handles_set(test_handles_t *handles, const uint64_t *keys,
                 const uint32_t *slabs, size_t num);
uint32_t handles_find(const test_handles_t *handles, uint64_t handle);

test_altered_t *altered_make(uintptr_t base, size_t size, size_t page_size);
void altered_destroy(test_altered_t *altered);

test_attract_t *attract_make(size_t min, size_t max);
void attract_destroy(test_attract_t *attract);
int attract_note(test_attract_t *attract, size_t length);
int attract_unmapped(test_attract_t *attract);
int attract_look(test_attract_t *attract, uint64_t now, uint64_t answered,
                 uint64_t refused, int is_full);
size_t attract_attracted(const test_attract_t *attract);
int attract_is_malloced(const void *address, size_t page_size);

END_C_DECLS

#endif
