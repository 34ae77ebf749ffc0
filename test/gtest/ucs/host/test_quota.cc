/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/fake_root.h>

extern "C" {
#include <ucs/host/cgroup.h>
}

#include <cmath>

/* A quota of processor time, in groups that the test plays */
class test_quota : public ::testing::Test {
protected:
    static constexpr uint64_t SEC = 1000000000;

    void init() { ucs_rcache_pred_quota_init(&m_quota, m_root.path(), SEC); }

    void version_2(const std::string &group, const std::string &quota)
    {
        m_root.write("/sys/fs/cgroup" + group + "/cpu.max", quota);
        used_2(group, 0);
    }

    void used_2(const std::string &group, uint64_t usec)
    {
        m_root.write("/sys/fs/cgroup" + group + "/cpu.stat",
                     "usage_usec " + std::to_string(usec) + "\nuser_usec 5\n");
    }

    double look(uint64_t now, uint64_t busy = 0)
    {
        return ucs_rcache_pred_quota_look(&m_quota, busy, now);
    }

    fake_root               m_root;
    ucs_rcache_pred_quota_t m_quota;
};

TEST_F(test_quota, none)
{
    init();
    EXPECT_TRUE(std::isinf(m_quota.group.cpus));
    EXPECT_TRUE(std::isinf(look(2 * SEC)));

    m_root.write("/proc/self/cgroup", "0::/a\n");
    version_2("/a", "max 100000\n");
    init();
    EXPECT_TRUE(std::isinf(look(2 * SEC)));
}

TEST_F(test_quota, what_the_group_leaves)
{
    m_root.write("/proc/self/cgroup", "0::/a/b\n");
    version_2("/a/b", "200000 100000\n");
    init();
    EXPECT_EQ(2, m_quota.group.cpus);
    used_2("/a/b", 1500000);
    EXPECT_DOUBLE_EQ(.5, look(2 * SEC));

    /* The helper does not count */
    used_2("/a/b", 3500000);
    EXPECT_DOUBLE_EQ(.25, look(3 * SEC, SEC / 4));

    /* It has used what was left before */
    used_2("/a/b", 6000000);
    EXPECT_DOUBLE_EQ(-.5, look(4 * SEC, SEC / 4));
}

TEST_F(test_quota, least_of_all_groups_above)
{
    m_root.write("/proc/self/cgroup", "0::/a/b\n");
    version_2("/a/b", "max 100000\n");
    version_2("/a", "150000 100000\n");
    version_2("", "400000 100000\n");
    init();
    EXPECT_EQ(1.5, m_quota.group.cpus);
    used_2("/a", 500000);
    EXPECT_DOUBLE_EQ(1, look(2 * SEC));
}

TEST_F(test_quota, groups_of_version_1)
{
    m_root.write("/proc/self/cgroup", "3:cpu,cpuacct:/g\n0::/\n");
    m_root.write("/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "50000\n");
    m_root.write("/sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "100000\n");
    m_root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    m_root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    m_root.write("/sys/fs/cgroup/cpuacct/g/cpuacct.usage", "0\n");
    init();
    EXPECT_EQ(.5, m_quota.group.cpus);
    m_root.write("/sys/fs/cgroup/cpuacct/g/cpuacct.usage", "250000000\n");
    EXPECT_DOUBLE_EQ(.25, look(2 * SEC));
}

TEST_F(test_quota, system_that_does_not_tell_what_was_used)
{
    m_root.write("/proc/self/cgroup", "0::/a\n");
    version_2("/a", "50000 100000\n");
    m_root.write("/sys/fs/cgroup/a/cpu.stat", "");
    init();
    EXPECT_EQ(.5, m_quota.group.cpus);
    EXPECT_EQ(0, look(2 * SEC)) << "what is left for the helper is not known";
    used_2("/a", 100000);
    EXPECT_EQ(0, look(3 * SEC)) << "there is nothing to compare it with";
    used_2("/a", 200000);
    EXPECT_DOUBLE_EQ(.4, look(4 * SEC));
    EXPECT_EQ(0, look(4 * SEC)) << "no time has passed";
}

/* Version 1 may count in another hierarchy than that of the quota, where the process is in
 * another group */
TEST_F(test_quota, accounting_in_another_hierarchy)
{
    m_root.write("/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "50000\n");
    m_root.write("/sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "100000\n");
    m_root.write("/proc/self/cgroup", "2:cpu:/g/h\n1:cpuacct:/x\n0::/\n");
    m_root.write("/sys/fs/cgroup/cpuacct/g/cpuacct.usage", "0\n");
    m_root.write("/sys/fs/cgroup/cpuacct/x/cpuacct.usage", "0\n");
    init();
    m_root.write("/sys/fs/cgroup/cpuacct/x/cpuacct.usage", "250000000\n");
    EXPECT_DOUBLE_EQ(.25, look(2 * SEC));

    /* The quota is that of a group above, and so is what counts */
    m_root.write("/proc/self/cgroup", "2:cpu:/g/h\n1:cpuacct:/g/h\n0::/\n");
    init();
    m_root.write("/sys/fs/cgroup/cpuacct/g/cpuacct.usage", "100000000\n");
    EXPECT_DOUBLE_EQ(.4, look(2 * SEC));

    m_root.write("/proc/self/cgroup", "2:cpu:/g/h\n0::/\n");
    init();
    EXPECT_EQ(.5, m_quota.group.cpus);
    EXPECT_EQ(0, look(2 * SEC)) << "nobody counts";
}
