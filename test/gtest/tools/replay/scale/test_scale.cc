/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>
#include <common/log_watch.h>
#include <common/timelines.h>

#include <gtest/gtest.h>

extern "C" {
#include <common/c_access.h>

#include <tools/replay/scale/scale.h>
}


/* Recorded ranks, of which a test says what they have registered and what their
 * helpers do. Each takes 100 s. */
class recorded_ranks {
public:
    static constexpr uint64_t SEC = made_program::SEC;

    ~recorded_ranks()
    {
        for (auto &result : m_results) {
            predreg_sum_cleanup(&result.pinned);
        }
    }

    struct hold {
        int64_t  begin, end; /* s */
        uint64_t bytes;
    };

    struct op {
        uint64_t time, duration; /* s */
        int      is_reg;
    };

    void add(const std::vector<hold> &holds, const std::vector<op> &ops = {})
    {
        predreg_replay_result_t result = {};
        predreg_ledger_t ledger        = {};

        for (auto &hold : holds) {
            predreg_ledger_add(&ledger, hold.begin * int64_t(SEC),
                               hold.end * int64_t(SEC), hold.bytes,
                               PREDREG_CAUSE_USE);
        }
        predreg_ledger_sum(&ledger, &result.pinned);
        predreg_ledger_cleanup(&ledger);

        std::vector<predreg_helper_op_t> helper_ops;
        for (auto &op : ops) {
            helper_ops.push_back({op.time * SEC, op.duration * SEC, op.is_reg});
        }
        m_ops.push_back(helper_ops);
        result.duration = 100 * SEC;
        m_results.push_back(result);
        m_offsets.push_back(0);
    }

    void shift(unsigned rank, int64_t time) { m_offsets[rank] = time * SEC; }

    ucs_status_t try_scale(const predreg_scale_params_t &params,
                           predreg_scale_t *scale)
    {
        for (size_t i = 0; i < m_results.size(); ++i) {
            m_results[i].helper_ops     = m_ops[i].data();
            m_results[i].num_helper_ops = m_ops[i].size();
        }
        return predreg_scale(m_results.data(), m_offsets.data(),
                             m_results.size(), &params, scale);
    }

    predreg_scale_t
    scale(unsigned num_ranks, unsigned ranks_per_node,
          predreg_phase_t phase = PREDREG_PHASE_RECORDED,
          unsigned cores_per_node = 0, uint64_t node_max = UINT64_MAX)
    {
        predreg_scale_t scale;

        EXPECT_EQ(UCS_OK, try_scale({num_ranks, ranks_per_node, cores_per_node,
                                     node_max, phase}, &scale));
        return scale;
    }

private:
    std::vector<predreg_replay_result_t>          m_results;
    std::vector<std::vector<predreg_helper_op_t>> m_ops;
    std::vector<int64_t>                          m_offsets;
};


class test_scale : public ::testing::Test {
protected:
    recorded_ranks m_ranks;
};

/* Square waves: memory is registered for half of the time */
TEST_F(test_scale, in_phase)
{
    m_ranks.add({{0, 50, 100}});

    auto scale = m_ranks.scale(8, 2, PREDREG_PHASE_RECORDED, 0, 150);
    EXPECT_EQ(4u, scale.num_nodes);
    EXPECT_DOUBLE_EQ(100, scale.node_avg_bytes);
    EXPECT_EQ(200u, scale.node_peak_bytes);
    EXPECT_DOUBLE_EQ(400, scale.job_avg_bytes);
    EXPECT_EQ(800u, scale.job_peak_bytes);
    EXPECT_DOUBLE_EQ(0.5, scale.above);
    EXPECT_DOUBLE_EQ(50, scale.above_avg_bytes);
}

TEST_F(test_scale, in_antiphase)
{
    m_ranks.add({{0, 50, 100}});
    m_ranks.add({{50, 100, 100}});

    auto scale = m_ranks.scale(8, 2, PREDREG_PHASE_RECORDED, 0, 150);
    EXPECT_DOUBLE_EQ(100, scale.node_avg_bytes);
    EXPECT_EQ(100u, scale.node_peak_bytes);
    EXPECT_DOUBLE_EQ(400, scale.job_avg_bytes);
    EXPECT_EQ(400u, scale.job_peak_bytes);
    EXPECT_EQ(0, scale.above);
    EXPECT_EQ(0, scale.above_avg_bytes);

    /* The second wave begins half a period later. In phase, the sum of both
     * lasts 150 s. */
    m_ranks.shift(0, 50);
    scale = m_ranks.scale(2, 2);
    EXPECT_EQ(200u, scale.node_peak_bytes);
    EXPECT_DOUBLE_EQ(10000. / 150, scale.node_avg_bytes);
}

