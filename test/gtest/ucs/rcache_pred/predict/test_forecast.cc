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
                                       signature, 0);
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
