/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cmath>

extern "C" {
#include "../../tables/series.h"
}


static series_t series_of(std::initializer_list<double> values)
{
    series_t series = {};

    for (double value : values) {
        series_add(&series, value);
    }
    return series;
}

TEST(test_series, nothing_is_known_of_no_values)
{
    series_t series = series_of({});

    EXPECT_TRUE(std::isnan(series_mean(&series)));
    EXPECT_TRUE(std::isnan(series_min(&series)));
    EXPECT_TRUE(std::isnan(series_max(&series)));
    EXPECT_TRUE(std::isnan(series_median(&series)));
}

TEST(test_series, one_value)
{
    series_t series = series_of({7});

    EXPECT_EQ(7, series_mean(&series));
    EXPECT_EQ(7, series_min(&series));
    EXPECT_EQ(7, series_max(&series));
    EXPECT_EQ(7, series_median(&series));
}

TEST(test_series, order_does_not_matter)
{
    series_t odd  = series_of({9, 1, 2});
    series_t even = series_of({9, -1, 4, 2});

    EXPECT_EQ(4, series_mean(&odd));
    EXPECT_EQ(1, series_min(&odd));
    EXPECT_EQ(9, series_max(&odd));
    EXPECT_EQ(2, series_median(&odd));
    EXPECT_EQ(3, series_median(&even));
    EXPECT_EQ(9, odd.values[0]); /* the median sorts a copy */
}

TEST(test_series, what_is_not_known_is_left_out)
{
    series_t series = series_of({NAN, 2, NAN, 4});

    EXPECT_EQ(2u, series.num);
    EXPECT_EQ(3, series_mean(&series));
}

TEST(test_series, negative_values_have_a_minimum_and_a_maximum)
{
    series_t series = series_of({-3, -2});

    EXPECT_EQ(-3, series_min(&series));
    EXPECT_EQ(-2, series_max(&series));
}

TEST(test_series, room_for_all_repetitions_and_no_more)
{
    series_t series = {};

    for (int i = 0; i < SERIES_MAX; ++i) {
        series_add(&series, i);
    }
    EXPECT_EQ((SERIES_MAX - 1) / 2.0, series_median(&series));
    EXPECT_EXIT(series_add(&series, 0), testing::ExitedWithCode(2),
                "more than 20 repetitions");
}

TEST(test_series, percent)
{
    EXPECT_EQ(0.25, ratio(1, 4));
    EXPECT_TRUE(std::isnan(ratio(1, 0)));
    EXPECT_EQ(25, percent(1, 4));
    EXPECT_EQ(0, percent(0, 4));
    EXPECT_TRUE(std::isnan(percent(1, 0)));
    EXPECT_TRUE(std::isnan(percent(NAN, 4)));
    EXPECT_TRUE(std::isnan(percent(1, NAN)));
}
