/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include "fake_map.h"

#include <cmath>
#include <set>

class test_measure : public ::testing::Test {
protected:
    ucs_status_t measure()
    {
        return uct_predreg_measure(&m_map.params, &m_costs);
    }

    void check()
    {
        double before = 0;

        for (double part : {m_costs.reg_call, m_costs.reg_page,
                            m_costs.lookup}) {
            EXPECT_TRUE(std::isfinite(part));
            EXPECT_GE(part, 0);
        }
        for (double copy : m_costs.copy) {
            EXPECT_TRUE(std::isfinite(copy));
            EXPECT_GE(copy, before);
            before = copy;
        }
    }

    fake_map          m_map;
    ucs_reuse_costs_t m_costs;
};

TEST_F(test_measure, a_line_is_drawn_through_registrations) {
    m_map.call      = 40000;
    m_map.page_cost = 300;
    ASSERT_EQ(UCS_OK, measure());
    EXPECT_NEAR(40000, m_costs.reg_call, 1);
    EXPECT_NEAR(300, m_costs.reg_page, 1);
    EXPECT_EQ(UCT_PREDREG_MEASURE_LOOKUP_NSEC +
              UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup);
    check();
    EXPECT_GE(m_map.num_mapped, 30u);
    EXPECT_EQ(m_map.num_mapped, m_map.num_unmapped);
}

/* Else a cache underneath would answer, and registrations would seem to cost
 * nothing */
TEST_F(test_measure, no_range_is_registered_twice) {
    std::set<char*> pages;

    ASSERT_EQ(UCS_OK, measure());
    for (const auto &range : m_map.ranges) {
        for (size_t i = 0; i < range.second; i += fake_map::page()) {
            EXPECT_TRUE(pages.insert(range.first + i).second);
        }
    }
}

TEST_F(test_measure, the_first_time_does_not_count) {
    m_map.call  = 1000;
    m_map.first = 900000;
    ASSERT_EQ(UCS_OK, measure());
    EXPECT_NEAR(1000, m_costs.reg_call, 1);
    EXPECT_NEAR(0, m_costs.reg_page, 1);
}

TEST_F(test_measure, no_part_is_negative) {
    /* More pages, less time */
    m_map.times = {{1, 900}, {2, 500}, {3, 400}};
    ASSERT_EQ(UCS_OK, measure());
    EXPECT_EQ(0, m_costs.reg_page);
    EXPECT_NEAR(600, m_costs.reg_call, 1);

    /* The line through these is below zero at no pages */
    m_map.times = {{1, 100}, {2, 1000}, {3, 3000}};
    ASSERT_EQ(UCS_OK, measure());
    EXPECT_EQ(0, m_costs.reg_call);
    EXPECT_NEAR((100 + 2000 + 9000) / 14., m_costs.reg_page, 1);
    check();
}

/* Some registrations are done even beyond the limit, up to four times as long;
 * whatever a registration takes, only the last one goes beyond that */
TEST_F(test_measure, it_ends_in_time) {
    for (uint64_t call : {100000ul, 1000000ul, 4900000ul, 60000000ul}) {
        m_map            = fake_map();
        m_map.params.arg = &m_map;
        m_map.call       = call;
        const auto begin = fake_map::s_now;

        EXPECT_EQ((call < 300000) ? UCS_OK : UCS_INPROGRESS, measure());
        EXPECT_LE(fake_map::s_now - begin,
                  ((call < 300000) ? 1 : 4) * UCT_PREDREG_MEASURE_MAX_NSEC +
                  call + 10000) << call;
        EXPECT_GE(m_map.num_mapped, 1u);
        EXPECT_NEAR(call, m_costs.reg_call, 1);
        check();
    }
    EXPECT_EQ(1u, m_map.num_mapped);

    /* Who has more time gets more */
    m_map.params.max_nsec = 60000000ul * 1000;
    ASSERT_EQ(UCS_OK, measure());
    EXPECT_GE(m_map.num_mapped, 40u);
}

