/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/data/recommend.h>
}

#include <cstring>


/* One rank that uses memory a thousand times in 100 s. Under leave-pinned it
 * has 200 MB registered on average; predict pays, and no simpler policy does */
class test_recommend : public ::testing::Test {
protected:
    static constexpr double   MB  = 1e6;
    static constexpr uint64_t SEC = 1000000000;

    test_recommend()
    {
        memset(&m_findings, 0, sizeof(m_findings));
        m_findings.pool_bytes = 66 * MB;
        m_findings.events     = 4000;
        set(PREDREG_REPLAY_LEAVE_PINNED, 200 * MB, 0);
        set(PREDREG_REPLAY_PREDICT, 50 * MB, SEC / 100);
        set(PREDREG_REPLAY_CLAIRVOYANT, 45 * MB, 0);
        set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, 5 * SEC);
        set(PREDREG_REPLAY_LRU, 110 * MB, 4 * SEC);
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
        EXPECT_EQ(setting, advice.setting);
        EXPECT_EQ(reason, advice.reason);
        EXPECT_EQ(answer, advice.answer);
        EXPECT_EQ(caveats, advice.caveats);
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

    predreg_findings_t m_findings;
};

TEST_F(test_recommend, predict_pays)
{
    expect_predict();
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

TEST_F(test_recommend, pools_that_are_not_known_are_the_usual)
{
    double tenth = PREDREG_USUAL_POOLS * 0.1;

    m_findings.pool_bytes = 0;
    outcome(PREDREG_REPLAY_LEAVE_PINNED).average = tenth + 1;
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average  = tenth / 2;
    outcome(PREDREG_REPLAY_PREDICT).average      = tenth / 2;
    expect_predict();
    outcome(PREDREG_REPLAY_LEAVE_PINNED).average = tenth - 1;
    expect_untouched(PREDREG_REASON_TINY);
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
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average = 150 * MB;
    expect_predict();
    outcome(PREDREG_REPLAY_CLAIRVOYANT).average = 151 * MB;
    expect_untouched(PREDREG_REASON_NO_GAPS);
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
    outcome(PREDREG_REPLAY_LEAVE_PINNED).uses  = 40;
    outcome(PREDREG_REPLAY_LEAVE_PINNED).ranks = 2;
    outcome(PREDREG_REPLAY_LEAVE_PINNED).average *= 2;
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
    set(PREDREG_REPLAY_LRU, 54.9 * MB, SEC / 100);
    expect(PREDREG_SETTING_BOUND, PREDREG_REASON_BOUND_AS_GOOD,
           PREDREG_ANSWER_YES);
    set(PREDREG_REPLAY_LRU, 55.1 * MB, SEC / 100);
    expect_predict();
}

TEST_F(test_recommend, predict_saves_too_little)
{
    set(PREDREG_REPLAY_PREDICT, 150 * MB, 0);
    expect_predict();
    set(PREDREG_REPLAY_PREDICT, 151 * MB, 0);
    expect_untouched(PREDREG_REASON_NO_SAVING);
}

TEST_F(test_recommend, predict_costs_time)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, SEC);
    expect_predict();
    set(PREDREG_REPLAY_PREDICT, 50 * MB, SEC + 1);
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
}

TEST_F(test_recommend, irregular)
{
    set(PREDREG_REPLAY_PREDICT, 50 * MB, 2 * SEC);
    outcome(PREDREG_REPLAY_PREDICT).hits = 500;
    expect(PREDREG_SETTING_PREDICT, PREDREG_REASON_COSTS,
           PREDREG_ANSWER_IF_SHORT);
    outcome(PREDREG_REPLAY_PREDICT).hits = 499;
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_IRREGULAR,
           PREDREG_ANSWER_IF_SHORT);
    set(PREDREG_REPLAY_ON_DEMAND, 151 * MB, 0);
    expect_untouched(PREDREG_REASON_IRREGULAR);
}

TEST_F(test_recommend, irregular_and_on_demand_pays)
{
    set(PREDREG_REPLAY_ON_DEMAND, 45 * MB, SEC);
    outcome(PREDREG_REPLAY_PREDICT).hits = 500;
    expect_predict();
    outcome(PREDREG_REPLAY_PREDICT).hits = 499;
    expect(PREDREG_SETTING_ON_DEMAND, PREDREG_REASON_IRREGULAR,
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
    expect_untouched(PREDREG_REASON_IRREGULAR);
}

TEST_F(test_recommend, simple_policies_without_predict)
{
    without(PREDREG_REPLAY_PREDICT);
    set(PREDREG_REPLAY_LRU, 110 * MB, SEC);
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

TEST_F(test_recommend, incomplete_traces)
{
    m_findings.truncated = 1;
    m_findings.guessed   = 1;
    expect_predict(PREDREG_CAVEAT_TRUNCATED | PREDREG_CAVEAT_GUESSED);
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
