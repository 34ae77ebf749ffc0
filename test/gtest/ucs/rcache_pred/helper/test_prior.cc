/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_test.h"


/* What another run has seen in the same places stands for what is not known yet */
class test_prior : public helper_test {
protected:
    void SetUp() override
    {
        m_ops        = fake_world::ops;
        m_ops.prior  = [](void*, const ucs_rcache_pred_context_t*,
                          uint64_t length, ucs_rcache_pred_time_t *intervals) {
            unsigned i;
            for (i = 0; (length == MB) && (i < m_intervals.size()); ++i) {
                intervals[i] = m_intervals[i];
            }
            return i;
        };
        m_params.ops = &m_ops;
        m_intervals.clear();
        create();
        mark();
    }

    static std::vector<uint64_t> m_intervals;
    ucs_rcache_pred_ops_t        m_ops;
};

std::vector<uint64_t> test_prior::m_intervals;

/* The first use of each buffer cannot be known, and the second one is */
TEST_F(test_prior, second_use_is_predicted)
{
    m_intervals = {190 * MSEC, 210 * MSEC, 200 * MSEC};
    for (unsigned b = 0; b < 5; ++b) {
        uses(b, 200 * MSEC, 2);
    }
    EXPECT_EQ(5u, since_mark(&stats_t::hits));
    EXPECT_EQ(5u, since_mark(&stats_t::profiled));
    /* It is deregistered meanwhile */
    EXPECT_LE(since_mark(&stats_t::byte_ns),
              MB * since_mark(&stats_t::duration) / 2);
}

TEST_F(test_prior, nothing_is_known_of_other_lengths)
{
    m_intervals = {200 * MSEC};
    uses(0, 200 * MSEC, 2, 2 * MB);
    EXPECT_EQ(0u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::profiled));
}

/* Without a profile two uses are needed */
TEST_F(test_prior, nothing_is_known)
{
    uses(0, 200 * MSEC, 3);
    EXPECT_EQ(1u, since_mark(&stats_t::hits));
    EXPECT_EQ(0u, since_mark(&stats_t::profiled));
}

/* What is seen here soon counts for more than what is wrong there */
TEST_F(test_prior, wrong_profile)
{
    for (uint64_t wrong : {MSEC, 50 * MSEC, 2 * SEC, 1000 * SEC}) {
        m_intervals = {wrong};
        recreate();
        mark();
        uses(0, 200 * MSEC, 100);
        EXPECT_GE(since_mark(&stats_t::hits), 96u) << wrong;
        EXPECT_LE(since_mark(&stats_t::wasted), 2u) << wrong;
        EXPECT_LE(since_mark(&stats_t::profiled), 4u) << wrong;
    }
}
