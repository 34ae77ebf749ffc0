/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <common/timelines.h>

extern "C" {
#include <tools/replay/replay.h>
}

#include <cmath>
#include <string>
#include <vector>


/* Leave-pinned has 100 MB for 100 s. The points are of the budgets 0, 0.2, 0.5,
 * 1, 2, 5 % and inf */
class test_budgets : public ::testing::Test {
protected:
    static constexpr uint64_t SEC = 1000000000;

    test_budgets() { predreg_budgets_list(INFINITY, &m_budgets); }

    static std::vector<std::string> names(double usual, unsigned *index = NULL)
    {
        char name[PREDREG_BUDGET_NAME_MAX];
        std::vector<std::string> names;
        predreg_budgets_t budgets;

        predreg_budgets_list(usual, &budgets);
        for (unsigned i = 0; i < budgets.num; ++i) {
            names.push_back(predreg_budget_name(budgets.rates[i], name));
        }
        if (index != NULL) {
            *index = budgets.usual;
        }
        return names;
    }

    /* The name of the budget to use, or "none" */
    std::string choose(const std::vector<predreg_budget_point_t> &points)
    {
        char name[PREDREG_BUDGET_NAME_MAX];
        unsigned i;

        EXPECT_EQ(m_budgets.num, points.size());
        i = predreg_budgets_choose(&m_budgets, points.data(), &m_pinned);
        return (i == m_budgets.num) ?
               "none" : predreg_budget_name(m_budgets.rates[i], name);
    }

    predreg_budgets_t      m_budgets;
    predreg_budget_point_t m_pinned = {100e6, 100 * SEC};
};

TEST_F(test_budgets, listed)
{
    const std::vector<std::string> expected = {"0", "0.2", "0.5", "1",
                                               "2", "5",   "inf"};
    unsigned usual;

    EXPECT_EQ(expected, names(INFINITY, &usual));
    EXPECT_EQ(6u, usual);
    EXPECT_EQ(expected, names(0, &usual));
    EXPECT_EQ(0u, usual);
    EXPECT_EQ(expected, names(0.2 / 100, &usual));
    EXPECT_EQ(1u, usual);
    EXPECT_EQ(expected, names(0.01, &usual));
    EXPECT_EQ(3u, usual);
}

TEST_F(test_budgets, the_usual_one_is_listed_as_well)
{
    unsigned usual;

    EXPECT_EQ((std::vector<std::string>{"0", "0.2", "0.5", "1", "2", "3", "5",
                                        "inf"}), names(0.03, &usual));
    EXPECT_EQ(5u, usual);
    EXPECT_EQ((std::vector<std::string>{"0", "0.2", "0.5", "1", "2", "5", "100",
                                        "inf"}), names(1, &usual));
    EXPECT_EQ(6u, usual);
    EXPECT_EQ("0.15", names(0.0015, &usual)[1]);
    EXPECT_EQ(1u, usual);
}

TEST_F(test_budgets, least_memory_within_a_percent)
{
    EXPECT_EQ("0.5", choose({{100e6, 100 * SEC}, {80e6, 100 * SEC + SEC / 5},
                             {60e6, 100 * SEC + SEC / 2},
                             {40e6, 101 * SEC + SEC / 100}, {30e6, 102 * SEC},
                             {20e6, 105 * SEC}, {10e6, 200 * SEC}}));
    EXPECT_EQ("1", choose({{100e6, 100 * SEC}, {80e6, 100 * SEC},
                           {60e6, 100 * SEC}, {40e6, 101 * SEC},
                           {30e6, 102 * SEC}, {20e6, 105 * SEC},
                           {10e6, 200 * SEC}})) << "one percent is within it";
}

TEST_F(test_budgets, one_that_is_slower_for_less_is_passed_over)
{
    EXPECT_EQ("1", choose({{100e6, 100 * SEC}, {80e6, 102 * SEC},
                           {60e6, 103 * SEC}, {50e6, 101 * SEC},
                           {30e6, 102 * SEC}, {20e6, 105 * SEC},
                           {55e6, 100 * SEC}})) << "curves need not be monotonic";
}

TEST_F(test_budgets, ties)
{
    const predreg_budget_point_t same = {50e6, 100 * SEC};

    EXPECT_EQ("inf", choose(std::vector<predreg_budget_point_t>(7, same)))
            << "the usual one needs no option";

    predreg_budgets_list(0.01, &m_budgets);
    EXPECT_EQ("1", choose(std::vector<predreg_budget_point_t>(7, same)));

    std::vector<predreg_budget_point_t> points(7, same);
    points[0] = {100e6, 100 * SEC};
    points[3] = {60e6, 100 * SEC};
    EXPECT_EQ("0.2", choose(points)) << "the smallest of them";

    points[4].memory = 49.96e6;
    EXPECT_EQ("0.2", choose(points)) << "nobody sees such a difference";
    points[4].memory = 49.9e6;
    EXPECT_EQ("2", choose(points));
}

TEST_F(test_budgets, no_budget_saves_anything)
{
    const predreg_budget_point_t same = {100e6, 100 * SEC};
    const predreg_budget_point_t more = {110e6, 100 * SEC};
    const predreg_budget_point_t slow = {1e6, 102 * SEC};

    EXPECT_EQ("none", choose(std::vector<predreg_budget_point_t>(7, same)));
    EXPECT_EQ("none", choose(std::vector<predreg_budget_point_t>(7, more)));
    EXPECT_EQ("none", choose(std::vector<predreg_budget_point_t>(7, slow)));
}

TEST_F(test_budgets, an_empty_program)
{
    m_pinned = {0, 0};
    EXPECT_EQ("none", choose(std::vector<predreg_budget_point_t>(7, m_pinned)));
}

/* What a result says of the budget it was played with, and that nothing is
 * given up with a budget of 0 */
TEST_F(test_budgets, played)
{
    made_program program;
    predreg_replay_params_t params;
    predreg_replay_result_t result;

    for (unsigned i = 0; i < 50; ++i) {
        program.use(i * SEC / 10, i * SEC / 10 + SEC / 100, 0x100000, 1 << 20);
    }

    const predreg_timeline_t *timeline = program.timeline();
    predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT, &params);
    params.shared = 1;
    for (double rate : {0., 0.01, (double)INFINITY}) {
        params.cache.budget = rate;
        ASSERT_EQ(UCS_OK, predreg_replay(timeline, &params, &result));
        EXPECT_EQ(rate, result.budget);
        EXPECT_EQ(50u, result.uses);
        EXPECT_EQ(rate == 0, result.regs == 1) << rate;
        /* Rounds of the helper are counted, whether or not they do anything */
        EXPECT_LE(result.spent, (rate + 0.001) * result.duration) << rate;
        /* The run time is the program's, and what it waits */
        EXPECT_EQ(timeline->duration + result.waited, result.duration) << rate;
        predreg_replay_result_cleanup(&result);
    }
}
