/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

/*
 * The list of counters: JSON, and names in traces.
 */

class test_stats : public ::testing::Test {
protected:
    test_stats()
    {
        memset(&m_snapshot, 0, sizeof(m_snapshot));
        m_snapshot.rank   = 3;
        m_snapshot.pid    = 4711;
        m_snapshot.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
        m_snapshot.mode   = UCS_RCACHE_PRED_MODE_THREAD;
    }

    std::string json() const
    {
        ucs_string_buffer_t strb = UCS_STRING_BUFFER_INITIALIZER;
        std::string text;

        ucs_rcache_pred_snapshot_to_json(&m_snapshot, &strb);
        text = ucs_string_buffer_cstr(&strb);
        ucs_string_buffer_cleanup(&strb);
        return text;
    }

    /* The value of a member, up to the next one */
    std::string member(const std::string &name) const
    {
        std::string text = json() + ",";
        size_t begin     = text.find("\"" + name + "\":");

        if (begin == std::string::npos) {
            return "missing";
        }

        begin += name.size() + 3;
        return text.substr(begin, text.find(text[begin] == '[' ? "]" : ",",
                                            begin) - begin);
    }

    /* The names in the list of the manual page's section SUMMARY */
    static std::set<std::string> documented()
    {
        std::ifstream page(TEST_TOP_SRCDIR "/src/tools/predreg/ucx_predreg.1");
        std::set<std::string> names;
        std::string line, word;
        bool inside = false;

        while (std::getline(page, line)) {
            if (line.compare(0, 4, ".Sh ") == 0) {
                inside = (line == ".Sh SUMMARY");
            } else if (inside && (line.compare(0, 4, ".It ") == 0)) {
                std::istringstream words(line.substr(4));
                while (words >> word) {
                    if (word != ",") {
                        EXPECT_TRUE(names.insert(word).second) << word;
                    }
                }
            }
        }
        return names;
    }

    static void collect(void *arg, const char *name, uint64_t value)
    {
        auto *counters = static_cast<std::map<std::string, uint64_t>*>(arg);

        EXPECT_TRUE(counters->emplace(name, value).second) << name;
    }

    std::map<std::string, uint64_t> counters() const
    {
        std::map<std::string, uint64_t> counters;

        ucs_rcache_pred_counters_for_each(&m_snapshot, collect, &counters);
        return counters;
    }

    std::string pools_text() const
    {
        ucs_string_buffer_t strb = UCS_STRING_BUFFER_INITIALIZER;
        std::string text;

        ucs_rcache_pred_pools_text(m_snapshot.pool_kinds, &strb);
        text = ucs_string_buffer_cstr(&strb);
        ucs_string_buffer_cleanup(&strb);
        return text;
    }

    ucs_rcache_pred_snapshot_t m_snapshot;
};

TEST_F(test_stats, no_two_counters_share_a_name_or_a_place)
{
    std::set<std::string> names;
    std::set<size_t> places;

    for (const ucs_rcache_pred_counter_t *counter = ucs_rcache_pred_counters;
         counter->name != NULL; ++counter) {
        EXPECT_TRUE(names.insert(counter->name).second) << counter->name;
        for (unsigned i = 0; i < counter->num; ++i) {
            size_t place = counter->offset + i * sizeof(uint64_t);
            EXPECT_TRUE(places.insert(place).second) << counter->name;
            EXPECT_LE(place + sizeof(uint64_t), sizeof(m_snapshot));
        }
    }
}

/* Expect the same statistics, except for the integral that the average is
 * computed from */
TEST_F(test_stats, list_is_complete)
{
    unsigned listed = 0;

    for (const ucs_rcache_pred_counter_t *counter = ucs_rcache_pred_counters;
         counter->name != NULL; ++counter) {
        size_t end = counter->offset + counter->num * sizeof(uint64_t);
        if ((counter->offset >= offsetof(ucs_rcache_pred_snapshot_t, stats)) &&
            (end <= offsetof(ucs_rcache_pred_snapshot_t, stats) +
                    sizeof(ucs_rcache_pred_stats_t))) {
            listed += counter->num;
        }
    }

    EXPECT_EQ(sizeof(ucs_rcache_pred_stats_t) / sizeof(uint64_t) - 1, listed);
}

TEST_F(test_stats, json_values)
{
    m_snapshot.stats.uses                 = 12;
    m_snapshot.stats.bytes_avg            = 1ul << 40;
    m_snapshot.stats.time_critical        = 2000345678ul;
    m_snapshot.stats.prediction_errors[0] = 7;
    m_snapshot.stats.prediction_errors[5] = 9;
    m_snapshot.helper_cpu                 = 999;
    m_snapshot.pool_bytes                 = 4096;

    EXPECT_EQ("3", member("rank"));
    EXPECT_EQ("4711", member("pid"));
    EXPECT_EQ("\"predict\"", member("policy"));
    EXPECT_EQ("\"thread\"", member("helper"));
    EXPECT_EQ("12", member("uses"));
    EXPECT_EQ("1099511627776", member("bytes_avg"));
    EXPECT_EQ("4096", member("pool_bytes"));
    EXPECT_EQ("2.000345", member("critical_path_seconds"));
    EXPECT_EQ("0.000000", member("helper_cpu_seconds"));
    EXPECT_EQ("[7,0,0,0,0,9", member("prediction_errors"));
    EXPECT_NE(',', json().back());
}

