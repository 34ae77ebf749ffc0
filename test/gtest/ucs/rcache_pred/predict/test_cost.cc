/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <random>


class test_cost : public ::testing::Test {
protected:
    test_cost() { ucs_rcache_pred_cost_init(&m_cost, 50, 10000); }

    void measure(size_t pages, uint64_t time, unsigned times = 1)
    {
        while (times-- > 0) {
            ucs_rcache_pred_cost_update(&m_cost, NULL, pages, time);
        }
    }

    /* Measurements of a region */
    void measure(ucs_rcache_pred_own_t *own, size_t pages, uint64_t time,
                 unsigned times = 1)
    {
        while (times-- > 0) {
            ucs_rcache_pred_cost_update(&m_cost, own, pages, time);
        }
    }

    /* The line is that of 200 ns a page, and 3 us */
    void learn_line()
    {
        for (unsigned i = 0; i < 600; ++i) {
            size_t pages = 1 + (i * 37) % 1024;
            measure(pages, usual(pages));
        }
    }

    static uint64_t usual(size_t pages) { return 200 * pages + 3000; }

    double estimate(size_t pages, const ucs_rcache_pred_own_t *own = NULL) const
    {
        return ucs_rcache_pred_cost_estimate(&m_cost, own, pages);
    }

    ucs_rcache_pred_cost_t m_cost;
};

TEST_F(test_cost, first_guess_is_used)
{
    EXPECT_NEAR(10050, estimate(1), 1);
    EXPECT_NEAR(22800, estimate(256), 1);
}

TEST_F(test_cost, line_is_recovered)
{
    /* The guess fades to a millionth in 450 measurements */
    for (unsigned i = 0; i < 600; ++i) {
        size_t pages = 1 + (i * 37) % 1024;
        measure(pages, 200 * pages + 3000);
    }

    EXPECT_NEAR(200, m_cost.a, 0.01);
    EXPECT_NEAR(3000, m_cost.b, 1);
    EXPECT_NEAR(200 * 4096 + 3000, estimate(4096), 50);
}

TEST_F(test_cost, few_measurements_outweigh_the_guess)
{
    for (unsigned i = 0; i < 50; ++i) {
        measure(1024, 1000000);
        measure(16, 20000);
    }

    EXPECT_NEAR(1000000, estimate(1024), 10000);
}

TEST_F(test_cost, one_size_moves_the_line_and_keeps_its_slope)
{
    measure(64, 500000, 2000);

    EXPECT_NEAR(500000, estimate(64), 500);
    EXPECT_GE(estimate(128), estimate(64));
    EXPECT_LE(estimate(32), estimate(64));
}

TEST_F(test_cost, never_negative)
{
    std::mt19937 random(1);

    /* Measurements that fit no line: large ones cost less */
    for (unsigned i = 0; i < 10000; ++i) {
        size_t pages = 1 + random() % 4096;
        measure(pages, random() % 100000 + ((pages < 100) ? 1000000 : 0));
        ASSERT_GE(m_cost.a, 0);
        ASSERT_GE(m_cost.b, 0);
        ASSERT_LT(estimate(1), 1e9);
        ASSERT_LT(estimate(1 << 20), 1e13);
    }
}

TEST_F(test_cost, convex_costs_do_not_become_free_for_small_sizes)
{
    /* The line through these would be negative below 512 pages */
    for (unsigned i = 0; i < 500; ++i) {
        measure(1024, 1000000);
        measure(768, 500000);
    }

    EXPECT_GE(m_cost.b, 0);
    EXPECT_GT(estimate(1), 0);
}

TEST_F(test_cost, zero_time_is_a_measurement)
{
    measure(1, 0, 1000);
    measure(256, 0, 1000);
    EXPECT_LE(estimate(1), 1);
}

TEST_F(test_cost, follows_a_change)
{
    for (unsigned i = 0; i < 300; ++i) {
        measure(1 + i % 256, 50 * (1 + i % 256) + 10000);
    }

    /* As when huge pages are broken up: ten times a page */
    for (unsigned i = 0; i < 150; ++i) {
        measure(1 + i % 256, 500 * (1 + i % 256) + 10000);
    }

    EXPECT_NEAR(500 * 128 + 10000, estimate(128), 0.05 * 74000);
}

TEST_F(test_cost, own_cost_begins_with_the_line)
{
    ucs_rcache_pred_own_t own = {};

    learn_line();
    measure(&own, 512, usual(512));
    EXPECT_NEAR(usual(512), estimate(512, &own), 100);
    /* What differs by less than half is as the line says */
    measure(&own, 512, usual(512) * 1.4, 10);
    EXPECT_EQ(estimate(512), estimate(512, &own));
}

TEST_F(test_cost, own_cost_is_learnt_beside_the_line)
{
    ucs_rcache_pred_own_t huge = {}, other[4] = {};

    /* Each fifth registration is of huge pages */
    learn_line();
    for (unsigned i = 0; i < 100; ++i) {
        measure(&huge, 1024, usual(1024) / 16);
        for (ucs_rcache_pred_own_t &own : other) {
            measure(&own, 1024, usual(1024));
        }
        if (i == 12) {
            EXPECT_NEAR(usual(1024) / 16, estimate(1024, &huge), usual(1024) / 32);
        }
    }
    EXPECT_NEAR(usual(1024) / 16, estimate(1024, &huge), usual(1024) / 64);
    for (const ucs_rcache_pred_own_t &own : other) {
        EXPECT_NEAR(usual(1024), estimate(1024, &own), usual(1024) / 10);
    }
}

