/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <limits>
#include <random>

static constexpr unsigned NOT_PREDICTED = UCS_RCACHE_PRED_ERROR_CLASSES;


class test_history : public ::testing::Test {
protected:
    static constexpr unsigned DEPTH = 8;

    test_history() : m_time(SEC) { ucs_rcache_pred_history_init(&m_history); }

    void record(uint64_t begin)
    {
        m_time = begin;
        ucs_rcache_pred_history_add(&m_history, begin, DEPTH);
    }

    /* The next use begins after so long */
    void next(uint64_t interval, unsigned times = 1)
    {
        while (times-- > 0) {
            record(m_time + interval);
        }
    }

    uint64_t deadline(uint64_t now) const
    {
        return ucs_rcache_pred_history_deadline(&m_history, now);
    }

    uint64_t lead() const { return ucs_rcache_pred_history_lead(&m_history); }
    uint64_t grace() const { return ucs_rcache_pred_history_grace(&m_history); }

    /* The predicted begin did not come */
    void unmet()
    {
        ucs_rcache_pred_trust_tell(&m_history.trust, UCS_RCACHE_PRED_TRUST_HISTORY, 0);
    }

    /* The error of the prediction if the next use began after so long */
    unsigned error_after(uint64_t interval) const
    {
        return ((interval == 0) || (deadline(m_time) == NEVER)) ?
               NOT_PREDICTED :
               ucs_rcache_pred_error_class(m_history.period, interval);
    }

    uint64_t expiry() const
    {
        return ucs_rcache_pred_history_expiry(&m_history);
    }

    ucs_rcache_pred_history_t m_history;
    uint64_t                  m_time;
};

TEST_F(test_history, begins_out_of_order_change_nothing)
{
    next(MSEC, 5);
    uint64_t last = m_time;
    record(last - 100 * USEC);
    EXPECT_EQ(last, m_history.last);
    record(last + MSEC);
    EXPECT_EQ(MSEC, m_history.period);
    EXPECT_EQ(MSEC, m_history.longest);
}

TEST_F(test_history, goes_on_after_the_clock_went_back)
{
    m_time = 10 * HOUR;
    next(MSEC, 5);
    record(HOUR);
    next(MSEC, 2);
    EXPECT_EQ(MSEC, m_history.period);
    EXPECT_EQ(MSEC, m_history.longest);
    EXPECT_EQ(HOUR + 3 * MSEC, deadline(HOUR + 2 * MSEC));
}

TEST_F(test_history, goes_on_after_the_clock_went_back_at_once)
{
    record(10 * HOUR);
    record(HOUR);
    next(MSEC);
    EXPECT_EQ(MSEC, m_history.period);
}

TEST_F(test_history, begin_in_the_future_predicts_nothing)
{
    next(MSEC, 5);
    EXPECT_EQ(m_time + MSEC, deadline(m_time));
    EXPECT_EQ(m_time + MSEC, deadline(m_time - MSEC));
    EXPECT_EQ(NEVER, deadline(m_time - MSEC - 1));
    EXPECT_EQ(NEVER, deadline(0));
}

TEST_F(test_history, says_nothing_without_an_interval)
{
    EXPECT_EQ(NEVER, deadline(0));
    record(SEC);
    EXPECT_EQ(NEVER, deadline(SEC));
}

TEST_F(test_history, predicts_after_one_interval)
{
    record(SEC);
    next(100 * MSEC);

    EXPECT_EQ(100 * MSEC, m_history.period);
    EXPECT_EQ(m_time + 100 * MSEC - lead(), deadline(m_time));
}

TEST_F(test_history, period_is_shortest_of_recent)
{
    record(SEC);
    next(100 * MSEC);
    next(80 * MSEC);
    next(120 * MSEC);
    EXPECT_EQ(80 * MSEC, m_history.period);
    EXPECT_EQ(120 * MSEC, m_history.longest);
}

TEST_F(test_history, burst_is_forgotten)
{
    record(SEC);
    next(100 * MSEC, 5);
    next(MSEC);

    EXPECT_EQ(MSEC, m_history.period);
    next(100 * MSEC, 2);
    EXPECT_EQ(MSEC, m_history.period) << "it may be the program's new period";
    next(100 * MSEC);
    EXPECT_EQ(100 * MSEC, m_history.period);
    EXPECT_EQ(100 * MSEC, m_history.longest);
}

