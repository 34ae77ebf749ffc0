/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/data/recommend.h>
}

#include <cmath>
#include <cstring>
#include <vector>


/* One rank that uses memory a thousand times in 100 s. Under leave-pinned it
 * has 200 MB registered on average; predict pays, and no simpler policy does */
class test_recommend : public ::testing::Test {
protected:
    static constexpr double   MB  = 1e6;
    static constexpr uint64_t SEC = 1000000000;

    test_recommend()
    {
        memset(&m_findings, 0, sizeof(m_findings));
        m_findings.pools_known = 1;
        m_findings.pool_bytes  = 66 * MB;
        m_findings.events      = 4000;
        set(PREDREG_REPLAY_LEAVE_PINNED, 200 * MB, 0);
        set(PREDREG_REPLAY_PREDICT, 50 * MB, SEC / 100);
        set(PREDREG_REPLAY_CLAIRVOYANT, 45 * MB, 0);
        set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, 5 * SEC);
        set(PREDREG_REPLAY_LRU, 110 * MB, 4 * SEC);
        m_findings.known_regions = 8192;
        m_findings.max_buffers   = m_findings.sum_buffers = 10;
        predict_well();
    }

    predreg_outcome_t &outcome(predreg_replay_policy_t policy)
    {
        return m_findings.outcomes[policy];
    }

    void set(predreg_replay_policy_t policy, double average, uint64_t waited)
    {
        predreg_outcome_t &o = outcome(policy);

        o.ranks                       = 1;
        o.average                     = average;
        o.byte_seconds                = average * 100;
        o.by_cause[PREDREG_CAUSE_USE] = average * 20;
        o.uses                        = 1000;
        o.hits                        = 950;
        o.waited                      = waited;
        o.duration                    = 100 * SEC + waited;
        o.longest                     = o.duration;
    }

    /* Bounds that are too slow, but for one; @return that one */
    predreg_outcome_t &set_bounds(double average, uint64_t waited)
    {
        predreg_outcome_t &best = m_findings.bounds[BOUND];

        set(PREDREG_REPLAY_LRU, 110 * MB, 4 * SEC);
        for (unsigned i = BOUND - 2; i <= BOUND + 2; ++i) {
            m_findings.bounds[i]       = outcome(PREDREG_REPLAY_LRU);
            m_findings.bounds[i].bound_bytes = predreg_bound_bytes(i);
        }
        best.average  = average;
        best.waited   = waited;
        best.longest  = best.duration = 100 * SEC + waited;
        return best;
    }

    /* All uses come when they are predicted */
    void predict_well()
    {
        predreg_outcome_t &predict = outcome(PREDREG_REPLAY_PREDICT);

        memset(predict.prediction_errors, 0, sizeof(predict.prediction_errors));
        predict.prediction_errors[0] = predict.uses;
    }

    /* What predict comes to with the budgets 0, 0.2, 0.5, 1, 2, 5 % and inf, of
     * which the usual one is the last. There is no memory without its time */
    void set_curve(const std::vector<double> &memory,
                   const std::vector<double> &percent)
    {
        predreg_outcome_t predict = outcome(PREDREG_REPLAY_PREDICT);

        predreg_budgets_list(INFINITY, &m_findings.budgets);
        ASSERT_EQ(m_findings.budgets.num, memory.size());
        for (unsigned i = 0; i < memory.size(); ++i) {
            set(PREDREG_REPLAY_PREDICT, memory[i] * MB, percent[i] * SEC);
            m_findings.curve[i] = outcome(PREDREG_REPLAY_PREDICT);
        }
        outcome(PREDREG_REPLAY_PREDICT) = predict;
    }

    void expect_budget(unsigned index, predreg_reason_t reason,
                       predreg_answer_t answer)
    {
        expect(PREDREG_SETTING_PREDICT, reason, answer);
        EXPECT_EQ(m_findings.budgets.rates[index], m_advice.choice.budget);
        EXPECT_EQ(&m_findings.curve[index], m_advice.choice.outcome);
    }

    void without(predreg_replay_policy_t policy)
    {
        memset(&outcome(policy), 0, sizeof(predreg_outcome_t));
    }

    void expect(predreg_setting_t setting, predreg_reason_t reason,
                predreg_answer_t answer, unsigned caveats = 0)
    {
        predreg_advice_t advice;

        predreg_recommend(&m_findings, &advice);
        EXPECT_EQ(setting, advice.choice.setting);
        EXPECT_EQ(reason, advice.reason);
        EXPECT_EQ(answer, advice.answer);
        EXPECT_EQ(caveats, advice.caveats);
        m_advice = advice;
    }

    void expect_predict(unsigned caveats = 0)
    {
        expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES,
               caveats);
    }

    void expect_untouched(predreg_reason_t reason)
    {
        expect(PREDREG_SETTING_LEAVE_PINNED, reason, PREDREG_ANSWER_NO);
    }

    static const unsigned BOUND = 12; /* Of 128 MiB */

    predreg_findings_t m_findings;
    predreg_advice_t   m_advice;
};

