/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <ucs/reuse/costs.h>
}

#include <sstream>

class test_replay_command : public command_test {
protected:
    int replay(const std::vector<std::string> &args)
    {
        return call(predreg_replay_command, args);
    }

    size_t lines(const std::string &part) const
    {
        std::istringstream stream(m_output);
        std::string line;
        size_t num = 0;

        while (std::getline(stream, line)) {
            num += contains(line, part);
        }
        return num;
    }
};

TEST_F(test_replay_command, table) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, replay({folder})) << m_errors;
    EXPECT_EQ(1u, lines("rank 0: 5 uses in 4.5000 s")) << m_output;
    EXPECT_EQ(1u, lines("rank 1: 5 uses in 4.5000 s"));
    EXPECT_EQ(1u, lines("predict registers ")) << m_output;
    for (const char *policy : {"predict ", "on-demand ", "leave-pinned ",
                               "lru ", "regions ",
                               "clairvoyant "}) {
        EXPECT_LE(1u, lines(policy)) << policy;
    }
}

TEST_F(test_replay_command, costs_as_given) {
    std::string folder = make_job("job", 1);

    EXPECT_EQ(0, replay({"--policy=on-demand", "--reg-cost=2000,0",
                         "--dereg-cost=1000,5", folder})) << m_errors;
    EXPECT_EQ(1u, lines("2.000 us and 0.000 ns a page, as given")) << m_output;
    EXPECT_EQ(1u, lines("1.000 us and 5.000 ns a page, as given"));
    EXPECT_EQ(0u, lines("predict registers "));
}

TEST_F(test_replay_command, json) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, replay({"--json", "--policy=predict,lru=16k", folder}));
    EXPECT_EQ(2u, lines("{\"type\":\"replay\",\"policy\":\"")) << m_output;
    EXPECT_EQ(2u, lines("\"uses\":10,"));
    EXPECT_EQ(2u, lines(",\"ranks\":2,"));
    EXPECT_EQ(1u, lines("\"bound_bytes\":32768"));

    EXPECT_EQ(0, replay({"--json", "--set=MAX_PINNED=1m", "--set=MAX_REGIONS=8", folder}));
    for (const char *policy : {"predict", "on-demand", "strict-lru", "bounded"}) {
        EXPECT_EQ(1u, lines(std::string("{\"type\":\"replay\",\"policy\":\"") + policy + "\"")) << m_output;
    }
    EXPECT_EQ(4u, lines("\"bound_bytes\":2097152,\"bound_regions\":16,"));
    EXPECT_EQ(0u, lines("\"limit\""));

    EXPECT_EQ(0, replay({"--json", "--policy=leave-pinned,merging", folder}));
    EXPECT_EQ(1u, lines("{\"type\":\"replay\",\"policy\":\"leave-pinned\"")) << m_output;
    EXPECT_EQ(1u, lines("{\"type\":\"replay\",\"policy\":\"merging\"")) << m_output;
    EXPECT_EQ(2u, lines("\"bound_bytes\":0,\"bound_regions\":0,"));
    EXPECT_EQ(0, replay({"--json", folder}));
    EXPECT_EQ(0u, lines("merging")) << m_output;

    EXPECT_EQ(0, replay({"--json", "--policy=predict", "--per-rank", folder}));
    EXPECT_EQ(3u, lines("{\"type\":\"replay\",\"policy\":\"predict\""));
    EXPECT_EQ(1u, lines("\"rank\":1}"));
}

