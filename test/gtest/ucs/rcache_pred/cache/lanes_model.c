/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#define _GNU_SOURCE /* For what is included below */
#undef UCS_ASSERT_RANKS /* All threads of the model are one of the system */

#include "lanes_model.h"

#include <stdatomic.h>

static int is_weak;

static void store(volatile void *place, size_t size, uint64_t value,
                  memory_order order)
{
    interleave_order_t how = INTERLEAVE_RELAXED;

    if ((order == memory_order_seq_cst) && !is_weak) {
        how = INTERLEAVE_SEQ_CST;
    } else if (order != memory_order_relaxed) {
        how = INTERLEAVE_RELEASE;
    }
    interleave_store(place, size, value, how);
}

#define STORE(_p, _value, _order) \
    store((_p), sizeof(*(_p)), (uint64_t)(_value), (_order))
#define LOAD(_p) \
    ((__typeof__((void)0, *(_p)))interleave_load((_p), sizeof(*(_p))))

#undef atomic_store
#undef atomic_store_explicit
#undef atomic_load
#undef atomic_load_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_store(_p, _value)                  STORE(_p, _value, memory_order_seq_cst)
#define atomic_store_explicit(_p, _value, _order) STORE(_p, _value, _order)
#define atomic_load(_p)                           LOAD(_p)
#define atomic_load_explicit(_p, _order)          LOAD(_p)
#define atomic_compare_exchange_strong_explicit(_p, _old, _new, _order, _other) \
    interleave_swap((_p), sizeof(*(_p)), (uint64_t)*(_old), (uint64_t)(_new))

/* Those of the library are there as well */
#define pred_give_way           model_give_way
#define pred_spin               model_spin
#define pred_lock_wait_free     model_lock_wait_free
#define pred_lock_wait          model_lock_wait
#define pred_spin_while_busy    model_spin_while_busy
#define pred_close_lanes        model_close_lanes
#define pred_lane_give_region   model_lane_give_region
#define pred_dq_pop             model_dq_pop
#define pred_dq_pop_lost        model_dq_pop_lost
#define pred_dq_is_empty        model_dq_is_empty
#define pred_dq_dropped         model_dq_dropped
#include <ucs/rcache_pred/cache/cache.h>
#include <ucs/rcache_pred/cache/lanes.c>
#include <ucs/rcache_pred/cache/lock.c>


/* The exploration that is under way */
static const lanes_model_t *model;
static ucs_rcache_pred_t pred;
static pred_lanes_t lanes;
/* Who is where, as the threads themselves know */
static int in_lane[INTERLEAVE_MAX_THREADS];
static int in_lock;


static void begin(void)
{
    unsigned i;

    memset(&pred, 0, sizeof(pred));
    memset(&lanes, 0, sizeof(lanes));
    memset(in_lane, 0, sizeof(in_lane));
    in_lock    = 0;
    lanes.used = UCS_MASK(model->num_lanes);
    for (i = 0; i < PRED_LANES; ++i) {
        lanes.lanes[i].number = i + 1;
    }
    *(pred_lanes_t**)&pred.lanes = &lanes;
}

static int is_constant(const volatile void *place)
{
    return (place == &pred.lanes) || (place == &pred.num_deferred);
}

static int is_in_a_lane(void)
{
    unsigned i;

    for (i = 0; i < model->num_lanes; ++i) {
        if (in_lane[i]) {
            return 1;
        }
    }

    return 0;
}

/* A use that is a hit: only the thread in the lane writes its counters */
static void use_lane(unsigned thread)
{
    pred_lane_t *lane = &lanes.lanes[thread];
    uint64_t uses;

    interleave_check(pred_lane_enter(&pred, lane), "nothing is deferred");
    in_lane[thread] = 1;
    interleave_check(!in_lock, "nobody has the lock when a lane is entered");
    uses = interleave_load(&lane->uses, sizeof(lane->uses));
    interleave_store(&lane->uses, sizeof(lane->uses), uses + 1,
                     INTERLEAVE_RELAXED);
    interleave_check(!in_lock, "nobody gets the lock while a thread is in its "
                               "lane");
    in_lane[thread] = 0;
    pred_lane_leave(lane);
}

/* Another use. pred_close_lanes() reads and writes the counters of the lanes */
static void use_lock(void)
{
    uint64_t uses;

    pred_lock(&pred);
    interleave_check(!in_lock, "one thread has the lock");
    interleave_check(!is_in_a_lane(), "no thread is in its lane when another one "
                                      "has got the lock");
    in_lock = 1;
    uses    = interleave_load(&pred.stats.uses, sizeof(pred.stats.uses));
    interleave_store(&pred.stats.uses, sizeof(pred.stats.uses), uses + 1,
                     INTERLEAVE_RELAXED);
    interleave_check(!is_in_a_lane(), "no thread enters its lane while another "
                                      "one has the lock");
    in_lock = 0;
    pred_unlock(&pred);
}

static void run(unsigned thread)
{
    unsigned i;

    for (i = 0; i < model->num_uses; ++i) {
        if (thread < model->num_lanes) {
            use_lane(thread);
        } else {
            use_lock();
        }
    }
}

static void end(void)
{
    uint64_t uses = pred.stats.uses;
    unsigned i;

    for (i = 0; i < model->num_lanes; ++i) {
        uses += lanes.lanes[i].uses;
    }
    interleave_check(uses == model->num_uses *
                             (model->num_lanes + model->num_locks),
                     "all uses are counted");
}

interleave_result_t lanes_model_explore(const lanes_model_t *wanted)
{
    const interleave_t test = {
        .num_threads = wanted->num_lanes + wanted->num_locks,
        .begin       = begin,
        .run         = run,
        .end         = end,
        .is_constant = is_constant
    };

    model   = wanted;
    is_weak = wanted->is_weak;
    return interleave_explore(&test);
}