/* Nodes are not alike: 0 1 2 | 0 1 2 of two recorded ranks is 0 1 0 | 1 0 1;
 * and the last one has one rank */
TEST_F(test_scale, nodes_that_differ)
{
    m_ranks.add({{0, 100, 1}});
    m_ranks.add({{0, 50, 10}});

    auto scale = m_ranks.scale(7, 3);
    EXPECT_EQ(3u, scale.num_nodes);
    EXPECT_EQ(21u, scale.node_peak_bytes);
    EXPECT_EQ(12u + 21 + 1, scale.job_peak_bytes);
    EXPECT_DOUBLE_EQ(7 + 11 + 1, scale.job_avg_bytes);
    EXPECT_DOUBLE_EQ(19. / 3, scale.node_avg_bytes);
}

TEST_F(test_scale, many_nodes_that_differ)
{
    m_ranks.add({{0, 100, 1}});
    m_ranks.add({{0, 100, 10}});
    m_ranks.add({{0, 100, 100}});

    for (unsigned ranks_per_node = 1; ranks_per_node < 8; ++ranks_per_node) {
        for (unsigned num_ranks = 1; num_ranks < 50; ++num_ranks) {
            auto scale      = m_ranks.scale(num_ranks, ranks_per_node);
            double expected = 0;

            for (unsigned rank = 0; rank < num_ranks; ++rank) {
                expected += (rank % 3 == 0) ? 1 : (rank % 3 == 1) ? 10 : 100;
            }
            ASSERT_NEAR(expected, scale.job_avg_bytes, 1e-6);
            ASSERT_EQ(expected, scale.job_peak_bytes);
        }
    }
}

/* Two independent waves are both on for a quarter of the time */
TEST_F(test_scale, at_random)
{
    m_ranks.add({{0, 50, 100}});

    auto scale = m_ranks.scale(4000, 2, PREDREG_PHASE_RANDOM, 0, 150);
    EXPECT_NEAR(100, scale.node_avg_bytes, 1e-6);
    EXPECT_NEAR(2000 * 100, scale.job_avg_bytes, 1e-3);
    EXPECT_EQ(200u, scale.node_peak_bytes);
    EXPECT_NEAR(0.25, scale.above, 0.01);
    EXPECT_NEAR(50, scale.above_avg_bytes, 1e-6);

    auto again = m_ranks.scale(4000, 2, PREDREG_PHASE_RANDOM, 0, 150);
    EXPECT_EQ(scale.above, again.above);
}

/* Nothing is lost at the end of the ring, nor before its begin */
TEST_F(test_scale, random_phases_keep_the_sum)
{
    m_ranks.add({{-10, 30, 100}, {80, 105, 7}});

    for (unsigned num_ranks = 1; num_ranks < 40; ++num_ranks) {
        auto scale = m_ranks.scale(num_ranks, 3, PREDREG_PHASE_RANDOM);
        ASSERT_NEAR(num_ranks * (40 + 25 * .07), scale.job_avg_bytes, 1e-6);
    }
}

TEST_F(test_scale, random_phases_of_no_time)
{
    predreg_replay_result_t result = {};
    predreg_scale_params_t params  = {4, 2, 3, UINT64_MAX,
                                      PREDREG_PHASE_RANDOM};
    predreg_helper_op_t op         = {0, 0, 1};
    int64_t offset                 = 0;
    predreg_scale_t scale;

    result.helper_ops     = &op;
    result.num_helper_ops = 1;
    ASSERT_EQ(UCS_OK, predreg_scale(&result, &offset, 1, &params, &scale));
    EXPECT_EQ(0, scale.job_avg_bytes);
    EXPECT_EQ(4u, scale.helper_regs);
}

TEST_F(test_scale, helpers_that_share_cores)
{
    struct {
        unsigned cores, delayed;
        double   avg;
        uint64_t max;
    } cases[] = {
        {4 + 1, 3, 7.5, 15}, {4 + 2, 2, 2.5, 5}, {4 + 3, 1, 1.25, 5},
        {4 + 4, 0, 0, 0}, {4 + 100, 0, 0, 0}
    };

    m_ranks.add({}, {{10, 5, 1}, {50, 3, 0}});
    for (auto &expected : cases) {
        auto scale = m_ranks.scale(4, 4, PREDREG_PHASE_RECORDED,
                                   expected.cores);
        EXPECT_EQ(expected.cores - 4, scale.idle_cores);
        EXPECT_EQ(4u, scale.helper_regs);
        EXPECT_EQ(expected.delayed, scale.delayed_regs);
        EXPECT_DOUBLE_EQ(expected.avg * 1e9, scale.delay_avg);
        EXPECT_EQ(expected.max * 1000000000, scale.delay_max);
        EXPECT_DOUBLE_EQ(4 * 8 / 100., scale.helper_cores);
    }
}

