/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/data/curves.h>
}

#include <algorithm>
#include <random>
#include <vector>


class test_curve : public ::testing::Test {
protected:
    void columns(int64_t begin, int64_t end, unsigned num)
    {
        m_columns.assign(num, predreg_column_t());
        predreg_curve_columns(m_steps.data(), m_steps.size(), begin, end,
                              m_columns.data(), num);
    }

    void expect(unsigned column, uint64_t min, uint64_t max, uint64_t last)
    {
        EXPECT_EQ(min, m_columns[column].min) << "column " << column;
        EXPECT_EQ(max, m_columns[column].max) << "column " << column;
        EXPECT_EQ(last, m_columns[column].last) << "column " << column;
    }

    std::vector<predreg_step_t>   m_steps;
    std::vector<predreg_column_t> m_columns;
};

TEST_F(test_curve, nothing)
{
    columns(0, 100, 3);
    for (unsigned i = 0; i < 3; ++i) {
        expect(i, 0, 0, 0);
    }
}

TEST_F(test_curve, value_is_carried_on)
{
    m_steps = {{0, 5}, {45, 7}};
    columns(0, 100, 10);
    expect(0, 5, 5, 5);
    expect(3, 5, 5, 5);
    expect(4, 5, 7, 7);
    expect(5, 7, 7, 7);
    expect(9, 7, 7, 7);
}

TEST_F(test_curve, short_peaks_and_gaps_are_kept)
{
    m_steps = {{0, 10}, {31, 1000}, {32, 10}, {71, 0}, {72, 10}};
    columns(0, 100, 10);
    expect(2, 10, 10, 10);
    expect(3, 10, 1000, 10);
    expect(4, 10, 10, 10);
    expect(7, 0, 10, 10);
}

TEST_F(test_curve, step_at_an_edge_belongs_to_the_right)
{
    m_steps = {{0, 1}, {50, 2}};
    columns(0, 100, 2);
    expect(0, 1, 1, 1);
    expect(1, 2, 2, 2);
}

TEST_F(test_curve, last_edge_counts)
{
    m_steps = {{0, 1}, {100, 0}};
    columns(0, 100, 4);
    expect(2, 1, 1, 1);
    expect(3, 0, 1, 0);
}

TEST_F(test_curve, outside_is_left_out)
{
    m_steps = {{-50, 9}, {-10, 3}, {20, 4}, {101, 77}};
    columns(0, 100, 2);
    expect(0, 3, 4, 4);
    expect(1, 4, 4, 4);
}

TEST_F(test_curve, more_columns_than_time)
{
    m_steps = {{0, 1}, {1, 9}, {2, 3}};
    columns(0, 3, 1000);
    expect(0, 1, 1, 1);
    expect(999, 3, 3, 3);
    auto highest = std::max_element(m_columns.begin(), m_columns.end(),
                                    [](const predreg_column_t &a,
                                       const predreg_column_t &b) {
                                        return a.max < b.max;
                                    });
    EXPECT_EQ(9u, highest->max);
}

/* A year, in columns whose number times its length does not fit 64 bits */
TEST_F(test_curve, long_times)
{
    const int64_t year = 365ll * 86400 * 1000000000;
    m_steps            = {{0, 1}, {year - 1, 50}, {year, 0}};
    columns(0, year, 1000);
    expect(998, 1, 1, 1);
    expect(999, 0, 50, 0);
}

/* No peak and no gap of any curve is lost, and none made up */
TEST_F(test_curve, extremes_are_those_of_the_steps)
{
    std::mt19937 random(7);

    for (unsigned round = 0; round < 200; ++round) {
        int64_t time     = 0;
        uint64_t highest = 0;

        m_steps.clear();
        for (unsigned i = 0; i < 500; ++i) {
            uint64_t bytes = random() % 1000;
            m_steps.push_back({time, bytes});
            highest = std::max(highest, bytes);
            time   += 1 + random() % 50;
        }

        columns(0, time, 1 + random() % 300);
        uint64_t seen = 0;
        for (size_t i = 0; i < m_columns.size(); ++i) {
            ASSERT_LE(m_columns[i].min, m_columns[i].last);
            ASSERT_LE(m_columns[i].last, m_columns[i].max);
            seen = std::max(seen, m_columns[i].max);
        }
        ASSERT_EQ(highest, seen);
        ASSERT_EQ(m_steps.back().bytes, m_columns.back().last);
    }
}
