/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/info/info.h>
}

class test_info_judge : public command_test {
protected:
    test_info_judge()
    {
        uct_predreg_knobs_default(&m_facts.knobs);
        m_facts.command           = "prog";
        m_facts.processes         = 1;
        m_facts.library           = strdup("/lib/libuct_predreg.so");
        m_facts.probe_path        = strdup("/lib/probe");
        m_facts.knob_errors       = strdup("");
        m_facts.host.memlock      = UINT64_MAX;
        m_facts.host.processors   = 4;
        read("version 1 18 1\nknown\nevents delivered\ndomain tcp tcp 1 0\n"
             "domain ib mlx5_0 1 1\nstarted\nstatus\npolicy predict\nmanaged mlx5_0\n"
             "pinned 73400320\n");
    }

    ~test_info_judge()
    {
        clear();
        uct_predreg_knobs_cleanup(&m_facts.knobs);
        predreg_probe_cleanup(&m_facts.probe);
        free(m_facts.library);
        free(m_facts.probe_path);
        free(m_facts.knob_errors);
    }

    void clear()
    {
        predreg_problems_cleanup(&m_problems);
        m_problems = {};
    }

    void read(std::string lines)
    {
        predreg_probe_read(&lines[0], &m_facts.probe);
    }

    /* What UCX and the library have printed */
    void print(const std::string &text)
    {
        free(m_facts.probe.printed);
        m_facts.probe.printed = strdup(text.c_str());
    }

    void judge()
    {
        clear();
        predreg_judge(&m_facts, &m_problems);
    }

    /* The first problem of all, that stops the library */
    void expect_stops(const std::string &what, const std::string &advice)
    {
        judge();
        ASSERT_GT(m_problems.count, 0u);
        EXPECT_TRUE(contains(m_problems.list[0].what, what))
                << m_problems.list[0].what;
        EXPECT_TRUE(contains(m_problems.list[0].advice, advice))
                << m_problems.list[0].advice;
        EXPECT_TRUE(m_problems.list[0].stops);
        EXPECT_LT(0u, m_problems.num_stops);
    }

    /* The only problem, which does not stop it */
    void expect_note(const std::string &what, const std::string &advice)
    {
        judge();
        ASSERT_EQ(1u, m_problems.count);
        EXPECT_TRUE(contains(m_problems.list[0].what, what))
                << m_problems.list[0].what;
        EXPECT_TRUE(contains(m_problems.list[0].advice, advice))
                << m_problems.list[0].advice;
        EXPECT_EQ(0u, m_problems.num_stops);
    }

    void expect_none()
    {
        judge();
        EXPECT_EQ(0u, m_problems.count);
        EXPECT_EQ(0u, m_problems.num_stops);
    }

    predreg_facts_t    m_facts    = {};
    predreg_problems_t m_problems = {};
};

TEST_F(test_info_judge, good) {
    expect_none();
    EXPECT_EQ(PREDREG_OUTCOME_MANAGED, predreg_facts_outcome(&m_facts));
    EXPECT_EQ(1u, predreg_facts_num_managed(&m_facts));

    uct_predreg_knobs_set(&m_facts.knobs, "POLICY", "on-demand");
    read("policy on-demand\n");
    expect_none();
}

TEST_F(test_info_judge, target) {
    m_facts.target.kind = PREDREG_TARGET_STATIC;
    expect_stops("prog is linked statically", "shared libraries");
    m_facts.target.kind = PREDREG_TARGET_LINKED;

    m_facts.target.path          = strdup("/bin/prog");
    m_facts.target.is_privileged = 1;
    expect_stops("/bin/prog has rights that its user lacks", "set-user-ID");
    m_facts.target.is_privileged = 0;

    m_facts.target.missing = strdup("libucp.so.0");
    expect_stops("prog needs libucp.so.0, which is not found",
                 "LD_LIBRARY_PATH");
    predreg_target_cleanup(&m_facts.target);
    m_facts.target = {};
}