TEST_F(test_cost, own_cost_changes_with_the_size)
{
    ucs_rcache_pred_own_t own = {};

    learn_line();
    measure(&own, 1024, usual(1024) / 8, 20);
    EXPECT_NEAR(estimate(64) / estimate(1024), estimate(64, &own) / estimate(1024, &own), 1e-3);
    EXPECT_LT(estimate(64, &own), 0.4 * estimate(64));
}

TEST_F(test_cost, outlier_hardly_changes_an_own_cost)
{
    ucs_rcache_pred_own_t own = {};

    learn_line();
    measure(&own, 512, usual(512) / 8, 30);
    measure(&own, 512, 1000 * usual(512));
    EXPECT_LE(estimate(512, &own), 0.3 * usual(512));
    EXPECT_NEAR(usual(512), estimate(512), 0.3 * usual(512));
    measure(&own, 512, usual(512) / 8, 6);
    EXPECT_NEAR(usual(512) / 8, estimate(512, &own), usual(512) / 24);
}

/* What a region has measured does not change with what others measure, which may be rare */
TEST_F(test_cost, own_cost_stays_when_the_line_moves)
{
    ucs_rcache_pred_own_t slow = {};

    learn_line();
    measure(&slow, 512, 5 * usual(512), 30);
    measure(512, 4 * usual(512), 300);
    EXPECT_LT(estimate(512, &slow), 5.5 * usual(512));
    measure(512, usual(512) / 10, 300);
    EXPECT_NEAR(5 * usual(512), estimate(512, &slow), usual(512));
}

/* A clock that goes back, or is coarse, measures nothing again and again */
TEST_F(test_cost, own_cost_recovers_from_times_of_nothing)
{
    ucs_rcache_pred_own_t own = {};

    learn_line();
    measure(&own, 512, 0, 200);
    measure(&own, 512, usual(512), 60);
    EXPECT_NEAR(usual(512), estimate(512, &own), 0.5 * usual(512));
}

TEST_F(test_cost, slow_region_does_not_bend_the_line)
{
    ucs_rcache_pred_own_t slow = {}, other = {};

    learn_line();
    measure(&other, 512, usual(512));
    measure(&slow, 512, usual(512)); /* Slow from now on */
    for (unsigned i = 0; i < 200; ++i) {
        measure(&other, 512, usual(512), 9);
        measure(&slow, 512, 50 * usual(512));
    }
    EXPECT_NEAR(usual(512), estimate(512), 0.25 * usual(512));
    EXPECT_GT(estimate(512, &slow), 40 * usual(512));
}

TEST_F(test_cost, line_follows_when_all_regions_change)
{
    ucs_rcache_pred_own_t own[10] = {};

    learn_line();
    for (unsigned i = 0; i < 200; ++i) {
        measure(&own[i % 10], 512, usual(512));
    }
    for (unsigned i = 0; i < 150; ++i) {
        measure(&own[i % 10], 512, 10 * usual(512));
    }
    EXPECT_NEAR(10 * usual(512), estimate(512, &own[0]), 2 * usual(512));
    EXPECT_GT(estimate(512), 6 * usual(512));
}

TEST_F(test_cost, own_cost_is_never_negative)
{
    std::mt19937 random(1);
    ucs_rcache_pred_own_t own = {};

    for (unsigned i = 0; i < 10000; ++i) {
        size_t pages = 1 + random() % 4096;
        measure(&own, pages, (random() % 4 == 0) ? 0 : random() % 1000000);
        ASSERT_GE(own.time, 0);
        ASSERT_LT(estimate(pages, &own), 1e9);
    }
}

TEST_F(test_cost, pages_are_those_touched)
{
    EXPECT_EQ(1u, ucs_rcache_pred_pages(0, 1, PAGE));
    EXPECT_EQ(1u, ucs_rcache_pred_pages(0, PAGE, PAGE));
    EXPECT_EQ(2u, ucs_rcache_pred_pages(0, PAGE + 1, PAGE));
    EXPECT_EQ(2u, ucs_rcache_pred_pages(PAGE - 1, 2, PAGE));
    EXPECT_EQ(1u, ucs_rcache_pred_pages(PAGE - 1, 1, PAGE));
    EXPECT_EQ(257u, ucs_rcache_pred_pages(8, MB, PAGE));
    EXPECT_EQ(17u, ucs_rcache_pred_pages(8, MB, 64 * KB));
    EXPECT_EQ(1u, ucs_rcache_pred_pages(PAGE - 1, 2, 64 * KB));
}

TEST_F(test_cost, pages_end_at_the_top_of_the_address_space)
{
    uintptr_t last = UINTPTR_MAX - PAGE + 1;

    EXPECT_EQ(1u, ucs_rcache_pred_pages(last, PAGE, PAGE));
    EXPECT_EQ(1u, ucs_rcache_pred_pages(last, 2 * PAGE, PAGE));
    EXPECT_EQ(2u, ucs_rcache_pred_pages(last - 1, SIZE_MAX, PAGE));
    EXPECT_EQ(SIZE_MAX / PAGE + 1, ucs_rcache_pred_pages(0, SIZE_MAX, PAGE));
}