/* Intervals that are only longer, but not alike, are no other pace */
TEST_F(test_history, shortest_of_recent_that_differ)
{
    record(SEC);
    next(100 * MSEC, 5);
    next(50 * MSEC);
    for (unsigned i = 0; i < DEPTH - 1; ++i) {
        next(((i % 2) ? 100 : 110) * MSEC);
        EXPECT_EQ(50 * MSEC, m_history.period) << i;
    }
    next(100 * MSEC);
    EXPECT_EQ(100 * MSEC, m_history.period);
}

TEST_F(test_history, another_pace)
{
    record(SEC);
    next(100 * MSEC, 20);
    next(150 * MSEC, 2);
    EXPECT_EQ(100 * MSEC, m_history.period);
    next(150 * MSEC);
    EXPECT_EQ(150 * MSEC, m_history.period);
    EXPECT_LE(grace(), 75 * MSEC) << "the change is no lateness";
    next(150 * MSEC, 5);
    EXPECT_EQ(0u, lead());
}

/* Errors of the trend are those of a period; it is wrong by the 3rd at most */
TEST_F(test_history, trend_of_periods_that_grow)
{
    for (double factor : {1.001, 1.01, 1.05}) {
        double interval = 100 * MSEC;

        ucs_rcache_pred_history_init(&m_history);
        record(SEC);
        for (unsigned i = 0; i < 40; ++i) {
            interval *= factor;
            if (i >= 12) {
                uint64_t next_begin = m_time + (uint64_t)interval;

                EXPECT_TRUE(m_history.by_trend) << factor << ", " << i;
                EXPECT_LE(deadline(m_time), next_begin);
                EXPECT_NEAR(next_begin - deadline(m_time), 0,
                            interval * (factor - 1) / 2);
            }
            next(interval);
        }
    }
}

TEST_F(test_history, trend_of_periods_that_shrink)
{
    double interval = SEC;

    record(SEC);
    for (unsigned i = 0; i < 100; ++i) {
        interval *= 0.98;
        if (i >= 12) {
            EXPECT_LE(deadline(m_time), m_time + (uint64_t)interval) << i;
            EXPECT_GE(deadline(m_time), m_time + (uint64_t)(interval * 0.94));
        }
        next(interval);
    }
}

TEST_F(test_history, steady_period_has_no_trend)
{
    record(SEC);
    next(100 * MSEC, 20);
    EXPECT_FALSE(m_history.by_trend);
    EXPECT_EQ(100 * MSEC, m_history.period);
}

/* Under jitter, the trend is hardly ever believed, so that it does no harm */
TEST_F(test_history, jitter_is_no_trend)
{
    std::mt19937_64 random(1);

    for (unsigned percent : {1, 5, 20, 40}) {
        uint64_t most    = percent * MSEC;
        unsigned trends  = 0;

        ucs_rcache_pred_history_init(&m_history);
        record(SEC);
        for (unsigned i = 0; i < 10000; ++i) {
            next(100 * MSEC - most + random() % (2 * most));
            trends += m_history.by_trend;
        }
        EXPECT_LE(trends, 200u) << percent;
    }
}

/* Any intervals, however long, and any depth */
TEST_F(test_history, trend_is_bounded)
{
    std::mt19937_64 random(1);

    for (unsigned depth = 1; depth <= UCS_RCACHE_PRED_MAX_HISTORY; ++depth) {
        uint64_t begin = 1;

        ucs_rcache_pred_history_init(&m_history);
        for (unsigned i = 0; i < 2000; ++i) {
            uint64_t interval = 1 + random() % (1ul << (random() % 50));

            begin += interval;
            ucs_rcache_pred_history_add(&m_history, begin, depth);
            if (i > 0) {
                ASSERT_GE(m_history.trend.interval, interval - interval / 2);
                ASSERT_LE(m_history.trend.interval, interval + interval / 2);
                ASSERT_GE(m_history.period, 1u);
            }
        }
    }
}

TEST_F(test_history, depth_of_one_follows_the_last_interval)
{
    ucs_rcache_pred_history_add(&m_history, 100, 1);
    ucs_rcache_pred_history_add(&m_history, 110, 1);
    ucs_rcache_pred_history_add(&m_history, 210, 1);
    EXPECT_EQ(100u, m_history.period);
    EXPECT_EQ(100u, m_history.longest);
}

TEST_F(test_history, unmet_predictions_silence_it)
{
    record(SEC);
    next(100 * MSEC);

    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_NE(NEVER, deadline(m_time));
        unmet();
    }

    EXPECT_EQ(NEVER, deadline(m_time));
}

TEST_F(test_history, being_right_in_retrospect_restores_trust)
{
    record(SEC);
    next(100 * MSEC);
    for (unsigned i = 0; i < 10; ++i) {
        unmet();
    }

    next(100 * MSEC);
    EXPECT_NE(NEVER, deadline(m_time));
}

