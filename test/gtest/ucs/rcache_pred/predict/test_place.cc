/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <memory>
#include <random>


class test_place : public ::testing::Test {
protected:
    void judge(int met, uint64_t hash = 1)
    {
        ucs_rcache_pred_place_judge(m_table.get(), hash, ++m_region, met);
    }

    bool doubted(uint64_t hash = 1)
    {
        return ucs_rcache_pred_place_is_doubted(m_table.get(), hash);
    }

    std::unique_ptr<ucs_rcache_pred_place_table_t> m_table{
            new ucs_rcache_pred_place_table_t()};
    uint64_t m_region = 0;
};

TEST_F(test_place, doubted_by_three_regions)
{
    EXPECT_FALSE(doubted());
    judge(0);
    judge(0);
    EXPECT_FALSE(doubted());
    judge(0);
    EXPECT_TRUE(doubted());
    EXPECT_FALSE(doubted(2)) << "another place";
}

TEST_F(test_place, verdicts_in_a_row_about_one_region_count_once)
{
    for (unsigned i = 0; i < 10; ++i) {
        ucs_rcache_pred_place_judge(m_table.get(), 1, 1, 0);
    }
    EXPECT_FALSE(doubted());
}

TEST_F(test_place, every_second_deadline_met_is_enough)
{
    for (unsigned i = 0; i < 1000; ++i) {
        judge(i % 2);
        EXPECT_FALSE(doubted()) << i;
    }
}

TEST_F(test_place, a_quarter_met_by_accident_is_not)
{
    std::mt19937_64 random;
    unsigned believed = 0;

    for (unsigned i = 0; i < 100000; ++i) {
        judge((random() % 4) == 0);
        believed += (i >= 100) && !doubted();
    }
    EXPECT_LE(believed, 20u);
}

/* However long a place was irregular, and the other way round */
TEST_F(test_place, changes_its_ways)
{
    for (unsigned i = 0; i < 1000; ++i) {
        judge(0);
    }

    unsigned met = 0;
    for (; doubted() && (met < 1000); ++met) {
        judge(1);
    }
    EXPECT_EQ(31u, met);

    for (unsigned i = 0; i < 1000; ++i) {
        judge(1);
    }

    unsigned unmet = 0;
    for (; !doubted() && (unmet < 1000); ++unmet) {
        judge(0);
    }
    EXPECT_EQ(51u, unmet);
}

/* Of places that fall into one set, the one that was judged longest ago is
 * forgotten */
TEST_F(test_place, forgets_the_oldest)
{
    static constexpr uint64_t APART = UCS_RCACHE_PRED_PLACE_SETS;

    for (unsigned i = 0; i < UCS_RCACHE_PRED_PLACE_WAYS; ++i) {
        for (unsigned k = 0; k < 3; ++k) {
            judge(0, 1 + i * APART);
        }
    }
    judge(0, 1); /* Again, so that the second one is the oldest */
    judge(1, 1 + UCS_RCACHE_PRED_PLACE_WAYS * APART);
    EXPECT_TRUE(doubted(1));
    EXPECT_FALSE(doubted(1 + APART));
    EXPECT_TRUE(doubted(1 + 2 * APART));
}
