/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <memory>
#include <vector>


class test_precedent : public ::testing::Test {
protected:
    using table_t = ucs_rcache_pred_precedent_table_t;

    static constexpr unsigned SETS = UCS_RCACHE_PRED_PRECEDENT_SETS;
    static constexpr unsigned WAYS = UCS_RCACHE_PRED_PRECEDENT_WAYS;

    test_precedent() { ucs_rcache_pred_precedent_init(m_table.get()); }

    void add(uint64_t way, uint64_t interval)
    {
        ucs_rcache_pred_precedent_add(m_table.get(), way, interval);
    }

    /* What is known to a region that follows */
    std::vector<uint64_t> known(uint64_t way)
    {
        std::vector<uint64_t> intervals(UCS_RCACHE_PRED_PRECEDENT_DEPTH);
        intervals.resize(ucs_rcache_pred_precedent_ask(m_table.get(), way,
                                                       intervals.data()));
        if (!intervals.empty()) {
            ucs_rcache_pred_precedent_tell(m_table.get(), way, 0);
        }
        return intervals;
    }

    void wait(uint64_t way, ucs_list_link_t &link)
    {
        ucs_rcache_pred_precedent_wait(m_table.get(), way, &link);
    }

    ucs_list_link_t *release(uint64_t way)
    {
        return ucs_rcache_pred_precedent_release(m_table.get(), way);
    }

    std::unique_ptr<table_t> m_table{new table_t};
    ucs_list_link_t          m_links[3] = {};
};

TEST_F(test_precedent, last_intervals_are_known)
{
    EXPECT_TRUE(known(1).empty());
    add(1, 10);
    EXPECT_EQ(std::vector<uint64_t>({10}), known(1));
    add(1, 20);
    add(1, 30);
    EXPECT_EQ(std::vector<uint64_t>({20, 30}), known(1));
    EXPECT_TRUE(known(1 + SETS).empty()) << "another way in the same set";
}

/* Ways of use that nobody adds to any more give way to new ones */
TEST_F(test_precedent, the_longest_unused_is_replaced)
{
    for (unsigned i = 0; i < WAYS; ++i) {
        add(1 + i * SETS, 10);
    }
    add(1, 10);
    add(1 + WAYS * SETS, 10);
    EXPECT_FALSE(known(1).empty());
    EXPECT_TRUE(known(1 + SETS).empty());
    EXPECT_FALSE(known(1 + 2 * SETS).empty());
}

TEST_F(test_precedent, who_waits_is_released_in_turn)
{
    wait(1, m_links[0]);
    wait(1, m_links[1]);
    wait(2, m_links[2]);
    EXPECT_EQ(NULL, release(1)) << "nothing is known yet";
    add(1, 10);
    EXPECT_EQ(&m_links[0], release(1));
    EXPECT_EQ(&m_links[1], release(1));
    EXPECT_EQ(NULL, release(1));
    add(2, 10);
    EXPECT_EQ(&m_links[2], release(2));
}

TEST_F(test_precedent, who_has_left_is_not_released)
{
    ucs_rcache_pred_precedent_leave(&m_links[0]); /* It has never waited */
    wait(1, m_links[0]);
    wait(1, m_links[1]);
    ucs_rcache_pred_precedent_leave(&m_links[0]);
    ucs_rcache_pred_precedent_leave(&m_links[0]);
    add(1, 10);
    EXPECT_EQ(&m_links[1], release(1));
    EXPECT_EQ(NULL, release(1));
    wait(1, m_links[0]); /* It may wait again */
    EXPECT_EQ(&m_links[0], release(1));
}

/* Those who wait for what was replaced can still leave, in any order, and wait for
 * something else */
TEST_F(test_precedent, who_waits_for_what_is_replaced)
{
    for (auto &link : m_links) {
        wait(1, link);
    }
    for (unsigned i = 1; i <= WAYS; ++i) {
        add(1 + i * SETS, 10);
    }
    add(1, 10);
    EXPECT_EQ(NULL, release(1));
    for (unsigned i : {1, 0, 2}) {
        ucs_rcache_pred_precedent_leave(&m_links[i]);
    }
    wait(1, m_links[1]);
    EXPECT_EQ(&m_links[1], release(1));
}

/* A precedent is followed by a few, and by more as it turns out to be right */
TEST_F(test_precedent, is_followed_as_far_as_it_is_trusted)
{
    unsigned followed = 0;

    add(1, 10);
    while (!known(1).empty()) {
        ++followed;
    }
    EXPECT_EQ(4u, followed);

    wait(1, m_links[0]);
    EXPECT_EQ(NULL, release(1));
    ucs_rcache_pred_precedent_tell(m_table.get(), 1, 1);
    EXPECT_EQ(&m_links[0], release(1));
    EXPECT_FALSE(known(1).empty());
    EXPECT_FALSE(known(1).empty());
    EXPECT_TRUE(known(1).empty());

    for (unsigned i = 0; i < 1000; ++i) {
        ucs_rcache_pred_precedent_tell(m_table.get(), 1, 1);
    }
    for (followed = 0; !known(1).empty(); ++followed) {
    }
    EXPECT_EQ(68u, followed);
}

/* One that was wrong is tried again now and then */
TEST_F(test_precedent, is_tried_again)
{
    unsigned followed = 0;

    for (unsigned i = 0; i < 10 * UCS_RCACHE_PRED_PRECEDENT_RETRY; ++i) {
        add(1, 10);
        followed += !known(1).empty();
    }
    EXPECT_EQ(4u + 10, followed);
}