TEST_F(test_recommend, predict_pays)
{
    expect_predict();
}

TEST_F(test_recommend, without_a_curve_the_budget_is_not_known)
{
    expect_predict();
    EXPECT_GT(0, m_advice.choice.budget);
    EXPECT_EQ(&outcome(PREDREG_REPLAY_PREDICT), m_advice.choice.outcome);
}

/* The budget with least memory within 1 % where no processor is idle, although
 * predict pays without any if one is */
TEST_F(test_recommend, a_budget_pays)
{
    set_curve({200, 180, 120, 100, 90, 80, 50}, {0, .2, .5, .9, 1.9, 5, 40});
    expect_budget(3, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);
}

/* The traces say what processors the job had: the answer is for these, and the other case
 * stands beside it */
TEST_F(test_recommend, processors_of_the_recorded_job)
{
    set_curve({200, 190, 180, 160, 150.1, 150.1, 160}, {0, .2, .5, .9, 1.9, 5, 40});
    expect_predict(PREDREG_CAVEAT_IDLE);
    EXPECT_EQ(NULL, m_advice.other.outcome);

    m_findings.tell_idle = 1;
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_COSTS, PREDREG_ANSWER_IF_SHORT);
    EXPECT_EQ(&outcome(PREDREG_REPLAY_PREDICT), m_advice.other.outcome);

    /* Without another policy that saves, what is advised is to leave it */
    set(PREDREG_REPLAY_ON_DEMAND, 199 * MB, 0);
    expect_untouched(PREDREG_REASON_NO_SAVING);
    EXPECT_EQ(&outcome(PREDREG_REPLAY_PREDICT), m_advice.other.outcome);

    m_findings.have_idle = 1;
    expect_predict();
    EXPECT_GT(0, m_advice.choice.budget);
    EXPECT_EQ(&m_findings.curve[m_findings.budgets.usual], m_advice.other.outcome);

    /* A budget that pays where all are busy is not for this job */
    set_curve({200, 180, 120, 100, 90, 80, 20}, {0, .2, .5, .9, .9, .9, .9});
    expect_predict();
    EXPECT_GT(0, m_advice.choice.budget);
}

/* An idle processor for some ranks is none for the job, and a rank whose trace does not
 * tell leaves it unknown */
TEST_F(test_recommend, processors_of_some_ranks)
{
    outcome(PREDREG_REPLAY_LEAVE_PINNED).ranks = 2;
    m_findings.tell_idle                       = 1;
    m_findings.have_idle                       = 1;
    EXPECT_EQ(PREDREG_PROCESSORS_UNKNOWN, predreg_processors(&m_findings));
    m_findings.tell_idle = 2;
    EXPECT_EQ(PREDREG_PROCESSORS_BUSY, predreg_processors(&m_findings));
    m_findings.have_idle = 2;
    EXPECT_EQ(PREDREG_PROCESSORS_IDLE, predreg_processors(&m_findings));
}