TEST_F(test_info_judge, open_mpi_without_ucx) {
    unsetenv("OMPI_MCA_pml");
    strcpy(m_facts.host.mpi, "mpirun (Open MPI) 4.1.4");
    expect_none(); // Not the command
    m_facts.target.kind = PREDREG_TARGET_LAUNCHER;
    expect_note("Open MPI may communicate without UCX", "--mca pml ucx");

    m_facts.chooses_pml = 1;
    expect_none();
    m_facts.chooses_pml = 0;
    setenv("OMPI_MCA_pml", "ucx", 1);
    expect_none();
    unsetenv("OMPI_MCA_pml");
    strcpy(m_facts.host.mpi, "HYDRA build details, Version 4.0.2");
    expect_none();
}

TEST_F(test_info_judge, installation) {
    free(m_facts.library);
    m_facts.library        = NULL;
    m_facts.library_errors = strdup("no library; looked for a b");
    expect_stops("no library; looked for a b", "--library PATH");
    free(m_facts.library_errors);
    m_facts.library = strdup("/x");

    free(m_facts.probe_path);
    m_facts.probe_path = NULL;
    expect_stops("ucx_predreg_probe was not found", "install");
}

TEST_F(test_info_judge, knobs) {
    free(m_facts.knob_errors);
    m_facts.knob_errors = strdup("A is bad\nB is bad\n");
    judge();
    ASSERT_EQ(2u, m_problems.count);
    EXPECT_STREQ("A is bad", m_problems.list[0].what);
    EXPECT_STREQ("B is bad", m_problems.list[1].what);
    /* What would be managed is not known then */
    m_facts.probe.num_domains = 0;
    judge();
    EXPECT_EQ(2u, m_problems.count);
    EXPECT_LT(0u, m_problems.num_stops);
}

TEST_F(test_info_judge, leave_pinned) {
    uct_predreg_knobs_set(&m_facts.knobs, "POLICY", "leave-pinned");
    read("policy leave-pinned\n");
    expect_stops("POLICY=leave-pinned", "unset it");
    EXPECT_EQ(1u, m_problems.count);
    EXPECT_EQ(PREDREG_OUTCOME_LEFT, predreg_facts_outcome(&m_facts));
}

TEST_F(test_info_judge, ucx) {
    m_facts.probe.is_started = 0;

    strcpy(m_facts.probe.end, "was ended by signal 11 (X)");
    expect_stops("looked at UCX was ended by signal 11 (X): it was just "
                 "starting", "ucx_info -d");
    strcpy(m_facts.probe.stage, "opening the memory domain x");
    expect_stops("signal 11 (X): it was opening the memory domain x", "");
    m_facts.probe.end[0] = '\0';

    m_facts.probe.is_known = 0;
    strcpy(m_facts.probe.error, "no file");
    expect_stops("no UCX can be loaded: no file", "LD_LIBRARY_PATH");
    m_facts.probe.error[0] = '\0';

    strcpy(m_facts.probe.unknown, "this is new");
    expect_stops("the library steps aside: this is new", "another UCX");
}

/* Only what the library does not say itself is said of them */
TEST_F(test_info_judge, events) {
    strcpy(m_facts.probe.events, "none came");
    expect_stops("do not tell of unmapped memory: none came", "UCX_MEM_EVENTS");
    read("aside EVENTS\nwhy memory events of UCM are not available (x)\n"
         "advice unset UCX_MEM_EVENTS\n");
    print("x UCX  WARN  predictive registration steps aside: memory events of "
          "UCM are not available (x)\n");
    expect_stops("the library steps aside: memory events", "UCX_MEM_EVENTS");
    EXPECT_EQ(1u, m_problems.count);
}

TEST_F(test_info_judge, aside) {
    read("aside NO_CORE\nwhy cannot load /x: no file\nadvice install both\n");
    print("ucx-predreg: stepping aside: cannot load /x: no file\n");
    expect_stops("the library steps aside: cannot load /x: no file",
                 "install both");
    EXPECT_EQ(PREDREG_OUTCOME_ASIDE, predreg_facts_outcome(&m_facts));
    EXPECT_EQ(1u, m_problems.count);
}

TEST_F(test_info_judge, not_preloaded) {
    m_facts.probe.has_status = 0;
    expect_stops("the library has said nothing", "LD_PRELOAD");
    print("ERROR: ld.so: object '/x/libuct_predreg.so' from LD_PRELOAD cannot "
          "be preloaded: ignored.\n");
    expect_stops("the dynamic loader: '/x/libuct_predreg.so'", "LD_PRELOAD");
}

