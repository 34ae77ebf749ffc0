/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/fake_root.h>
#include <common/library.h>

#include <vector>


/* What the kernel says of idle processors */
class test_idle : public ::testing::Test {
protected:
    static constexpr uint64_t MSEC    = 1000000;
    static constexpr uint64_t UNKNOWN = UCS_RCACHE_PRED_IDLE_UNKNOWN;

    test_idle() :
        m_before(CPU_SETSIZE, UNKNOWN), m_after(CPU_SETSIZE, UNKNOWN),
        m_helpers(CPU_SETSIZE, 0)
    {
    }

    unsigned read(std::vector<uint64_t> &times)
    {
        return ucs_rcache_pred_idle_read(m_root.path(), times.data());
    }

    /* Whether a processor is idle that was for so long, out of 200 ms */
    bool is_idle(uint64_t idle, uint64_t helper = 0, uint64_t elapsed = 200 * MSEC)
    {
        cpu_set_t set;

        m_before[3]  = 1000 * MSEC;
        m_after[3]   = m_before[3] + idle;
        m_helpers[3] = helper;
        ucs_rcache_pred_idle_find(m_before.data(), m_after.data(), elapsed,
                                  m_helpers.data(), &set);
        EXPECT_EQ(CPU_ISSET(3, &set) ? 1 : 0, CPU_COUNT(&set));
        return CPU_ISSET(3, &set);
    }

    fake_root             m_root;
    std::vector<uint64_t> m_before, m_after, m_helpers;
};

TEST_F(test_idle, times_of_all_processors)
{
    m_root.stat({100, 0, 7});
    EXPECT_EQ(3u, read(m_after));
    EXPECT_EQ(1000 * MSEC, m_after[0]);
    EXPECT_EQ(0u, m_after[1]);
    EXPECT_EQ(70 * MSEC, m_after[2]);
    EXPECT_EQ(UNKNOWN, m_after[3]);
}

TEST_F(test_idle, waiting_for_a_disk_is_idle)
{
    m_root.write("/proc/stat", "cpu 1 2 3 4\ncpu5 1 2 3 10 20 6\n");
    EXPECT_EQ(1u, read(m_after));
    EXPECT_EQ(300 * MSEC, m_after[5]);
}

TEST_F(test_idle, what_is_no_line_of_a_processor_is_left_out)
{
    EXPECT_EQ(0u, read(m_after)) << "there is no file";
    m_root.write("/proc/stat", "cpu1024 1 2 3 4 5\ncpu1 1 2 3\ncpux\nother\n"
                               "cpu2 1 2 3 4 5\n");
    EXPECT_EQ(0u, read(m_after));
    EXPECT_EQ(UNKNOWN, m_after[1]);
    EXPECT_EQ(UNKNOWN, m_after[2]);
}

TEST_F(test_idle, this_system_tells)
{
    EXPECT_LE(1u, ucs_rcache_pred_idle_read("", m_after.data()));
}

TEST_F(test_idle, idle_is_what_is_hardly_used)
{
    EXPECT_TRUE(is_idle(200 * MSEC));
    EXPECT_TRUE(is_idle(170 * MSEC)) << "an eighth was used, less a tick";
    EXPECT_FALSE(is_idle(150 * MSEC));
    EXPECT_FALSE(is_idle(0));
}

TEST_F(test_idle, what_helpers_use_is_idle)
{
    EXPECT_TRUE(is_idle(100 * MSEC, 90 * MSEC));
    EXPECT_FALSE(is_idle(100 * MSEC, 20 * MSEC));
}

TEST_F(test_idle, short_time_says_nothing)
{
    EXPECT_FALSE(is_idle(30 * MSEC, 0, 30 * MSEC));
    EXPECT_TRUE(is_idle(50 * MSEC, 0, 50 * MSEC));
    EXPECT_TRUE(is_idle(40 * MSEC, 0, 50 * MSEC)) << "a tick less";
    EXPECT_FALSE(is_idle(20 * MSEC, 0, 50 * MSEC));
}

TEST_F(test_idle, one_that_comes_or_goes_is_not_known)
{
    cpu_set_t set;

    m_before[1] = 0;
    m_after[2]  = 1000 * MSEC;
    m_before[4] = 1000 * MSEC;
    m_after[4]  = 0;
    ucs_rcache_pred_idle_find(m_before.data(), m_after.data(), 200 * MSEC,
                              m_helpers.data(), &set);
    EXPECT_EQ(0, CPU_COUNT(&set));
}

TEST_F(test_idle, threads_of_a_core)
{
    uint16_t cores[CPU_SETSIZE];
    std::string folder = "/sys/devices/system/cpu/cpu";
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    for (unsigned cpu : {0, 1, 2, 64}) {
        CPU_SET(cpu, &cpus);
    }
    m_root.write(folder + "0/topology/thread_siblings_list", "0,64\n");
    m_root.write(folder + "64/topology/thread_siblings_list", "0,64\n");
    m_root.write(folder + "1/topology/thread_siblings_list", "0-1\n");
    m_root.write(folder + "2/topology/thread_siblings_list", "junk\n");
    m_root.write(folder + "3/topology/thread_siblings_list", "0\n");
    ucs_rcache_pred_idle_read_cores(m_root.path(), &cpus, cores);
    EXPECT_EQ(0, cores[0]);
    EXPECT_EQ(0, cores[64]);
    EXPECT_EQ(0, cores[1]);
    EXPECT_EQ(2, cores[2]);
    EXPECT_EQ(3, cores[3]) << "it was not asked for";
}
