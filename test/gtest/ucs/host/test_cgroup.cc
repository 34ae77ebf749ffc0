/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/host/cgroup.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

/* Control groups, in files of a folder of the test's own */
class test_cgroup : public ::testing::Test {
protected:
    static constexpr uint64_t MB = 1ul << 20;

    void SetUp() override
    {
        char folder[] = "/tmp/test_cgroup.XXXXXX";

        ASSERT_NE(nullptr, mkdtemp(folder));
        m_root = folder;
    }

    void TearDown() override
    {
        std::filesystem::remove_all(m_root);
    }

    /* What the process is in, a line each */
    void groups(const std::string &lines)
    {
        write("/proc/self/cgroup", lines);
    }

    void write(const std::string &path, const std::string &text)
    {
        const std::string file = m_root + path;

        std::filesystem::create_directories(
                std::filesystem::path(file).parent_path());
        std::ofstream(file) << text;
    }

    void version_1(const std::string &group, uint64_t limit)
    {
        write("/sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes",
              std::to_string(limit) + "\n");
    }

    void version_2(const std::string &group, const std::string &max,
                   const std::string &high = "max")
    {
        write("/sys/fs/cgroup" + group + "/memory.max", max + "\n");
        write("/sys/fs/cgroup" + group + "/memory.high", high + "\n");
    }

    uint64_t limit()
    {
        return ucs_rcache_pred_cgroup_limit(m_root.c_str());
    }

    std::string find(const std::string &name)
    {
        char file[PATH_MAX] = "unset";

        ucs_rcache_pred_cgroup_find(m_root.c_str(), name.c_str(), file);
        return file;
    }

    std::string m_root;
};

TEST_F(test_cgroup, none) {
    EXPECT_EQ(UINT64_MAX, limit());
    EXPECT_EQ("", find("memory.pressure"));
    groups("0::/user.slice\n");
    EXPECT_EQ(UINT64_MAX, limit());
    EXPECT_EQ(m_root + "/sys/fs/cgroup/user.slice/memory.pressure",
              find("memory.pressure"));
}

TEST_F(test_cgroup, version_2) {
    groups("0::/user.slice/job\n");
    version_2("/user.slice/job", "max");
    EXPECT_EQ(UINT64_MAX, limit());
    version_2("/user.slice/job", std::to_string(80 * MB));
    EXPECT_EQ(80 * MB, limit());
    version_2("/user.slice/job", std::to_string(80 * MB),
              std::to_string(60 * MB));
    EXPECT_EQ(60 * MB, limit());
    /* The groups above limit it, too */
    version_2("/user.slice", std::to_string(50 * MB));
    EXPECT_EQ(50 * MB, limit());
}

TEST_F(test_cgroup, version_1) {
    groups("3:cpu,cpuacct:/cpus\n2:hugetlb,memory:/slurm/job_1\n1:name=x:/\n");
    /* What the kernel says where there is no limit */
    version_1("/slurm/job_1", 9223372036854771712ul);
    EXPECT_EQ(9223372036854771712ul, limit());
    version_1("/slurm/job_1", 80 * MB);
    EXPECT_EQ(80 * MB, limit());
    version_1("/cpus", MB);
    EXPECT_EQ(80 * MB, limit());
    version_1("/slurm", 70 * MB);
    EXPECT_EQ(70 * MB, limit());
    EXPECT_EQ("", find("memory.pressure"));
}

/* Version 1 for memory, while version 2 has the processes alone */
TEST_F(test_cgroup, both_versions) {
    groups("4:memory:/job\n0::/session\n");
    version_1("/job", 80 * MB);
    EXPECT_EQ(80 * MB, limit());
    EXPECT_EQ(m_root + "/sys/fs/cgroup/session/memory.pressure",
              find("memory.pressure"));
}

/* What is mounted is the group of the container; its path is the host's */
TEST_F(test_cgroup, container) {
    groups("4:memory:/docker/0123\n");
    version_1("", 80 * MB);
    EXPECT_EQ(80 * MB, limit());
}

TEST_F(test_cgroup, other_names) {
    groups("4:memory2,xmemory:/a\n5:memor:/a\n:\n\nmemory\n1::/a\n");
    version_1("/a", MB);
    version_2("/a", "1048576");
    EXPECT_EQ(UINT64_MAX, limit());
    EXPECT_EQ("", find("memory.pressure"));
}
