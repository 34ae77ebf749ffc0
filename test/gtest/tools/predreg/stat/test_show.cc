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

#include <climits>
#include <cmath>
#include <sstream>

class test_stat_show : public fake_system_test {
protected:
    static constexpr uint64_t SECOND = 1000000000ul;

    test_stat_show()
    {
        memset(&m_proc, 0, sizeof(m_proc));
        m_proc.pid                           = 42;
        m_proc.looked                        = 100 * SECOND;
        m_proc.state                        = valid_state(42);
        m_proc.state.snapshot.rank          = 3;
        m_proc.state.snapshot.helper_cpu    = SECOND;
        m_proc.state.snapshot.kernel_pinned = 4096;
        stats().duration                     = 20 * SECOND;
        stats().uses                         = 200;
        stats().hits                         = 150;
        stats().time_critical                = 2 * SECOND;
        stats().bytes_now                    = 1536;
        stats().bytes_peak                   = 1048576;
        stats().bytes_avg                    = 999;
        stats().late                         = 4;
        stats().early                        = 5;
        stats().wasted                       = 6;
        stats().refused                      = 7;
        m_proc.state.snapshot.keys_now        = 12;
        m_proc.state.snapshot.keys_peak       = 34;
        m_proc.state.snapshot.arena_committed = 64 << 20;
        m_proc.state.snapshot.arena_answered  = 8;
        m_proc.state.snapshot.firehose_requests = 40;
        m_proc.state.snapshot.firehose_hits     = 30;
        stats().subsystems[UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE].bytes_now = 2048;
        stats().budget_spent                 = SECOND / 10;
        stats().budget_time                  = 10 * SECOND;
        stats().room_lost                    = SECOND / 4;
        m_proc.state.snapshot.budget         = 1;
    }

    ucs_rcache_pred_stats_t &stats() { return m_proc.state.snapshot.stats; }

    template <typename F> static std::string line(F append)
    {
        ucs_string_buffer_t buffer = UCS_STRING_BUFFER_INITIALIZER;

        append(&buffer);
        std::string text = ucs_string_buffer_cstr(&buffer);
        ucs_string_buffer_cleanup(&buffer);
        return text;
    }

    static uint64_t columns(const std::string &list)
    {
        uint64_t columns = 0;

        EXPECT_EQ(0, predreg_stat_columns(list.c_str(), &columns));
        return columns;
    }

    std::string table(const std::vector<predreg_stat_proc_t> &procs, const char *wanted,
                      int width = INT_MAX, unsigned height = UINT_MAX,
                      const predreg_stat_proc_t *before = NULL)
    {
        const predreg_view_t view = {(predreg_stat_proc_t*)procs.data(),
                                     (unsigned)procs.size()};
        const predreg_view_t old  = {(predreg_stat_proc_t*)before, before != NULL};

        return line([&](ucs_string_buffer_t *buffer) {
            predreg_stat_table(&view, &old, columns(wanted), width, height, "", buffer);
        });
    }

    /* The cells of the row of a process, by the names of their columns */
    std::map<std::string, std::string>
    row(const predreg_stat_proc_t *before = NULL, const char *wanted = ALL)
    {
        std::string text = table({m_proc}, wanted, INT_MAX, UINT_MAX, before);
        std::istringstream names(text.substr(0, text.find('\n')));
        std::istringstream cells(text.substr(text.find('\n')));
        std::map<std::string, std::string> row;
        std::string name, cell;

        while ((names >> name) && (cells >> cell)) {
            row[name] = cell;
        }
        EXPECT_FALSE(names >> name);
        EXPECT_FALSE(cells >> cell);
        return row;
    }

    static constexpr const char *ALL =
            "RANK,PID,POLICY,HELPER,NOW,PEAK,AVG,PINNED,USES/S,HIT%,LATE,EARLY,WASTED,"
            "REFUSED,CRIT%,BUDGET%,SPENT%,SPENT-S,ROOM-S,CPU%,USES,ARENA,ANSWERED,FIREHOSE,"
            "FHHIT%,POOLS,KEYS,KPEAK,KLIMIT";

    std::string bytes(uint64_t bytes)
    {
        stats().bytes_now = bytes;
        return row()["NOW"];
    }

    std::string title(const std::vector<predreg_stat_proc_t> &procs)
    {
        return line([&](ucs_string_buffer_t *buffer) {
            predreg_stat_title(procs.data(), procs.size(), buffer);
        });
    }

    predreg_stat_proc_t m_proc;
};

TEST_F(test_stat_show, row_of_the_whole_run) {
    std::map<std::string, std::string> expected = {
        {"RANK", "3"},      {"PID", "42"},      {"POLICY", "predict"},
        {"HELPER", "thread"}, {"NOW", "1.5K"},  {"PEAK", "1.0M"},
        {"AVG", "999B"},    {"PINNED", "4.0K"}, {"USES/S", "10"},
        {"POOLS", "0B"},
        {"KEYS", "12"},     {"KPEAK", "34"},    {"KLIMIT", "-"},
        {"HIT%", "75.0"},   {"LATE", "4"},      {"EARLY", "5"},
        {"WASTED", "6"},    {"REFUSED", "7"},   {"CRIT%", "10.0"},
        {"BUDGET%", "1"},   {"SPENT%", "1.0"},  {"SPENT-S", "0.100"},
        {"ROOM-S", "0.250"}, {"CPU%", "5.0"},   {"USES", "200"},
        {"ARENA", "64.0M"}, {"ANSWERED", "8"},  {"FIREHOSE", "2.0K"}, {"FHHIT%", "75.0"},
        {"COMMAND", "program"}};

    EXPECT_EQ(expected, row());
}