/* More buffers in turns than may be remembered, and not more */
TEST_F(test_replay_command, forgotten_buffers) {
    std::ostringstream trace;
    unsigned id = 0;

    trace << "ucx_predreg trace 1\n";
    for (unsigned i = 0; i < 10; ++i) {
        for (unsigned b = 0; b < 40; ++b) {
            ++id;
            trace << "begin " << id << ".0 " << (b + 1) * 65536 << " 4096 id="
                  << id << " caller=0x10\nend " << id << ".5 id=" << id << "\n";
        }
    }
    std::string file = make_file("many.trace", trace.str());

    EXPECT_EQ(0, replay({"--policy=predict", "--set", "KNOWN_REGIONS=32",
                         file})) << m_errors;
    EXPECT_EQ(1u, lines("come to buffers that predict had to forget"))
            << m_output;
    EXPECT_EQ(0, replay({"--policy=predict", "--set", "KNOWN_REGIONS=40",
                         file}));
    EXPECT_EQ(0u, lines("come to buffers that predict had to forget"));
    EXPECT_EQ(0, replay({"--json", "--policy=predict", file}));
    EXPECT_EQ(1u, lines(",\"forgotten\":0,")) << m_output;
}

/* Each budget is there once, and each policy beside them */
TEST_F(test_replay_command, curve) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, replay({"--curve", "--shared-processor", folder})) << m_errors;
    for (const char *budget : {"0", "0.2", "0.5", "1", "2", "5", "inf"}) {
        EXPECT_EQ(1u, lines(std::string("predict ") + budget + " "))
                << m_output;
    }
    for (const char *policy : {"on-demand ", "leave-pinned ", "clairvoyant "}) {
        EXPECT_EQ(1u, lines(policy)) << m_output;
    }
    EXPECT_EQ(1u, lines("leave-pinned's run time")) << m_output;

    EXPECT_EQ(0, replay({"--curve", "--json", "--per-rank", folder}));
    EXPECT_EQ(7u * 3, lines("{\"type\":\"replay\",\"policy\":\"predict\"")) << m_output;
    EXPECT_EQ(3u, lines("{\"type\":\"replay\",\"policy\":\"leave-pinned\""));
    EXPECT_EQ(3u, lines("\"budget\":0.200000,"));
    EXPECT_EQ(7u, lines("\"recommended\":"));
    EXPECT_GE(1u, lines("\"recommended\":true"));
}

/* Predict is at the default budget unless another one is set */
TEST_F(test_replay_command, budget) {
    std::string folder = make_job("job", 1);

    EXPECT_EQ(0, replay({"--json", "--policy=predict", "--set", "BUDGET=0.5",
                         folder}));
    EXPECT_EQ(1u, lines("\"budget\":0.500000,\"budget_spent_seconds\":"))
            << m_output;
    EXPECT_EQ(0u, lines("recommended"));

    EXPECT_EQ(0, replay({"--json", "--policy=leave-pinned", folder}));
    EXPECT_EQ(1u, lines("\"budget\":null,"
                        "\"budget_spent_seconds\":0.000000000,"))
            << m_output;
}

/* Costs that were neither recorded nor given are said to be a guess */
TEST_F(test_replay_command, guessed_costs) {
    std::string use  = "begin 1 0x1000 4096 id=1\nend 2 id=1\n";
    std::string reg  = "reg 1 0x1000 4096 id=1 duration=9us\n"
                       "dereg 2 0x1000 4096 id=1 duration=9us\n";
    std::string more = "reg 1 0x1000 40960 id=1 duration=90us\n"
                       "dereg 2 0x1000 40960 id=1 duration=90us\n";
    std::string head = "ucx_predreg trace 1\n";
    std::string none = make_file("none", head + use);
    std::string one  = make_file("one", head + use + reg);
    std::string all  = make_file("all", head + use + reg + more);

    for (const auto &trace : {none, one, all}) {
        bool is_guessed = (trace != all);

        EXPECT_EQ(0, replay({"--json", "--policy=predict", trace}));
        EXPECT_EQ(is_guessed, lines("\"guessed\":true,") == 1) << m_output;
        EXPECT_EQ(0, replay({"--json", "--policy=predict", "--reg-cost=1,1",
                             "--dereg-cost=1,1", trace}));
        EXPECT_EQ(1u, lines("\"guessed\":false,")) << m_output;
        EXPECT_EQ(0, replay({"--json", "--policy=predict", "--reg-cost=1,1",
                             trace}));
        EXPECT_EQ(is_guessed, lines("\"guessed\":true,") == 1) << m_output;
    }

    EXPECT_EQ(0, replay({"--policy=predict", none}));
    EXPECT_EQ(2u, lines("a guess: none was recorded")) << m_output;
    EXPECT_EQ(0, replay({"--policy=predict", one}));
    EXPECT_EQ(2u, lines("as recorded; a page is a guess: all had one size"))
            << m_output;
    EXPECT_EQ(0, replay({"--policy=predict", all}));
    EXPECT_EQ(0u, lines("a guess")) << m_output;
}