/* Each kind of node is computed once, and counts as often as there are such
 * nodes */
TEST_F(test_scale, helpers_of_many_nodes)
{
    m_ranks.add({}, {{10, 5, 1}});

    auto scale = m_ranks.scale(4 * 64, 4, PREDREG_PHASE_RECORDED, 5);
    EXPECT_EQ(256u, scale.helper_regs);
    EXPECT_EQ(192u, scale.delayed_regs);
    EXPECT_DOUBLE_EQ(7.5e9, scale.delay_avg);
    EXPECT_DOUBLE_EQ(0.2, scale.helper_cores);
}

/* To look at all cores for each operation would take a minute here */
TEST_F(test_scale, helpers_that_share_very_many_cores)
{
    m_ranks.add({{0, 50, 100}}, {{10, 1, 1}});

    auto scale = m_ranks.scale(300000, 300000, PREDREG_PHASE_RECORDED, 400000);
    EXPECT_EQ(100000u, scale.idle_cores);
    EXPECT_EQ(300000u, scale.helper_regs);
    EXPECT_EQ(200000u, scale.delayed_regs);
    EXPECT_DOUBLE_EQ(1e9, scale.delay_avg);
    EXPECT_EQ(2000000000u, scale.delay_max);
}

/* When no core is idle, nobody knows when a helper runs */
TEST_F(test_scale, no_idle_core)
{
    m_ranks.add({}, {{10, 5, 1}});

    auto scale = m_ranks.scale(4, 4, PREDREG_PHASE_RECORDED, 4);
    EXPECT_EQ(0u, scale.idle_cores);
    EXPECT_EQ(0u, scale.helper_regs);
}

/* There may be idle cores, but a helper is a single thread */
TEST_F(test_scale, a_helper_does_one_thing_at_a_time)
{
    m_ranks.add({}, {{10, 10, 0}, {12, 10, 1}});

    auto scale = m_ranks.scale(2, 2, PREDREG_PHASE_RECORDED, 100);
    EXPECT_EQ(2u, scale.delayed_regs);
    EXPECT_EQ(8000000000u, scale.delay_max);
}

TEST_F(test_scale, bad_parameters)
{
    predreg_scale_t scale;

    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              m_ranks.try_scale({4, 2, 0, 0, PREDREG_PHASE_RECORDED}, &scale));
    EXPECT_EQ("a job of 4 ranks, 2 a node, cannot be made of 0: expected at "
              "least 1 each", log_watch::take());

    m_ranks.add({});
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              m_ranks.try_scale({4, 0, 0, 0, PREDREG_PHASE_RECORDED}, &scale));
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              m_ranks.try_scale({4, 2, 1, 0, PREDREG_PHASE_RECORDED}, &scale));
    EXPECT_EQ("1 cores a node are too few for 2 ranks", log_watch::take());
}

TEST_F(test_scale, memory_runs_out)
{
    predreg_scale_params_t params = {5, 2, 3, 10, PREDREG_PHASE_RECORDED};
    predreg_scale_t scale;

    m_ranks.add({{0, 50, 100}}, {{10, 5, 1}});
    EXPECT_GE(end_without_memory([&]() {
        m_ranks.try_scale(params, &scale);
        return false;
    }), 6u); /* Three for each of two nodes that differ */
}

/* The helper's work is that which the replay has counted */
TEST_F(test_scale, helper_operations_of_a_replay)
{
    auto program = made_program::periodic(50, 10 * made_program::MSEC,
                                          made_program::MSEC, made_program::MB);

    program.reg   = {10, 5000};
    program.dereg = {5, 2000};
    replayed result(program.timeline(),
                    replay_params(program.timeline(), PREDREG_REPLAY_PREDICT));
    uint64_t total = 0, last = 0, num_regs = 0;

    for (size_t i = 0; i < result->num_helper_ops; ++i) {
        const predreg_helper_op_t &op = result->helper_ops[i];
        EXPECT_LE(last, op.time);
        EXPECT_EQ(op.is_reg ? 256 * 10 + 5000u : 256 * 5 + 2000u,
                  op.duration);
        last      = op.time;
        total    += op.duration;
        num_regs += op.is_reg;
    }
    EXPECT_GT(num_regs, 10u);
    EXPECT_GE(result->regs, num_regs);
    EXPECT_EQ(result->helper, total);
}