TEST_F(test_recommend, recorded_with_an_arena)
{
    m_findings.in_arena = 1;
    expect_untouched(PREDREG_REASON_ARENA);
    EXPECT_EQ(NULL, m_advice.other.outcome);
}

TEST_F(test_recommend, a_budget_pays_and_predict_without_does_not)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 20 * SEC);
    set_curve({200, 180, 120, 100, 90, 80, 50}, {0, .2, .5, .9, 1.9, 5, 40});
    expect_budget(3, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);
}

TEST_F(test_recommend, budgets_that_tie)
{
    set_curve({50, 50, 50, 50, 50, 50, 50}, {0, 0, 0, 0, 0, 0, 0});
    expect_budget(6, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);

    set_curve({200, 50, 50, 50, 50, 50, 40}, {0, 0, 0, 0, 0, 0, 3});
    expect_budget(1, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);
}

/* Those that save enough are too slow, and those in time do not save enough */
TEST_F(test_recommend, no_budget_pays)
{
    set_curve({200, 190, 180, 160, 90, 80, 50}, {0, .2, .5, .9, 1.9, 5, 40});
    expect_predict(PREDREG_CAVEAT_IDLE);
    EXPECT_GT(0, m_advice.choice.budget);

    set(PREDREG_REPLAY_PREDICT, 50 * MB, 20 * SEC);
    expect_budget(4, PREDREG_REASON_COSTS, PREDREG_ANSWER_IF_SHORT);
}

TEST_F(test_recommend, no_budget_saves_anything)
{
    set(PREDREG_REPLAY_PREDICT, 200 * MB, 0);
    set(PREDREG_REPLAY_ON_DEMAND, 199 * MB, 0);
    set_curve({200, 200, 200, 200, 200, 201, 210}, {0, 0, 0, 0, 0, 0, 0});
    expect_untouched(PREDREG_REASON_NO_SAVING);
}

TEST_F(test_recommend, a_single_use_needs_no_budget)
{
    for (auto &o : m_findings.outcomes) {
        o.uses = 1;
        o.hits = 0;
    }
    set_curve({10, 10, 10, 10, 10, 10, 10}, {0, 0, 0, 0, 0, 0, 0});
    expect_untouched(PREDREG_REASON_FEW_USES);
}

TEST_F(test_recommend, simpler_than_a_budget)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 20 * SEC);
    set_curve({200, 180, 120, 100, 90, 80, 50}, {0, .2, .5, .9, 1.9, 5, 40});
    set_bounds(109 * MB, SEC / 2);
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_BOUND_AS_GOOD,
           PREDREG_ANSWER_YES);

    set_bounds(111 * MB, SEC / 2);
    expect_budget(3, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);
}

/* Ranks that differ: the mean of their memory counts, and the time of that
 * which takes longest. A budget that is not known of all ranks is none */
TEST_F(test_recommend, curve_of_several_ranks)
{
    set_curve({200, 180, 120, 100, 90, 80, 50}, {0, .2, .5, .9, 1.9, 5, 40});
    for (auto &o : m_findings.outcomes) {
        o.ranks   *= 2;
        o.average *= 2;
    }
    expect_predict();

    for (unsigned i = 0; i < m_findings.budgets.num; ++i) {
        m_findings.curve[i].ranks    = 2;
        m_findings.curve[i].average *= 2;
    }
    expect_budget(3, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);

    m_findings.curve[3].longest = 102 * SEC;
    expect_budget(2, PREDREG_REASON_PAYS, PREDREG_ANSWER_YES);
}

TEST_F(test_recommend, no_uses)
{
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses = 0;
    expect_untouched(PREDREG_REASON_NO_USES);
}

