/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/info/info.h>
}

/* What a system in a folder of the test's own allows a process */
class test_info_limits : public command_test {
protected:
    test_info_limits()
    {
        make_folder("proc/self");
        make_folder("proc/sys/vm");
        make_folder("proc/pressure");
        make_folder("proc/42");
        make_folder("sys/fs/cgroup/job/step");
    }

    const predreg_host_t &find()
    {
        m_host = {};
        predreg_host_find_limits(path("").c_str(), &m_host);
        return m_host;
    }

    predreg_host_t m_host = {};
};

TEST_F(test_info_limits, of_nothing) {
    find();
    EXPECT_EQ(0u, m_host.max_mappings);
    EXPECT_EQ(0u, m_host.max_objects);
    EXPECT_TRUE(m_host.no_swap);
    EXPECT_TRUE(m_host.no_pressure);
    EXPECT_EQ(0u, predreg_host_mappings(path("").c_str(), 42));
}

TEST_F(test_info_limits, of_the_kernel) {
    make_file("proc/sys/vm/max_map_count", "65530\n");
    make_file("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    make_file("proc/meminfo", "MemTotal: 9 kB\nSwapTotal: 8 kB\nSwapFree: 0 kB\n");
    make_file("proc/42/maps", "a\nb\nc\n");
    EXPECT_EQ(65530u, find().max_mappings);
    EXPECT_FALSE(m_host.no_pressure);
    EXPECT_TRUE(m_host.no_swap);
    EXPECT_EQ(3u, predreg_host_mappings(path("").c_str(), 42));

    make_file("proc/meminfo", "MemTotal: 9 kB\nSwapTotal: 8 kB\nSwapFree: 7 kB\n");
    EXPECT_FALSE(find().no_swap);
    make_file("proc/self/cgroup", "0::/job\n");
    make_file("sys/fs/cgroup/job/memory.max", "4096\n");
    make_file("sys/fs/cgroup/job/memory.swap.current", "0\n");
    make_file("sys/fs/cgroup/job/memory.swap.max", "0\n");
    EXPECT_TRUE(find().no_swap);
}

TEST_F(test_info_limits, of_control_groups) {
    make_file("proc/self/cgroup", "0::/job/step\n");
    EXPECT_EQ(0u, find().max_objects);

    /* The controller may be on above only */
    make_file("sys/fs/cgroup/job/rdma.max", "mlx5_0 hca_handle=max hca_object=max\n"
              "mlx5_1 hca_handle=max hca_object=2000\n");
    EXPECT_EQ(2000u, find().max_objects);

    make_file("sys/fs/cgroup/job/step/rdma.max", "mlx5_0 hca_handle=2 hca_object=max\n");
    EXPECT_EQ(2000u, find().max_objects);
    make_file("sys/fs/cgroup/job/step/rdma.max", "mlx5_0 hca_handle=2 hca_object=100\n");
    EXPECT_EQ(100u, find().max_objects);

    make_file("sys/fs/cgroup/job/step/rdma.max", "mlx5_0 hca_handle=max hca_object=max\n");
    make_file("sys/fs/cgroup/job/rdma.max", "");
    EXPECT_EQ(0u, find().max_objects);
}
