/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/fake_system.h>

class test_stat_proc : public fake_system_test {
protected:
    predreg_look_t look(pid_t pid)
    {
        predreg_look_t look;
        char *why = NULL;

        look  = predreg_stat_look(&m_system, pid, &m_found, &why);
        m_why = (why == NULL) ? "" : why;
        free(why);
        EXPECT_EQ(look == PREDREG_LOOK_OK, m_why.empty());
        /* Nobody has to ask why */
        EXPECT_EQ(look, predreg_stat_look(&m_system, pid, &m_found, NULL));
        return look;
    }

    /* A process is there, but shows nothing for that reason */
    void expect_why(predreg_look_t expected, pid_t pid, const std::string &why)
    {
        EXPECT_EQ(expected, look(pid));
        EXPECT_TRUE(contains(m_why, why)) << m_why;
    }

    predreg_stat_proc_t m_found;
    std::string         m_why;
};

TEST_F(test_stat_proc, counters) {
    state_t state = valid_state(42);

    state.snapshot.stats.uses = 17;
    state.time                = ucs_monotonic_ns() - 3000000000ul;
    add_process(42, "VmPin:\t    1024 kB\n");
    add_counters(42, state);

    EXPECT_EQ(PREDREG_LOOK_OK, look(42)) << m_why;
    EXPECT_EQ(42, m_found.pid);
    EXPECT_EQ(42, m_found.state.snapshot.pid);
    EXPECT_EQ(17u, m_found.state.snapshot.stats.uses);
    EXPECT_EQ(1024u * 1024, m_found.state.snapshot.kernel_pinned);
    EXPECT_STREQ("program", m_found.state.command);
    EXPECT_GE(m_found.looked, state.time);
    EXPECT_LE(3000000000ul, m_found.age);
    EXPECT_GT(3600000000000ul, m_found.age);
}

TEST_F(test_stat_proc, other_name_space) {
    /* In its own name space the process is called 3 */
    add_process(42, "NSpid:\t42\t9\t3\n");
    add_counters(42, valid_state(3));
    EXPECT_EQ(PREDREG_LOOK_OK, look(42)) << m_why;
    EXPECT_EQ(42, m_found.state.snapshot.pid);
}

TEST_F(test_stat_proc, other_descriptors) {
    add_managed(42);
    make_link("proc/42/fd/0", "/dev/null");
    make_link("proc/42/fd/1", "pipe:[1234]");
    make_link("proc/42/fd/2", UCS_RCACHE_PRED_LIVE_LINK "er");
    make_file("proc/42/fd/3");
    EXPECT_EQ(PREDREG_LOOK_OK, look(42)) << m_why;
}

TEST_F(test_stat_proc, gone) {
    expect_why(PREDREG_LOOK_GONE, 5, "process 5: there is no such process");
    make_folder("proc/6");
    make_file("proc/6/status", "");
    expect_why(PREDREG_LOOK_GONE, 6, "process 6: there is no such process");
    add_process(7, "", "Z (zombie)");
    expect_why(PREDREG_LOOK_GONE, 7, "process 7 has ended");
    add_process(8, "", "X (dead)");
    expect_why(PREDREG_LOOK_GONE, 8, "process 8 has ended");
}

TEST_F(test_stat_proc, thread) {
    add_process(42, "Tgid:\t40\n");
    expect_why(PREDREG_LOOK_GONE, 42, "42 is a thread of process 40");
}

TEST_F(test_stat_proc, foreign) {
    add_process(42, "", "R (running)", 4000000000u);
    expect_why(PREDREG_LOOK_FOREIGN, 42,
               "process 42 belongs to user uid 4000000000");
    expect_why(PREDREG_LOOK_FOREIGN, 42, ", and for root all");
    s_user = 0;
    EXPECT_EQ(PREDREG_LOOK_NONE, look(42)) << m_why;
    s_user = 1000;
    add_process(43, "", "R (running)", 0);
    expect_why(PREDREG_LOOK_FOREIGN, 43, "user root (uid 0); accepted");
}