TEST_F(test_info_judge, complaints) {
    std::string many;

    print("x UCX  ERROR it is broken\n");
    expect_note("the log of UCX says: it is broken", "without the library");
    print("x UCX  WARN  UCX_RCACHE_PRED_PROFILE=/x is ignored\n");
    expect_note("the log of UCX says: UCX_RCACHE_PRED_PROFILE=/x", "unset it");
    print("ERROR: ld.so: object '/x/y.so' from LD_PRELOAD cannot be preloaded: "
          "ignored.\n");
    expect_note("the dynamic loader: '/x/y.so' from", "LD_PRELOAD");

    for (int i = 0; i < 20; ++i) {
        many += "x UCX  WARN  it is broken\n";
    }
    print(many);
    judge();
    EXPECT_EQ(5u, m_problems.count);
}

TEST_F(test_info_judge, ucx_does_not_start) {
    strcpy(m_facts.probe.error, "UCP cannot be initialised: x");
    expect_stops("UCX does not start: UCP cannot be initialised: x", "UCX_TLS");
    EXPECT_EQ(PREDREG_OUTCOME_UNKNOWN, predreg_facts_outcome(&m_facts));
    m_facts.probe.error[0] = '\0';

    strcpy(m_facts.probe.end, "did not end within 60 s");
    strcpy(m_facts.probe.stage, "creating a worker of UCP");
    expect_stops("with the library did not end within 60 s: it was creating a "
                 "worker of UCP", "without the library");
}

TEST_F(test_info_judge, no_domain) {
    m_facts.probe.num_domains = 1;
    m_facts.probe.num_managed = 0;
    expect_stops("UCX has no memory domain of ib here", "the kernel has none");
    EXPECT_EQ(PREDREG_OUTCOME_NOTHING, predreg_facts_outcome(&m_facts));
    strcpy(m_facts.host.devices, "mlx5_0");
    expect_stops("no memory domain of ib here", "the kernel has mlx5_0");

    m_facts.probe.num_domains = 2;
    uct_predreg_knobs_set(&m_facts.knobs, "COMPONENTS", "tcp,cma");
    expect_stops("no memory domain of tcp, cma here", "there is: mlx5_0");
    uct_predreg_knobs_set(&m_facts.knobs, "COMPONENTS", "");
    expect_stops("no memory domain of no component here", "there is: mlx5_0");
}

TEST_F(test_info_judge, not_used) {
    m_facts.probe.num_managed           = 0;
    m_facts.probe.domains[1].is_managed = 0;
    expect_stops("UCX does not use the memory domains", "UCX_NET_DEVICES");
    EXPECT_EQ(PREDREG_OUTCOME_NOTHING, predreg_facts_outcome(&m_facts));
    EXPECT_STREQ("not managed: UCP does not use it",
                 predreg_facts_domain_text(&m_facts, &m_facts.probe.domains[1]));
}

TEST_F(test_info_judge, no_registration) {
    strcpy(m_facts.probe.domains[1].no_cost, "9 bytes: Input/output error");
    expect_note("mlx5_0 does not register 9 bytes: Input/output error",
                "limit of locked memory");
}

TEST_F(test_info_judge, limit) {
    m_facts.host.memlock = 64 << 20;
    expect_note("may lock only 64M, of which UCX's own pools may take up to 80M",
                "ulimit -l");
    m_facts.host.is_unlimited = 1;
    expect_none();
    m_facts.host.is_unlimited = 0;
    m_facts.host.memlock      = 81 << 20;
    expect_none();
    m_facts.probe.pinned  = 90 << 20;
    expect_note("may lock only 81M, of which UCX's own pools may take up to 90M",
                "ulimit -l");

    /* Others than adapters have no pools that are not known */
    strcpy(m_facts.probe.domains[1].component, "cma");
    uct_predreg_knobs_set(&m_facts.knobs, "COMPONENTS", "cma");
    m_facts.probe.pinned = -1;
    expect_none();
    m_facts.host.memlock = 100 << 10;
    expect_note("a process may lock only 100K",
                "ulimit -l");
}