TEST_F(test_recommend, tiny_beside_the_pools)
{
    m_findings.pool_bytes = 2000 * MB;
    expect_predict();
    m_findings.pool_bytes = 2001 * MB;
    expect_untouched(PREDREG_REASON_TINY);
}

/* No answer depends on what pools usually are; that it might is said */
TEST_F(test_recommend, pools_that_are_not_known)
{
    double tenth = PREDREG_USUAL_POOLS * 0.1;

    m_findings.pools_known = 0;
    m_findings.pool_bytes  = 0;
    outcome(PREDREG_REPLAY_LEAVE_PINNED).average = tenth + 1;
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average  = tenth / 2;
    outcome(PREDREG_REPLAY_PREDICT).average      = tenth / 2;
    expect_predict();
    outcome(PREDREG_REPLAY_LEAVE_PINNED).average = tenth - 1;
    expect_predict(PREDREG_CAVEAT_POOLS);

    /* There are none */
    m_findings.pools_known = 1;
    expect_predict();
}

TEST_F(test_recommend, in_use_most_of_the_time)
{
    predreg_outcome_t &pinned = outcome(PREDREG_REPLAY_LEAVE_PINNED);

    pinned.by_cause[PREDREG_CAUSE_USE] = pinned.byte_seconds * 0.75;
    expect_predict();
    pinned.by_cause[PREDREG_CAUSE_USE] = pinned.byte_seconds * 0.751;
    expect_untouched(PREDREG_REASON_IN_USE);
}

TEST_F(test_recommend, gaps_too_short)
{
    set(PREDREG_REPLAY_PREDICT, 160 * MB, 0);
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average = 150 * MB;
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average = 151 * MB;
    expect_untouched(PREDREG_REASON_NO_GAPS);

    /* It never waits; a policy that does may pay all the same */
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, SEC);
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_PREDICT_WORSE,
           PREDREG_ANSWER_YES);
}

TEST_F(test_recommend, few_uses)
{
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses = 20;
    expect_predict();
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses = 19;
    expect_untouched(PREDREG_REASON_FEW_USES);
}

TEST_F(test_recommend, few_uses_on_demand_if_it_pays)
{
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses = 19;
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, SEC);
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_FEW_USES,
           PREDREG_ANSWER_YES);
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, SEC + 1);
    expect_untouched(PREDREG_REASON_FEW_USES);
}

TEST_F(test_recommend, few_uses_are_counted_by_rank)
{
    for (auto &o : m_findings.outcomes) {
        o.ranks    = 2;
        o.average *= 2;
    }
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses = 40;
    expect_predict();
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses = 39;
    expect_untouched(PREDREG_REASON_FEW_USES);
}

TEST_F(test_recommend, on_demand_as_good)
{
    /* A thousandth of predict's run time more is as good */
    uint64_t limit = SEC / 100 + (100 * SEC + SEC / 100) / 1000;

    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, limit);
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_ON_DEMAND_AS_GOOD,
           PREDREG_ANSWER_YES);
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, limit + 1);
    expect_predict();
}

TEST_F(test_recommend, bound_as_good)
{
    set_bounds(54.9 * MB, SEC / 100);
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_BOUND_AS_GOOD,
           PREDREG_ANSWER_YES);
    EXPECT_EQ(128ul << 20, m_advice.choice.number);
    EXPECT_EQ(&m_findings.bounds[BOUND], m_advice.choice.outcome);

    set_bounds(55.1 * MB, SEC / 100);
    expect_predict();
}

