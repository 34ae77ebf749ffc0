/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>

extern "C" {
#include <common/c_access.h>
}

#include <gtest/gtest.h>
#include <tools/replay/policies/policies.h>
#include <tools/replay/scale/scale.h>

#include <memory>
#include <string>
#include <vector>

class test_ranks : public ::testing::Test {
protected:
    struct rank {
        std::string                          clock, realtime;
        std::vector<ucs_rcache_trace_meta_t> meta;
        ucs_rcache_pred_event_t              event;
        ucs_rcache_trace_t                   trace;
    };

    /* A trace whose clock showed this when it was so many ns since 1970 */
    void add(const char *clock, const char *realtime, uint64_t first_event)
    {
        m_ranks.push_back(std::make_unique<rank>());
        rank &r      = *m_ranks.back();
        r.clock      = clock;
        r.realtime   = realtime;
        r.event      = {};
        r.trace      = {};
        r.event.time = first_event;
        if (*clock != '\0') {
            r.meta.push_back({(char*)"clock_ns", (char*)r.clock.c_str()});
        }
        r.meta.push_back({(char*)"realtime_ns", (char*)r.realtime.c_str()});
        r.trace.meta       = r.meta.data();
        r.trace.num_meta   = r.meta.size();
        r.trace.events     = &r.event;
        r.trace.num_events = 1;
    }

    bool align()
    {
        std::vector<predreg_rank_start_t> starts;

        for (const auto &r : m_ranks) {
            starts.push_back(predreg_rank_start(&r->trace));
        }
        m_offsets.assign(m_ranks.size(), -1);
        return predreg_ranks_align(starts.data(), starts.size(),
                                   m_offsets.data());
    }

    std::vector<std::unique_ptr<rank>> m_ranks;
    std::vector<int64_t>               m_offsets;
};

TEST_F(test_ranks, align)
{
    add("1000", "5000000", 1500); /* At 5000500 */
    add("90000", "5000000", 90100); /* At 5000100 */
    add("0", "5000200", 0);
    EXPECT_TRUE(align());
    EXPECT_EQ((std::vector<int64_t>{400, 0, 100}), m_offsets);
}

TEST_F(test_ranks, clocks_not_known)
{
    add("1000", "5000000", 1500);
    add("", "5000000", 1500);
    EXPECT_FALSE(align());
    EXPECT_EQ((std::vector<int64_t>{0, 0}), m_offsets);
}

TEST_F(test_ranks, clock_is_no_number)
{
    add("1000", "noon", 1500);
    EXPECT_FALSE(align());
    EXPECT_EQ((std::vector<int64_t>{0}), m_offsets);
}

TEST_F(test_ranks, years_apart)
{
    add("0", "0", 0);
    add("0", "18446744073709551615", 0);
    EXPECT_FALSE(align());
    EXPECT_EQ((std::vector<int64_t>{0, 0}), m_offsets);
}

TEST_F(test_ranks, total)
{
    predreg_step_t first[]               = {{0, 10}, {100, 0}};
    predreg_step_t second[]              = {{0, 5}, {50, 7}, {60, 0}};
    predreg_replay_result_t results[2]   = {};
    std::vector<int64_t> offsets         = {0, 100};
    std::vector<std::pair<int64_t, uint64_t>> curve;
    predreg_replay_result_t total;

    for (auto &r : results) {
        r.policy = PREDREG_REPLAY_LRU;
        r.uses   = 3;
        r.hits   = 2;
        r.waited = 7;
        r.bound_bytes   = 4;
        r.bound_regions = 3;
        r.prediction_errors[5] = 1;
    }
    results[0].pinned.curve        = first;
    results[0].pinned.num_steps    = 2;
    results[0].pinned.byte_seconds = 2;
    results[0].duration            = 1000000000;
    results[1].pinned.curve        = second;
    results[1].pinned.num_steps    = 3;
    results[1].pinned.byte_seconds = 4;
    results[1].pinned.by_cause[PREDREG_CAUSE_KEPT] = 3;
    results[1].duration            = 2000000000;

    predreg_ranks_total(results, offsets.data(), 2, &total);
    for (size_t i = 0; i < total.pinned.num_steps; ++i) {
        curve.emplace_back(total.pinned.curve[i].time,
                           total.pinned.curve[i].bytes);
    }
    EXPECT_EQ((std::vector<std::pair<int64_t, uint64_t>>{
                      {0, 10}, {100, 5}, {150, 7}, {160, 0}}), curve);
    EXPECT_EQ(10u, total.pinned.peak_bytes);
    EXPECT_EQ(PREDREG_REPLAY_LRU, total.policy);
    EXPECT_EQ(6., total.pinned.byte_seconds);
    EXPECT_EQ(3., total.pinned.by_cause[PREDREG_CAUSE_KEPT]);
    EXPECT_EQ(2000000000u, total.duration);
    EXPECT_NEAR(3., total.pinned_avg_bytes, 1e-6);
    EXPECT_EQ(6u, total.uses);
    EXPECT_EQ(4u, total.hits);
    EXPECT_EQ(14u, total.waited);
    EXPECT_EQ(8u, total.bound_bytes);
    EXPECT_EQ(6u, total.bound_regions);
    EXPECT_EQ(2u, total.prediction_errors[5]);
    predreg_replay_result_cleanup(&total);

    /* What several ranks have registered at the same time adds up */
    offsets[1] = -10;
    predreg_ranks_total(results, offsets.data(), 2, &total);
    EXPECT_EQ(17u, total.pinned.peak_bytes);
    EXPECT_EQ(-10, total.pinned.curve[0].time);
    predreg_replay_result_cleanup(&total);

    /* One job after another */
    offsets[1] = 10000000000;
    predreg_ranks_total(results, offsets.data(), 2, &total);
    EXPECT_EQ(2000000000u, total.duration);
    EXPECT_EQ(6. / 12, total.pinned_avg_bytes);
    predreg_replay_result_cleanup(&total);

    EXPECT_EQ(2u, end_without_memory([&]() {
        predreg_ranks_total(results, offsets.data(), 2, &total);
        return false;
    }));
}
