/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <ucs/reuse/sends.h>

#include <vector>

/* What it saves to send buffers without the copy. A registration takes 1000 ns,
 * a copy a quarter of a nanosecond a byte, and finding a buffer 24 ns */
class test_gain : public ::testing::Test {
protected:
    static constexpr double REG    = 1000;
    static constexpr double LOOKUP = 24;

    test_gain()
    {
        for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
            m_costs.copy[i] = 0.25 * (i + 1) * UCS_REUSE_STEP;
        }
        ucs_reuse_thresholds(&m_costs, 1, m_thresholds);
    }

    ucs_reuse_gain_t find(const std::vector<ucs_reuse_sends_t> &sends)
    {
        ucs_reuse_gain_t gain;

        ucs_reuse_gain_find(&m_costs, m_thresholds, sends.data(), sends.size(),
                            &gain);
        return gain;
    }

    ucs_reuse_costs_t m_costs = {REG, 0, LOOKUP, {}};
    uint32_t m_thresholds[UCS_REUSE_NUM_CLASSES];
};

/* 4 KB: n > 1000 / (1024 - 24), so that it pays from 2 sends on, and the second
 * one is the first without the copy */
TEST_F(test_gain, a_buffer_that_becomes_hot) {
    ucs_reuse_gain_t gain = find({{0x1000, 4096, 10, 0}});

    ASSERT_EQ(2u, m_thresholds[ucs_reuse_class(4096)]);
    EXPECT_EQ(1u, gain.hot_buffers);
    EXPECT_EQ(9u, gain.sends);
    EXPECT_DOUBLE_EQ(9 * 4096, gain.bytes);
    EXPECT_DOUBLE_EQ((9 * 1024) - (10 * LOOKUP) - REG, gain.saved);
}

TEST_F(test_gain, the_send_that_reaches_the_threshold_is_the_first) {
    ucs_reuse_gain_t gain = find({{0x1000, 4096, 2, 0}});

    EXPECT_EQ(1u, gain.hot_buffers);
    EXPECT_EQ(1u, gain.sends);

    gain = find({{0x1000, 4096, 1, 0}});
    EXPECT_EQ(0u, gain.hot_buffers);
    EXPECT_EQ(0u, gain.sends);
    EXPECT_EQ(0, gain.bytes);
    EXPECT_DOUBLE_EQ(-LOOKUP, gain.saved);
}

/* Sends that are copied anyway are neither looked for nor count */
TEST_F(test_gain, copied_sends_do_not_count) {
    ucs_reuse_gain_t gain = find({{0x1000, 4096, 10, 9}});

    EXPECT_EQ(0u, gain.sends);
    EXPECT_DOUBLE_EQ(-LOOKUP, gain.saved);

    gain = find({{0x1000, 4096, 10, 10}});
    EXPECT_EQ(0u, gain.sends);
    EXPECT_EQ(0, gain.saved);

    gain = find({{0x1000, 4096, 12, 2}});
    EXPECT_EQ(9u, gain.sends);
}

/* Up to 128 bytes a copy takes no longer than finding the buffer: no such send
 * is looked for, or goes from a hot buffer */
TEST_F(test_gain, lengths_that_never_pay_do_not_count) {
    m_costs.lookup = 32;
    ucs_reuse_thresholds(&m_costs, 1, m_thresholds);
    ASSERT_EQ(UCS_REUSE_NEVER, m_thresholds[0]);

    ucs_reuse_gain_t gain = find({{0x1000, 128, 1000000, 0}});
    EXPECT_EQ(0u, gain.hot_buffers);
    EXPECT_EQ(0, gain.saved);

    const ucs_reuse_gain_t one  = find({{0x1000, 4096, 10, 0}});
    const ucs_reuse_gain_t both = find({{0x1000, 128, 1000000, 0},
                                        {0x1000, 4096, 10, 0}});
    EXPECT_EQ(one.sends, both.sends);
    EXPECT_DOUBLE_EQ(one.saved, both.saved);
}

/* As many sends of both lengths as that are hot, and as much is registered as
 * the longer one needs */
TEST_F(test_gain, a_buffer_of_several_lengths) {
    m_costs.reg_page = 1000;
    ucs_reuse_thresholds(&m_costs, 1, m_thresholds);

    const uint32_t first  = m_thresholds[ucs_reuse_class(8192)];
    ucs_reuse_gain_t gain = find({{0x1000, 1024, 300, 0},
                                  {0x1000, 8192, 100, 0}});
    const double hot      = 400 - first + 1;

    EXPECT_EQ(1u, gain.hot_buffers);
    EXPECT_EQ(hot, gain.sends);
    EXPECT_NEAR((hot * 3 / 4 * 1024) + (hot / 4 * 8192), gain.bytes, 1e-6);
    EXPECT_NEAR((hot * 3 / 4 * 256) + (hot / 4 * 2048) - (400 * LOOKUP) -
                ucs_reuse_registration(&m_costs, 8192), gain.saved, 1e-6);
}

TEST_F(test_gain, gains_add_up) {
    ucs_reuse_gain_t sum       = {};
    const ucs_reuse_gain_t one = find({{0x1000, 4096, 10, 0}});
    const ucs_reuse_gain_t two = find({{0x2000, 1024, 1, 0}});

    ucs_reuse_gain_add(&sum, &one);
    ucs_reuse_gain_add(&sum, &two);
    EXPECT_EQ(1u, sum.hot_buffers);
    EXPECT_EQ(9u, sum.sends);
    EXPECT_DOUBLE_EQ(one.bytes, sum.bytes);
    EXPECT_DOUBLE_EQ(one.saved + two.saved, sum.saved);
}
