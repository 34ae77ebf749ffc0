/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/fake_root.h>

#include <ucs/host/cgroup.h>
#include <ucs/host/pressure.h>

class test_pressure : public ::testing::Test {
protected:
    static constexpr uint64_t SECOND = 1000000000;
    static constexpr uint64_t MB     = 1ul << 20;

    test_pressure()
    {
        m_root.write("/proc/self/cgroup", "0::/job/step\n");
        m_root.write("/sys/fs/cgroup/job/memory.max", std::to_string(64 * MB));
        m_root.write("/sys/fs/cgroup/job/step/memory.max", "max\n");
        used(64 * MB);
        memory(1000, 900, 1000);
    }

    void waited(const std::string &file, uint64_t usec)
    {
        m_root.write(file, "some avg10=1.50 avg60=0.00 avg300=0.00 total=" +
                     std::to_string(usec) +
                     "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    }

    void group_waited(uint64_t usec)
    {
        waited("/sys/fs/cgroup/job/memory.pressure", usec);
    }

    void node_waited(uint64_t usec) { waited("/proc/pressure/memory", usec); }

    void memory(unsigned total, unsigned available, unsigned swap)
    {
        m_root.write("/proc/meminfo", "MemTotal: " + std::to_string(total) +
                     " kB\nMemFree: 1 kB\nMemAvailable: " + std::to_string(available) +
                     " kB\nSwapTotal: 2000 kB\nSwapFree: " + std::to_string(swap) +
                     " kB\n");
    }

    void init(uint64_t now)
    {
        ucs_rcache_pred_pressure_init(&m_pressure, m_root.path(), now);
    }

    double look(uint64_t now)
    {
        return ucs_rcache_pred_pressure_look(&m_pressure, now);
    }

    bool can_gain()
    {
        init(SECOND);
        return ucs_rcache_pred_pressure_can_gain(&m_pressure);
    }

    /* How many bytes of a limit of 64 MB the group has */
    void used(uint64_t bytes)
    {
        m_root.write("/sys/fs/cgroup/job/memory.current", std::to_string(bytes));
    }

    fake_root                  m_root;
    ucs_rcache_pred_pressure_t m_pressure;
};

TEST_F(test_pressure, waiting_counts_since_the_last_look)
{
    group_waited(123456789);
    init(SECOND);
    EXPECT_EQ(0, look(2 * SECOND));
    group_waited(123456789 + 100000);
    EXPECT_DOUBLE_EQ(.1, look(3 * SECOND));
    EXPECT_EQ(0, look(4 * SECOND));
    group_waited(123456789 + 300000);
    EXPECT_DOUBLE_EQ(.1, look(6 * SECOND));
    /* More than the time: the file is younger than the clock */
    group_waited(123456789 + 9000000);
    EXPECT_EQ(1, look(7 * SECOND));
    /* The counter begins anew, or the clock goes back */
    group_waited(1);
    EXPECT_EQ(0, look(8 * SECOND));
    group_waited(2);
    EXPECT_EQ(0, look(8 * SECOND));
    group_waited(3);
    EXPECT_EQ(0, look(7 * SECOND));
}

/* Others of the node wait, because of a limit of their own */
TEST_F(test_pressure, node_counts_only_if_it_has_little_left)
{
    group_waited(0);
    node_waited(0);
    init(SECOND);
    node_waited(500000);
    EXPECT_EQ(0, look(2 * SECOND));
    memory(1000, 99, 1000);
    EXPECT_EQ(0, look(3 * SECOND));
    node_waited(1000000);
    EXPECT_DOUBLE_EQ(.5, look(4 * SECOND));
    group_waited(700000);
    EXPECT_DOUBLE_EQ(.7, look(5 * SECOND));
}

TEST_F(test_pressure, group_without_a_limit_does_not_count)
{
    m_root.write("/sys/fs/cgroup/job/memory.max", "max\n");
    group_waited(0);
    init(SECOND);
    group_waited(500000);
    EXPECT_EQ(0, look(2 * SECOND));
    EXPECT_EQ(0u, m_pressure.num_groups);
}

/* Processes wait because of another limit below, of another job */
TEST_F(test_pressure, group_with_room_does_not_count)
{
    group_waited(0);
    init(SECOND);
    used(50 * MB);
    group_waited(500000);
    EXPECT_EQ(0, look(2 * SECOND));
    used(60 * MB);
    group_waited(900000);
    EXPECT_DOUBLE_EQ(.4, look(3 * SECOND));
}

/* The limit that is reached counts, in whichever group it is */
TEST_F(test_pressure, several_groups_with_a_limit)
{
    m_root.write("/sys/fs/cgroup/job/step/memory.max", "1000\n");
    m_root.write("/sys/fs/cgroup/job/step/memory.current", "1000\n");
    waited("/sys/fs/cgroup/job/step/memory.pressure", 0);
    group_waited(0);
    used(0);
    init(SECOND);
    waited("/sys/fs/cgroup/job/step/memory.pressure", 500000);
    group_waited(700000);
    EXPECT_DOUBLE_EQ(.5, look(2 * SECOND));
    used(64 * MB);
    group_waited(1500000);
    EXPECT_DOUBLE_EQ(.8, look(3 * SECOND));
}

/* Groups of version 1 do not tell how long processes wait: the group of version 2 with the
 * same path does, or else that of this process */
TEST_F(test_pressure, version_1)
{
    m_root.write("/sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes", "1048576\n");
    m_root.write("/sys/fs/cgroup/memory/slurm/job/memory.usage_in_bytes", "1048000\n");
    for (const char *groups : {"4:memory:/slurm/job/step\n0::/slurm/job/step\n",
                               "4:memory:/slurm/job/step\n0::/slurm/job\n"}) {
        m_root.write("/proc/self/cgroup", groups);
        waited("/sys/fs/cgroup/unified/slurm/job/memory.pressure", 0);
        init(SECOND);
        waited("/sys/fs/cgroup/unified/slurm/job/memory.pressure", 500000);
        EXPECT_DOUBLE_EQ(.5, look(2 * SECOND));
    }

    m_root.write("/proc/self/cgroup", "4:memory:/slurm/job/step\n0::/slurm/job2\n");
    waited("/sys/fs/cgroup/unified/slurm/job2/memory.pressure", 0);
    init(SECOND);
    waited("/sys/fs/cgroup/unified/slurm/job2/memory.pressure", 125000);
    EXPECT_DOUBLE_EQ(.125, look(2 * SECOND));

    m_root.write("/proc/self/cgroup", "4:memory:/slurm/job/step\n0::/session\n");
    waited("/sys/fs/cgroup/unified/session/memory.pressure", 0);
    init(SECOND);
    waited("/sys/fs/cgroup/unified/session/memory.pressure", 250000);
    EXPECT_DOUBLE_EQ(.25, look(2 * SECOND));
}

/* Without PSI the pages read back from swap count, 0.1 ms each */
TEST_F(test_pressure, pages_read_back)
{
    m_root.write("/sys/fs/cgroup/job/memory.stat", "anon 1\npgmajfault 1000\n");
    init(SECOND);
    EXPECT_EQ(0, look(2 * SECOND));
    m_root.write("/sys/fs/cgroup/job/memory.stat", "anon 1\npgmajfault 3000\n");
    EXPECT_DOUBLE_EQ(.2, look(3 * SECOND));

    m_root.write("/proc/self/cgroup", "4:memory:/job\n0::/\n");
    m_root.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576\n");
    m_root.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1048576\n");
    m_root.write("/sys/fs/cgroup/memory/job/memory.stat",
                 "pgmajfault 7\ntotal_pgmajfault 10\n");
    init(SECOND);
    m_root.write("/sys/fs/cgroup/memory/job/memory.stat",
                 "pgmajfault 9\ntotal_pgmajfault 5010\n");
    EXPECT_DOUBLE_EQ(.5, look(2 * SECOND));

    /* Pages of files are none that somebody could have given up */
    m_root.write("/sys/fs/cgroup/memory/job/memory.stat", "total_pgmajfault 10\n"
                 "total_workingset_refault_anon 100\n");
    init(SECOND);
    m_root.write("/sys/fs/cgroup/memory/job/memory.stat", "total_pgmajfault 9010\n"
                 "total_workingset_refault_anon 1100\n");
    EXPECT_DOUBLE_EQ(.1, look(2 * SECOND));

    m_root.write("/proc/vmstat", "pswpin 5\n");
    init(SECOND);
    memory(1000, 10, 1000);
    m_root.write("/proc/vmstat", "pswpin 4005\n");
    EXPECT_DOUBLE_EQ(.4, look(2 * SECOND));
}

TEST_F(test_pressure, a_system_that_does_not_tell)
{
    memory(1000, 10, 1000);
    init(SECOND);
    EXPECT_EQ(0, look(2 * SECOND));
    group_waited(1000000);
    m_root.write("/proc/pressure/memory", "nothing of the kind\n");
    EXPECT_EQ(0, look(3 * SECOND)); /* The file is looked for once */
}

TEST_F(test_pressure, nothing_is_gained_without_swap)
{
    EXPECT_TRUE(can_gain());
    memory(1000, 10, 0);
    EXPECT_FALSE(can_gain());
    memory(1000, 10, 1);
    EXPECT_TRUE(can_gain());

    m_root.write("/sys/fs/cgroup/job/memory.swap.current", "4096\n");
    m_root.write("/sys/fs/cgroup/job/memory.swap.max", "max\n");
    EXPECT_TRUE(can_gain());
    m_root.write("/sys/fs/cgroup/job/memory.swap.max", "8192\n");
    EXPECT_TRUE(can_gain());
    m_root.write("/sys/fs/cgroup/job/memory.swap.current", "8192\n");
    EXPECT_FALSE(can_gain());
    m_root.write("/sys/fs/cgroup/job/memory.swap.current", "0\n");
    m_root.write("/sys/fs/cgroup/job/memory.swap.max", "0\n");
    EXPECT_FALSE(can_gain());
}

/* Version 1 has one limit on memory and swap together */
TEST_F(test_pressure, nothing_is_gained_without_swap_in_version_1)
{
    const std::string group = "/sys/fs/cgroup/memory/job/memory.memsw.";

    m_root.write("/proc/self/cgroup", "4:memory:/job/step\n0::/\n");
    m_root.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n");
    EXPECT_TRUE(can_gain());
    m_root.write(group + "usage_in_bytes", "4000\n");
    m_root.write(group + "limit_in_bytes", "9223372036854771712\n");
    EXPECT_TRUE(can_gain());
    m_root.write(group + "limit_in_bytes", "8192\n");
    EXPECT_TRUE(can_gain());
    m_root.write(group + "usage_in_bytes", "8192\n");
    EXPECT_FALSE(can_gain());
    m_root.write(group + "usage_in_bytes", "4000\n");
    m_root.write(group + "limit_in_bytes", "4096\n");
    EXPECT_FALSE(can_gain());
}

TEST_F(test_pressure, paths_that_are_too_long)
{
    m_root.write("/proc/self/cgroup", "0::/job/" + std::string(4070, 'x') + "\n");
    init(SECOND);
    EXPECT_EQ(0, look(2 * SECOND));
}

TEST_F(test_pressure, this_system)
{
    ucs_rcache_pred_pressure_init(&m_pressure, "", SECOND);
    EXPECT_EQ(0, look(SECOND)); /* No time has passed */
    (void)ucs_rcache_pred_pressure_can_gain(&m_pressure);
    EXPECT_LT(ucs_rcache_pred_pressure_faults(nullptr), 1ul << 40);
}
