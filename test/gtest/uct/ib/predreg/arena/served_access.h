/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_SERVED_ACCESS_H_
#define PREDREG_GTEST_SERVED_ACCESS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/arena/arena.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/* The arena of a process. Its helper thread is not started unless a test does so: a test
 * is the helper, and the clock stands still. */

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
                         uct_predreg_arena_t **served_p);
ucs_status_t served_start(uct_predreg_arena_t *served);
void served_stop(uct_predreg_arena_t *served);

/* The helper, so long after now */
ucs_arena_time_t served_tend(uct_predreg_arena_t *served, ucs_arena_time_t later);
/* The clock goes back, ns, of an arena whose helper thread does not run */
void served_set_back(uint64_t by);

/* Whether an address is one of the arena */
int served_has(uct_predreg_arena_t *served, const void *address);

/* Calls of the program, as UCM hands them on: to the arena, and to the kernel if
 * that does not answer. They return what the functions of libc do. In a forked
 * child they go to the kernel */
void *served_mmap(uct_predreg_arena_t *served, void *address, size_t length,
                  int prot, int flags, int fd);
int served_munmap(uct_predreg_arena_t *served, void *address, size_t length);
void *served_mremap(uct_predreg_arena_t *served, void *address, size_t old_length,
                    size_t new_length, int flags, void *target);
int served_madvise(uct_predreg_arena_t *served, void *address, size_t length,
                   int advice);
int served_mprotect(uct_predreg_arena_t *served, void *address, size_t length,
                    int prot);
int served_mlock(uct_predreg_arena_t *served, const void *address, size_t length);

uct_predreg_handles_t *handles_make(size_t max);
void handles_destroy(uct_predreg_handles_t *handles);
void handles_set(uct_predreg_handles_t *handles, const uint64_t *keys,
                 const uint32_t *slabs, size_t num);

uct_predreg_altered_t *altered_make(uintptr_t base, size_t size, size_t page_size);
void altered_destroy(uct_predreg_altered_t *altered);

uct_predreg_attract_t *attract_make(size_t min, size_t max);
void attract_destroy(uct_predreg_attract_t *attract);

END_C_DECLS

#endif
