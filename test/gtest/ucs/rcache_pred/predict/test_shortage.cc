/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <gtest/gtest.h>

#include <algorithm>

class test_shortage : public ::testing::Test {
protected:
    static constexpr double STEP = 250e6;

    /* Processes wait for this part of so many seconds. @return what may be spent in that
     * time, s */
    double pass(double seconds, double waits, double own = 0)
    {
        double sum = 0;

        for (double time = 0; time < seconds * 1e9; time += STEP) {
            ucs_rcache_pred_shortage_update(&m_shortage, waits, m_procs, own * STEP, STEP);
            sum += m_shortage.part * STEP / 1e9;
        }
        return sum;
    }

    ucs_rcache_pred_shortage_t m_shortage = {};
    unsigned                   m_procs    = 1;
};

TEST_F(test_shortage, nothing_without_waits)
{
    EXPECT_EQ(0, pass(1000, 0));
    EXPECT_FALSE(m_shortage.is_short);
}

TEST_F(test_shortage, as_much_as_is_waited)
{
    EXPECT_NEAR(40, pass(100, .4), 1);
    EXPECT_NEAR(.4, m_shortage.part, 1e-6);
    EXPECT_TRUE(m_shortage.is_short);
    EXPECT_NEAR(.8, pass(100, 0), .1);
    EXPECT_FALSE(m_shortage.is_short);
    /* A moment: not more than was waited either */
    EXPECT_NEAR(.9 * .25, pass(.25, .9) + pass(100, 0), .02);
}

/* The part falls slowly between the iterations of a program that waits in each */
TEST_F(test_shortage, does_not_hunt)
{
    double least = 1, most = 0;

    pass(60, .2);
    for (unsigned i = 0; i < 20; ++i) {
        for (double waits : {.8, 0., 0., 0.}) {
            pass(.5, waits);
            least = std::min(least, m_shortage.part);
            most  = std::max(most, m_shortage.part);
        }
        ASSERT_TRUE(m_shortage.is_short);
    }
    EXPECT_GT(least, .1);
    EXPECT_LT(most, .35);
}

/* Each may spend its part, and memory is as short for all of them */
TEST_F(test_shortage, many_processes)
{
    m_procs = 128;
    pass(100, .3);
    EXPECT_TRUE(m_shortage.is_short);
    EXPECT_NEAR(.3 / 128, m_shortage.part, 1e-6);
}

TEST_F(test_shortage, own_waits_do_not_count)
{
    EXPECT_EQ(0, pass(10, .3, .3));
    EXPECT_EQ(0, pass(10, .3, .9));
    pass(100, .3, .2);
    EXPECT_NEAR(.1, m_shortage.part, 1e-6);
}

TEST_F(test_shortage, counts_as_short_for_a_while)
{
    pass(100, .009);
    EXPECT_FALSE(m_shortage.is_short);
    pass(100, .011);
    EXPECT_TRUE(m_shortage.is_short);
    pass(100, .003);
    EXPECT_TRUE(m_shortage.is_short);
    pass(100, .001);
    EXPECT_FALSE(m_shortage.is_short);
}

TEST_F(test_shortage, time_stands_still)
{
    ucs_rcache_pred_shortage_update(&m_shortage, 1, 1, 0, 0);
    EXPECT_EQ(0, m_shortage.part);
    EXPECT_FALSE(m_shortage.is_short);
}