/* Among bounds that cost nothing, the one with least memory is advised */
TEST_F(test_recommend, best_of_several_bounds)
{
    without(PREDREG_REPLAY_PREDICT);
    without(PREDREG_REPLAY_ON_DEMAND);
    set_bounds(50 * MB, SEC);
    m_findings.bounds[BOUND + 1]         = m_findings.bounds[BOUND];
    m_findings.bounds[BOUND + 1].average = 60 * MB;
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_BOUND_AS_GOOD,
           PREDREG_ANSWER_YES);
    EXPECT_EQ(128ul << 20, m_advice.choice.number);
    EXPECT_EQ(50 * MB, m_advice.choice.outcome->average);

    /* A bound that is not known of all ranks is none */
    for (auto &o : m_findings.outcomes) {
        o.ranks *= 2;
    }
    m_findings.bounds[BOUND + 1].ranks = 2;
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_BOUND_AS_GOOD,
           PREDREG_ANSWER_YES);
    EXPECT_EQ(192ul << 20, m_advice.choice.number);
}

TEST_F(test_recommend, predict_saves_too_little)
{
    set(PREDREG_REPLAY_PREDICT, 150 * MB, 0);
    expect_predict();
    set(PREDREG_REPLAY_PREDICT, 151 * MB, 0);
    without(PREDREG_REPLAY_ON_DEMAND);
    expect_untouched(PREDREG_REASON_NO_SAVING);
}

/* The cheapest way is advised, as long as it is not too slow */
TEST_F(test_recommend, predict_costs_time)
{
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, 468 * SEC);
    set(PREDREG_REPLAY_PREDICT, 50 * MB, SEC);
    expect_predict();
    set(PREDREG_REPLAY_PREDICT, 50 * MB, SEC + 1);
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 25 * SEC);
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 25 * SEC + 1);
    expect_untouched(PREDREG_REASON_TOO_SLOW);
    EXPECT_EQ(PREDREG_SETTING_PREDICT, m_advice.cheapest.setting);
}

/* On-demand was advised here although it is far slower than predict */
TEST_F(test_recommend, several_times_slower)
{
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, 468 * SEC);
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 300 * SEC);
    outcome(PREDREG_REPLAY_PREDICT).hits = 100;
    expect_untouched(PREDREG_REASON_TOO_SLOW);
    EXPECT_EQ(&outcome(PREDREG_REPLAY_PREDICT), m_advice.cheapest.outcome);

    set_bounds(140 * MB, 10 * SEC);
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
}

/* What costs hardly more than the cheapest, but has less memory, is better */
TEST_F(test_recommend, cheapest_within_one_percent)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 5 * SEC);
    set(PREDREG_REPLAY_ON_DEMAND, 30 * MB, 6 * SEC);
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
    set(PREDREG_REPLAY_ON_DEMAND, 30 * MB, 6 * SEC + SEC / 10);
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
}

/* Run time is that of the rank that takes longest, for which others wait */
TEST_F(test_recommend, slowest_rank)
{
    outcome(PREDREG_REPLAY_PREDICT).longest = 110 * SEC;
    without(PREDREG_REPLAY_ON_DEMAND);
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
}

TEST_F(test_recommend, few_hits_and_on_demand_pays)
{
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, SEC);
    outcome(PREDREG_REPLAY_PREDICT).hits = 500;
    expect_predict();
    outcome(PREDREG_REPLAY_PREDICT).hits = 499;
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_PREDICT_WORSE,
           PREDREG_ANSWER_YES);
}

/* A policy that pays is advised even if predict only costs, and has hits */
TEST_F(test_recommend, only_a_bound_pays)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 2 * SEC);
    set_bounds(140 * MB, SEC);
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_PREDICT_WORSE,
           PREDREG_ANSWER_YES);
}

/* Hits are not asked for as long as nothing is lost */
TEST_F(test_recommend, irregular_but_free)
{
    outcome(PREDREG_REPLAY_PREDICT).hits = 0;
    expect_predict();
}

TEST_F(test_recommend, policies_not_played_are_not_recommended)
{
    without(PREDREG_REPLAY_CLAIRVOYANT);
    without(PREDREG_REPLAY_ON_DEMAND);
    without(PREDREG_REPLAY_LRU);
    expect_predict();
    without(PREDREG_REPLAY_PREDICT);
    expect_untouched(PREDREG_REASON_NO_SAVING);
}

