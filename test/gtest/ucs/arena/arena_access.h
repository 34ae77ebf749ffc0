/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_ARENA_ACCESS_H_
#define PREDREG_GTEST_ARENA_ACCESS_H_

#include <ucs/arena/memory/types.h>

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/* The arena, whose header has C atomics and so is not for C++ */

typedef struct ucs_arena      test_arena_t;
typedef struct ucs_arena_slab test_arena_slab_t;

/* NULL if the parameters are not accepted */
test_arena_t *arena_make(const ucs_arena_params_t *params,
                         const ucs_arena_ops_t *ops);
void arena_destroy(test_arena_t *arena);

void *arena_allocate(test_arena_t *arena, size_t length);
ucs_status_t arena_free(test_arena_t *arena, void *start, size_t length,
                        ucs_arena_time_t now);
ucs_arena_time_t arena_tend(test_arena_t *arena, ucs_arena_time_t now);
void arena_keep(test_arena_t *arena);
void arena_lay_off(test_arena_t *arena);
int arena_want(test_arena_t *arena, const void *address, size_t length);

ucs_status_t arena_extend(test_arena_t *arena, void *end, size_t length);
ucs_status_t arena_spoil(test_arena_t *arena, void *start, size_t length);
ucs_status_t arena_withdraw(test_arena_t *arena, test_arena_slab_t *slab);
int arena_live(test_arena_t *arena, const void *start, size_t length);
void arena_abandon(test_arena_t *arena);
int arena_is_full(test_arena_t *arena);
int arena_is_spoilt(test_arena_t *arena, const void *start, size_t length);
size_t arena_shrink(test_arena_t *arena, size_t bytes,
                    ucs_arena_time_t now);
ucs_status_t arena_stop(test_arena_t *arena);
void arena_child(test_arena_t *arena);
void arena_before_fork(test_arena_t *arena);
void arena_after_fork(test_arena_t *arena);
ucs_arena_time_t arena_due(test_arena_t *arena);
void arena_stats(test_arena_t *arena, ucs_arena_stats_t *stats);
void arena_count_answered(test_arena_t *arena);
int arena_clip(test_arena_t *arena, uintptr_t *start_p,
               uintptr_t *end_p);

test_arena_slab_t *
arena_find(test_arena_t *arena, const void *address, size_t length);
void *arena_handle(test_arena_slab_t *slab);
int arena_acquire(test_arena_slab_t *slab);
void arena_release(test_arena_slab_t *slab);

/* Be at work in it, as where the program frees memory that is not registered */
ucs_status_t arena_enter_plain(test_arena_t *arena);
void arena_leave_plain(test_arena_t *arena);

/* The lock of the arena, as if another thread had it */
void arena_lock(test_arena_t *arena);
void arena_unlock(test_arena_t *arena);

END_C_DECLS

#endif
