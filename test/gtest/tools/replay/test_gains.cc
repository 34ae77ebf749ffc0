/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/trace_test.h>

extern "C" {
#include <tools/replay/gains.h>
}

#include <string>

/* What the small sends of a job come to */
class test_sends : public trace_test {
protected:
    test_sends()
    {
        /* It pays from 4 sends of 4 KB on, and never below 257 bytes */
        m_costs = {3000, 0, 64, {}};
        for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
            m_costs.copy[i] = 0.25 * (i + 1) * UCS_REUSE_STEP;
        }
    }

    void add(const std::string &lines, bool is_known = true,
             double fraction = 1)
    {
        trace_ptr trace = parse_text(lines);

        ASSERT_TRUE(trace != NULL) << log_watch::take();
        predreg_sends_add(&m_sends, trace.get(), is_known ? &m_costs : NULL,
                          fraction);
    }

    void expect_advice(predreg_eager_advice_t advice)
    {
        EXPECT_STREQ(predreg_eager_advice_names[advice],
                     predreg_eager_advice_names[predreg_sends_advise(&m_sends)]);
    }

    ucs_reuse_costs_t m_costs;
    predreg_sends_t m_sends = {};
};

TEST_F(test_sends, ranks_without_small_sends_do_not_count) {
    add("begin 1 0x1000 65536\nend 2 0x1000\n");
    EXPECT_EQ(0u, m_sends.ranks);
    expect_advice(PREDREG_EAGER_UNKNOWN);
}

/* As the paper's Tables 1 and 3 have it */
TEST_F(test_sends, statistics_of_a_rank) {
    add("sends 0x1000 4096 96\nsends 0x2000 4096 4\nsends 0x3000 1000 3 1\n"
        "sends 0x1000 600 4\nsends 0 8192 5 5\ncounter eager_hot 7\n");
    EXPECT_EQ(1u, m_sends.ranks);
    EXPECT_EQ(3u, m_sends.buffers);
    EXPECT_EQ(112u, m_sends.sends);
    EXPECT_EQ(6u, m_sends.copied);
    EXPECT_EQ(5u, m_sends.others);
    EXPECT_EQ(7u, m_sends.went);
    EXPECT_EQ(100u, m_sends.most);
    EXPECT_DOUBLE_EQ(4096, m_sends.length_sum);
    EXPECT_DOUBLE_EQ(104. / 107, m_sends.reused);
}

TEST_F(test_sends, ranks_add_up) {
    add("sends 0x1000 4096 100\n");
    add("sends 0x1000 1024 10\nsends 0x2000 1024 10\n", false);
    EXPECT_EQ(2u, m_sends.ranks);
    EXPECT_EQ(1u, m_sends.calibrated);
    EXPECT_EQ(100u, m_sends.most);
    EXPECT_DOUBLE_EQ(4096 + 1024, m_sends.length_sum);
    EXPECT_DOUBLE_EQ(0.99 + 0.9, m_sends.reused);
    EXPECT_EQ(3u, m_sends.buffers);
    EXPECT_EQ(1u, m_sends.known_buffers);
    EXPECT_EQ(100u, m_sends.known_sends);
    EXPECT_EQ(97u, m_sends.gain.sends);
}

TEST_F(test_sends, a_fraction_of_the_break_even_number) {
    add("sends 0x1000 4096 100\n", true, 0.25);
    EXPECT_EQ(100u, m_sends.gain.sends);
    EXPECT_EQ(1u, m_sends.gain.hot_buffers);
    EXPECT_DOUBLE_EQ((100 * (1024. - 64)) - 3000, m_sends.gain.saved);
}

TEST_F(test_sends, what_is_not_known) {
    add("sends 0x1000 4096 100000\n", false);
    EXPECT_EQ(0u, m_sends.gain.sends);
    expect_advice(PREDREG_EAGER_UNKNOWN);
}

TEST_F(test_sends, no_buffer_is_sent_often_enough) {
    add("sends 0x1000 4096 3\nsends 0x2000 256 1000000\n");
    expect_advice(PREDREG_EAGER_NEVER);
}

TEST_F(test_sends, registrations_that_do_not_pay) {
    add("sends 0x1000 4096 1\n", true, 0.01);
    EXPECT_EQ(1u, m_sends.gain.sends);
    expect_advice(PREDREG_EAGER_LOSES);
}

/* 97 of 100 sends go without the copy, and save 89928 ns in all */
TEST_F(test_sends, recommended_from_a_thousandth_on) {
    const std::string sends = "sends 0x1000 4096 100\nmeta clock_ns 1000\n";

    add(sends + "meta clock_end_ns 80001000\n");
    EXPECT_EQ(80000000u, m_sends.time);
    expect_advice(PREDREG_EAGER_YES);

    m_sends = {};
    add(sends + "meta clock_end_ns 100001000\n");
    expect_advice(PREDREG_EAGER_LITTLE);

    /* Of a process that did not end there would be no small sends; of one that
     * somebody has made up it is not known how long it took */
    m_sends = {};
    add(sends);
    EXPECT_EQ(0u, m_sends.time);
    expect_advice(PREDREG_EAGER_YES);
}