TEST_F(test_measure, a_slow_lookup_ends_in_time) {
    m_map.params.lookup = [](void *arg, const void *buffer) {
        ++*static_cast<unsigned*>(arg);
        fake_map::s_now += 1000000;
    };
    unsigned lookups        = 0;
    m_map.params.lookup_arg = &lookups;

    ASSERT_EQ(UCS_INPROGRESS, measure());
    EXPECT_NEAR(1000000 + UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup, 1);
    EXPECT_EQ(4 * 64u, lookups); /* As many as there are without time */
    EXPECT_EQ(1u, m_map.num_mapped);
}

/* As two ranks that start on one processor: all of the time is over before a buffer
 * is looked up, and the first lookups touch memory that nobody has touched yet */
TEST_F(test_measure, what_others_take_counts_for_no_lookup) {
    unsigned lookups        = 0;
    m_map.params.lookup_arg = &lookups;
    m_map.params.lookup     = [](void *arg, const void *buffer) {
        unsigned number = ++*static_cast<unsigned*>(arg);

        fake_map::s_now += (number <= 64) ? 10000 : 7;
        fake_map::s_now += (number == 100) ? 30000000 : 0;
    };
    m_map.params.max_nsec   = 1;
    measure();
    EXPECT_NEAR(7 + UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup, 0.5);
}

TEST_F(test_measure, lookups_are_of_different_buffers) {
    std::set<const void*> buffers;

    m_map.params.lookup_arg = &buffers;
    m_map.params.lookup     = [](void *arg, const void *buffer) {
        static_cast<std::set<const void*>*>(arg)->insert(buffer);
        fake_map::s_now += 7;
    };
    ASSERT_EQ(UCS_OK, measure());
    EXPECT_NEAR(7 + UCT_PREDREG_MEASURE_HOT_NSEC, m_costs.lookup, 0.5);
    EXPECT_EQ(64u, buffers.size());
}

TEST_F(test_measure, failures_are_told) {
    for (unsigned nth : {1u, 2u, 5u}) {
        m_map            = fake_map();
        m_map.params.arg = &m_map;
        m_map.fails_at   = nth;
        EXPECT_EQ(UCS_ERR_IO_ERROR, measure());
        EXPECT_EQ(nth, m_map.num_mapped);
        EXPECT_EQ(nth - 1, m_map.num_unmapped);
    }
}

/* Whatever a copy takes here, a longer one takes more, and none takes
 * nothing */
TEST_F(test_measure, by_the_clock_of_the_system) {
    m_map.params.now      = nullptr;
    m_map.params.max_nsec = 1000000000; /* Sanitizers take longer */
    ASSERT_EQ(UCS_OK, measure());
    check();
    EXPECT_GT(m_costs.copy[UCS_REUSE_NUM_CLASSES - 1], 20);
    EXPECT_LT(m_costs.copy[UCS_REUSE_NUM_CLASSES - 1], 1e6);
    EXPECT_GT(m_costs.copy[UCS_REUSE_NUM_CLASSES - 1],
              2 * m_costs.copy[0]);
}

TEST_F(test_measure, from_which_length_on_messages_gain) {
    ucs_reuse_copy_classes_t by_string;

    EXPECT_LE(uct_predreg_measure_gain_from(nullptr, &by_string),
              size_t(UCS_REUSE_MAX_LENGTH));
    EXPECT_EQ(0u, by_string & ~UCS_REUSE_COPY_ALL_STRING);
    /* Copies that take no time, and some that take long */
    EXPECT_EQ(0u, uct_predreg_measure_gain_from([] { return uint64_t(1); },
                                                &by_string));
    EXPECT_EQ(0u, by_string); /* None is faster */
    EXPECT_EQ(1u, uct_predreg_measure_gain_from([] {
        static uint64_t time, step;

        step += 10000;
        return time += step;
    }, &by_string));
    EXPECT_EQ(0u, by_string); /* The second way always takes longer */
}

/* By a clock that stands still at first, so that asking it seems to take nothing,
 * and then goes on ever slower: the second copy of each length is the faster one,
 * and that is by the string instruction */
TEST_F(test_measure, lengths_that_are_copied_faster_by_string) {
    ucs_reuse_copy_classes_t by_string;

    uct_predreg_measure_gain_from([] {
        static uint64_t time;
        static unsigned reads;

        return time += (++reads <= 3) ? 0 : (1000000 - reads);
    }, &by_string);
    EXPECT_EQ(UCS_REUSE_COPY_ALL_STRING, by_string);
}
