/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_NODE_ACCESS_H_
#define PREDREG_GTEST_NODE_ACCESS_H_

#include <ucs/node/node.h>
#include <ucs/node/node_int.h>

/* What tests need of node_int.h, which uses C atomics. */

/* Join in the name of any process. Those that join with another key do not
 * share memory with it. */
ucs_status_t test_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t self,
                               ucs_rcache_pred_node_t **node_p);

/* Whether there is shared memory under this key, anywhere in the system */
int test_node_exists(uint64_t key);

/* Take back the shares of dead processes. @return how many. */
unsigned test_node_reap(ucs_rcache_pred_node_t *node);

/* Do what the end of a process does: its slot stays as it is */
void test_node_die(ucs_rcache_pred_node_t *node);
/* The number by which a process is known as the owner of a slot */
uint64_t test_node_token(ucs_rcache_pred_node_t *node);

unsigned test_node_num_slots(void);
/* How many slots have ever been used */
unsigned test_node_num_used(ucs_rcache_pred_node_t *node);
/* The slot that this handle has */
unsigned test_node_slot(ucs_rcache_pred_node_t *node);
uint64_t test_node_owner(ucs_rcache_pred_node_t *node, unsigned slot);
void test_node_set_owner(ucs_rcache_pred_node_t *node, unsigned slot,
                         uint64_t owner);
void test_node_set_bytes(ucs_rcache_pred_node_t *node, unsigned slot,
                         uint64_t bytes);
/* Whether all that is in a slot is zero */
int test_node_is_clear(ucs_rcache_pred_node_t *node, unsigned slot);

/* Set the processors that this process believes, and tells, to be usable */
void test_node_set_usable(ucs_rcache_pred_node_t *node, const cpu_set_t *usable);

void test_node_update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
                         uint64_t busy, ucs_rcache_pred_node_seat_t *seat);

#endif
