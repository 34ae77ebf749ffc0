/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/info/info.h>
}

class test_info_probe : public command_test {
protected:
    ~test_info_probe() { predreg_probe_cleanup(&m_probe); }

    void read(const std::string &lines)
    {
        std::string copy = lines;

        predreg_probe_read(&copy[0], &m_probe);
    }

    static std::string version(const std::string &text)
    {
        std::string copy = text;
        char version[64];

        predreg_host_read_version(&copy[0], version, sizeof(version));
        return version;
    }

    predreg_probe_t m_probe = {};
};

TEST_F(test_info_probe, ucx) {
    read("stage one\nstage two words\nlibrary libuct.so.0 /a b\n"
         "version 1 18 1\nknown\nevents delivered\npinned 4096\n"
         "protocols y\nend\n");
    EXPECT_STREQ("two words", m_probe.stage);
    EXPECT_STREQ("/a b", m_probe.libraries[2]);
    EXPECT_STREQ("", m_probe.libraries[3]);
    EXPECT_TRUE(m_probe.has_version);
    EXPECT_EQ(1u, m_probe.major);
    EXPECT_EQ(18u, m_probe.minor);
    EXPECT_EQ(1u, m_probe.release);
    EXPECT_TRUE(m_probe.is_known);
    EXPECT_STREQ(PREDREG_PROBE_DELIVERED, m_probe.events);
    EXPECT_EQ(4096, m_probe.pinned);
    EXPECT_STREQ("y", m_probe.protocols_alone);
    EXPECT_STREQ("", m_probe.protocols);
    EXPECT_FALSE(m_probe.is_started);
    EXPECT_FALSE(m_probe.has_status);
}

TEST_F(test_info_probe, library) {
    read("domain tcp tcp 1 0\ndomain ib mlx5_0 1 1\nprotocols y\nstarted\nprotocols n\n"
         "status\naside EVENTS\nwhy there are none\nadvice unset it\n"
         "policy on-demand\nmanaged mlx5_0\nmanaged mlx5_1\nsettings A=1, B=2\n"
         "lean 64 on this node: C=3\npool 0 4096\npool 99 1\n");
    EXPECT_TRUE(m_probe.is_started);
    EXPECT_TRUE(m_probe.has_status);
    EXPECT_STREQ("y", m_probe.protocols_alone);
    EXPECT_STREQ("n", m_probe.protocols);
    EXPECT_STREQ("EVENTS", m_probe.aside);
    EXPECT_STREQ("there are none", m_probe.why);
    EXPECT_STREQ("unset it", m_probe.advice);
    EXPECT_STREQ("on-demand", m_probe.policy);
    EXPECT_STREQ("A=1, B=2", m_probe.settings);
    EXPECT_STREQ("64 on this node: C=3", m_probe.lean);
    EXPECT_EQ(4096u, m_probe.pools[UCS_RCACHE_PRED_POOL_RC_RECEIVE]);
    EXPECT_EQ(2, m_probe.num_managed);
    EXPECT_FALSE(m_probe.domains[0].is_managed);
    EXPECT_TRUE(m_probe.domains[1].is_managed);
}

TEST_F(test_info_probe, why_not) {
    read("unknown it is new\nerror no file\n");
    EXPECT_FALSE(m_probe.is_known);
    EXPECT_STREQ("it is new", m_probe.unknown);
    EXPECT_STREQ("no file", m_probe.error);
}

TEST_F(test_info_probe, domains) {
    read("keys 5\ndomain ib mlx5_0 1 1\nkeys 16777216\nfork on\ncost 4096 1500 500 21\n"
         "cost 1048576 9000 2500 21\nunopened ib mlx5_1 No such device\n"
         "domain tcp tcp 1 0\nnocost Input/output error\n");
    ASSERT_EQ(3u, m_probe.num_domains);

    const predreg_probe_domain_t *domain = m_probe.domains;
    EXPECT_STREQ("ib", domain->component);
    EXPECT_STREQ("mlx5_0", domain->name);
    EXPECT_TRUE(domain->registers);
    EXPECT_TRUE(domain->needs_handles);
    EXPECT_EQ(4096u, domain->small.bytes);
    EXPECT_EQ(1.5, domain->small.reg);
    EXPECT_EQ(0.5, domain->small.dereg);
    EXPECT_EQ(21u, domain->small.count);
    EXPECT_EQ(9, domain->large.reg);
    EXPECT_STREQ("", domain->failure);
    EXPECT_EQ(16777216u, domain->max_mr);
    EXPECT_EQ(0u, domain[1].max_mr);
    EXPECT_STREQ("on", m_probe.fork);

    EXPECT_STREQ("mlx5_1", domain[1].name);
    EXPECT_STREQ("No such device", domain[1].failure);
    EXPECT_EQ(0u, domain[1].small.count);
    EXPECT_FALSE(domain[2].needs_handles);
    EXPECT_STREQ("Input/output error", domain[2].no_cost);
}

/* What a probe that crashed has left, or one of another version */
TEST_F(test_info_probe, damaged) {
    read("cost 1 2 3 4\nnocost x\nversion 1\nwhat is this\n\ndomain\ncost 4\nsta");
    EXPECT_FALSE(m_probe.has_version);
    ASSERT_EQ(1u, m_probe.num_domains);
    EXPECT_STREQ("", m_probe.domains->name);
    EXPECT_EQ(0u, m_probe.domains->small.count);

    read("stage " + std::string(5000, 'x'));
    EXPECT_EQ(sizeof(m_probe.stage) - 1, strlen(m_probe.stage));
    read("small 1 2 3");
    EXPECT_FALSE(m_probe.has_small);
}

TEST_F(test_info_probe, is_found) {
    std::string folder = make_folder("src/tools/predreg");

    EXPECT_EQ(NULL, predreg_probe_find(folder.c_str()));
    make_folder("src/tools/probe");
    make_file("src/tools/probe/ucx_predreg_probe", "", 0755);
    char *found = predreg_probe_find(folder.c_str());
    EXPECT_EQ(folder + "/../probe/ucx_predreg_probe", found);
    free(found);
}

TEST_F(test_info_probe, launcher_version) {
    EXPECT_EQ("mpirun (Open MPI) 4.1.4",
              version("mpirun (Open MPI) 4.1.4\n\nReport bugs to 1\n"));
    EXPECT_EQ("HYDRA build details: Version: 4.0.2",
              version("HYDRA build details:\n    Version: 4.0.2\n Date: 1\n"));
    EXPECT_EQ("slurm 22.05.8", version("slurm 22.05.8"));
    EXPECT_EQ("", version("unknown option\n"));
    EXPECT_EQ("", version(""));
}
