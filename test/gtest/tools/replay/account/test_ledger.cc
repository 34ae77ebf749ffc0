/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

extern "C" {
#include <common/c_access.h>
}

#include <gtest/gtest.h>
#include <tools/replay/account/ledger.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

class test_ledger : public ::testing::Test {
protected:
    typedef std::vector<std::pair<int64_t, uint64_t>> curve_t;

    test_ledger() : m_ledger{}, m_sum{} {}

    ~test_ledger()
    {
        predreg_sum_cleanup(&m_sum);
        predreg_ledger_cleanup(&m_ledger);
    }

    void add(int64_t begin, int64_t end, uint64_t bytes,
             predreg_cause_t cause = PREDREG_CAUSE_USE)
    {
        predreg_ledger_add(&m_ledger, begin, end, bytes, cause);
    }

    void sum()
    {
        predreg_ledger_sum(&m_ledger, &m_sum);
    }

    curve_t curve() const
    {
        curve_t curve;

        for (size_t i = 0; i < m_sum.num_steps; ++i) {
            curve.emplace_back(m_sum.curve[i].time, m_sum.curve[i].bytes);
        }
        return curve;
    }

    predreg_ledger_t m_ledger;
    predreg_sum_t    m_sum;
};

TEST_F(test_ledger, nothing)
{
    add(5, 5, 100);
    add(5, 4, 100);
    add(5, 6, 0);
    sum();
    EXPECT_EQ(0u, m_sum.num_steps);
    EXPECT_EQ(0u, m_sum.peak_bytes);
    EXPECT_EQ(0., m_sum.byte_seconds);
}

TEST_F(test_ledger, causes)
{
    for (unsigned cause = 0; cause < PREDREG_CAUSE_LAST; ++cause) {
        add(0, 1000000000, 10 + cause, (predreg_cause_t)cause);
        EXPECT_TRUE(predreg_cause_names[cause] != NULL);
    }
    EXPECT_TRUE(predreg_cause_names[PREDREG_CAUSE_LAST] == NULL);
    sum();
    for (unsigned cause = 0; cause < PREDREG_CAUSE_LAST; ++cause) {
        EXPECT_EQ(10. + cause, m_sum.by_cause[cause]);
    }
    EXPECT_EQ(91., m_sum.byte_seconds);
    EXPECT_EQ(91u, m_sum.peak_bytes);
}

TEST_F(test_ledger, curve)
{
    add(-10, 10, 4);
    add(10, 30, 4); /* What is registered goes on without a step */
    add(20, 30, 8);
    add(30, 40, 1);
    sum();
    EXPECT_EQ((curve_t{{-10, 4}, {20, 12}, {30, 1}, {40, 0}}), curve());
    EXPECT_EQ(12u, m_sum.peak_bytes);
}

/* What ends when something else begins does not overlap it */
TEST_F(test_ledger, peak)
{
    add(10, 20, 8);
    add(0, 10, 8);
    sum();
    EXPECT_EQ(8u, m_sum.peak_bytes);
}

TEST_F(test_ledger, apart)
{
    add(0, 10, 8);
    add(20, 30, 8);
    sum();
    EXPECT_EQ((curve_t{{0, 8}, {10, 0}, {20, 8}, {30, 0}}), curve());
}

/* A terabyte is registered for the age of the universe */
TEST_F(test_ledger, large)
{
    for (unsigned i = 0; i < 1000; ++i) {
        add(INT64_MIN, INT64_MAX, 1ul << 30);
    }
    sum();
    EXPECT_EQ(1000ul << 30, m_sum.peak_bytes);
    EXPECT_DOUBLE_EQ(1000. * (1ul << 30) * UINT64_MAX / 1e9,
                     m_sum.byte_seconds);
}

TEST_F(test_ledger, order_does_not_matter)
{
    std::vector<std::tuple<int64_t, int64_t, uint64_t>> entries;
    std::mt19937_64 generator(1);
    predreg_ledger_t other = {};
    predreg_sum_t other_sum;

    for (unsigned i = 0; i < 5000; ++i) {
        int64_t begin = generator() % 1000000;
        entries.emplace_back(begin, begin + generator() % 1000000,
                             generator());
    }

    for (const auto &e : entries) {
        add(std::get<0>(e), std::get<1>(e), std::get<2>(e) >> 20);
    }
    sum();

    std::shuffle(entries.begin(), entries.end(), generator);
    for (const auto &e : entries) {
        predreg_ledger_add(&other, std::get<0>(e), std::get<1>(e),
                           std::get<2>(e) >> 20, PREDREG_CAUSE_USE);
    }
    predreg_ledger_sum(&other, &other_sum);

    EXPECT_EQ(m_sum.byte_seconds, other_sum.byte_seconds);
    EXPECT_EQ(m_sum.peak_bytes, other_sum.peak_bytes);
    ASSERT_EQ(m_sum.num_steps, other_sum.num_steps);
    for (size_t i = 0; i < m_sum.num_steps; ++i) {
        EXPECT_EQ(m_sum.curve[i].time, other_sum.curve[i].time);
        EXPECT_EQ(m_sum.curve[i].bytes, other_sum.curve[i].bytes);
    }
    predreg_sum_cleanup(&other_sum);
    predreg_ledger_cleanup(&other);
}

/* The ledger adds up changes of the same time long before the last entry, and is
 * empty after its sum */
TEST_F(test_ledger, many_entries_at_few_times)
{
    for (int64_t i = 0; i < 300000; ++i) {
        add(i % 3, 3 + i % 2, 4096);
    }
    sum();
    EXPECT_EQ(curve_t({{0, 409600000}, {1, 819200000}, {2, 1228800000},
                       {3, 614400000}, {4, 0}}), curve());

    predreg_sum_cleanup(&m_sum);
    add(4, 5, 4096);
    sum();
    EXPECT_EQ(curve_t({{4, 4096}, {5, 0}}), curve());
}

/* The area below the curve is the sum */
TEST_F(test_ledger, area)
{
    std::mt19937_64 generator(2);
    unsigned __int128 area = 0;

    for (unsigned i = 0; i < 1000; ++i) {
        int64_t begin = (int64_t)(generator() % 1000000) - 500000;
        add(begin, begin + generator() % 10000, generator() % 1000000,
            (predreg_cause_t)(i % PREDREG_CAUSE_LAST));
    }
    sum();
    for (size_t i = 0; i + 1 < m_sum.num_steps; ++i) {
        area += (unsigned __int128)m_sum.curve[i].bytes *
                (m_sum.curve[i + 1].time - m_sum.curve[i].time);
    }
    EXPECT_EQ(area / 1e9, m_sum.byte_seconds);
    EXPECT_EQ(0u, m_sum.curve[m_sum.num_steps - 1].bytes);
}
