/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/page/units.h>
}

#include <cstring>
#include <string>


/* With ordinary spaces: those that are written do not break */
static std::string plain(std::string text)
{
    for (size_t i; (i = text.find("\u00a0")) != std::string::npos;) {
        text.replace(i, strlen("\u00a0"), " ");
    }
    return text;
}

static std::string bytes(double value)
{
    char buf[PREDREG_UNITS_MAX];
    return plain(predreg_bytes_str(value, buf));
}

static std::string duration(double value)
{
    char buf[PREDREG_UNITS_MAX];
    return plain(predreg_time_str(value, buf));
}

static std::string percent(double part, double whole)
{
    char buf[PREDREG_UNITS_MAX];
    return plain(predreg_percent_str(part, whole, buf));
}

static std::string count(uint64_t value)
{
    char buf[PREDREG_UNITS_MAX];
    return predreg_count_str(value, buf);
}

TEST(test_units, bytes_have_three_digits)
{
    EXPECT_EQ("0 B", bytes(0));
    EXPECT_EQ("1 B", bytes(1));
    EXPECT_EQ("999 B", bytes(999));
    EXPECT_EQ("0.98 KiB", bytes(1000));
    EXPECT_EQ("1.00 KiB", bytes(1024));
    EXPECT_EQ("9.99 KiB", bytes(9.99 * 1024));
    EXPECT_EQ("10.0 KiB", bytes(9.996 * 1024));
    EXPECT_EQ("99.9 KiB", bytes(99.94 * 1024));
    EXPECT_EQ("100 KiB", bytes(99.96 * 1024));
    EXPECT_EQ("153 MiB", bytes(153. * 1024 * 1024));
    EXPECT_EQ("4.00 GiB", bytes(4294967296.));
    EXPECT_EQ("16384 PiB", bytes(18446744073709551615.));
}

TEST(test_units, differences_may_be_negative)
{
    EXPECT_EQ("−61.2 MiB", bytes(-61.2 * 1024 * 1024));
    EXPECT_EQ("−5 B", bytes(-5));
}

TEST(test_units, byte_seconds)
{
    char buf[PREDREG_UNITS_MAX];
    EXPECT_EQ("1.50 GiB·s",
              plain(predreg_byte_seconds_str(1.5 * (1 << 30), buf)));
    EXPECT_EQ("0 B·s", plain(predreg_byte_seconds_str(0, buf)));
}

TEST(test_units, times)
{
    EXPECT_EQ("0 s", duration(0));
    EXPECT_EQ("350 ns", duration(350));
    EXPECT_EQ("12.3 µs", duration(12345));
    EXPECT_EQ("4.56 ms", duration(4560000));
    EXPECT_EQ("1.00 ms", duration(999600));
    EXPECT_EQ("1.23 s", duration(1230000000));
    EXPECT_EQ("36000 s", duration(36e12));
}

TEST(test_units, percents)
{
    EXPECT_EQ("0 %", percent(0, 7));
    EXPECT_EQ("100 %", percent(7, 7));
    EXPECT_EQ("12.3 %", percent(123, 1000));
    EXPECT_EQ("0.03 %", percent(3, 10000));
    EXPECT_EQ("150 %", percent(3, 2));
    EXPECT_EQ("–", percent(1, 0));
    EXPECT_EQ("–", percent(0, 0));
}

/* What is not all must not look like all, and something not like nothing */
TEST(test_units, percents_near_the_ends)
{
    EXPECT_EQ("< 0.01 %", percent(1, 1000000));
    EXPECT_EQ("> 99.9 %", percent(999999, 1000000));
    EXPECT_EQ("99.9 %", percent(9994, 10000));
}

TEST(test_units, number_and_unit_stay_together)
{
    char buf[PREDREG_UNITS_MAX];
    EXPECT_STREQ("153\u00a0MiB", predreg_bytes_str(153 << 20, buf));
    EXPECT_STREQ("<\u00a00.01\u00a0%", predreg_percent_str(1, 1000000, buf));
}

TEST(test_units, counts)
{
    EXPECT_EQ("0", count(0));
    EXPECT_EQ("999", count(999));
    EXPECT_EQ("1,000", count(1000));
    EXPECT_EQ("12,345,678", count(12345678));
    EXPECT_EQ("18,446,744,073,709,551,615", count(UINT64_MAX));
}