TEST_F(test_replay_command, each_rank) {
    EXPECT_EQ(0, replay({"--policy=predict", "--per-rank",
                         make_job("job", 3)}));
    EXPECT_EQ(3u, lines("  rank ")) << m_output;
}

TEST_F(test_replay_command, larger_job) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, replay({"--ranks=8", folder})) << m_errors;
    EXPECT_EQ(1u, lines("8 ranks, 2 a node, as the 2 recorded")) << m_output;
    EXPECT_EQ(0, replay({"--ranks=8", "--ranks-per-node=4",
                         "--cores-per-node=5", "--node-max=4k", folder}))
            << m_errors;
    EXPECT_EQ(1u, lines("8 ranks, 4 a node, as the 2 recorded"));
    EXPECT_EQ(0, replay({"--json", "--policy=leave-pinned,predict", "--ranks=8",
                         "--ranks-per-node=4", "--cores-per-node=5",
                         "--node-max=4k", folder})) << m_errors;
    EXPECT_LE(2u, lines("\"nodes\":2,"));
    EXPECT_LE(2u, lines("\"node_max_bytes\":4096,"));
    EXPECT_EQ(0, replay({"--json", "--policy=predict", "--ranks=8", folder}));
    EXPECT_LE(1u, lines("\"node_max_bytes\":null,"));
}

TEST_F(test_replay_command, damage_is_said) {
    std::string trace = make_job("job", 1) + "/0.trace";
    std::string lost  = make_file("lost", read("job/0.trace") + "lost 3\n");

    EXPECT_EQ(0, replay({"--policy=predict", trace, trace}));
    EXPECT_EQ("ucx_predreg: warning: rank 0 has two traces, '" + trace +
              "' and '" + trace + "': of two jobs?\n"
              "ucx_predreg: warning: the traces do not tell when they began: "
              "all ranks are taken to have begun at the same time\n", m_errors);

    EXPECT_EQ(0, replay({"--policy=predict", lost}));
    EXPECT_EQ("ucx_predreg: warning: " + lost + ": 3 events were lost, the "
              "program is replayed without them\n", m_errors);
    EXPECT_EQ(1u, lines("damaged trace:   3 events were lost"));
}

/* One bad trace does not make the others unreadable */
TEST_F(test_replay_command, damaged_traces_are_left_out) {
    std::string folder = make_job("job", 2);
    std::string empty  = make_file("job/2.trace");
    std::string far    = make_file("job/3.trace", "ucx_predreg trace 1\n"
                                   "begin 1 0x1000 0xffffffffffff0000 id=1\n"
                                   "end 2 id=1\n");
    /* Its registrations would take longer than a replay can count */
    std::string slow   = make_file("job/00.trace", read("job/0.trace") +
                                   "reg 9 0x1000 4096 duration=4000000000\n");
    std::string file   = make_file("file", "nonsense\n");

    for (auto paths : {std::vector<std::string>{folder},
                       std::vector<std::string>{folder, file}}) {
        std::string number = std::to_string(2 + paths.size());

        std::vector<std::string> args = {"--policy=predict"};
        args.insert(args.end(), paths.begin(), paths.end());
        EXPECT_EQ(0, replay(args)) << m_errors;
        EXPECT_TRUE(contains(m_errors, "'" + empty + "' is left out"));
        EXPECT_TRUE(contains(m_errors, "'" + far + "' is left out"));
        EXPECT_TRUE(contains(m_errors, "'" + slow + "' is left out"));
        EXPECT_EQ(paths.size() > 1,
                  contains(m_errors, "'" + file + "' is left out"));
        EXPECT_EQ(2u, lines("rank ")) << m_output;
        EXPECT_EQ(1u, lines("left out: " + number + " traces")) << m_output;
        while (log_watch::take() != "") {
        }

        args.push_back("--json");
        EXPECT_EQ(0, replay(args));
        EXPECT_EQ(1u, lines(",\"ranks\":2,")) << m_output;
        EXPECT_EQ(1u, lines(",\"left_out\":" + number + "}")) << m_output;
        while (log_watch::take() != "") {
        }
    }

    /* There is nothing else */
    for (const std::string &path : {empty, far, slow, file}) {
        EXPECT_EQ(EXIT_FAILURE, replay({path}));
        EXPECT_FALSE(contains(m_errors, "left out"));
        EXPECT_NE("", log_watch::take());
    }
}