/* The figures of a policy that only some ranks were played under do not
 * compare */
TEST_F(test_recommend, policies_of_some_ranks_are_not_recommended)
{
    for (auto &o : m_findings.outcomes) {
        o.ranks    = 2;
        o.average *= 2;
    }
    expect_predict();
    outcome(PREDREG_REPLAY_CLAIRVOYANT).ranks   = 1;
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average = 190 * MB;
    expect_predict();
    outcome(PREDREG_REPLAY_PREDICT).ranks = 1;
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
}

TEST_F(test_recommend, simple_policies_without_predict)
{
    without(PREDREG_REPLAY_PREDICT);
    set_bounds(110 * MB, SEC);
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_BOUND_AS_GOOD,
           PREDREG_ANSWER_YES);
}

TEST_F(test_recommend, lost_events)
{
    m_findings.events = 9900;
    m_findings.lost   = 100;
    expect_predict();
    m_findings.lost = 101;
    expect_predict(PREDREG_CAVEAT_LOST);
}

TEST_F(test_recommend, late_uses)
{
    outcome(PREDREG_REPLAY_PREDICT).late = 50;
    expect_predict();
    outcome(PREDREG_REPLAY_PREDICT).late = 51;
    expect_predict(PREDREG_CAVEAT_LATE);
}

/* The reason tells of late uses only if it explains misses */
TEST_F(test_recommend, late_uses_that_the_reason_tells)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 2 * SEC);
    predict_well();
    outcome(PREDREG_REPLAY_PREDICT).late = 60;
    outcome(PREDREG_REPLAY_PREDICT).hits = 899;
    outcome(PREDREG_REPLAY_PREDICT).uses = 1000;
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
    outcome(PREDREG_REPLAY_PREDICT).hits = 900;
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT, PREDREG_CAVEAT_LATE);
}

/* Late uses under predict do not matter if something else is advised */
TEST_F(test_recommend, late_uses_of_a_policy_not_advised)
{
    outcome(PREDREG_REPLAY_PREDICT).late = 400;
    m_findings.pool_bytes                = 3000 * MB;
    expect_untouched(PREDREG_REASON_TINY);
}

TEST_F(test_recommend, incomplete_traces)
{
    m_findings.truncated     = 1;
    m_findings.dereg_guessed = 1;
    expect_predict(PREDREG_CAVEAT_TRUNCATED | PREDREG_CAVEAT_GUESSED);
}

/* Costs do not matter where times were not compared */
TEST_F(test_recommend, guessed_without_effect)
{
    m_findings.reg_guessed = m_findings.dereg_guessed = 1;
    m_findings.pool_bytes  = 3000 * MB;
    expect_untouched(PREDREG_REASON_TINY);
}

TEST_F(test_recommend, outcomes_add_up)
{
    predreg_replay_result_t result;
    predreg_outcome_t sum;

    memset(&sum, 0, sizeof(sum));
    memset(&result, 0, sizeof(result));
    result.pinned_avg_bytes                    = 10;
    result.pinned.peak_bytes                   = 30;
    result.pinned.by_cause[PREDREG_CAUSE_KEPT] = 2;
    result.waited                              = 5;
    result.duration                            = 100;
    result.prediction_errors[2]                = 1;
    predreg_outcome_add(&sum, &result);
    result.pinned_avg_bytes                    = 20;
    result.pinned.peak_bytes                   = 20;
    result.duration                            = 60;
    predreg_outcome_add(&sum, &result);

    EXPECT_EQ(2u, sum.ranks);
    EXPECT_EQ(15, predreg_outcome_average(&sum));
    EXPECT_EQ(30u, sum.peak);
    EXPECT_EQ(4, sum.by_cause[PREDREG_CAUSE_KEPT]);
    EXPECT_EQ(10u, sum.waited);
    EXPECT_EQ(160u, sum.duration);
    EXPECT_EQ(100u, sum.longest);
    EXPECT_EQ(2u, sum.prediction_errors[2]);
}

