/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <algorithm>
#include <random>
#include <vector>


class test_timeq : public ::testing::Test {
protected:
    test_timeq() { ucs_list_head_init(&m_queue); }

    std::vector<ucs_rcache_pred_timeq_elem_t*> order()
    {
        std::vector<ucs_rcache_pred_timeq_elem_t*> elems;
        ucs_rcache_pred_timeq_elem_t *elem;

        ucs_list_for_each(elem, &m_queue, list) {
            elems.push_back(elem);
        }
        return elems;
    }

    ucs_list_link_t m_queue;
};

TEST_F(test_timeq, empty_queue_is_never_due)
{
    EXPECT_EQ(NULL, ucs_rcache_pred_timeq_head(&m_queue));
    EXPECT_EQ(NEVER, ucs_rcache_pred_timeq_first(&m_queue));
}

TEST_F(test_timeq, earliest_is_first)
{
    ucs_rcache_pred_timeq_elem_t a, b, c;

    ucs_rcache_pred_timeq_insert(&m_queue, &b, 20);
    ucs_rcache_pred_timeq_insert(&m_queue, &c, 30);
    ucs_rcache_pred_timeq_insert(&m_queue, &a, 10);

    EXPECT_EQ(&a, ucs_rcache_pred_timeq_head(&m_queue));
    EXPECT_EQ(10u, ucs_rcache_pred_timeq_first(&m_queue));
    EXPECT_EQ((std::vector<ucs_rcache_pred_timeq_elem_t*>{&a, &b, &c}),
              order());
}

TEST_F(test_timeq, equal_times_keep_their_order)
{
    ucs_rcache_pred_timeq_elem_t a, b, c, d;

    ucs_rcache_pred_timeq_insert(&m_queue, &a, 10);
    ucs_rcache_pred_timeq_insert(&m_queue, &d, 20);
    ucs_rcache_pred_timeq_insert(&m_queue, &b, 10);
    ucs_rcache_pred_timeq_insert(&m_queue, &c, 10);

    EXPECT_EQ((std::vector<ucs_rcache_pred_timeq_elem_t*>{&a, &b, &c, &d}),
              order());
}

TEST_F(test_timeq, random_times_come_out_sorted)
{
    std::vector<ucs_rcache_pred_timeq_elem_t> elems(1000);
    std::mt19937 random(1);

    for (auto &elem : elems) {
        ucs_rcache_pred_timeq_insert(&m_queue, &elem, random() % 100);
    }

    auto sorted = order();
    EXPECT_EQ(elems.size(), sorted.size());
    EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end(),
                               [](auto *a, auto *b) {
                                   /* Elements were inserted in the order of
                                    * their addresses */
                                   return (a->time != b->time) ?
                                          (a->time < b->time) : (a < b);
                               }));
}
