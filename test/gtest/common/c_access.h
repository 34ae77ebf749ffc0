/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_C_ACCESS_H_
#define PREDREG_GTEST_C_ACCESS_H_

#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <stddef.h>
#include <stdint.h>

/* The cache */

/* Be in the lane of this thread, as one that was interrupted. @return 0 if it has
 * none, or something was deferred */
int test_pred_enter_lane(ucs_rcache_pred_t *pred);
void test_pred_leave_lane(ucs_rcache_pred_t *pred);
/* Be about to enter the lane of this thread, which has one, and not know yet
 * whether another thread has the lock */
void test_pred_approach_lane(ucs_rcache_pred_t *pred);
/* How many threads have a lane, and how many regions belong to one */
unsigned test_pred_num_lanes(ucs_rcache_pred_t *pred);
unsigned test_pred_num_in_lanes(ucs_rcache_pred_t *pred);
unsigned test_pred_num_sites(ucs_rcache_pred_t *pred);
unsigned test_pred_rq_length(ucs_rcache_pred_t *pred);
unsigned test_pred_awaited_length(ucs_rcache_pred_t *pred);
/* The trust in what the newest call site of the region that starts there says; INT_MIN if
 * there is no region */
int test_pred_trust(ucs_rcache_pred_t *pred, uintptr_t start);

/* Check that the table, the queues and the counters agree with each other,
 * while no use begins or ends. @return NULL, or what is wrong. */
const char *test_pred_validate(ucs_rcache_pred_t *pred);

/* Let the nth of the allocations that this thread makes from now on return
 * NULL; none if nth is 0 */
void test_alloc_fail_nth(unsigned nth);
/* Whether the allocation that was to fail was made */
int test_alloc_failed(void);

/* From now on, what this thread allocates with malloc() and calloc() comes from
 * that memory, and is freed there. So all of it can be copied, and be as it was
 * before when it is copied back: pointers stay valid. The test is ended if there
 * is not enough */
void test_heap_begin(void *memory, size_t size);
/* @return how much of it was ever used, bytes from its beginning */
size_t test_heap_end(void);
/* Go on with a heap as it is */
void test_heap_resume(void *memory, size_t size);

/* The next thread that the library creates fails */
void test_thread_fail(void);

/* How often the library called sched_yield(), which it does to wait for another
 * thread */
unsigned test_num_yields(void);
/* Call cb once, before this thread's next sched_yield() */
void test_on_yield(void (*cb)(void *arg), void *arg);

#endif
