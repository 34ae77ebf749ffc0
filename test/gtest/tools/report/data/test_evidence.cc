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

extern "C" {
#include <tools/report/data/findings.h>
#include <tools/report/data/curves.h>
}

#include <cstring>
#include <vector>

class test_evidence : public ::testing::Test {
protected:
    void use(uint64_t begin, uint64_t end, uint64_t address, uint64_t length,
             unsigned domain = 0)
    {
        predreg_use_t use;

        memset(&use, 0, sizeof(use));
        use.begin   = begin;
        use.end     = end;
        use.address = address;
        use.length  = length;
        use.domain  = domain;
        m_uses.push_back(use);
    }

    predreg_evidence_t find(uint64_t duration)
    {
        predreg_timeline_t timeline;
        predreg_evidence_t evidence;

        memset(&timeline, 0, sizeof(timeline));
        timeline.uses     = m_uses.data();
        timeline.num_uses = m_uses.size();
        timeline.duration = duration;
        predreg_evidence_find(&timeline, &evidence);
        return evidence;
    }

    std::vector<predreg_use_t> m_uses;
};

TEST_F(test_evidence, nothing)
{
    predreg_evidence_t evidence = find(0);

    EXPECT_EQ(0u, evidence.buffers);
    EXPECT_EQ(0u, evidence.period);
    EXPECT_EQ(0, evidence.in_use);
}

TEST_F(test_evidence, buffers)
{
    use(0, 1, 0x1000, 10);
    use(1, 2, 0x1000, 20);
    use(2, 3, 0x2000, 10);
    use(3, 4, 0x1000, 10, 1);
    EXPECT_EQ(3u, find(10).buffers);
}

TEST_F(test_evidence, long_uses)
{
    const uint64_t sec = 1000000000;

    use(0, 6 * sec, 0x1000, 10);
    use(0, 5 * sec, 0x2000, 10);
    predreg_evidence_t evidence = find(10 * sec);
    EXPECT_EQ(110, evidence.in_use);
    EXPECT_EQ(60, evidence.in_long_use);
}

/* Many small messages do not hide the period of the large buffers */
TEST_F(test_evidence, period)
{
    for (uint64_t time = 0; time < 1000; time += 10) {
        if (time % 100 == 50) {
            use(time, time + 1, 0x100000, 1000000);
        }
        use(time, time + 1, 0x1000, 1000);
    }
    use(1000, 1001, 0x1000, 1000);
    use(5000, 5001, 0x100000, 1000000); /* Once, after a pause */

    predreg_evidence_t evidence = find(1000);
    EXPECT_EQ(100u, evidence.period);
    /* 450 and 550 are as near to 500 */
    EXPECT_EQ(450u, evidence.period_begin);
}

TEST_F(test_evidence, uses_at_the_same_time)
{
    use(5, 6, 0x1000, 10);
    use(5, 6, 0x1000, 10);
    EXPECT_EQ(0u, find(10).period);
}

TEST_F(test_evidence, out_of_memory)
{
    for (uint64_t i = 0; i < 100; ++i) {
        use(i, i, i << 20, 10);
    }
    EXPECT_GE(end_without_memory([&]() {
        find(100);
        return false;
    }), 2u);
}

class test_report_bounds : public ::testing::Test {
protected:
    static const uint64_t MIB = 1 << 20;

    test_report_bounds() { memset(m_outcomes, 0, sizeof(m_outcomes)); }

    static predreg_replay_result_t result(uint64_t limit, uint64_t peak)
    {
        predreg_replay_result_t result;

        memset(&result, 0, sizeof(result));
        result.bound_bytes       = limit;
        result.pinned.peak_bytes = peak;
        return result;
    }

    predreg_outcome_t m_outcomes[PREDREG_NUM_BOUNDS];
};

TEST_F(test_report_bounds, numbers)
{
    EXPECT_EQ(2 * MIB, predreg_bound_bytes(0));
    EXPECT_EQ(3 * MIB, predreg_bound_bytes(1));
    EXPECT_EQ(4 * MIB, predreg_bound_bytes(2));
    EXPECT_EQ(6 * MIB, predreg_bound_bytes(3));
    EXPECT_EQ(6ul << 50, predreg_bound_bytes(PREDREG_NUM_BOUNDS - 1));
}

TEST_F(test_report_bounds, to_try)
{
    uint64_t limits[PREDREG_MAX_TRIED];

    EXPECT_EQ(0u, predreg_bounds_to_try(0, limits));
    EXPECT_EQ(0u, predreg_bounds_to_try(2 * MIB, limits));
    EXPECT_EQ(2u, predreg_bounds_to_try(4 * MIB, limits));
    EXPECT_EQ(3 * MIB, limits[0]);
    EXPECT_EQ(2 * MIB, limits[1]);
    EXPECT_EQ(8u, predreg_bounds_to_try(1024 * MIB + 1, limits));
    EXPECT_EQ(1024 * MIB, limits[0]);
    EXPECT_EQ(96 * MIB, limits[7]);
}

/* A bound is known of all ranks only if each played it, or is below it */
TEST_F(test_report_bounds, ranks_of_different_size)
{
    predreg_replay_result_t tried[] = {result(8 * MIB, 8 * MIB),
                                       result(6 * MIB, 6 * MIB)};
    predreg_replay_result_t small   = result(0, 7 * MIB);
    predreg_replay_result_t large   = result(0, 10 * MIB);

    predreg_bounds_add(m_outcomes, &large, tried, 2);
    predreg_bounds_add(m_outcomes, &small, NULL, 0);
    for (unsigned i = 0; i < PREDREG_NUM_BOUNDS; ++i) {
        uint64_t bytes = predreg_bound_bytes(i);

        EXPECT_EQ((bytes >= 8 * MIB) ? 2u : (bytes >= 6 * MIB) ? 1u : 0u,
                  m_outcomes[i].ranks) << bytes;
    }
    EXPECT_EQ(8 * MIB, m_outcomes[4].peak);
    EXPECT_EQ(8 * MIB, m_outcomes[4].bound_bytes);
}
