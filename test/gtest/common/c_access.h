/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_C_ACCESS_H_
#define PREDREG_GTEST_C_ACCESS_H_

#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <stdint.h>

/* What tests need of the parts of the library that use C atomics, which C++17
 * does not know. */

/* Deregistration queue */

typedef struct ucs_rcache_pred_dq test_dq_t;

typedef struct test_dq_entry {
    uint64_t region;
    uint64_t generation;
    uint64_t begin;
    uint64_t length;
    uint64_t caller;
    uint64_t stack;
    uint64_t window;
} test_dq_entry_t;

test_dq_t *test_dq_create(unsigned size);
void test_dq_destroy(test_dq_t *dq);
void test_dq_push(test_dq_t *dq, const test_dq_entry_t *entry);
int test_dq_pop(test_dq_t *dq, test_dq_entry_t *entry);
int test_dq_is_empty(test_dq_t *dq);
uint64_t test_dq_dropped(const test_dq_t *dq);
uint64_t test_dq_head(test_dq_t *dq);

/* The steps of a push one by one, so that tests can stop a producer in the
 * middle. It takes its ticket ... */
uint64_t test_dq_take_ticket(test_dq_t *dq);
/* ... reads the number of its slot ... */
uint64_t test_dq_slot_seq(test_dq_t *dq, uint64_t ticket);
/* ... makes it odd while it writes ... */
void test_dq_set_slot_seq(test_dq_t *dq, uint64_t ticket, uint64_t seq);
/* ... or writes, if the number is still what it read. Returns 0 if not. */
int test_dq_write_slot(test_dq_t *dq, uint64_t ticket, uint64_t seq,
                       const test_dq_entry_t *entry);

/* The cache */

test_dq_t *test_pred_dq(ucs_rcache_pred_t *pred);
int test_pred_is_asleep(ucs_rcache_pred_t *pred);
/* When ucs_rcache_pred_progress() will do the next round */
ucs_rcache_pred_time_t test_pred_due(ucs_rcache_pred_t *pred);
unsigned test_pred_num_regions(ucs_rcache_pred_t *pred);
unsigned test_pred_num_sites(ucs_rcache_pred_t *pred);
unsigned test_pred_rq_length(ucs_rcache_pred_t *pred);
unsigned test_pred_awaited_length(ucs_rcache_pred_t *pred);
/* Least confidence in what the newest call site of the region that starts there
 * says; -1 if there is no region */
int test_pred_confidence(ucs_rcache_pred_t *pred, uintptr_t start);
const ucs_rcache_pred_times_t *test_pred_times(ucs_rcache_pred_t *pred);
ucs_rcache_pred_time_t
test_pred_reg_estimate(ucs_rcache_pred_domain_t *domain, size_t pages);

/* Check that the table, the queues and the counters agree with each other,
 * while no use begins or ends. @return NULL, or what is wrong. */
const char *test_pred_validate(ucs_rcache_pred_t *pred);

/* Let the nth of the allocations that this thread makes from now on return
 * NULL; none if nth is 0 */
void test_alloc_fail_nth(unsigned nth);
/* Whether the allocation that was to fail was made */
int test_alloc_failed(void);

/* The next thread that the library creates fails */
void test_thread_fail(void);

/* How often the library called sched_yield(), which it does to wait for another
 * thread */
unsigned test_num_yields(void);

#endif