TEST_F(test_replay_command, many_ranks) {
    std::string folder = make_job("job", 17);

    EXPECT_EQ(0, replay({"--policy=predict", folder})) << m_errors;
    EXPECT_EQ(1u, lines("17 ranks: 85 uses in up to 4.5000 s")) << m_output;
    EXPECT_EQ(0u, lines("rank 1:"));
    EXPECT_EQ(2u, lines("in 17 of 17 ranks a guess")) << m_output;
    EXPECT_EQ(0, replay({"--policy=predict", "--per-rank", folder}));
    EXPECT_EQ(1u, lines("rank 16: 5 uses in 4.5000 s")) << m_output;
}

/* Policies are replayed rank by rank, and printed one by one */
TEST_F(test_replay_command, ranks_are_sorted) {
    std::string folder = make_job("job", 12);

    EXPECT_EQ(0, replay({"--json", "--per-rank", folder}));
    std::istringstream stream(m_output);
    std::string line;
    while (std::getline(stream, line)) {
        for (int rank = 0; rank < 12; ++rank) {
            ASSERT_TRUE(std::getline(stream, line));
            EXPECT_TRUE(contains(line, "\"rank\":" + std::to_string(rank) +
                                 "}")) << line;
        }
    }
}

TEST_F(test_replay_command, bad_input) {
    EXPECT_EQ(PREDREG_EXIT_USAGE, replay({}));
    EXPECT_EQ(0, call_in_child(predreg_replay_command, {"--help"}));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg replay [OPTIONS]"));
    EXPECT_EQ(EXIT_FAILURE, replay({path("none")}));
    EXPECT_TRUE(contains(m_errors, "No such file")) << m_errors;
}

/* What is mapped, used once and unmapped, 20 times. When the first use comes, the
 * first slab is not there yet */
