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
    typedef ucs_rcache_pred_timeq_elem_t elem_t;

    test_timeq() { ucs_rcache_pred_timeq_init(&m_queue); }

    void insert(elem_t *elem, uint64_t time, uint64_t gap = 0)
    {
        ucs_rcache_pred_timeq_insert(&m_queue, elem, time, gap);
    }

    void remove(elem_t *elem) { ucs_rcache_pred_timeq_remove(&m_queue, elem); }
    elem_t *head() { return ucs_rcache_pred_timeq_head(&m_queue); }
    uint64_t first() { return ucs_rcache_pred_timeq_first(&m_queue); }

    std::vector<elem_t*> order()
    {
        std::vector<elem_t*> elems;

        for (auto *node = ucs_tree_first(m_queue.tree.root);
             node != NULL; node = ucs_tree_next(node)) {
            elems.push_back(ucs_container_of(node, elem_t, node));
        }
        return elems;
    }

    /* When the first element has to be ready, by moving those before earlier,
     * one after the other, as the paper does it */
    uint64_t first_by_moving()
    {
        std::vector<elem_t*> elems = order();
        int64_t ready              = INT64_MAX;

        for (size_t i = elems.size(); i-- > 0;) {
            ready = std::min(ready, (int64_t)elems[i]->time);
            ready = (i > 0) ? ready - (int64_t)elems[i]->gap : ready;
        }
        return elems.empty() ? NEVER : std::max(ready, (int64_t)0);
    }

    ucs_rcache_pred_timeq_t m_queue;
};

TEST_F(test_timeq, empty_queue_is_never_due)
{
    EXPECT_TRUE(ucs_rcache_pred_timeq_is_empty(&m_queue));
    EXPECT_EQ(NULL, head());
    EXPECT_EQ(NEVER, first());
}

TEST_F(test_timeq, earliest_is_first)
{
    elem_t a, b, c;

    insert(&b, 20);
    insert(&c, 30);
    insert(&a, 10);
    EXPECT_FALSE(ucs_rcache_pred_timeq_is_empty(&m_queue));
    EXPECT_EQ(&a, head());
    EXPECT_EQ(10u, first());
    EXPECT_EQ((std::vector<elem_t*>{&a, &b, &c}), order());

    remove(&a);
    EXPECT_EQ(&b, head());
    EXPECT_EQ(20u, first());
}

TEST_F(test_timeq, equal_times_keep_their_order)
{
    elem_t a, b, c, d;

    insert(&a, 10);
    insert(&d, 20);
    insert(&b, 10);
    insert(&c, 10);
    EXPECT_EQ((std::vector<elem_t*>{&a, &b, &c, &d}), order());
}

TEST_F(test_timeq, time_without_end_is_the_last)
{
    elem_t a, b;

    insert(&a, NEVER, 100);
    EXPECT_EQ((uint64_t)INT64_MAX, first());
    insert(&b, 10, 100);
    EXPECT_EQ(&b, head());
    EXPECT_EQ(10u, first());
}

/* Gaps */

TEST_F(test_timeq, far_deadlines_are_left_alone)
{
    elem_t a, b, c;

    insert(&b, 1000, 100);
    insert(&c, 1100, 100);
    insert(&a, 900, 100);
    EXPECT_EQ(900u, first());
}

TEST_F(test_timeq, what_is_close_behind_makes_the_first_one_earlier)
{
    elem_t a, b;

    insert(&a, 1000, 100);
    insert(&b, 1050, 100);
    EXPECT_EQ(950u, first());
}

TEST_F(test_timeq, so_does_each_one_behind_that)
{
    elem_t a, b, c, d;

    insert(&a, 800, 100);
    insert(&b, 900, 100);
    insert(&c, 1000, 100);
    EXPECT_EQ(800u, first());
    insert(&d, 1001, 100);
    EXPECT_EQ(701u, first());
}

TEST_F(test_timeq, but_not_before_a_pause)
{
    elem_t a, b, c, d;

    insert(&a, 500, 100);
    insert(&b, 900, 100);
    insert(&c, 1000, 100);
    insert(&d, 1001, 100);
    EXPECT_EQ(500u, first());
    remove(&a);
    EXPECT_EQ(801u, first());
}

TEST_F(test_timeq, what_is_gone_makes_nothing_earlier)
{
    elem_t a, b, c;

    insert(&a, 1000, 100);
    insert(&b, 1010, 100);
    insert(&c, 1020, 100);
    EXPECT_EQ(820u, first());
    remove(&b);
    EXPECT_EQ(920u, first());
    remove(&c);
    EXPECT_EQ(1000u, first());
}

TEST_F(test_timeq, not_before_the_beginning_of_time)
{
    elem_t a, b;

    insert(&a, 50, 100);
    insert(&b, 60, 100);
    EXPECT_EQ(0u, first());
}

TEST_F(test_timeq, as_if_deadlines_were_moved_one_after_the_other)
{
    std::vector<elem_t> elems(300);
    std::vector<bool> in(elems.size());
    std::mt19937 random(1);

    for (unsigned i = 0; i < 5000; ++i) {
        unsigned k = random() % elems.size();
        if (in[k]) {
            remove(&elems[k]);
        } else {
            insert(&elems[k], 100000 + random() % 30000, random() % 200);
        }
        in[k] = !in[k];

        ASSERT_EQ(first_by_moving(), first());
        std::vector<elem_t*> present = order();
        ASSERT_EQ((size_t)std::count(in.begin(), in.end(), true),
                  present.size());
        ASSERT_TRUE(std::is_sorted(present.begin(), present.end(),
                                   [](elem_t *a, elem_t *b) {
                                       return a->time < b->time;
                                   }));
    }
}
