/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_test.h"

#include <atomic>
#include <thread>


/* Processes that died, and what they held */
class test_node_dead : public node_test {
};

TEST_F(test_node_dead, share_of_a_dead_process_is_taken_before_refusing)
{
    auto a = join();

    live_and_die(BOUND);
    expect_totals(a, BOUND, 1, 2);
    EXPECT_TRUE(reserve(a, BOUND));
    expect_totals(a, BOUND, 1, 1);
    EXPECT_TRUE(test_node_is_clear(a, 1));
}

TEST_F(test_node_dead, share_of_a_dead_process_is_taken_at_an_update)
{
    auto a = join();

    live_and_die(BOUND);
    EXPECT_EQ(1u, update(a, 0).procs);
    expect_totals(a, 0, 0, 1);
}

TEST_F(test_node_dead, living_processes_keep_their_shares)
{
    auto a = join(), b = join();

    reserve(b, 500);
    EXPECT_EQ(0u, pred_node_reap(a, UCS_RCACHE_PRED_NODE_SLOTS));
    expect_totals(a, 500, 1, 2);
}

TEST_F(test_node_dead, all_dead_are_found)
{
    auto a = join();

    /* Each that joins takes back those before it */
    for (unsigned i = 0; i < 5; ++i) {
        live_and_die(10);
    }
    join();
    expect_totals(a, 0, 0, 2);

    for (unsigned i = 2; i < 6; ++i) {
        test_node_set_owner(a, i, m_gone);
        a->shm->slots[i].bytes = 10;
    }
    EXPECT_EQ(4u, pred_node_reap(a, UCS_RCACHE_PRED_NODE_SLOTS));
    expect_totals(a, 0, 0, 2);
}

TEST_F(test_node_dead, who_died_clearing_a_slot_is_cleared_away)
{
    auto a = join();

    /* A process died that had put itself in the place of another dead one to
     * clear its slot, and had done half of it */
    test_node_set_owner(a, 1, m_gone);
    a->shm->slots[1].bytes = 300;
    test_node_set_owner(a, 2, m_gone + 1);
    EXPECT_EQ(2u, pred_node_reap(a, UCS_RCACHE_PRED_NODE_SLOTS));
    EXPECT_TRUE(test_node_is_clear(a, 1));
    EXPECT_TRUE(test_node_is_clear(a, 2));
}

TEST_F(test_node_dead, slot_that_is_being_cleared_counts_until_it_is_free)
{
    auto a = join();

    /* A living process has just put itself in the place of a dead one */
    test_node_set_owner(a, 1, a->self);
    a->shm->slots[1].bytes = 300;
    EXPECT_EQ(0u, pred_node_reap(a, UCS_RCACHE_PRED_NODE_SLOTS));
    EXPECT_FALSE(reserve(a, BOUND - 299));
    EXPECT_TRUE(reserve(a, BOUND - 300));
    EXPECT_NE(1u, test_node_slot(join()));
}

TEST_F(test_node_dead, several_who_clear_at_once_clear_each_slot_once)
{
    constexpr unsigned NUM = 200;
    std::atomic<unsigned> cleared(0), ready(0);
    std::vector<std::thread> threads;
    auto node = join();

    for (unsigned i = 0; i < 4; ++i) {
        join();
    }
    for (unsigned i = 5; i < 5 + NUM; ++i) {
        test_node_set_owner(node, i, m_gone);
        node->shm->slots[i].bytes = 5;
    }

    for (unsigned i = 1; i < 5; ++i) {
        threads.emplace_back([this, &cleared, &ready, i] {
            for (++ready; ready < 4;) {
                sched_yield();
            }
            cleared += pred_node_reap(m_nodes[i], UCS_RCACHE_PRED_NODE_SLOTS);
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    EXPECT_EQ(NUM, cleared);
    expect_totals(node, 0, 0, 5);
}

TEST_F(test_node_dead, who_runs_another_program_keeps_its_share_until_it_joins)
{
    shared<std::atomic<uint64_t>> procid;
    ucs_rcache_pred_node_t *before = NULL;
    auto a                         = join();
    child other([&procid] {
        *procid = ucs_rcache_pred_procid_self();
        pause();
        return 0;
    });

    ASSERT_TRUE(wait_until([&procid] { return *procid != 0; }));
    ASSERT_EQ(UCS_OK, try_join(&before, *procid));
    ASSERT_TRUE(reserve(before, 300));
    /* The sign of life is gone, but the process is not */
    pred_node_close(before);
    EXPECT_EQ(0u, pred_node_reap(a, UCS_RCACHE_PRED_NODE_SLOTS));
    expect_totals(a, 300, 1, 2);

    /* It joins again */
    auto again = join(*procid);
    expect_totals(a, 0, 0, 2);
    EXPECT_TRUE(reserve(again, BOUND));
}

TEST_F(test_node_dead, many_dead_are_found_by_a_few_refusals)
{
    constexpr unsigned NUM = 100;
    auto a                 = join();
    unsigned refusals      = 0;

    for (unsigned i = 1; i <= NUM; ++i) {
        test_node_set_owner(a, i, m_gone);
        a->shm->slots[i].bytes = BOUND / NUM;
    }
    while (!reserve(a, BOUND)) {
        ASSERT_LT(++refusals, NUM);
    }
    EXPECT_GT(refusals, 0u); /* None of them looks at all */
}
