/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>


class test_forecast : public ::testing::Test {
protected:
    test_forecast()
    {
        EXPECT_EQ(UCS_OK,
                  ucs_rcache_pred_predictor_init(&m_predictor, 16384, 8));
        ucs_rcache_pred_forecast_init(&m_forecast);
    }

    ~test_forecast() { ucs_rcache_pred_predictor_cleanup(&m_predictor); }

    void use(uint64_t signature, uint64_t interval)
    {
        m_now += interval;
        ucs_rcache_pred_forecast_learn(&m_predictor, &m_forecast, m_now,
                                       signature, PLACE);
    }

    /* Uses of a context come every 100 s, and in between so many of contexts
     * that never come again. @return whether that context is expected next
     * after these. */
    bool recurs_behind(unsigned others)
    {
        uint64_t next = 1000;

        for (unsigned i = 0; i < 4; ++i) {
            use(1, 0);
            uint64_t begin = m_now;
            for (unsigned k = 0; k < others; ++k) {
                /* Of whatever lengths, so that they are in no phase */
                use(next++ * 0x9e3779b97f4a7c15, (1 + (k * k) % 97) * MSEC);
            }
            if (i < 3) {
                m_now = begin + 100 * SEC;
            }
        }

        ucs_rcache_pred_history_t *history;
        ucs_rcache_pred_forecast_deadline(&m_predictor, &m_forecast, m_now,
                                          &history);
        return (history != NULL) && (m_forecast.source == 1) &&
               !m_forecast.source_next;
    }

    static constexpr uint64_t PLACE = 7;

    ucs_rcache_pred_predictor_t m_predictor;
    ucs_rcache_pred_forecast_t  m_forecast;
    uint64_t                    m_now = SEC;
};

TEST_F(test_forecast, context_recurs_behind_others)
{
    EXPECT_TRUE(recurs_behind(20));
}

/* As many contexts as there are must not make each decision slower: the first
 * one is not looked at any more, though its use will come */
TEST_F(test_forecast, contexts_of_long_ago_are_left_out)
{
    EXPECT_FALSE(recurs_behind(300));
}

class test_forecast_of_place : public test_forecast {
protected:
    /* Whether the next use is expected, now that the last one has ended */
    bool expects()
    {
        ucs_rcache_pred_history_t *history;

        return ucs_rcache_pred_forecast_deadline(&m_predictor, &m_forecast,
                                                 m_now, &history) !=
               UCS_RCACHE_PRED_TIME_INF;
    }

    bool trusted()
    {
        return ucs_rcache_pred_forecast_is_trusted(&m_predictor, &m_forecast);
    }

    /* So many other regions of the place have met a deadline, or have not */
    void others(unsigned count, int met)
    {
        for (unsigned i = 0; i < count; ++i) {
            ucs_rcache_pred_place_judge(&m_predictor.places, PLACE, i + 1, met);
        }
    }

    /* How many uses, one period after each other, come until one is expected */
    unsigned uses_until_expected()
    {
        unsigned count = 0;

        do {
            use(1, 100 * MSEC);
            ++count;
        } while (!expects() && (count < 100));
        return count;
    }
};

TEST_F(test_forecast_of_place, benefit_of_the_doubt)
{
    EXPECT_EQ(2u, uses_until_expected());
}

/* Of two intervals, eight deadlines, and the use that began the first */
TEST_F(test_forecast_of_place, own_record_is_believed_in_a_doubted_place)
{
    others(20, 0);
    EXPECT_EQ(10u, uses_until_expected());
}

TEST_F(test_forecast_of_place, place_is_asked_again_when_a_deadline_is_due)
{
    EXPECT_EQ(2u, uses_until_expected());
    EXPECT_TRUE(trusted());
    others(3, 0);
    EXPECT_FALSE(trusted());
    others(2, 1);
    EXPECT_TRUE(trusted());
}

/* One region alone makes itself doubted, and does not make others doubt the place */
TEST_F(test_forecast_of_place, one_region_is_no_rule)
{
    for (unsigned i = 0; i < 10; ++i) {
        use(1, 100 * MSEC);
        if (expects()) {
            ucs_rcache_pred_forecast_unmet(&m_predictor, &m_forecast);
        }
    }
    EXPECT_FALSE(trusted());
    EXPECT_FALSE(ucs_rcache_pred_place_is_doubted(&m_predictor.places, PLACE));
}
