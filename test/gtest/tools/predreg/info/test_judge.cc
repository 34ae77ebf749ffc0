/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/info/judge.h>
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
        m_facts.asked.has_version = 1;
        m_facts.asked.major       = 1;
        m_facts.asked.minor       = 18;
        m_facts.asked.is_known    = 1;
        m_facts.asked.pinned      = -1;
        m_facts.is_rehearsed      = 1;
        m_facts.rehearsal.pinned  = 70 << 20;
        strcpy(m_facts.asked.events, PREDREG_PROBE_DELIVERED);
        add_domain("tcp", "tcp", 1, 0);
        add_domain("ib", "mlx5_0", 1, 1);
        print("predreg pid 1: predict, uses 0, hits 0\n");
    }

    ~test_info_judge()
    {
        clear();
        uct_predreg_knobs_cleanup(&m_facts.knobs);
        predreg_probe_cleanup(&m_facts.asked);
        predreg_probe_cleanup(&m_facts.rehearsal);
        free(m_facts.library);
        free(m_facts.probe_path);
        free(m_facts.knob_errors);
    }

    void clear()
    {
        predreg_problems_cleanup(&m_problems);
        m_problems = {};
    }

    void add_domain(const char *component, const char *name, int registers,
                    int needs_handles)
    {
        predreg_probe_t *asked = &m_facts.asked;
        predreg_probe_domain_t domain = {};

        strcpy(domain.component, component);
        strcpy(domain.name, name);
        domain.registers     = registers;
        domain.needs_handles = needs_handles;
        asked->domains = (predreg_probe_domain_t*)
                realloc(asked->domains,
                        (asked->num_domains + 1) * sizeof(domain));
        asked->domains[asked->num_domains++] = domain;
    }

    /* What the rehearsal has printed */
    void print(const std::string &text)
    {
        free(m_facts.rehearsal.printed);
        m_facts.rehearsal.printed = strdup(text.c_str());
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
        EXPECT_FALSE(predreg_problems_works(&m_problems));
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
        EXPECT_TRUE(predreg_problems_works(&m_problems));
    }

    void expect_none()
    {
        judge();
        EXPECT_EQ(0u, m_problems.count);
        EXPECT_TRUE(predreg_problems_works(&m_problems));
    }

    predreg_facts_t    m_facts    = {};
    predreg_problems_t m_problems = {};
};

TEST_F(test_info_judge, good) {
    expect_none();
    EXPECT_EQ(PREDREG_OUTCOME_MANAGED, predreg_facts_outcome(&m_facts));
    EXPECT_EQ(1u, predreg_facts_num_managed(&m_facts));

    strcpy(m_facts.rehearsal.used, "tcp,mlx5_0,");
    expect_none();
    uct_predreg_knobs_set(&m_facts.knobs, "POLICY", "on-demand");
    print("predreg rank 3: on-demand, uses 0, hits 0\n");
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
    m_facts.asked.num_domains = 0;
    judge();
    EXPECT_EQ(2u, m_problems.count);
    EXPECT_FALSE(predreg_problems_works(&m_problems));
}

TEST_F(test_info_judge, leave_pinned) {
    uct_predreg_knobs_set(&m_facts.knobs, "POLICY", "leave-pinned");
    print("predreg pid 1: leave-pinned, uses 0, pinned by\n");
    expect_stops("POLICY=leave-pinned", "unset it");
    EXPECT_EQ(1u, m_problems.count);
    EXPECT_EQ(PREDREG_OUTCOME_LEFT, predreg_facts_outcome(&m_facts));
}

TEST_F(test_info_judge, ucx) {
    m_facts.is_rehearsed = 0;

    strcpy(m_facts.asked.end, "was ended by signal 11 (X)");
    expect_stops("looked at UCX was ended by signal 11 (X): it was just "
                 "starting", "ucx_info -d");
    strcpy(m_facts.asked.stage, "opening the memory domain x");
    expect_stops("signal 11 (X): it was opening the memory domain x", "");
    m_facts.asked.end[0] = '\0';

    m_facts.asked.is_known = 0;
    strcpy(m_facts.asked.error, "no file");
    expect_stops("no UCX can be loaded: no file", "LD_LIBRARY_PATH");
    m_facts.asked.error[0] = '\0';

    strcpy(m_facts.asked.unknown, "this is new");
    expect_stops("the library steps aside: this is new", "another UCX");
}

/* Only what the library does not say itself is said of them */
TEST_F(test_info_judge, events) {
    strcpy(m_facts.asked.events, "none came");
    expect_stops("do not tell of unmapped memory: none came", "UCX_MEM_EVENTS");
    print("x UCX  WARN  predictive registration steps aside: memory events of "
          "UCM are not available (x)\n");
    expect_stops("the library steps aside: memory events", "UCX_MEM_EVENTS");
    EXPECT_EQ(1u, m_problems.count);
}

TEST_F(test_info_judge, reasons) {
    print("ucx-predreg: stepping aside: cannot load /x: no file\n");
    expect_stops("the library steps aside: cannot load /x: no file",
                 "install both libraries again");
    EXPECT_EQ(PREDREG_OUTCOME_ASIDE, predreg_facts_outcome(&m_facts));
    print("[1.5] [h:1:0] a.c:1 UCX  WARN  predictive registration steps aside: "
          "UCX_RCACHE_ENABLE=y keeps UCX's own cache on\n");
    expect_stops("the library steps aside: UCX_RCACHE_ENABLE=y", "set it to n");
    print("ucx-predreg: stepping aside for /x/libuct.so.0: it does not belong "
          "to the UCX of libucs.so.0, which this library works with\n");
    expect_stops("the library steps aside for /x/libuct.so.0: it does not",
                 "let the program use one UCX");
    print("ucx-predreg: stepping aside: a reason that is not known here\n");
    expect_stops("a reason that is not known here", "report this");
    print("ERROR: ld.so: object '/x/libuct_predreg.so' from LD_PRELOAD cannot "
          "be preloaded: ignored.\n");
    expect_stops("the dynamic loader: '/x/libuct_predreg.so'", "LD_PRELOAD");
    print("");
    expect_stops("the library has said nothing", "LD_PRELOAD");
}