TEST_F(test_stat_show, row_since_the_last_look) {
    predreg_stat_proc_t before = m_proc;

    before.looked                              -= 2 * SECOND;
    before.state.snapshot.stats.uses           = 190;
    before.state.snapshot.stats.hits           = 149;
    before.state.snapshot.stats.time_critical -= SECOND / 2;
    before.state.snapshot.stats.budget_spent  -= SECOND / 50;
    before.state.snapshot.stats.budget_time   -= SECOND;
    before.state.snapshot.helper_cpu          -= SECOND / 5;

    auto found = row(&before);
    EXPECT_EQ("5", found["USES/S"]);
    EXPECT_EQ("10.0", found["HIT%"]);
    EXPECT_EQ("25.0", found["CRIT%"]);
    EXPECT_EQ("2.0", found["SPENT%"]);
    EXPECT_EQ("0.100", found["SPENT-S"]);
    EXPECT_EQ("10.0", found["CPU%"]);
    EXPECT_EQ("200", found["USES"]);
}

TEST_F(test_stat_show, row_of_budgets) {
    m_proc.state.snapshot.budget = INFINITY;
    EXPECT_EQ("inf", row()["BUDGET%"]);
    EXPECT_EQ("1.0", row()["SPENT%"]) << "it is counted without a bound, too";

    m_proc.state.snapshot.budget = 0.25;
    EXPECT_EQ("0.25", row()["BUDGET%"]);

    m_proc.state.snapshot.budget = 0;
    stats().budget_spent         = 0;
    EXPECT_EQ("0", row()["BUDGET%"]);
    EXPECT_EQ("0.0", row()["SPENT%"]);

    m_proc.state.snapshot.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    EXPECT_EQ("-", row()["BUDGET%"]);
}

TEST_F(test_stat_show, row_of_another_process_of_the_same_pid) {
    auto whole = row();

    for (unsigned i = 0; i < 6; ++i) {
        predreg_stat_proc_t before = m_proc;
        auto &stats                = before.state.snapshot.stats;

        before.looked -= SECOND;
        ++*(i == 0 ? &stats.uses : i == 1 ? &stats.hits :
            i == 2 ? &stats.time_critical :
            i == 3 ? &stats.budget_spent :
            i == 4 ? &stats.budget_time :
                     &before.state.snapshot.helper_cpu);
        EXPECT_EQ(whole, row(&before)) << i;
    }
}

TEST_F(test_stat_show, row_without_numbers) {
    stats().duration            = 0;
    stats().budget_time         = 0;
    stats().uses                = 0;
    stats().hits                = 0;
    m_proc.state.snapshot.rank = -1;

    auto found = row();
    for (const char *name : {"RANK", "USES/S", "HIT%", "CRIT%", "SPENT%",
                             "CPU%"}) {
        EXPECT_EQ("-", found[name]) << name;
    }
}

TEST_F(test_stat_show, row_of_a_learned_limit) {
    m_proc.state.snapshot.keys_limit = 100;
    EXPECT_EQ("100", row()["KLIMIT"]);
}

TEST_F(test_stat_show, row_under_leave_pinned) {
    m_proc.state.snapshot.policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;

    auto found = row();
    for (const char *name : {"HELPER", "NOW", "PEAK", "AVG", "KEYS", "KPEAK",
                             "KLIMIT", "HIT%", "LATE", "EARLY", "WASTED", "REFUSED", "CRIT%", "BUDGET%",
                             "SPENT%", "SPENT-S", "CPU%", "ARENA",
                             "ANSWERED"}) {
        EXPECT_EQ("-", found[name]) << name;
    }
    EXPECT_EQ("leave-pinned", found["POLICY"]);
    EXPECT_EQ("10", found["USES/S"]);
    EXPECT_EQ("200", found["USES"]);
    EXPECT_EQ("4.0K", found["PINNED"]);
}

/* The command comes first, so that it is there on a narrow terminal; columns without
 * anything are left out */
