/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <cmath>
#include <random>


/* The account of the budget, on a clock of its own */
class test_budget : public ::testing::Test {
protected:
    test_budget() { open(0.01); }

    void open(double rate)
    {
        m_budget      = {};
        m_budget.rate = rate;
        ucs_rcache_pred_budget_advance(&m_budget, m_now);
    }

    void run(uint64_t time)
    {
        m_now += time;
        ucs_rcache_pred_budget_advance(&m_budget, m_now);
    }

    bool give_up(uint64_t bytes, uint64_t idle, double cost, double deposit = 0)
    {
        return ucs_rcache_pred_budget_give_up(&m_budget, bytes, idle, cost,
                                              deposit);
    }

    /* A use comes that nobody has predicted */
    void claim_deposit(double cost)
    {
        ucs_rcache_pred_budget_return(&m_budget, cost);
        ucs_rcache_pred_budget_spend(&m_budget, cost);
    }

    /* Something that is worth any cost as long as there is something left */
    bool spend(double cost) { return give_up(1ul << 50, SEC, cost); }

    ucs_rcache_pred_budget_t m_budget;
    uint64_t                 m_now = 5 * SEC;
};

TEST_F(test_budget, begins_with_the_share_of_50_ms)
{
    EXPECT_DOUBLE_EQ(500 * USEC, m_budget.left);
}

TEST_F(test_budget, time_flows_in_and_is_kept_for_a_second)
{
    ASSERT_TRUE(spend(500 * USEC));
    EXPECT_DOUBLE_EQ(0, m_budget.left);
    run(10 * MSEC);
    EXPECT_DOUBLE_EQ(100 * USEC, m_budget.left);
    run(100 * SEC);
    EXPECT_DOUBLE_EQ(10 * MSEC, m_budget.left);
}

TEST_F(test_budget, nothing_is_given_up_without_budget)
{
    ASSERT_TRUE(spend(MSEC)); /* More than there was: a debt */
    EXPECT_FALSE(spend(1));
    run(49 * MSEC);
    EXPECT_FALSE(spend(1));
    run(10 * MSEC);
    EXPECT_TRUE(spend(1));
}

TEST_F(test_budget, the_emptier_the_more_it_must_be_worth)
{
    run(10 * SEC);
    EXPECT_FALSE(give_up(4096, 10 * USEC, 11 * USEC));
    EXPECT_TRUE(give_up(4096, 10 * USEC, 10 * USEC));

    ASSERT_TRUE(spend(5 * MSEC));
    EXPECT_FALSE(give_up(4096, SEC, 10 * USEC));
    EXPECT_TRUE(give_up(16 * MB, SEC, 10 * USEC));

    ASSERT_TRUE(spend(4900 * USEC));
    EXPECT_FALSE(give_up(16 * MB, SEC, 10 * USEC));
    EXPECT_TRUE(give_up(1ul << 40, 100 * SEC, 10 * USEC));
}

TEST_F(test_budget, worth_is_what_decides)
{
    for (double left : {500., 300., 100., 1.}) {
        m_budget.left = left * USEC;
        double worth  = ucs_rcache_pred_budget_worth(&m_budget);
        EXPECT_FALSE(give_up(worth * .99, 1000, 1000));
        EXPECT_TRUE(give_up(worth * 1.01, 1000, 1000));
    }
    m_budget.left = -1;
    EXPECT_DOUBLE_EQ(std::exp2(46), ucs_rcache_pred_budget_worth(&m_budget));
    open(INFINITY);
    EXPECT_DOUBLE_EQ(0, ucs_rcache_pred_budget_worth(&m_budget));
}

TEST_F(test_budget, deposits_flow_back)
{
    run(10 * SEC);
    ASSERT_TRUE(give_up(1ul << 50, SEC, MSEC, 4 * MSEC));
    EXPECT_DOUBLE_EQ(5 * MSEC, m_budget.left);
    EXPECT_DOUBLE_EQ(4 * MSEC, m_budget.deposit);
    EXPECT_DOUBLE_EQ(MSEC, m_budget.spent) << "no use has come yet";
    run(100 * MSEC);
    EXPECT_DOUBLE_EQ(3600 * USEC, m_budget.deposit);
    EXPECT_DOUBLE_EQ(6400 * USEC, m_budget.left);
    run(SEC);
    EXPECT_DOUBLE_EQ(0, m_budget.deposit);
    EXPECT_DOUBLE_EQ(10 * MSEC, m_budget.left);
}