TEST_F(test_history, being_wrong_in_retrospect_does_not)
{
    record(SEC);
    next(100 * MSEC);
    for (unsigned i = 0; i < 10; ++i) {
        unmet();
    }

    next(300 * MSEC); /* Beyond the grace */
    EXPECT_EQ(NEVER, deadline(m_time));
    next(50 * MSEC); /* Shorter than predicted */
    EXPECT_EQ(NEVER, deadline(m_time));
}

TEST_F(test_history, says_whether_the_last_interval_was_punctual)
{
    record(SEC);
    next(100 * MSEC);
    EXPECT_FALSE(m_history.punctual) << "there was no period before it";
    next(100 * MSEC, 3);
    EXPECT_TRUE(m_history.punctual);
    next(125 * MSEC);
    EXPECT_TRUE(m_history.punctual);

    /* This is within the grace, but not within the narrow one */
    next(126 * MSEC);
    EXPECT_FALSE(m_history.punctual);
    next(100 * MSEC);
    EXPECT_TRUE(m_history.punctual);
    next(99 * MSEC);
    EXPECT_FALSE(m_history.punctual);
}

/* However often it was right before */
TEST_F(test_history, four_unmet_predictions_silence_any)
{
    record(SEC);
    next(100 * MSEC, 1000);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_NE(NEVER, deadline(m_time));
        unmet();
    }
    EXPECT_EQ(NEVER, deadline(m_time));
}

TEST_F(test_history, prediction_ends_with_its_grace)
{
    record(SEC);
    next(100 * MSEC, 5);

    EXPECT_EQ(m_time + 100 * MSEC + grace(), expiry());
    EXPECT_NE(NEVER, deadline(expiry() - 1));
    EXPECT_EQ(NEVER, deadline(expiry()));
}

TEST_F(test_history, steady_period_needs_no_lead)
{
    record(SEC);
    next(160 * MSEC);
    /* The lead is 1/32 of the period while nothing is known of its variation */
    EXPECT_EQ(5 * MSEC, lead());
    next(160 * MSEC);
    EXPECT_EQ(160 * MSEC / 64, lead());
    next(160 * MSEC, 2);
    EXPECT_EQ(0u, lead());
    EXPECT_EQ(m_time + 160 * MSEC, deadline(m_time));
}

TEST_F(test_history, lead_of_few_intervals_covers_thrice_their_spread)
{
    record(SEC);
    next(160 * MSEC);
    next(164 * MSEC);
    EXPECT_EQ(160 * MSEC / 64 + 12 * MSEC, lead());
    next(180 * MSEC);
    EXPECT_EQ(160 * MSEC / 8, lead()) << "up to an eighth";
}

TEST_F(test_history, lead_covers_what_came_early)
{
    record(SEC);
    next(100 * MSEC, 5);
    next(96 * MSEC);
    /* A use came 4 ms early: the lead is that and a quarter of it */
    EXPECT_EQ(5 * MSEC, lead());
}

TEST_F(test_history, lead_fades)
{
    record(SEC);
    next(100 * MSEC, 5);
    next(90 * MSEC);
    next(100 * MSEC, 100);
    EXPECT_LT(lead(), 10 * USEC);
}

TEST_F(test_history, lead_and_grace_are_bounded)
{
    std::mt19937_64 random(1);

    record(SEC);
    for (unsigned i = 0; i < 10000; ++i) {
        next(1 + random() % (1ul << (random() % 40)));
        ASSERT_LE(lead(), m_history.period / 4);
        ASSERT_LE(grace(), m_history.period);
        ASSERT_GE(expiry(), m_time + m_history.period);
        if (deadline(m_time) != NEVER) {
            ASSERT_GT(deadline(m_time), m_time);
            ASSERT_LE(deadline(m_time), m_time + m_history.period);
        }
    }
}

TEST_F(test_history, steady_period_has_little_grace)
{
    record(SEC);
    next(80 * MSEC, 5);
    EXPECT_EQ(20 * MSEC, grace()); /* 1/4 of the period */
}

TEST_F(test_history, grace_covers_the_spread)
{
    record(SEC);
    next(100 * MSEC);
    /* The grace is half of the period while little is known */
    EXPECT_EQ(50 * MSEC, grace());
    /* The intervals get shorter, so that no use came late */
    next(80 * MSEC, 3);
    EXPECT_EQ(30 * MSEC, grace());
}