TEST_F(test_info_judge, protocols) {
    m_facts.host.memlock = 100 << 20;
    expect_none(); // UCP alone, or one that has no such setting
    strcpy(m_facts.probe.protocols_alone, "y");
    expect_none(); // It did not get so far
    strcpy(m_facts.probe.protocols, "y");
    expect_none();
    strcpy(m_facts.probe.protocols, "n");
    expect_note("sets UCX_PROTO_ENABLE=n, since a process may lock only 100M",
                "raise 'ulimit -l' to 81920");
}

TEST_F(test_info_judge, fork_protection) {
    read("fork off\n");
    setenv("RDMAV_FORK_SAFE", "1", 1);
    setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
    expect_none(); // The kernel needs none

    unsetenv("RDMAV_HUGEPAGES_SAFE");
    read("fork on\n");
    expect_note("fork protection is on", "UCX_IB_FORK_INIT=n");
    setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
    judge();
    ASSERT_EQ(2u, m_problems.count);
    EXPECT_TRUE(contains(m_problems.list[1].what, "some 5 ms in place of 0.1 ms"));
    unsetenv("RDMAV_HUGEPAGES_SAFE");

    // An old libibverbs does not tell
    m_facts.probe.fork[0] = '\0';
    expect_note("fork protection is on", "RDMAV_FORK_SAFE");
    unsetenv("RDMAV_FORK_SAFE");
    expect_none();
    setenv("UCX_IB_FORK_INIT", "try", 1);
    expect_none();
    setenv("UCX_IB_FORK_INIT", "y", 1);
    expect_note("fork protection is on", "UCX_IB_FORK_INIT=n");
    unsetenv("UCX_IB_FORK_INIT");
}

TEST_F(test_info_judge, limits_of_the_system) {
    m_facts.host.mappings = 40000;
    expect_none(); // It is not known how many there may be
    m_facts.host.max_mappings = 80000;
    expect_none();
    m_facts.host.max_mappings = 65530;
    expect_note("has 40000 of at most 65530 mappings", "vm.max_map_count");
    m_facts.host.mappings = 0;

    m_facts.host.max_objects = 2000;
    expect_note("may have 2000 registrations, queues and other objects",
                "raise rdma.max");
    m_facts.host.max_objects = 0;

    m_facts.host.no_pressure = 1;
    expect_note("there is no /proc/pressure/memory", "psi=1");
}

TEST_F(test_info_judge, order) {
    strcpy(m_facts.probe.domains[1].no_cost, "x");
    print("x UCX  WARN  a warning\nx UCX  WARN  steps aside: it cannot\n");
    read("aside CACHE\nwhy it cannot\nadvice b\n");
    m_facts.target.kind = PREDREG_TARGET_STATIC;
    judge();
    ASSERT_EQ(4u, m_problems.count);
    EXPECT_TRUE(m_problems.list[0].stops);
    EXPECT_STREQ("the library steps aside: it cannot", m_problems.list[1].what);
    EXPECT_FALSE(m_problems.list[2].stops);
    EXPECT_TRUE(contains(m_problems.list[3].what, "does not register x"));
    EXPECT_FALSE(m_problems.list[3].stops);
}

TEST_F(test_info_judge, idle_processors) {
    EXPECT_EQ(3u, predreg_facts_idle(&m_facts));
    m_facts.host.managed = 2;
    EXPECT_EQ(1u, predreg_facts_idle(&m_facts));
    m_facts.processes = 4;
    EXPECT_EQ(0u, predreg_facts_idle(&m_facts));
}

TEST_F(test_info_judge, cost) {
    predreg_probe_domain_t domain = {};
    predreg_facts_cost_t cost;

    domain.small.bytes = 4096;
    domain.large.bytes = 257 * 4096;
    cost = predreg_facts_cost(10.5, 138.5, &domain);
    EXPECT_DOUBLE_EQ(0.5, cost.page);
    EXPECT_DOUBLE_EQ(10, cost.op);

    cost = predreg_facts_cost(10, 9, &domain);
    EXPECT_EQ(0, cost.page);
    EXPECT_EQ(10, cost.op);

    cost = predreg_facts_cost(0.1, 2560, &domain);
    EXPECT_EQ(0, cost.op);
}
