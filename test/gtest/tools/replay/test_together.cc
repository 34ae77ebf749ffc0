/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/log_watch.h>
#include <common/timelines.h>

#include <gtest/gtest.h>
#include <tools/replay/policies/sim.h>
#include <tools/replay/scale/scale.h>

#include <algorithm>
#include <list>

/* The ranks of a node, replayed on one clock under its bounds */
class test_together : public ::testing::Test {
protected:
    static constexpr uint64_t USEC  = made_program::USEC;
    static constexpr uint64_t MSEC  = made_program::MSEC;
    static constexpr uint64_t MB    = made_program::MB;
    static constexpr uint64_t NONE  = UINT64_MAX;
    static constexpr unsigned TURNS = 40;

    ~test_together()
    {
        for (auto &result : m_results) {
            predreg_replay_result_cleanup(&result);
        }
    }

    /* A program that uses buffers of 1 MiB in turns, one each millisecond */
    made_program &add(unsigned num_buffers, unsigned turns, uint64_t begin = 0)
    {
        m_programs.emplace_back();
        made_program &program = m_programs.back();

        program.reg   = {250, 16000};
        program.dereg = {0, 16000};
        for (unsigned i = 0; i < num_buffers * turns; ++i) {
            program.use(begin + i * MSEC, begin + i * MSEC + 300 * USEC,
                        made_program::buffer(i % num_buffers), MB);
        }
        program.last_until(begin + num_buffers * TURNS * MSEC);
        return program;
    }

    void replay(uint64_t max_bytes, uint64_t max_regions = NONE,
                predreg_replay_policy_t policy = PREDREG_REPLAY_PREDICT)
    {
        ucs_rcache_pred_node_params_t bounds = {};
        std::vector<predreg_together_t> ranks;

        bounds.max_bytes   = max_bytes;
        bounds.max_regions = max_regions;
        bounds.bytes_name  = "NODE_MAX_PINNED";
        m_results.resize(m_programs.size());
        for (auto &program : m_programs) {
            predreg_together_t rank = {};
            rank.timeline           = program.timeline();
            rank.params             = replay_params(rank.timeline, policy);
            rank.params.shared      = 1;
            rank.result             = &m_results[ranks.size()];
            ranks.push_back(rank);
        }
        ASSERT_EQ(UCS_OK, predreg_replay_together(ranks.data(), ranks.size(), &bounds));
        for (auto &rank : ranks) {
            EXPECT_EQ(UCS_OK, rank.status);
        }
    }

    /* The most that all ranks have registered at a time */
    uint64_t peak()
    {
        std::vector<int64_t> offsets(m_results.size());
        predreg_replay_result_t total;
        uint64_t peak;

        predreg_ranks_total(m_results.data(), offsets.data(), m_results.size(), &total);
        peak = total.pinned.peak_bytes;
        predreg_replay_result_cleanup(&total);
        return peak;
    }

    std::list<made_program>              m_programs;
    std::vector<predreg_replay_result_t> m_results;
};

/* A rank whose time goes on in equal steps */
struct stepper {
    predreg_flow_t        *flow;
    uint64_t              step;
    std::vector<uint64_t> *times; /* Of all ranks, on their common clock */
};

static void take_steps(void *arg)
{
    stepper *rank = (stepper*)arg;

    for (uint64_t time = 0; time < 100; time += rank->step) {
        predreg_flow_reach(rank->flow, time);
        rank->times->push_back(rank->flow->start + time);
    }
}