TEST_F(test_history, grace_covers_what_came_late)
{
    record(SEC);
    next(80 * MSEC, 5);
    next(88 * MSEC);
    /* 8 ms by which a use came late, a quarter of that, and 10 ms */
    EXPECT_EQ(20 * MSEC, grace());
}

TEST_F(test_history, grace_fades)
{
    record(SEC);
    next(80 * MSEC, 5);
    next(160 * MSEC);
    EXPECT_EQ(80 * MSEC, grace()); /* Never more than a period */
    next(80 * MSEC, 100);
    EXPECT_EQ(20 * MSEC, grace());
}

TEST_F(test_history, lead_covers_part_of_the_spread)
{
    /* The shortest of a few intervals will not be the shortest of all */
    record(SEC);
    next(80 * MSEC);
    next(100 * MSEC, 6);
    /* The lead is 3/4 of what the median is longer than the shortest */
    EXPECT_EQ(15 * MSEC, lead());
}

TEST_F(test_history, begin_going_backwards_is_no_interval)
{
    record(SEC);
    next(100 * MSEC);
    ucs_rcache_pred_history_add(&m_history, SEC, DEPTH);
    ucs_rcache_pred_history_add(&m_history, m_time, DEPTH);

    EXPECT_EQ(1u, m_history.count);
    EXPECT_EQ(m_time, m_history.last);
    EXPECT_EQ(100 * MSEC, m_history.period);
}

TEST_F(test_history, closed_one_awaits_nothing)
{
    record(SEC);
    next(100 * MSEC, 3);
    ucs_rcache_pred_history_close(&m_history, m_time + 100 * MSEC, DEPTH);
    EXPECT_EQ(4u, m_history.count);
    EXPECT_EQ(100 * MSEC, m_history.period);
    EXPECT_EQ(NEVER, deadline(m_time));

    /* Nothing is known until the next use begins; the time between is no
     * interval */
    record(m_time + 10 * SEC);
    EXPECT_EQ(4u, m_history.count);
    EXPECT_EQ(m_time + 100 * MSEC, deadline(m_time));
}

TEST_F(test_history, close_going_backwards_is_no_interval)
{
    record(SEC);
    ucs_rcache_pred_history_close(&m_history, SEC - 1, DEPTH);
    EXPECT_EQ(0u, m_history.count);
    ucs_rcache_pred_history_close(&m_history, 2 * SEC, DEPTH);
    EXPECT_EQ(0u, m_history.count) << "nothing was awaited";
}

/* How wrong predictions are */


TEST(test_error_class, contains_its_upper_bound)
{
    static const uint64_t bounds[] = {5, 10, 50, 100, 250}; /* per mille */

    for (uint64_t observed : {1000 * USEC, 777000 * SEC}) {
        for (unsigned i = 0; i < 5; ++i) {
            uint64_t distance = observed / 1000 * bounds[i];
            EXPECT_EQ(i, ucs_rcache_pred_error_class(observed - distance,
                                                     observed));
            EXPECT_EQ(i, ucs_rcache_pred_error_class(observed + distance,
                                                     observed));
            EXPECT_EQ(i + 1,
                      ucs_rcache_pred_error_class(observed - distance - 1,
                                                  observed));
            EXPECT_EQ(i + 1,
                      ucs_rcache_pred_error_class(observed + distance + 1,
                                                  observed));
        }
    }
}

TEST(test_error_class, extremes)
{
    EXPECT_EQ(0u, ucs_rcache_pred_error_class(1, 1));
    EXPECT_EQ(5u, ucs_rcache_pred_error_class(0, 1));
    EXPECT_EQ(5u, ucs_rcache_pred_error_class(UINT64_MAX, 1));
    EXPECT_EQ(5u, ucs_rcache_pred_error_class(1, UINT64_MAX));
    EXPECT_EQ(0u, ucs_rcache_pred_error_class(UINT64_MAX, UINT64_MAX));
}

TEST_F(test_history, error_is_relative_to_the_observed_interval)
{
    record(SEC);
    next(80 * MSEC, 2);
    EXPECT_EQ(0u, error_after(80 * MSEC));
    EXPECT_EQ(4u, error_after(100 * MSEC)); /* 20 ms of 100: 20 % */
    EXPECT_EQ(5u, error_after(60 * MSEC));  /* 20 ms of 60: 33 % */
}

TEST_F(test_history, error_is_that_of_the_period_not_of_the_deadline)
{
    record(SEC);
    next(160 * MSEC);
    ASSERT_EQ(5 * MSEC, lead());
    EXPECT_EQ(0u, error_after(160 * MSEC));
}