TEST_F(test_replay_command, large_allocations) {
    std::string lines_of_trace;

    for (unsigned i = 1; i <= 20; ++i) {
        std::string at = "0x" + std::to_string(i) + "00000000";
        auto time      = [i](unsigned step) {
            return " " + std::to_string(i * 10 + step) + "ms ";
        };

        lines_of_trace += "map" + time(0) + at + " 8M\n"
                          "begin" + time(1) + at + " 8M result=miss "
                          "duration=500us\n"
                          "reg" + time(1) + at + " 8M duration=500us\n"
                          "end" + time(2) + at + "\n"
                          "unmap" + time(3) + at + " 8M\n";
    }
    std::string trace = make_file("trace", "ucx_predreg trace 3\n" +
                                  lines_of_trace);

    EXPECT_EQ(0, replay({trace})) << m_errors;
    EXPECT_EQ(1u, lines("arena  ")) << m_output;
    EXPECT_EQ(1u, lines("large allocations: UCX_RCACHE_PRED_ARENA=64M would "
                        "answer 19 of 20 uses")) << m_output;
    /* It has more registered than the mappings have under leave-pinned, one at a time */
    EXPECT_EQ(1u, lines("registered than leave-pinned")) << m_output;

    EXPECT_EQ(0, replay({"--json", "--policy=leave-pinned,predict,arena=64m",
                         trace})) << m_errors;
    EXPECT_EQ(1u, lines("{\"type\":\"replay\",\"policy\":\"arena\"")) << m_output;
    EXPECT_EQ(1u, lines("\"refused\":0,\"answered\":19,"));
    EXPECT_EQ(1u, lines("\"bound_bytes\":67108864"));
    EXPECT_EQ(1u, lines("{\"type\":\"arena\",\"arena\":\"memory\",\"ranks\":1,"
                        "\"size\":67108864,"
                        "\"uses\":20,\"answered\":19,")) << m_output;

    /* Without predict there is nothing to compare with; and a trace without
     * mappings has no row, unless it is asked for */
    EXPECT_EQ(0, replay({"--policy=arena", trace})) << m_errors;
    EXPECT_EQ(0u, lines("large allocations")) << m_output;
    std::string folder = make_job("job", 1);
    EXPECT_EQ(0, replay({folder})) << m_errors;
    EXPECT_EQ(0u, lines("arena")) << m_output;
    EXPECT_EQ(0, replay({"--policy=predict,arena", folder})) << m_errors;
    EXPECT_EQ(1u, lines("arena ")) << m_output;
    EXPECT_EQ(0u, lines("large allocations")) << m_output;
}

/* Small sends are told apart from the policies; what they cost is in the
 * trace */
TEST_F(test_replay_command, small_sends) {
    std::string sends = "sends 0x1000 4096 100\nsends 0x2000 8192 1\n";
    std::string head  = "ucx_predreg trace 2\nmeta ucx_version 1.13.1\n"
                        "meta clock_ns 0\nmeta clock_end_ns 1000000\n"
                        "domain 0 mlx5_0\n";
    std::string trace = make_file("trace", head + sends);
    char text[UCS_REUSE_COSTS_TEXT_MAX];
    ucs_reuse_costs_t costs = {3000, 0, 64, {}};

    EXPECT_EQ(0, replay({"--json", "--policy=predict", trace})) << m_errors;
    EXPECT_EQ(1u, lines("{\"type\":\"sends\",\"eager\":\"unknown\",\"ranks\":1,\"calibrated\":0,"))
            << m_output;
    EXPECT_EQ(1u, lines("\"seconds_saved\":null"));

    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs.copy[i] = 0.25 * (i + 1) * UCS_REUSE_STEP;
    }
    ucs_reuse_costs_print(&costs, text);
    trace = make_file("trace", head + "meta " UCS_REUSE_COSTS_META " \"" + text +
                               "\"\n" + sends);

    /* Registered after a quarter of 4 sends, and of 2 */
    EXPECT_EQ(0, replay({"--json", "--policy=predict", trace})) << m_errors;
    EXPECT_EQ(1u, lines("{\"type\":\"sends\",\"eager\":\"yes\",\"ranks\":1,\"calibrated\":1,"))
            << m_output;
    EXPECT_EQ(1u, lines("\"hot_buffers\":2,\"hot_sends\":101,"
                        "\"bytes_saved\":417792,"));

    EXPECT_EQ(0, replay({"--json", "--policy=predict",
                         "--set=EAGER_FRACTION=100", trace})) << m_errors;
    EXPECT_EQ(1u, lines("\"hot_buffers\":1,\"hot_sends\":97,")) << m_output;

    EXPECT_EQ(0, replay({"--policy=predict", trace})) << m_errors;
    EXPECT_EQ(1u, lines("small sends: 101, of 2 buffers; 98.02 %")) << m_output;
    EXPECT_EQ(1u, lines("UCX_RCACHE_PRED_EAGER=y would send 101 of 101"));
    EXPECT_EQ(1u, lines(": recommended"));
}
