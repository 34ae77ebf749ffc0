/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_NODE_TEST_H_
#define PREDREG_GTEST_NODE_TEST_H_

#include <common/child.h>
#include <common/library.h>
#include <common/log_watch.h>
#include <ucs/base/clock.h>

#include <algorithm>
#include <vector>

/* Whether there is shared memory under this key, anywhere in the system */
static inline bool test_node_exists(uint64_t key)
{
    ucs_rcache_pred_segment_id_t id = pred_node_segment_id(key);
    ucs_rcache_pred_segment_header_t *segment;

    segment = ucs_rcache_pred_segment_find(&id, sizeof(ucs_rcache_pred_node_shm_t));
    if (segment == nullptr) {
        return false;
    }

    ucs_rcache_pred_segment_detach(segment);
    return true;
}

/* The slot that this handle has */
static inline unsigned test_node_slot(ucs_rcache_pred_node_t *node)
{
    return node->slot - node->shm->slots;
}

static inline void test_node_set_owner(ucs_rcache_pred_node_t *node, unsigned slot,
                                       uint64_t owner)
{
    if (slot >= node->shm->num_used) {
        node->shm->num_used = slot + 1;
    }
    node->shm->slots[slot].owner = owner;
}

/* Whether all that is in a slot is zero */
static inline bool test_node_is_clear(ucs_rcache_pred_node_t *node, unsigned slot)
{
    const char *bytes = (const char*)&node->shm->slots[slot];

    return std::all_of(bytes, bytes + sizeof(node->shm->slots[slot]),
                       [](char byte) { return byte == 0; });
}

/* Processes of a node, which all are this one: each handle of the memory
 * that they share is taken for a process */
class node_test : public ::testing::Test {
protected:
    static constexpr uint64_t UNLIMITED = UCS_RCACHE_PRED_NODE_UNLIMITED;
    static constexpr uint64_t BOUND     = 1000;

    /* Each test has a key of its own, so that it shares memory neither with
     * jobs that run here nor with what another test left. Every handle is taken
     * for a process, since it has a sign of life of its own. All have the
     * number of this one; only those of the dead have another. */
    node_test() :
        m_key(((uint64_t)getpid() << 32) + ++num_tests),
        m_self(ucs_rcache_pred_procid_self()),
        m_dead(m_self + (1ull << UCS_RCACHE_PRED_PROCID_PID_BITS))
    {
        void *addr;

        EXPECT_EQ(UCS_OK, ucs_rcache_pred_token_create(&m_gone, &addr));
        ucs_rcache_pred_token_destroy(addr);
        params(BOUND);
    }

    ~node_test()
    {
        while (!m_nodes.empty()) {
            leave(m_nodes.back());
        }
        EXPECT_FALSE(test_node_exists(m_key)) << "a segment was left behind";
    }

    void params(uint64_t max_bytes, uint64_t max_regions = UNLIMITED,
                uint64_t reserve = 0)
    {
        m_params.max_bytes   = max_bytes;
        m_params.max_regions = max_regions;
        m_params.reserve     = reserve;
        m_params.reserve_regions = 0;
        m_params.bytes_name      = "THE_BYTES";
        m_params.regions_name    = "THE_REGIONS";
        m_params.root            = NULL;
        m_params.affinity        = cpus(1, 0);
    }

    ucs_rcache_pred_node_t *join(ucs_rcache_pred_procid_t self = 0)
    {
        ucs_rcache_pred_node_t *node = NULL;

        EXPECT_EQ(UCS_OK, try_join(&node, self));
        m_nodes.push_back(node);
        return node;
    }

    ucs_status_t try_join(ucs_rcache_pred_node_t **node_p,
                          ucs_rcache_pred_procid_t self = 0)
    {
        return pred_node_join_as(&m_params, m_key, self ? self : m_self, node_p);
    }

    void leave(ucs_rcache_pred_node_t *node)
    {
        m_nodes.erase(std::find(m_nodes.begin(), m_nodes.end(), node));
        ucs_rcache_pred_node_leave(node);
    }

    /* A process joins, and dies with so many bytes reserved */
    void live_and_die(uint64_t bytes)
    {
        ucs_rcache_pred_node_t *node = NULL;

        ASSERT_EQ(UCS_OK, try_join(&node, m_dead));
        m_dead += 1ull << UCS_RCACHE_PRED_PROCID_PID_BITS;
        ASSERT_TRUE(reserve(node, bytes));
        pred_node_close(node);
    }

    static bool reserve(ucs_rcache_pred_node_t *node, uint64_t bytes)
    {
        return ucs_rcache_pred_node_reserve(node, bytes, 1);
    }

    static void release(ucs_rcache_pred_node_t *node, uint64_t bytes)
    {
        ucs_rcache_pred_node_release(node, bytes, 1);
    }

    /* Ask for room that there is not, for all others to give up something */
    static void ask(ucs_rcache_pred_node_t *node, uint64_t bytes)
    {
        EXPECT_FALSE(reserve(node, bytes));
        ucs_rcache_pred_node_ask(node, bytes, 1, 0);
    }

    static bool is_asked(ucs_rcache_pred_node_t *node)
    {
        uint64_t idle;

        return ucs_rcache_pred_node_is_asked(node) &&
               ucs_rcache_pred_node_lacks(node, UCS_RCACHE_PRED_NODE_DEVICES, &idle);
    }

    static ucs_rcache_pred_node_totals_t totals(ucs_rcache_pred_node_t *node)
    {
        ucs_rcache_pred_node_totals_t totals;

        ucs_rcache_pred_node_get_totals(node, &totals);
        return totals;
    }

    static void expect_totals(ucs_rcache_pred_node_t *node, uint64_t bytes,
                              uint64_t regions, unsigned procs)
    {
        EXPECT_EQ(bytes, totals(node).bytes);
        EXPECT_EQ(regions, totals(node).regions);
        EXPECT_EQ(procs, totals(node).procs);
    }

    /* The set of processors from first to last; none if first is more */
    static cpu_set_t cpus(int first, int last)
    {
        cpu_set_t set;

        CPU_ZERO(&set);
        for (int cpu = first; cpu <= last; ++cpu) {
            CPU_SET(cpu, &set);
        }
        return set;
    }

    /* A process tells its demand, long after the last look at all processes */
    ucs_rcache_pred_node_seat_t update(ucs_rcache_pred_node_t *node, uint64_t demand)
    {
        m_now = std::max(m_now, ucs_monotonic_ns()) + 1000000000;
        return update_at(node, m_now, demand);
    }

    static ucs_rcache_pred_node_seat_t
    update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
              uint64_t busy = 0)
    {
        ucs_rcache_pred_node_seat_t seat;

        pred_node_update_at(node, now, demand, busy, &seat);
        return seat;
    }

    static inline unsigned               num_tests = 0;
    uint64_t                             m_now     = 0;
    uint64_t                             m_key;
    ucs_rcache_pred_procid_t             m_self;
    /* A dead process whose pid we have by now */
    ucs_rcache_pred_procid_t             m_dead;
    /* A sign of life that no process has any more */
    ucs_rcache_pred_token_t              m_gone;
    ucs_rcache_pred_node_params_t        m_params;
    std::vector<ucs_rcache_pred_node_t*> m_nodes;
};

#endif