TEST_F(test_together, flows_run_in_the_order_of_time)
{
    std::vector<uint64_t> times;
    predreg_flow_t flows[3] = {};
    stepper ranks[3];

    for (unsigned i = 0; i < 3; ++i) {
        ranks[i]       = {&flows[i], 2 + i, &times};
        flows[i].func  = take_steps;
        flows[i].arg   = &ranks[i];
        flows[i].start = 30 * i;
    }
    predreg_flows_run(flows, 3);
    EXPECT_EQ(50u + 34u + 25u, times.size());
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

/* Without a bound that matters, a rank is as by itself */
TEST_F(test_together, one_rank)
{
    add(4, TURNS);
    for (auto policy : {PREDREG_REPLAY_PREDICT, PREDREG_REPLAY_ON_DEMAND}) {
        auto params   = replay_params(m_programs.front().timeline(), policy);
        params.shared = 1;
        replayed alone(m_programs.front().timeline(), params);

        replay(NONE, 1000, policy);
        EXPECT_EQ(alone->uses, m_results[0].uses);
        EXPECT_EQ(alone->hits, m_results[0].hits);
        EXPECT_EQ(alone->regs, m_results[0].regs);
        EXPECT_EQ(alone->pinned.peak_bytes, m_results[0].pinned.peak_bytes);
        predreg_replay_result_cleanup(&m_results[0]);
        m_results.clear();
    }
}

/* Half of what the ranks use together: the bound holds, and each rank finds more buffers
 * registered than with a bound of its own as large as its part */
TEST_F(test_together, ranks_in_turns_under_half)
{
    for (unsigned i = 0; i < 4; ++i) {
        add(8, TURNS, i * 200 * USEC);
    }

    auto params            = replay_params(m_programs.front().timeline(),
                                           PREDREG_REPLAY_PREDICT);
    params.shared          = 1;
    params.cache.max_bytes = 4 * MB;
    replayed alone(m_programs.front().timeline(), params);

    replay(16 * MB);
    EXPECT_LE(peak(), 16 * MB);
    EXPECT_GE(peak(), 12 * MB);
    for (auto &result : m_results) {
        EXPECT_EQ(8u * TURNS, result.uses + result.refused);
        EXPECT_GE(result.hits, alone->hits);
        EXPECT_LE(result.hits, result.uses * 4 / 5);
        EXPECT_LE(result.refused, result.uses / 20);
    }
}

/* A rank that does not communicate any more gives its memory to one that does */
TEST_F(test_together, idle_memory_changes_hands)
{
    add(8, 4).last_until(600 * MSEC);
    add(8, TURNS, 100 * MSEC);
    replay(9 * MB);
    EXPECT_LE(peak(), 9 * MB);
    EXPECT_GE(m_results[1].hits, m_results[1].uses * 4 / 5);
}

/* The same traces give the same result, bit for bit */
TEST_F(test_together, repeats)
{
    std::vector<std::pair<uint64_t, double>> first;

    for (unsigned i = 0; i < 3; ++i) {
        m_programs.push_back(made_program::random(i + 1, 500));
    }
    for (unsigned run = 0; run < 3; ++run) {
        replay(8 * MB, 10);
        for (size_t i = 0; i < m_results.size(); ++i) {
            std::pair<uint64_t, double> rank(m_results[i].waited,
                                             m_results[i].pinned.byte_seconds);
            if (run == 0) {
                first.push_back(rank);
            }
            EXPECT_EQ(first[i], rank);
            predreg_replay_result_cleanup(&m_results[i]);
        }
        m_results.clear();
    }
}

TEST_F(test_together, no_room_for_the_reserves)
{
    ucs_rcache_pred_node_params_t bounds = {};
    std::vector<predreg_together_t> ranks(3);

    bounds.max_bytes   = MB;
    bounds.max_regions = NONE;
    bounds.reserve     = 400 << 10;
    bounds.bytes_name  = "NODE_MAX_PINNED";
    EXPECT_EQ(UCS_ERR_EXCEEDS_LIMIT,
              predreg_replay_together(ranks.data(), ranks.size(), &bounds));
    EXPECT_EQ("NODE_MAX_PINNED=1M has no room for this process, which needs 400K of it: "
              "the others (2) have 800K; accepted: 400K and more for each process of the "
              "node", log_watch::take());
}