TEST_F(test_history, no_error_without_a_prediction)
{
    EXPECT_EQ(NOT_PREDICTED, error_after(SEC));
    record(SEC);
    EXPECT_EQ(NOT_PREDICTED, error_after(100 * MSEC));
    next(100 * MSEC);
    EXPECT_EQ(0u, error_after(100 * MSEC));
    EXPECT_EQ(NOT_PREDICTED, error_after(0)); /* Begins are not in order */

    unmet();
    unmet();
    EXPECT_EQ(NOT_PREDICTED, error_after(100 * MSEC));

    next(100 * MSEC); /* Believed again */
    EXPECT_EQ(0u, error_after(100 * MSEC));
    ucs_rcache_pred_history_close(&m_history, m_time + 100 * MSEC, DEPTH);
    EXPECT_EQ(NOT_PREDICTED, error_after(200 * MSEC)); /* Nothing is awaited */
}

TEST_F(test_history, number_of_intervals_does_not_wrap)
{
    next(MSEC, DEPTH + 1);
    m_history.count = std::numeric_limits<decltype(m_history.count)>::max();
    for (unsigned i = 1; i <= 2 * DEPTH; ++i) {
        next(MSEC + i);
        EXPECT_EQ(MSEC + i, ucs_rcache_pred_history_interval(&m_history, 0, DEPTH));
        EXPECT_EQ(MSEC + i, m_history.longest);
        EXPECT_GE(m_history.count, DEPTH);
    }
    EXPECT_EQ(MSEC + DEPTH + 1, m_history.shortest.interval)
            << "of the last 8 intervals";
}

TEST_F(test_history, goes_on_after_any_number_of_intervals)
{
    for (unsigned i = 0; i < 1000; ++i) {
        next(MSEC + i % 3);
    }
    EXPECT_EQ(MSEC, m_history.period);
    EXPECT_EQ(MSEC + 2, m_history.longest);
    EXPECT_EQ(m_time + MSEC - lead(), deadline(m_time));
}

/* Told intervals count as if they had been seen, until one is seen that is none of
 * them: then they are forgotten at once */
TEST_F(test_history, told_intervals)
{
    for (uint64_t seen : {100 * MSEC, 110 * MSEC, 300 * MSEC, 20 * MSEC}) {
        ucs_rcache_pred_history_init(&m_history);
        record(SEC);
        ucs_rcache_pred_history_tell(&m_history, 100 * MSEC, DEPTH);
        ucs_rcache_pred_history_tell(&m_history, 104 * MSEC, DEPTH);
        EXPECT_EQ(100 * MSEC, m_history.period);
        next(seen);
        bool is_alike = (seen >= 75 * MSEC) && (seen <= 130 * MSEC);
        EXPECT_EQ(is_alike ? 100 * MSEC : seen, m_history.period);
        EXPECT_EQ(is_alike ? 3u : 1u, m_history.count);
        next(10 * MSEC); /* What was seen is not forgotten */
        EXPECT_EQ(is_alike ? 4u : 2u, m_history.count);
    }
}

/* Those of a damaged profile are none that wrap around */
TEST_F(test_history, told_endless_intervals)
{
    record(SEC);
    for (uint64_t interval : {UINT64_MAX, UINT64_MAX / 3, UINT64_MAX - 1, 1ul << 63,
                              UINT64_MAX}) {
        ucs_rcache_pred_history_tell(&m_history, interval, DEPTH);
        EXPECT_LE(1ul << 55, m_history.period);
        EXPECT_LE(m_time + SEC, deadline(m_time));
        EXPECT_LT(deadline(m_time), ucs_rcache_pred_history_expiry(&m_history));
    }
}

/* A history that was told intervals awaits what does not come for as long as one that
 * has seen the same uses, so that neither is left to expect it when the other gives
 * up */
TEST_F(test_history, told_intervals_end_no_wait_early)
{
    ucs_rcache_pred_history_t other;

    ucs_rcache_pred_history_init(&other);
    ucs_rcache_pred_history_tell(&m_history, 100 * MSEC, DEPTH);
    ucs_rcache_pred_history_tell(&m_history, 100 * MSEC, DEPTH);
    record(SEC);
    ucs_rcache_pred_history_add(&other, m_time, DEPTH);
    for (unsigned i = 0; i < 300; ++i) {
        next(100 * MSEC);
        ucs_rcache_pred_history_add(&other, m_time, DEPTH);
        ASSERT_EQ(ucs_rcache_pred_history_expiry(&other),
                  ucs_rcache_pred_history_expiry(&m_history)) << i;
    }
}
