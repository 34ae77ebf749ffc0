/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/host/lack.h>

#include <common/child.h>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <string>

/* What was short for a registration: the kernel's files are in a folder of the test's own,
 * its mappings are those of the process */
class test_lack : public ::testing::Test {
protected:
    static constexpr uint64_t KB = 1024, PAGE = 4096;

    void SetUp() override
    {
        char folder[] = "/tmp/test_lack.XXXXXX";

        ASSERT_NE(nullptr, mkdtemp(folder));
        m_root = folder;
    }

    void TearDown() override { std::filesystem::remove_all(m_root); }

    void write(const std::string &path, const std::string &text)
    {
        const std::string file = m_root + path;

        std::filesystem::create_directories(
                std::filesystem::path(file).parent_path());
        std::ofstream(file) << text;
    }

    /* What a group may have and has of RDMA's objects */
    void objects(const std::string &group, const std::string &max,
                 const std::string &current)
    {
        write(group + "/rdma.max", max);
        write(group + "/rdma.current", current);
    }

    ucs_rcache_pred_lack_t of_objects(const std::string &device = "mlx5_1")
    {
        ucs_rcache_pred_lack_t lack = {};

        ucs_rcache_pred_lack_objects((m_root + m_group).c_str(), device.c_str(),
                                         &lack);
        return lack;
    }

    ucs_rcache_pred_lack_t find(uint64_t max_locked = UINT64_MAX, uint64_t bytes = PAGE)
    {
        const std::string group = m_root + m_group;
        const ucs_rcache_pred_lack_query_t query = {m_root.c_str(), group.c_str(),
                                                        "mlx5_1", max_locked, bytes};
        ucs_rcache_pred_lack_t lack = {};

        lack.kind = UCS_RCACHE_PRED_SHORT_OF_UNKNOWN;
        ucs_rcache_pred_lack_find(&query, &lack);
        return lack;
    }

    std::string m_root;
    std::string m_group = "/sys/fs/cgroup/job/step";
};

TEST_F(test_lack, nothing_that_the_kernel_tells)
{
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find().kind);
    m_group = "";
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find().kind);
}

TEST_F(test_lack, locked_memory)
{
    write("/proc/self/status", "Name:\tapp\nVmLck:\t 9000 kB\nVmPin:\t 60 kB\n");
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find(64 * KB, PAGE).kind)
            << "the page just fits";
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find(UINT64_MAX, 1 << 30).kind);

    auto lack = find(64 * KB, 2 * PAGE);
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_LOCKED, lack.kind);
    EXPECT_EQ(60 * KB, lack.used);
    EXPECT_EQ(64 * KB, lack.max);
}

TEST_F(test_lack, objects_of_the_group_with_the_least_left)
{
    EXPECT_EQ(UINT64_MAX, of_objects().max);
    objects("/sys/fs/cgroup/job/step", "mlx5_1 hca_handle=max hca_object=max\n", "");
    EXPECT_EQ(UINT64_MAX, of_objects().max);
    objects("/sys/fs/cgroup/job/step",
            "mlx5_10 hca_handle=2 hca_object=7\nmlx5_1 hca_handle=2 hca_object=1000\n",
            "mlx5_1 hca_handle=1 hca_object=400\n");
    EXPECT_EQ(1000u, of_objects().max);
    EXPECT_EQ(400u, of_objects().used);
    EXPECT_EQ((m_root + m_group).length(), of_objects().group);
    EXPECT_EQ(7u, of_objects("mlx5_10").max);
    EXPECT_EQ(0u, of_objects("mlx5_10").used) << "has no line yet";
    EXPECT_EQ(UINT64_MAX, of_objects("mlx5_0").max);
    EXPECT_EQ(UINT64_MAX, of_objects("mlx5_%s").max);

    /* Another step of the job has more */
    objects("/sys/fs/cgroup/job", "mlx5_1 hca_handle=max hca_object=2000\n",
            "mlx5_1 hca_handle=2 hca_object=1900\n");
    EXPECT_EQ(2000u, of_objects().max);
    EXPECT_EQ(1900u, of_objects().used);
    EXPECT_EQ((m_root + "/sys/fs/cgroup/job").length(), of_objects().group);
}

TEST_F(test_lack, objects)
{
    objects("/sys/fs/cgroup/job", "mlx5_1 hca_handle=2 hca_object=100\n",
            "mlx5_1 hca_handle=1 hca_object=99\n");
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find().kind);
    objects("/sys/fs/cgroup/job", "mlx5_1 hca_handle=2 hca_object=100\n",
            "mlx5_1 hca_handle=1 hca_object=100\n");
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_OBJECTS, find().kind);
    EXPECT_EQ(100u, find().max);
}

TEST_F(test_lack, files_of_another_form_say_nothing)
{
    write("/proc/self/status", "VmPin:\tmany\n");
    objects("/sys/fs/cgroup/job", "hca_object=1\n\nmlx5_1\n", "mlx5_1 hca_handle\n");
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find(64 * KB).kind);
    std::filesystem::create_directories(m_root + m_group + "/rdma.max");
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, find().kind);
}

TEST_F(test_lack, mappings_are_counted)
{
    ucs_rcache_pred_lack_t lack = {};

    write("/proc/sys/vm/max_map_count", "65530\n");
    write("/proc/self/maps", "a\nb\nc\n");
    ucs_rcache_pred_lack_count_mappings(m_root.c_str(), &lack);
    EXPECT_EQ(3u, lack.used);
    EXPECT_EQ(65530u, lack.max);
}

/* A process that has all mappings which it may have: every other page has other rights, up
 * to the last one that the kernel grants */
TEST_F(test_lack, mappings)
{
    ucs_rcache_pred_lack_t limit = {};

    ucs_rcache_pred_lack_count_mappings("", &limit);
    if (limit.max > 300000) {
        GTEST_SKIP() << "so many mappings take long";
    }

    child process([this, &limit]() -> int {
        size_t length = 2 * (limit.max + 2) * PAGE;
        char *data    = (char*)mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                                    -1, 0);
        size_t i      = 1;

        if ((data == MAP_FAILED) || (find().kind != UCS_RCACHE_PRED_SHORT_OF_NOTHING)) {
            return 1;
        }

        while (mprotect(data + i * PAGE, PAGE, PROT_READ) == 0) {
            i += 2;
        }
        /* One that the kernel may still grant, by mmap() alone */
        (void)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return (find().kind == UCS_RCACHE_PRED_SHORT_OF_MAPPINGS) ? 0 : 2;
    });
    EXPECT_EQ(0, process.reap());
}
