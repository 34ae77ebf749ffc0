/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/replay/program/costs.h>
}

#include <random>


class test_points : public ::testing::Test {
protected:
    ~test_points() { predreg_points_cleanup(&m_points); }

    void add(uint64_t pages, uint64_t time)
    {
        predreg_points_add(&m_points, 0x10000,
                           pages * PREDREG_PAGE_SIZE, time);
    }

    void expect(double page, double op, int page_known = 1)
    {
        predreg_cost_t guess = {7, 70};
        predreg_cost_t cost;
        int known;

        EXPECT_TRUE(predreg_points_line(&m_points, &guess, &cost, &known));
        EXPECT_NEAR(page, cost.page, 1e-6);
        EXPECT_NEAR(op, cost.op, 1e-6);
        EXPECT_EQ(page_known, known);
    }

    predreg_points_t m_points = {};
};

TEST_F(test_points, none)
{
    predreg_cost_t guess = {7, 70};
    predreg_cost_t cost;
    int known;

    EXPECT_FALSE(predreg_points_line(&m_points, &guess, &cost, &known));
    EXPECT_EQ(7, cost.page);
    EXPECT_EQ(70, cost.op);
    EXPECT_FALSE(known);
}

TEST_F(test_points, on_a_line)
{
    for (uint64_t pages = 1; pages < 1000000; pages += pages / 3 + 1) {
        add(pages, 50 * pages + 1000);
    }
    expect(50, 1000);
}

/* Of four of a size the least counts, of five the next one */
TEST_F(test_points, quartile_of_a_size)
{
    add(10, 5000);
    expect(7, 5000 - 70, 0);
    add(10, 1070);
    expect(7, 1000, 0);
    add(10, 9000);
    add(10, 1000000);
    expect(7, 1000, 0);
    add(10, 1);
    expect(7, 1000, 0);
}

/* Sizes of a class are one size */
TEST_F(test_points, nearly_one_size)
{
    add(1000, 8000);
    add(1001, 9000);
    expect(7, 1000, 0);
}

TEST_F(test_points, below_the_guess)
{
    add(10, 50);
    expect(5, 0, 0);
}

TEST_F(test_points, line_that_falls)
{
    add(1, 300);
    add(100, 100);
    expect(0, 100);
}

TEST_F(test_points, line_that_begins_below_zero)
{
    add(1, 10);
    add(3, 300);
    expect(10, 0);
}

/* One that was held up for 10 ms, whichever it is, changes little */
TEST_F(test_points, one_held_up)
{
    const unsigned num_sizes = 6;

    for (unsigned held = 0; held < 3 * num_sizes; ++held) {
        predreg_cost_t guess = {7, 70};
        predreg_cost_t cost;
        int known;

        m_points.num_points = 0;
        for (unsigned i = 0; i < 3 * num_sizes; ++i) {
            uint64_t pages = 1ul << (2 * (i / 3));
            add(pages, 50 * pages + 1000 + i % 3 +
                       ((i == held) ? 10000000 : 0));
        }
        EXPECT_TRUE(predreg_points_line(&m_points, &guess, &cost, &known));
        EXPECT_NEAR(50, cost.page, 1);
        EXPECT_NEAR(1000, cost.op, 5);
    }
}

/* Half of the ranks touch their memory for the first time */
TEST_F(test_points, half_of_them_are_longer)
{
    std::mt19937 random(1);

    for (unsigned i = 0; i < 1000; ++i) {
        uint64_t pages = 1 + random() % 2000;
        add(pages, 20 * pages + 2000 + random() % 100 +
                   (i % 2) * (500 * pages + random() % 1000000));
    }

    predreg_cost_t guess = {7, 70};
    predreg_cost_t cost;
    int known;
    EXPECT_TRUE(predreg_points_line(&m_points, &guess, &cost, &known));
    EXPECT_NEAR(20, cost.page, 2);
    EXPECT_NEAR(22000, 1000 * cost.page + cost.op, 2000);
}

TEST_F(test_points, ranks_together)
{
    predreg_points_t others = {};

    add(10, 1070);
    predreg_points_add_all(&m_points, &others);
    predreg_points_add(&others, 0, 20 * PREDREG_PAGE_SIZE,
                           2070);
    predreg_points_add_all(&m_points, &others);
    EXPECT_EQ(2u, m_points.num_points);
    expect(100, 70);
    predreg_points_cleanup(&others);
}
