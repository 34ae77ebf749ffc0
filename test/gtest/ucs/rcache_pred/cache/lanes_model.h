/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_LANES_MODEL_H_
#define PREDREG_GTEST_LANES_MODEL_H_

#include <common/interleave.h>

BEGIN_C_DECLS

/* Threads in lanes, and threads that take the lock, by the functions of lanes.h, cache.h,
 * lanes.c and lock.c, whose atomic operations are steps of an exploration */

typedef struct lanes_model {
    unsigned num_lanes;  /* Threads that go through a lane each */
    unsigned num_locks;  /* Threads that take the lock */
    unsigned num_uses;   /* How often each does */
    int      is_weak;    /* Sequentially consistent stores are release ones only */
} lanes_model_t;

interleave_result_t lanes_model_explore(const lanes_model_t *model);

END_C_DECLS

#endif
