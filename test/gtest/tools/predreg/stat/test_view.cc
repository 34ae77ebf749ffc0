/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/fake_system.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/stat/stat.h>
}

#include <algorithm>

class test_stat_view : public fake_system_test {
protected:
    test_stat_view() { memset(&m_view, 0, sizeof(m_view)); }
    ~test_stat_view() { predreg_view_cleanup(&m_view); }

    int take(const std::vector<pid_t> &pids = {})
    {
        predreg_view_cleanup(&m_view);
        return predreg_view_take(&m_view, &m_system, pids.data(), pids.size());
    }

    std::vector<pid_t> pids() const
    {
        std::vector<pid_t> pids;

        for (unsigned i = 0; i < m_view.num_procs; ++i) {
            pids.push_back(m_view.procs[i].pid);
        }
        return pids;
    }

    std::vector<std::string> texts() const
    {
        return std::vector<std::string>(m_view.texts,
                                        m_view.texts + m_view.num_texts);
    }

    predreg_view_t m_view;
};

typedef std::vector<pid_t> pids_t;
typedef std::vector<std::string> texts_t;

TEST_F(test_stat_view, all) {
    add_managed(5, "b", 1);
    add_managed(6, "b", 0);
    add_managed(7, "a", 3);
    add_managed(4, "b", 1);
    add_process(8);
    add_process(9, "", "Z (zombie)");
    make_folder("proc/self");
    make_folder("proc/0");

    EXPECT_TRUE(take());
    EXPECT_EQ(pids_t({7, 6, 4, 5}), pids());
    EXPECT_EQ(texts_t(), texts());
    EXPECT_EQ(&m_view.procs[1], predreg_view_find(&m_view, 6));
    EXPECT_EQ(NULL, predreg_view_find(&m_view, 8));
}

TEST_F(test_stat_view, none) {
    add_process(8);
    EXPECT_FALSE(take());
    EXPECT_EQ(texts_t({"no process of this user on this node is managed"}),
              texts());
    EXPECT_TRUE(predreg_view_says(&m_view, m_view.texts[0]));
    EXPECT_FALSE(predreg_view_says(&m_view, "something else"));
    s_user = 0;
    EXPECT_FALSE(take());
    EXPECT_EQ(texts_t({"no process of this node is managed"}), texts());
}

TEST_F(test_stat_view, denied_is_said_if_there_are_no_others) {
    add_managed(5);
    add_managed(6);
    deny(5, EACCES);
    deny(6, EPERM);
    EXPECT_FALSE(take());
    ASSERT_EQ(2u, m_view.num_texts);
    EXPECT_TRUE(contains(m_view.texts[1], "cannot be looked into: 2; "));

    add_managed(7);
    EXPECT_TRUE(take());
    EXPECT_EQ(pids_t({7}), pids());
    EXPECT_EQ(0u, m_view.num_texts);
}

TEST_F(test_stat_view, damaged_is_said) {
    uint32_t version = 99;

    add_managed(5);
    add_process(6);
    ASSERT_EQ(4, pwrite(add_counters(6, valid_state(6)), &version, 4, 8));
    EXPECT_TRUE(take());
    EXPECT_EQ(pids_t({5}), pids());
    ASSERT_EQ(1u, m_view.num_texts);
    EXPECT_TRUE(contains(m_view.texts[0], "process 6 has counters of version"));
}

TEST_F(test_stat_view, those_asked_for) {
    add_managed(5);
    add_managed(6);
    add_process(7);
    EXPECT_TRUE(take({6}));
    EXPECT_EQ(pids_t({6}), pids());
    EXPECT_FALSE(take({5, 7, 8}));
    EXPECT_EQ(pids_t({5}), pids());
    EXPECT_EQ(2u, m_view.num_texts);
}

TEST_F(test_stat_view, no_proc) {
    m_system.proc = "/nowhere";
    EXPECT_FALSE(take());
    EXPECT_EQ(texts_t({"/nowhere cannot be read: No such file or directory"}),
              texts());
}

TEST_F(test_stat_view, print) {
    predreg_stat_opts_t opts = {};
    predreg_view_t before    = {};
    auto print               = [&] {
        return capture([&] {
            predreg_stat_print(&opts, &m_view, &before);
            return 0;
        });
    };

    add_managed(5, "one", 0);
    add_managed(6, "two", 1);
    EXPECT_FALSE(take({5, 6, 7}));

    print();
    EXPECT_TRUE(contains(m_output, "  2 processes, 0B registered, 24.0K "
                         "pinned, 0 keys\n")) << m_output;
    EXPECT_TRUE(contains(m_output, "\none ")) << m_output;
    EXPECT_TRUE(contains(m_output, "\ntwo ")) << m_output;
    EXPECT_EQ("ucx_predreg: process 7: there is no such process\n", m_errors);

    /* What was said before is not said again */
    before = m_view;
    print();
    EXPECT_EQ("", m_errors);
    before = {};

    opts.json = 1;
    print();
    EXPECT_EQ(2, std::count(m_output.begin(), m_output.end(), '\n'));
    EXPECT_EQ(0u, m_output.find("{\"type\":\"stat\",\"time\":")) << m_output;

    opts.json   = 0;
    opts.screen = 1;
    print();
    EXPECT_EQ(0u, m_output.find("\033[H"));
    EXPECT_TRUE(contains(m_output, "process 7: there is no such process\033[K"
                         "\n\033[J")) << m_output;
    EXPECT_EQ("", m_errors);

    predreg_view_t none = {};

    opts.screen = 0;
    std::swap(none, m_view);
    print();
    EXPECT_EQ("", m_output);
    std::swap(none, m_view);
}

TEST(test_number, whole_numbers) {
    EXPECT_EQ(1, predreg_number("1", 10));
    EXPECT_EQ(10, predreg_number("10", 10));
    EXPECT_EQ(7, predreg_number("007", 10));
    for (const char *bad : {"", "0", "11", "-1", "+1", " 1", "1 ", "1.0", "0x1",
                            "one", "99999999999999999999999"}) {
        EXPECT_EQ(0, predreg_number(bad, 10)) << bad;
    }
    EXPECT_EQ(0, predreg_number("99999999999999999999999", LONG_MAX));
}
