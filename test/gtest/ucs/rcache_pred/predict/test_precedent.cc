/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <vector>


class test_precedent : public ::testing::Test {
protected:
    static constexpr unsigned SETS = UCS_RCACHE_PRED_PLACE_SETS;
    static constexpr unsigned WAYS = UCS_RCACHE_PRED_PLACE_WAYS;

    test_precedent()
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_predictor_init(&m_predictor, 16, 8));
        for (auto &forecast : m_forecasts) {
            ucs_rcache_pred_forecast_init(&forecast);
        }
    }

    ~test_precedent() { ucs_rcache_pred_predictor_cleanup(&m_predictor); }

    /* A region was used in this way, and again after the interval, as the precedent had
     * said or without one */
    void add(uint64_t way, uint64_t interval, int met = 0)
    {
        ucs_rcache_pred_forecast_t forecast;

        ucs_rcache_pred_forecast_init(&forecast);
        forecast.way          = way;
        forecast.history.last = SEC;
        forecast.follows      = met;
        EXPECT_EQ(way, ucs_rcache_pred_forecast_teach(&m_predictor, &forecast,
                                                      SEC + interval, 99, met));
    }

    /* What is known to a region that was used once in this way, and follows */
    std::vector<uint64_t> known(uint64_t way)
    {
        ucs_rcache_pred_forecast_t forecast;
        std::vector<uint64_t> intervals;

        ucs_rcache_pred_forecast_init(&forecast);
        ucs_rcache_pred_forecast_learn(&m_predictor, &forecast, SEC, 1, 1);
        forecast.way = way;
        if (ucs_rcache_pred_forecast_follow(&m_predictor, &forecast, SEC)) {
            const ucs_rcache_pred_history_t &next =
                    ucs_rcache_pred_site_find(&m_predictor.sites, 1)->next;
            intervals.assign(next.intervals, next.intervals + next.count);
        }
        ucs_rcache_pred_forecast_forget(&m_predictor, &forecast);
        return intervals;
    }

    void wait(uint64_t way, ucs_rcache_pred_forecast_t &forecast)
    {
        forecast.way = way;
        EXPECT_FALSE(ucs_rcache_pred_forecast_follow(&m_predictor, &forecast, SEC));
    }

    ucs_rcache_pred_forecast_t *release(uint64_t way)
    {
        return ucs_rcache_pred_forecast_next_waiting(&m_predictor, way);
    }

    void leave(ucs_rcache_pred_forecast_t &forecast)
    {
        ucs_rcache_pred_link_leave(&forecast.waits);
    }

    ucs_rcache_pred_predictor_t m_predictor;
    ucs_rcache_pred_forecast_t  m_forecasts[3];
};

TEST_F(test_precedent, last_intervals_are_known)
{
    EXPECT_TRUE(known(1).empty());
    add(1, 10);
    EXPECT_EQ(std::vector<uint64_t>({10}), known(1));
    add(1, 20);
    add(1, 30);
    EXPECT_EQ(std::vector<uint64_t>({20, 30}), known(1));
    EXPECT_TRUE(known(1 + SETS).empty()) << "another way in the same set";
}

/* Ways of use that nobody adds to any more give way to new ones */
TEST_F(test_precedent, the_longest_unused_is_replaced)
{
    for (unsigned i = 0; i < WAYS; ++i) {
        add(1 + i * SETS, 10);
    }
    add(1, 10);
    add(1 + WAYS * SETS, 10);
    EXPECT_FALSE(known(1).empty());
    EXPECT_FALSE(known(1 + 2 * SETS).empty());
    EXPECT_TRUE(known(1 + SETS).empty());
}

TEST_F(test_precedent, who_waits_is_released_in_turn)
{
    wait(1, m_forecasts[0]);
    wait(1, m_forecasts[1]);
    wait(2, m_forecasts[2]);
    EXPECT_EQ(NULL, release(1)) << "nothing is known yet";
    add(1, 10);
    EXPECT_EQ(&m_forecasts[0], release(1));
    EXPECT_EQ(&m_forecasts[1], release(1));
    EXPECT_EQ(NULL, release(1));
    add(2, 10);
    EXPECT_EQ(&m_forecasts[2], release(2));
}

TEST_F(test_precedent, who_has_left_is_not_released)
{
    leave(m_forecasts[0]); /* It has never waited */
    wait(1, m_forecasts[0]);
    wait(1, m_forecasts[1]);
    leave(m_forecasts[0]);
    leave(m_forecasts[0]);
    add(1, 10);
    EXPECT_EQ(&m_forecasts[1], release(1));
    EXPECT_EQ(NULL, release(1));
    wait(2, m_forecasts[0]); /* It may wait again */
    add(2, 10);
    EXPECT_EQ(&m_forecasts[0], release(2));
}

/* Those who wait for what was replaced can still leave, in any order, and wait for
 * something else */
TEST_F(test_precedent, who_waits_for_what_is_replaced)
{
    for (auto &forecast : m_forecasts) {
        wait(1, forecast);
    }
    for (unsigned i = 1; i <= WAYS; ++i) {
        add(1 + i * SETS, 10);
    }
    add(1, 10);
    EXPECT_EQ(NULL, release(1));
    for (unsigned i : {1, 0, 2}) {
        leave(m_forecasts[i]);
    }
    wait(2, m_forecasts[1]);
    add(2, 10);
    EXPECT_EQ(&m_forecasts[1], release(2));
}

/* A precedent is followed by a few, and by more as it turns out to be right */
TEST_F(test_precedent, is_followed_as_far_as_it_is_trusted)
{
    unsigned followed = 0;

    add(1, 10);
    while (!known(1).empty()) {
        ++followed;
    }
    EXPECT_EQ(4u, followed);

    wait(1, m_forecasts[0]);
    EXPECT_EQ(NULL, release(1));
    add(1, 10, 1);
    EXPECT_EQ(&m_forecasts[0], release(1));
    EXPECT_FALSE(known(1).empty());
    EXPECT_FALSE(known(1).empty());
    EXPECT_TRUE(known(1).empty());

    for (unsigned i = 0; i < 1000; ++i) {
        add(1, 10, 1);
    }
    for (followed = 0; !known(1).empty(); ++followed) {
    }
    EXPECT_EQ(68u, followed);
}

/* One that was wrong is tried again now and then */
TEST_F(test_precedent, is_tried_again)
{
    unsigned followed = 0;

    for (unsigned i = 0; i < 10 * UCS_RCACHE_PRED_PRECEDENT_RETRY; ++i) {
        add(1, 10);
        followed += !known(1).empty();
    }
    EXPECT_EQ(4u + 10, followed);
}