TEST_F(test_stats, json_of_the_largest_values)
{
    const std::string largest = std::to_string(UINT64_MAX);
    size_t count              = 0;

    memset(&m_snapshot.stats, 0xff, sizeof(m_snapshot.stats));
    for (size_t pos = 0; (pos = json().find(largest, pos)) != std::string::npos;
         ++pos) {
        ++count;
    }
    EXPECT_GE(count, 27u);
    EXPECT_EQ("18446744073.709551", member("duration_seconds"));
}

TEST_F(test_stats, unknown_is_null)
{
    m_snapshot.rank       = -1;
    m_snapshot.policy     = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    m_snapshot.stats.uses = 5;

    EXPECT_EQ("null", member("rank"));
    EXPECT_EQ("null", member("helper"));
    EXPECT_EQ("5", member("uses"));
    EXPECT_EQ("null", member("hits"));
    EXPECT_EQ("null", member("prediction_errors"));
    EXPECT_EQ("null", member("critical_path_seconds"));
    EXPECT_EQ("0", member("pool_bytes"));
    EXPECT_EQ((std::map<std::string, uint64_t>{{"uses", 5},
                                               {"pool_bytes", 0},
                                               {"pool_rc_receive_bytes", 0},
                                               {"pool_rc_send_bytes", 0},
                                               {"pool_ud_receive_bytes", 0},
                                               {"pool_ud_send_bytes", 0},
                                               {"pool_ucp_bytes", 0},
                                               {"pool_other_bytes", 0},
                                               {"kernel_pinned_bytes", 0},
                                               {"eager_sends", 0},
                                               {"eager_hot", 0},
                                               {"eager_bytes_saved", 0},
                                               {"eager_buffers_hot", 0},
                                               {"firehose_requests", 0},
                                               {"firehose_hits", 0}}),
              counters());
}

TEST_F(test_stats, pools_by_kind)
{
    EXPECT_EQ("", pools_text());

    m_snapshot.pool_kinds[UCS_RCACHE_PRED_POOL_RC_RECEIVE] = 38ul << 20;
    EXPECT_EQ(" (rc_receive 38.0 MiB)", pools_text());
    EXPECT_EQ("39845888", member("pool_rc_receive_bytes"));

    m_snapshot.pool_kinds[UCS_RCACHE_PRED_POOL_OTHER] = 1ul << 19;
    EXPECT_EQ(" (rc_receive 38.0 MiB, other 0.5 MiB)", pools_text());

    /* The report finds the counters by the names of the kinds */
    for (unsigned i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        EXPECT_EQ(1u, counters().count(std::string("pool_") +
                                       ucs_rcache_pred_pool_names[i] + "_bytes"));
    }
    EXPECT_EQ(nullptr, ucs_rcache_pred_pool_names[UCS_RCACHE_PRED_POOL_LAST]);
}

/* A limit that nobody has learned is no number */
TEST_F(test_stats, limits)
{
    m_snapshot.keys_limit = 1000;
    EXPECT_EQ("1000", member("keys_limit"));
    EXPECT_EQ(1000u, counters().at("keys_limit"));
    m_snapshot.keys_limit = UINT64_MAX;
    EXPECT_EQ("null", member("keys_limit"));
    EXPECT_EQ(0u, counters().count("keys_limit"));
    EXPECT_EQ(1u, counters().count("keys_peak"));
}

TEST_F(test_stats, names_in_traces)
{
    std::map<std::string, uint64_t> found;

    m_snapshot.stats.uses                 = 12;
    m_snapshot.stats.time_critical        = 34;
    m_snapshot.stats.prediction_errors[4] = 56;
    m_snapshot.helper_cpu                 = 78;

    found = counters();
    EXPECT_EQ(12u, found.at("uses"));
    EXPECT_EQ(34u, found.at("critical_path_ns"));
    EXPECT_EQ(56u, found.at("prediction_errors_4"));
    EXPECT_EQ(78u, found.at("helper_cpu_ns"));
    EXPECT_EQ(1u, found.count("duration_ns"));
}

TEST_F(test_stats, the_manual_page_lists_all_members_and_no_others)
{
    std::set<std::string> members;
    std::string text = json();
    std::regex name("\"([a-z_]+)\":");

    for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end;
         ++i) {
        members.insert((*i)[1]);
    }

    EXPECT_GT(members.size(), 30u);
    EXPECT_EQ(members, documented());
}