TEST_F(test_stat_proc, hidden) {
    s_hidden[42] = EPERM;
    expect_why(PREDREG_LOOK_FOREIGN, 42, "process 42 is hidden");
    s_hidden[42] = 0;
    expect_why(PREDREG_LOOK_FOREIGN, 42, "hidepid");
}

TEST_F(test_stat_proc, denied) {
    add_managed(42);
    deny(42, EACCES);
    expect_why(PREDREG_LOOK_DENIED, 42, "cannot be looked into (Permission");
    deny(42, ESRCH);
    expect_why(PREDREG_LOOK_GONE, 42, "process 42 has ended");
    deny(42, ENOENT); /* The descriptor was closed meanwhile */
    EXPECT_EQ(PREDREG_LOOK_NONE, look(42));

    make_folder("proc/43");
    make_file("proc/43/status", read("proc/42/status") + "Tgid:\t43\n");
    expect_why(PREDREG_LOOK_GONE, 43, "process 43 has ended");
    make_file("proc/43/fd");
    expect_why(PREDREG_LOOK_DENIED, 43, "Not a directory");
}

TEST_F(test_stat_proc, heir) {
    add_process(42);
    add_counters(42, valid_state(40));
    expect_why(PREDREG_LOOK_HEIR, 42, "but those of process 40");
}

TEST_F(test_stat_proc, damaged) {
    uint32_t version = 99;
    uint64_t odd     = 1;
    int fd;

    add_process(42);
    fd = add_counters(42, valid_state(42));
    ASSERT_EQ((ssize_t)sizeof(odd), pwrite(fd, &odd, sizeof(odd), 24));
    expect_why(PREDREG_LOOK_BAD, 42, "is just writing its counters");
    ASSERT_EQ((ssize_t)sizeof(version), pwrite(fd, &version, 4, 8));
    expect_why(PREDREG_LOOK_BAD, 42, "has counters of version 99; accepted is "
               "version " + std::to_string(UCS_RCACHE_PRED_LIVE_VERSION));
    ASSERT_EQ(4, pwrite(fd, &version, 4, 0));
    expect_why(PREDREG_LOOK_BAD, 42, "damaged, or none");
}

TEST_F(test_stat_proc, why_there_are_none) {
    add_process(42);
    expect_why(PREDREG_LOOK_NONE, 42, "does not have libuct_predreg.so loaded");
    make_file("proc/42/maps", "7f00-7f01 r--p 0 00:00 1 /lib/other.so\n");
    expect_why(PREDREG_LOOK_NONE, 42, "does not have libuct_predreg.so loaded");
    make_file("proc/42/maps", "7f r-xp 0 0:0 1 /l/libuct_predreg.so.0\n");
    expect_why(PREDREG_LOOK_NONE, 42, "does not use UCX, so far");
    make_file("proc/42/maps", "7f r-xp 0 0:0 1 /l/libuct_predreg.so.0\n"
              "7f r-xp 0 0:0 1 /l/libuct_predreg_core.so\n");
    expect_why(PREDREG_LOOK_NONE, 42, "has not opened an RDMA device");
    make_file("proc/42/maps", "7f r-xp 0 0:0 1 /l/libuct_predreg_core.so\n"
              "7f rw-s 0 0:0 1 " UCS_RCACHE_PRED_LIVE_LINK "\n");
    expect_why(PREDREG_LOOK_NONE, 42, "has closed a descriptor");
}

TEST_F(test_stat_proc, this_system) {
    char *why = NULL;

    EXPECT_EQ(PREDREG_LOOK_NONE,
              predreg_stat_look(&predreg_system, getpid(), &m_found, &why));
    EXPECT_TRUE(why != NULL);
    free(why);

    ucs_rcache_pred_live_t *live;
    state_t state = valid_state(getpid());

    ASSERT_EQ(UCS_OK, ucs_rcache_pred_live_create(&live));
    ucs_rcache_pred_live_update(live, [](void *arg, state_t *to) {
        *to = *static_cast<state_t*>(arg);
    }, &state);
    EXPECT_EQ(PREDREG_LOOK_OK,
              predreg_stat_look(&predreg_system, getpid(), &m_found, NULL));
    ucs_rcache_pred_live_destroy(live);
}