TEST_F(test_stat_show, columns) {
    EXPECT_EQ("COMMAND RANK   NOW  HIT%\nprogram    3  1.5K  75.0\n",
              table({m_proc}, "hit%,NOW,rank"));

    std::string all = table({m_proc}, "");
    EXPECT_EQ(0u, all.find("COMMAND RANK     PID POLICY       HELPER     NOW ")) << all;
    for (const char *name : {"KLIMIT", "POOLS"}) {
        EXPECT_FALSE(contains(all, name)) << all;
    }

    predreg_stat_proc_t other    = m_proc;
    other.state.snapshot.pool_bytes = 1;
    EXPECT_TRUE(contains(table({m_proc, other}, ""), "POOLS"));
    stats().bytes_now = 0;
    stats().late      = 0;
    EXPECT_TRUE(contains(table({m_proc}, ""), "NOW"));
    EXPECT_FALSE(contains(table({m_proc}, ""), "LATE"));

    uint64_t found = 0;
    EXPECT_EQ(PREDREG_EXIT_USAGE, capture([&] {
        return predreg_stat_columns("NOW,THEN", &found);
    }));
    EXPECT_TRUE(contains(m_errors, "--columns: there is no column 'THEN'; accepted: RANK, "
                                   "PID, ")) << m_errors;
}

TEST_F(test_stat_show, size) {
    std::vector<predreg_stat_proc_t> procs(256, m_proc);

    for (int width : {20, 40, 80, 132}) {
        std::istringstream lines(table(procs, "", width, 20));
        std::string line, last;
        unsigned num = 0;

        while (std::getline(lines, line)) {
            EXPECT_GE((size_t)width, line.size()) << line;
            EXPECT_LE((size_t)width, line.size() + ((num < 21) ? 14 : width));
            last = line;
            ++num;
        }
        EXPECT_EQ(22u, num);
        EXPECT_EQ("and 236 more", last);
    }
}

TEST_F(test_stat_show, bytes) {
    EXPECT_EQ("0B", bytes(0));
    EXPECT_EQ("999B", bytes(999));
    EXPECT_EQ("1.0K", bytes(1000));
    EXPECT_EQ("99.9K", bytes(102348));
    EXPECT_EQ("100K", bytes(102400));
    EXPECT_EQ("999K", bytes(999 * 1024));
    EXPECT_EQ("1.0M", bytes(1023 * 1024));
    EXPECT_EQ("1.0G", bytes(1ul << 30));
    EXPECT_EQ("16.0E", bytes(UINT64_MAX));
}

TEST_F(test_stat_show, title) {
    std::vector<predreg_stat_proc_t> procs(2, m_proc);

    EXPECT_EQ("0 processes, 0B pinned", title({}));
    EXPECT_EQ("1 process, 1.5K registered, 4.0K pinned, 12 keys", title({m_proc}));
    m_proc.state.snapshot.pool_kinds[UCS_RCACHE_PRED_POOL_RC_SEND] = 2ul << 20;
    m_proc.state.snapshot.pool_bytes = 2ul << 20;
    EXPECT_EQ("2 processes, 3.0K registered, 8.0K pinned, 4.0M in UCX's pools "
              "(rc_send 4.0 MiB), 24 keys",
              title({m_proc, m_proc}));
    EXPECT_EQ("2 processes, 3.0K registered, 8.0K pinned, 24 keys", title(procs));

    procs[0].state.snapshot.policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    EXPECT_EQ("2 processes, 1.5K registered, 8.0K pinned, 12 keys", title(procs));

    procs[1].state.node_bytes     = 1048576;
    procs[1].state.node_max_bytes = 2097152;
    EXPECT_EQ("2 processes, 1.5K registered, 8.0K pinned, 12 keys, 1.0M of "
              "the node's bound of 2.0M", title(procs));

    procs[1].state.node_max_bytes      = UINT64_MAX;
    procs[0].state.snapshot.keys_limit = 200;
    procs[1].state.snapshot.keys_limit = 100;
    procs[1].state.node_keys           = 90;
    EXPECT_EQ("2 processes, 1.5K registered, 8.0K pinned, 12 keys, 90 of a "
              "device's limit of 100", title(procs));
}

TEST_F(test_stat_show, json) {
    auto json = [&] {
        return line([&](ucs_string_buffer_t *buffer) {
            predreg_stat_json(&m_proc, 1700000000042, buffer);
        });
    };

    m_proc.age = 1234567890;
    strcpy(m_proc.state.command, "a\"b");
    EXPECT_EQ(0u, json().find("{\"type\":\"stat\",\"time\":1700000000.042,\"")) << json();
    EXPECT_TRUE(contains(json(), ",\"age_seconds\":1.234567,"
                         "\"node_bytes\":null,\"node_max_bytes\":null,"
                         "\"node_keys\":null,\"command\":\"a\\\"b\"}"))
            << json();
    EXPECT_TRUE(contains(json(), "\"uses\":200"));

    m_proc.state.node_bytes     = 5;
    m_proc.state.node_max_bytes = 7;
    EXPECT_TRUE(contains(json(), ",\"node_bytes\":5,\"node_max_bytes\":7,"));

    m_proc.state.node_keys           = 90;
    m_proc.state.snapshot.keys_limit = 100;
    EXPECT_TRUE(contains(json(), ",\"node_keys\":90,\"command\":"));
    EXPECT_TRUE(contains(json(), ",\"keys_limit\":100,"));

    /* Whatever a program is called, it is JSON */
    strcpy(m_proc.state.command, "a\xff b");
    EXPECT_TRUE(contains(json(), ",\"command\":\"a? b\"}"));
}