TEST_F(test_info_judge, complaints) {
    const std::string managed = "predreg pid 1: predict, uses 0, hits 0\n";
    std::string many;

    print("x UCX  ERROR it is broken\n" + managed);
    expect_note("the log of UCX says: it is broken", "without the library");
    print("x UCX  WARN  UCX_RCACHE_PRED_PROFILE=/x is ignored\n" + managed);
    expect_note("the log of UCX says: UCX_RCACHE_PRED_PROFILE=/x", "unset it");
    print("ERROR: ld.so: object '/x/y.so' from LD_PRELOAD cannot be preloaded: "
          "ignored.\n" + managed);
    expect_note("the dynamic loader: '/x/y.so' from", "LD_PRELOAD");

    for (int i = 0; i < 20; ++i) {
        many += "x UCX  WARN  it is broken\n";
    }
    print(many + managed);
    judge();
    EXPECT_EQ(5u, m_problems.count);
}

TEST_F(test_info_judge, rehearsal_fails) {
    strcpy(m_facts.rehearsal.error, "UCP cannot be initialised: x");
    expect_stops("UCX does not start: UCP cannot be initialised: x", "UCX_TLS");
    EXPECT_EQ(PREDREG_OUTCOME_UNKNOWN, predreg_facts_outcome(&m_facts));
    m_facts.rehearsal.error[0] = '\0';

    strcpy(m_facts.rehearsal.end, "did not end within 60 s");
    strcpy(m_facts.rehearsal.stage, "creating a worker of UCP");
    expect_stops("with the library did not end within 60 s: it was creating a "
                 "worker of UCP", "without the library");
    m_facts.rehearsal.stage[0] = '\0';
    expect_stops("it was just starting", "");
}

TEST_F(test_info_judge, no_domain) {
    m_facts.asked.num_domains = 1;
    print("predreg pid 1: nothing to manage: UCX opened 1 memory domains\n");
    expect_stops("UCX has no memory domain of ib here", "the kernel has none");
    EXPECT_EQ(PREDREG_OUTCOME_NOTHING, predreg_facts_outcome(&m_facts));
    strcpy(m_facts.host.devices, "mlx5_0");
    expect_stops("no memory domain of ib here", "the kernel has mlx5_0");

    m_facts.asked.num_domains = 2;
    uct_predreg_knobs_set(&m_facts.knobs, "COMPONENTS", "tcp,cma");
    expect_stops("no memory domain of tcp, cma here", "there is: mlx5_0");
    uct_predreg_knobs_set(&m_facts.knobs, "COMPONENTS", "");
    expect_stops("no memory domain of no component here", "there is: mlx5_0");
}

TEST_F(test_info_judge, not_used) {
    strcpy(m_facts.rehearsal.used, "tcp,mlx5_01,");
    expect_stops("UCX does not use the memory domains", "UCX_NET_DEVICES");
    EXPECT_EQ(PREDREG_OUTCOME_NOTHING, predreg_facts_outcome(&m_facts));
}

TEST_F(test_info_judge, no_registration) {
    strcpy(m_facts.asked.domains[1].no_cost, "9 bytes: Input/output error");
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
    m_facts.rehearsal.pinned  = 90 << 20;
    expect_note("may lock only 81M, of which UCX's own pools may take up to 90M",
                "ulimit -l");

    /* Others than adapters have no pools that are not known */
    strcpy(m_facts.asked.domains[1].component, "cma");
    uct_predreg_knobs_set(&m_facts.knobs, "COMPONENTS", "cma");
    m_facts.rehearsal.pinned = -1;
    expect_none();
    m_facts.host.memlock = 100 << 10;
    expect_note("a process may lock only 100K",
                "ulimit -l");
}

TEST_F(test_info_judge, protocols) {
    m_facts.host.memlock = 100 << 20;
    expect_none(); // UCP alone, or one that has no such setting
    strcpy(m_facts.asked.protocols, "y");
    expect_none(); // It did not get so far
    strcpy(m_facts.rehearsal.protocols, "y");
    expect_none();
    strcpy(m_facts.rehearsal.protocols, "n");
    expect_note("sets UCX_PROTO_ENABLE=n, since a process may lock only 100M",
                "raise 'ulimit -l' to 81920");
    m_facts.is_rehearsed = 0;
    EXPECT_FALSE(predreg_facts_protocols_differ(&m_facts));
}

TEST_F(test_info_judge, order) {
    strcpy(m_facts.asked.domains[1].no_cost, "x");
    strcpy(m_facts.rehearsal.used, "tcp,");
    print("x UCX  WARN  a warning\n"
          "x UCX  WARN  steps aside: a\nx UCX  WARN  steps aside: b\n");
    judge();
    ASSERT_EQ(4u, m_problems.count);
    EXPECT_STREQ("the library steps aside: a", m_problems.list[0].what);
    EXPECT_STREQ("the library steps aside: b", m_problems.list[1].what);
    EXPECT_FALSE(m_problems.list[2].stops);
    EXPECT_TRUE(contains(m_problems.list[2].what, "a warning"));
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
