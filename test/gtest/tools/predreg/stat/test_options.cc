/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/stat/stat.h>
}

class test_stat_options : public command_test {
protected:
    ~test_stat_options() { predreg_stat_opts_cleanup(&m_opts); }

    int parse(const std::vector<std::string> &args, int is_screen = 0)
    {
        std::vector<std::string> all = {"ucx_predreg stat"};

        all.insert(all.end(), args.begin(), args.end());
        string_vector vector(all);
        predreg_stat_opts_cleanup(&m_opts);
        optind = 0;
        return capture([&] {
            return predreg_stat_parse(vector.count(), vector.get(), is_screen,
                                      &m_opts);
        });
    }

    void expect_refused(const std::vector<std::string> &args,
                        const std::string &message)
    {
        EXPECT_EQ(PREDREG_EXIT_USAGE, parse(args));
        EXPECT_TRUE(contains(m_errors, message)) << m_errors;
    }

    predreg_stat_opts_t m_opts = {};
};

TEST_F(test_stat_options, none) {
    EXPECT_EQ(0, parse({}));
    EXPECT_EQ(1u, m_opts.count);
    EXPECT_FALSE(m_opts.json);
    EXPECT_FALSE(m_opts.screen);
    EXPECT_EQ(0u, m_opts.num_pids);
    EXPECT_EQ(1, m_opts.interval);

    EXPECT_EQ(0, parse({}, 1));
    EXPECT_TRUE(m_opts.screen);
    EXPECT_EQ(0u, m_opts.count);
}

TEST_F(test_stat_options, json) {
    EXPECT_EQ(0, parse({"--json"}, 1));
    EXPECT_TRUE(m_opts.json);
    EXPECT_FALSE(m_opts.screen);
    EXPECT_EQ(1u, m_opts.count);
}

TEST_F(test_stat_options, interval) {
    EXPECT_EQ(0, parse({"--interval", "0.1"}));
    EXPECT_EQ(0.1, m_opts.interval);
    EXPECT_EQ(0u, m_opts.count);
    EXPECT_EQ(0, parse({"--interval=86400", "--count=3"}));
    EXPECT_EQ(86400, m_opts.interval);
    EXPECT_EQ(3u, m_opts.count);
    for (const char *bad : {"", "0", "0.09", "86401", "-1", "1s", "nan", "x"}) {
        expect_refused({"--interval", bad}, std::string("--interval: '") + bad +
                       "'; accepted: seconds from 0.1 to 86400");
    }
}

TEST_F(test_stat_options, count) {
    EXPECT_EQ(0, parse({"--count=1"}, 1));
    EXPECT_EQ(1u, m_opts.count);
    for (const char *bad : {"0", "-1", "1.5", "", "many"}) {
        expect_refused({"--count", bad}, std::string("--count: '") + bad +
                       "'; accepted: whole numbers from 1");
    }
}

TEST_F(test_stat_options, pids) {
    EXPECT_EQ(0, parse({"1", "--json", "4194303", "1", "7"}));
    ASSERT_EQ(3u, m_opts.num_pids);
    EXPECT_EQ(1, m_opts.pids[0]);
    EXPECT_EQ(4194303, m_opts.pids[1]);
    EXPECT_EQ(7, m_opts.pids[2]);
    for (const char *bad : {"0", "4194304", "x", "1x"}) {
        expect_refused({bad}, std::string("'") + bad +
                       "' is no process; accepted: process ids, 1 to 4194303");
    }
}

TEST_F(test_stat_options, bad_options) {
    expect_refused({"--wrong"}, "stat --help lists what is accepted");
    expect_refused({"--count"}, "stat --help lists what is accepted");
}
