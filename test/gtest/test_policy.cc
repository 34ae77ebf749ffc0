/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "library.h"

#include <algorithm>
#include <random>
#include <vector>


class test_policy : public ::testing::Test {
protected:
    test_policy() : m_times{10000, 2000, 300, 40, 5}
    {
        ucs_list_head_init(&m_queue);
    }

    /* As the helper does: insert, then make room before it */
    void insert(uint64_t time, uint64_t gap)
    {
        m_elems.push_back(new ucs_rcache_pred_timeq_elem_t);
        ucs_rcache_pred_timeq_insert(&m_queue, m_elems.back(), time);
        ucs_rcache_pred_space_deadlines(&m_queue, m_elems.back(), gap);
    }

    std::vector<uint64_t> queue()
    {
        std::vector<uint64_t> times;
        ucs_rcache_pred_timeq_elem_t *elem;

        ucs_list_for_each(elem, &m_queue, list) {
            times.push_back(elem->time);
        }
        return times;
    }

    void TearDown() override
    {
        for (auto *elem : m_elems) {
            delete elem;
        }
    }

    static constexpr uint64_t T_P = 10000 + 2000 + 300 + 40 + 5;

    ucs_rcache_pred_times_t                    m_times;
    ucs_list_link_t                            m_queue;
    std::vector<ucs_rcache_pred_timeq_elem_t*> m_elems;
};

typedef std::vector<uint64_t> times_t;

TEST_F(test_policy, deregister_if_there_is_just_time)
{
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC + T_P));
    EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC + T_P - 1));
    EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC - 1));
}

TEST_F(test_policy, deregister_if_no_use_is_predicted)
{
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, SEC, NEVER));
    EXPECT_TRUE(ucs_rcache_pred_may_deregister(&m_times, NEVER - 1, NEVER));
}

TEST_F(test_policy, due_when_one_more_item_would_make_it_late)
{
    EXPECT_EQ(SEC - T_P, ucs_rcache_pred_due_time(&m_times, SEC));
}

TEST_F(test_policy, due_at_once_if_the_deadline_is_too_close)
{
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, T_P));
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, T_P - 1));
    EXPECT_EQ(0u, ucs_rcache_pred_due_time(&m_times, 0));
    EXPECT_EQ(1u, ucs_rcache_pred_due_time(&m_times, T_P + 1));
}

TEST_F(test_policy, what_may_be_deregistered_is_not_due_yet)
{
    /* Or it would be registered again in the same round */
    for (uint64_t deadline = SEC; deadline < SEC + 3 * T_P; deadline += 7) {
        if (ucs_rcache_pred_may_deregister(&m_times, SEC, deadline)) {
            ASSERT_GE(ucs_rcache_pred_due_time(&m_times, deadline), SEC);
        }
    }
}

TEST_F(test_policy, each_cost_counts)
{
    uint64_t *costs[] = {&m_times.reg, &m_times.dereg, &m_times.dq_item,
                         &m_times.rq_item, &m_times.wakeup};

    for (uint64_t *cost : costs) {
        ++*cost;
        EXPECT_FALSE(ucs_rcache_pred_may_deregister(&m_times, SEC, SEC + T_P));
        EXPECT_EQ(SEC - T_P - 1, ucs_rcache_pred_due_time(&m_times, SEC));
        --*cost;
    }
}

TEST_F(test_policy, spacing_is_an_item_of_each_queue)
{
    EXPECT_EQ(10000u + 2000 + 300 + 40, ucs_rcache_pred_spacing(&m_times));
}

TEST_F(test_policy, far_deadlines_are_left_alone)
{
    insert(1000, 100);
    insert(1100, 100);
    insert(900, 100);
    EXPECT_EQ(times_t({900, 1000, 1100}), queue());
}

TEST_F(test_policy, close_deadline_is_moved_earlier)
{
    insert(1000, 100);
    insert(1050, 100);
    EXPECT_EQ(times_t({950, 1050}), queue());
}

TEST_F(test_policy, spacing_cascades)
{
    insert(800, 100);
    insert(900, 100);
    insert(1000, 100);
    insert(1001, 100);
    EXPECT_EQ(times_t({701, 801, 901, 1001}), queue());
}

TEST_F(test_policy, cascade_ends_at_a_gap)
{
    insert(500, 100);
    insert(900, 100);
    insert(1000, 100);
    insert(1001, 100);
    EXPECT_EQ(times_t({500, 801, 901, 1001}), queue());
}

TEST_F(test_policy, later_deadlines_are_not_moved)
{
    /* Only what comes before can be moved: later would be too late */
    insert(1050, 100);
    insert(1000, 100);
    EXPECT_EQ(times_t({1000, 1050}), queue());
}

TEST_F(test_policy, spacing_stops_at_the_beginning_of_time)
{
    insert(50, 100);
    insert(60, 100);
    insert(70, 100);
    EXPECT_EQ(times_t({0, 0, 70}), queue());
}

TEST_F(test_policy, order_is_kept_and_none_moved_later)
{
    std::mt19937 random(1);

    for (unsigned i = 0; i < 500; ++i) {
        uint64_t time = 100000 + random() % 100000;
        insert(time, 150);

        times_t after = queue();
        ASSERT_TRUE(std::is_sorted(after.begin(), after.end()));
        ASSERT_LE(m_elems.back()->time, time);
    }
}
