/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <ucs/base/align.h>
#include <ucs/reuse/costs.h>

#include <cmath>
#include <limits>

class test_costs : public ::testing::Test {
protected:
    /* A copy of so many nanoseconds a byte */
    static ucs_reuse_costs_t costs(double reg_call, double reg_page,
                                   double lookup, double byte)
    {
        ucs_reuse_costs_t costs = {reg_call, reg_page, lookup, {}};

        for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
            costs.copy[i] = byte * (i + 1) * UCS_REUSE_STEP;
        }
        return costs;
    }
};

TEST_F(test_costs, classes_end_at_steps) {
    EXPECT_EQ(0u, ucs_reuse_class(1));
    EXPECT_EQ(0u, ucs_reuse_class(128));
    EXPECT_EQ(1u, ucs_reuse_class(129));
    EXPECT_EQ(UCS_REUSE_NUM_CLASSES - 1, ucs_reuse_class(UCS_REUSE_MAX_LENGTH));
}

/* With as many sends as that it takes less time, and with one less it does
 * not */
TEST_F(test_costs, break_even_is_the_first_that_pays) {
    const auto some = costs(40000, 0, 20, 0.25);

    /* 4 KB: 1024 ns copied, 1004 saved; 40000 / 1004 = 39.8 */
    EXPECT_EQ(40u, ucs_reuse_break_even(&some, 4096));
    /* All lengths of a class cost the same copy */
    EXPECT_EQ(40u, ucs_reuse_break_even(&some, 4095));
    EXPECT_EQ(39u, ucs_reuse_break_even(&some, 4097));
    /* 1 KB: 256 - 20; 169.5 */
    EXPECT_EQ(170u, ucs_reuse_break_even(&some, 1024));

    /* As many sends as the quotient gain nothing yet */
    const auto even = costs(1000, 0, 0, 0.25);
    EXPECT_EQ(32u, ucs_reuse_break_even(&even, 128));
    const auto exact = costs(1024, 0, 0, 0.25);
    EXPECT_EQ(33u, ucs_reuse_break_even(&exact, 128));
}

TEST_F(test_costs, the_least_of_several_counts) {
    auto some        = costs(40000, 300, 20, 0.25);
    const auto other = costs(30000, 400, 90, 0.2);

    some.copy[3] = 1;
    ucs_reuse_costs_refine(&some, &other);
    EXPECT_EQ(30000, some.reg_call);
    EXPECT_EQ(400, some.reg_page) << "of one measurement";
    EXPECT_EQ(20, some.lookup);
    EXPECT_EQ(other.copy[0], some.copy[0]);
    EXPECT_EQ(1, some.copy[3]);

    const auto worse = costs(30000, 500, 30, 1);
    ucs_reuse_costs_refine(&some, &worse);
    EXPECT_EQ(400, some.reg_page);
    EXPECT_EQ(20, some.lookup);
}

TEST_F(test_costs, registration_is_free) {
    const auto free = costs(0, 0, 0, 0.25);

    EXPECT_EQ(1u, ucs_reuse_break_even(&free, 1));
}

/* What a buffer takes that begins somewhere in a page */
TEST_F(test_costs, pages_cost_more) {
    const double page = ucs_page_size();
    const auto some   = costs(1000, 500, 0, 0.01);
    const double reg  = 1000 + (500 * (1 + (8191 / page)));

    EXPECT_EQ(std::floor(reg / 81.92) + 1, ucs_reuse_break_even(&some, 8192));
    /* One byte is in one page */
    EXPECT_EQ(std::floor(1500 / 1.28) + 1, ucs_reuse_break_even(&some, 1));
}

TEST_F(test_costs, never_where_the_lookup_costs_as_much) {
    const auto some = costs(1000, 0, 64, 0.25);

    EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&some, 128));
    EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&some, 256)); /* Equal */
    EXPECT_NE(UCS_REUSE_NEVER, ucs_reuse_break_even(&some, 257));
}

TEST_F(test_costs, numbers_that_do_not_fit) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan      = std::numeric_limits<double>::quiet_NaN();
    const auto high       = costs(4294967295., 0, 0, 1. / 128);
    const auto highest    = costs(4294967293., 0, 0, 1. / 128);

    EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&high, 128));
    EXPECT_EQ(UCS_REUSE_NEVER - 1, ucs_reuse_break_even(&highest, 128));

    for (double bad : {nan, infinity}) {
        auto reg    = costs(bad, 0, 0, 1);
        auto page   = costs(1, bad, 0, 1);
        auto lookup = costs(1, 0, bad, 1);

        EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&reg, 128));
        EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&page, 128));
        EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&lookup, 128));
    }
    auto copy = costs(1, 0, 0, nan);
    EXPECT_EQ(UCS_REUSE_NEVER, ucs_reuse_break_even(&copy, 128));
}

TEST_F(test_costs, thresholds_are_a_part) {
    const auto some = costs(40000, 0, 20, 0.25);
    uint32_t sends[UCS_REUSE_NUM_CLASSES];

    /* 40000 / (C - 20) + 1: 3334, 909, ... 40 at 4 KB, 20 at 8 KB */
    ucs_reuse_thresholds(&some, 0.25, sends);
    EXPECT_EQ(834u, sends[0]);
    EXPECT_EQ(10u, sends[ucs_reuse_class(4096)]);
    EXPECT_EQ(5u, sends[ucs_reuse_class(8192)]);

    ucs_reuse_thresholds(&some, 1, sends);
    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        EXPECT_EQ(ucs_reuse_break_even(&some, (i + 1) * UCS_REUSE_STEP),
                  sends[i]);
    }

    ucs_reuse_thresholds(&some, 1e-9, sends);
    for (uint32_t number : sends) {
        EXPECT_EQ(1u, number);
    }
}

/* A fraction of never is never */
TEST_F(test_costs, thresholds_of_never) {
    const auto some = costs(1000, 0, 64, 0.25);
    uint32_t sends[UCS_REUSE_NUM_CLASSES];

    ucs_reuse_thresholds(&some, 0.01, sends);
    EXPECT_EQ(UCS_REUSE_NEVER, sends[0]);
    EXPECT_EQ(UCS_REUSE_NEVER, sends[1]);
    EXPECT_EQ(1u, sends[2]);
}