TEST_F(test_budget, a_use_takes_the_deposit_first)
{
    run(10 * SEC);
    ASSERT_TRUE(give_up(1ul << 50, SEC, MSEC, 4 * MSEC));
    claim_deposit(3 * MSEC);
    EXPECT_DOUBLE_EQ(5 * MSEC, m_budget.left);
    EXPECT_DOUBLE_EQ(1 * MSEC, m_budget.deposit);
    claim_deposit(3 * MSEC);
    EXPECT_DOUBLE_EQ(3 * MSEC, m_budget.left);
    EXPECT_DOUBLE_EQ(0, m_budget.deposit);
    EXPECT_DOUBLE_EQ(7 * MSEC, m_budget.spent);
}

/* A prediction was wrong: the helper was paid for nothing */
TEST_F(test_budget, what_was_not_needed_goes_back)
{
    run(10 * SEC);
    ASSERT_TRUE(give_up(1ul << 50, SEC, 4 * MSEC));
    ucs_rcache_pred_budget_spend(&m_budget, -3 * (double)MSEC);
    EXPECT_DOUBLE_EQ(9 * MSEC, m_budget.left);
    EXPECT_DOUBLE_EQ(MSEC, m_budget.spent);
}

TEST_F(test_budget, zero_gives_up_nothing)
{
    open(0);
    run(1000 * SEC);
    EXPECT_FALSE(spend(0));
    EXPECT_EQ(SEC, ucs_rcache_pred_budget_pause(&m_budget, 0));
    EXPECT_EQ(SEC, ucs_rcache_pred_budget_pause(&m_budget, USEC));
}

TEST_F(test_budget, without_a_bound_everything_is_worth_it)
{
    open(INFINITY);
    EXPECT_TRUE(give_up(1, 1, 1000 * SEC, SEC));
    EXPECT_TRUE(give_up(1, 0, SEC));
    EXPECT_DOUBLE_EQ(1001 * SEC, m_budget.spent) << "but it is counted";
    claim_deposit(SEC);
    EXPECT_DOUBLE_EQ(1002 * SEC, m_budget.spent);
    EXPECT_EQ(0u, ucs_rcache_pred_budget_pause(&m_budget, SEC));
    EXPECT_DOUBLE_EQ(1, ucs_rcache_pred_budget_own_price(&m_budget));
}

TEST_F(test_budget, a_clock_that_goes_back_brings_nothing)
{
    double left = m_budget.left;

    run(SEC);
    left   = m_budget.left;
    m_now -= 3 * SEC;
    run(0);
    EXPECT_DOUBLE_EQ(left, m_budget.left);
    EXPECT_EQ(SEC, ucs_rcache_pred_budget_age(&m_budget));
    run(10 * MSEC);
    EXPECT_GE(m_budget.left, left);
    EXPECT_LE(m_budget.left, left + 100 * USEC);
}

TEST_F(test_budget, rounds_take_half_of_it)
{
    EXPECT_EQ(MSEC, ucs_rcache_pred_budget_pause(&m_budget, 5 * USEC));
    EXPECT_EQ(SEC, ucs_rcache_pred_budget_pause(&m_budget, 5 * SEC));
}

TEST_F(test_budget, helper_may_use_half_of_its_own_processor)
{
    EXPECT_DOUBLE_EQ(0.02, ucs_rcache_pred_budget_own_price(&m_budget));
    open(0.8);
    EXPECT_DOUBLE_EQ(1, ucs_rcache_pred_budget_own_price(&m_budget));
}

TEST_F(test_budget, is_kept_whatever_is_asked)
{
    std::mt19937 random(1);

    for (double rate : {0.002, 0.01, 0.05, 1.}) {
        open(rate);
        uint64_t begin = m_now;

        for (unsigned i = 0; i < 100000; ++i) {
            run(random() % MSEC);
            if (give_up(random(), random(), random() % (100 * USEC),
                        random() % (100 * USEC)) && (random() % 2 == 0)) {
                claim_deposit(random() % (100 * USEC));
            }
        }

        /* What is left over are one second and the last operation */
        double bound = rate * (m_now - begin + SEC) + 200 * USEC;
        EXPECT_LE(m_budget.spent, bound) << rate;
        EXPECT_GE(m_budget.spent, bound * ((rate < 0.5) ? 0.5 : 0.05)) << rate;
    }
}
