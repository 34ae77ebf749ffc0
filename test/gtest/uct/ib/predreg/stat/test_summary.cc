/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/stat/stat.h>
}

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

/* What the budget and its spending look like in the text of a summary */
class test_summary : public ::testing::Test {
protected:
    test_summary()
    {
        memset(&m_snapshot, 0, sizeof(m_snapshot));
        m_snapshot.rank               = 3;
        m_snapshot.policy             = UCS_RCACHE_PRED_POLICY_PREDICT;
        m_snapshot.budget             = 1;
        m_snapshot.keys_limit         = UINT64_MAX;
        m_snapshot.stats.duration     = 20000000000ul;
        m_snapshot.stats.budget_spent = 150000000;
        m_snapshot.stats.budget_time  = 20000000000ul;
    }

    std::string text()
    {
        char path[] = "/tmp/test_summary.XXXXXX";
        std::stringstream text;

        close(mkstemp(path));
        uct_predreg_summary_print(&m_snapshot, "1.18.1", m_settings, nullptr,
                                  UCT_PREDREG_SUMMARY_TEXT,
                                  path);
        text << std::ifstream(path).rdbuf();
        unlink(path);
        return text.str();
    }

    void expect_end(const std::string &end)
    {
        const std::string found = text();

        ASSERT_GE(found.size(), end.size());
        EXPECT_EQ(end, found.substr(found.size() - end.size()));
    }

    ucs_rcache_pred_snapshot_t m_snapshot;
    const char                 *m_settings   = "";
};

TEST_F(test_summary, settings_of_the_cache_of_ucx)
{
    m_settings = "UCX_RCACHE_MAX_SIZE=16M";
    expect_end(" s (0.75 %), of UCX's cache UCX_RCACHE_MAX_SIZE=16M\n");
}

TEST_F(test_summary, keys)
{
    m_snapshot.keys_now  = 12;
    m_snapshot.keys_peak = 34;
    EXPECT_NE(std::string::npos, text().find(", keys now 12 peak 34, critical-path "));
    expect_end(" s (0.75 %)\n");
    m_snapshot.keys_limit = 1000;
    expect_end(" s (0.75 %), keys that the job may have 1000\n");
}

TEST_F(test_summary, budget)
{
    expect_end(" ms, budget 1 %, spent 0.150 s (0.75 %)\n");
    m_snapshot.budget = 0.2;
    expect_end(" ms, budget 0.2 %, spent 0.150 s (0.75 %)\n");
}

TEST_F(test_summary, lost_for_room)
{
    m_snapshot.stats.room_lost = 1250000000;
    expect_end(" spent 0.150 s (0.75 %), lost for room 1.250 s\n");
}

TEST_F(test_summary, pools)
{
    m_snapshot.pool_bytes                                  = 3ul << 20;
    m_snapshot.pool_kinds[UCS_RCACHE_PRED_POOL_RC_RECEIVE] = 2ul << 20;
    m_snapshot.pool_kinds[UCS_RCACHE_PRED_POOL_OTHER]      = 1ul << 20;
    expect_end(" ms, UCX's pools 3.0 MiB (rc_receive 2.0 MiB, other 1.0 MiB), "
               "budget 1 %, spent 0.150 s (0.75 %)\n");
}

TEST_F(test_summary, no_budget)
{
    m_snapshot.budget = INFINITY;
    expect_end(" ms, no budget, spent 0.150 s (0.75 %)\n");
}

TEST_F(test_summary, nothing_lasted)
{
    m_snapshot.stats.duration     = 0;
    m_snapshot.stats.budget_spent = 0;
    expect_end(" ms, budget 1 %, spent 0.000 s (0.00 %)\n");
}

TEST_F(test_summary, policies_without_a_budget)
{
    m_snapshot.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    EXPECT_EQ(std::string::npos, text().find("budget"));
    m_snapshot.policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    EXPECT_EQ(std::string::npos, text().find("budget"));
}

TEST_F(test_summary, arena)
{
    m_snapshot.arena_committed = 64 << 20;
    m_snapshot.arena_answered  = 30;
    m_snapshot.arena_refused   = 2;
    m_snapshot.stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_ARENA].bytes_peak =
            128 << 20;
    expect_end(", arena MiB now 0.0 peak 128.0, uses answered 30, mappings "
               "without room 2\n");
}

TEST_F(test_summary, firehose)
{
    m_snapshot.firehose_requests = 40;
    m_snapshot.firehose_hits     = 30;
    m_snapshot.stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE].bytes_peak =
            3 << 20;
    expect_end(", firehose MiB now 0.0 peak 3.0, requests 40, hits 30 "
               "(75.0 %)\n");
    m_snapshot.firehose_requests = 0;
    m_snapshot.firehose_hits     = 0;
    expect_end(", firehose MiB now 0.0 peak 3.0, requests 0, hits 0 (0.0 %)\n");
}