/* In a run of 1000 slots the helper works for a part of one slot, and from the
 * middle of another to the middle of the next but one */
TEST_F(test_recommend, load_of_the_helper)
{
    predreg_helper_op_t ops[] = {{10000, 4000, 1}, {25000, 20000, 0}};
    predreg_replay_result_t result;
    predreg_outcome_t sum;

    memset(&sum, 0, sizeof(sum));
    memset(&result, 0, sizeof(result));
    EXPECT_EQ(0, predreg_outcome_load(&sum));
    result.duration       = 10000 * 1000 - 1; /* Slots of 10000 ns */
    result.helper         = 24000;
    result.helper_ops     = ops;
    result.num_helper_ops = 2;
    predreg_outcome_add(&sum, &result);
    EXPECT_EQ(4000 * 0.4 + 5000 * 0.5 + 10000 + 5000 * 0.5, sum.helper_crowded);
    EXPECT_EQ(sum.helper_crowded / 24000, predreg_outcome_load(&sum));
}

/* Why uses miss under predict. Of 1000 uses of 10 buffers 100 hit */
class test_misses : public test_recommend {
protected:
    test_misses() { predict().hits = 100; }

    predreg_outcome_t &predict() { return outcome(PREDREG_REPLAY_PREDICT); }

    void expect_cause(predreg_misses_t cause)
    {
        EXPECT_EQ(cause, predreg_misses_find(&m_findings));
    }
};

TEST_F(test_misses, none)
{
    predict().hits = 1000;
    expect_cause(PREDREG_MISSES_NONE);
    without(PREDREG_REPLAY_PREDICT);
    expect_cause(PREDREG_MISSES_NONE);
}

TEST_F(test_misses, busy_helper)
{
    predict().late           = 450;
    predict().helper         = SEC; /* Idle for most of the run, but busy in
                                       some part of it */
    predict().helper_crowded = 0.26 * SEC;
    expect_cause(PREDREG_MISSES_BUSY);
    predict().helper_crowded = 0.25 * SEC;
    expect_cause(PREDREG_MISSES_LATE);
    predict().late = 449;
    expect_cause(PREDREG_MISSES_OTHER);
}

TEST_F(test_misses, forgotten_regions)
{
    predict().hits            = 100;
    m_findings.known_regions  = 8192;
    m_findings.max_buffers    = 8193;
    expect_cause(PREDREG_MISSES_FORGOTTEN);
    m_findings.max_buffers = 8192;
    expect_cause(PREDREG_MISSES_OTHER);
}

TEST_F(test_misses, new_buffers)
{
    m_findings.sum_buffers = 225;
    expect_cause(PREDREG_MISSES_NEW);
    m_findings.sum_buffers = 224;
    expect_cause(PREDREG_MISSES_OTHER);
}

TEST_F(test_misses, irregular)
{
    predict().prediction_errors[0] = 250;
    predict().prediction_errors[4] = 249;
    predict().prediction_errors[5] = 501; /* More than a quarter */
    expect_cause(PREDREG_MISSES_IRREGULAR);

    /* Of 900 misses, fewer than half can be those that came at another time */
    predict().prediction_errors[4] = 300;
    expect_cause(PREDREG_MISSES_IRREGULAR);
    predict().prediction_errors[4] = 301;
    expect_cause(PREDREG_MISSES_OTHER);
}

/* The cause has to answer for misses, however many uses hit without being
 * predicted: they found memory that was kept */
TEST_F(test_misses, irregular_hits)
{
    predict().prediction_errors[0] = 100;
    predict().hits                 = 930;
    predict().late                 = 30;
    m_findings.sum_buffers         = 3;
    expect_cause(PREDREG_MISSES_OTHER);

    /* Of the other misses, 36 are neither late nor of new buffers */
    predict().late         = 28;
    expect_cause(PREDREG_MISSES_IRREGULAR);
}
