/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <common/timelines.h>

extern "C" {
#include <tools/predreg/report_curve.h>
#include <tools/replay/replay.h>
}

#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>


class test_report_curve : public ::testing::Test {
protected:
    test_report_curve()
    {
        for (unsigned i = 0; i < 2000; ++i) {
            m_program.use(i * 1000000ul, i * 1000000ul + 100000,
                          0x10000000 + (i % 20) * 0x1000000, 1 << 20);
        }
    }

    predreg_report_curve_t *start(uint64_t larger_regions = 0)
    {
        predreg_report_curve_t *curve = NULL;

        EXPECT_EQ(UCS_OK, predreg_report_curve_start(m_program.timeline(),
                                                     larger_regions, &curve));
        return curve;
    }

    static pid_t child()
    {
        const std::string path = "/proc/self/task/" + std::to_string(getpid()) +
                                 "/children";
        pid_t child            = 0;

        std::ifstream(path) >> child;
        return child;
    }

    /* Expect what a replay with so many regions comes to; 0: the default */
    void expect_same(const predreg_outcome_t *outcomes,
                     const predreg_budgets_t &budgets, uint64_t regions)
    {
        predreg_outcome_t expected;
        predreg_replay_params_t params;
        predreg_replay_result_t result;

        ASSERT_EQ(UCS_OK,
                  predreg_replay_params_default(m_program.timeline(),
                                                PREDREG_REPLAY_PREDICT,
                                                &params));
        params.shared = 1;
        if (regions > 0) {
            params.cache.known_regions = regions;
        }
        EXPECT_LE(7u, budgets.num);
        for (unsigned i = 0; i < budgets.num; ++i) {
            memset(&expected, 0, sizeof(expected));
            ASSERT_EQ(UCS_OK, predreg_budgets_play(m_program.timeline(),
                                                   &params, budgets.rates[i],
                                                   &result));
            predreg_outcome_add(&expected, &result);
            predreg_replay_result_cleanup(&result);
            EXPECT_EQ(0, memcmp(&expected, &outcomes[i], sizeof(expected)))
                    << budgets.rates[i];
        }
    }

    void expect_all(predreg_report_curve_t *curve, uint64_t larger_regions = 0)
    {
        predreg_outcome_t outcomes[PREDREG_BUDGETS_MAX];
        predreg_outcome_t larger[PREDREG_BUDGETS_MAX];
        predreg_budgets_t budgets;

        ASSERT_EQ(UCS_OK, predreg_report_curve_finish(curve, &budgets, outcomes,
                                                      larger));
        expect_same(outcomes, budgets, 0);
        if (larger_regions > 0) {
            expect_same(larger, budgets, larger_regions);
            EXPECT_NE(0, memcmp(outcomes, larger,
                                budgets.num * sizeof(*larger)));
        }
    }

    made_program m_program;
};

TEST_F(test_report_curve, is_that_of_replay)
{
    predreg_report_curve_t *curve = start();

    expect_all(curve);
    predreg_report_curve_destroy(curve);
}

/* The second curve is that of more regions. Here it is of fewer than the program
 * has, to make a difference */
TEST_F(test_report_curve, with_other_regions)
{
    predreg_report_curve_t *curve = start(16);

    expect_all(curve, 16);
    predreg_report_curve_destroy(curve);
}

/* A child that is killed, as by the system for lack of memory, costs time
 * only */
TEST_F(test_report_curve, child_that_is_killed)
{
    predreg_report_curve_t *curve = start();

    if (child() > 0) { /* Not every kernel tells */
        kill(child(), SIGKILL);
    }
    expect_all(curve);
    predreg_report_curve_destroy(curve);
}

TEST_F(test_report_curve, is_given_up)
{
    predreg_report_curve_destroy(start());
    EXPECT_EQ(0, child());
}
