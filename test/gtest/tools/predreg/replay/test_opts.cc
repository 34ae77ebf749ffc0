/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/replay/replay_int.h>
#include <tools/replay/policies/policies.h>
}

#include <string.h>

class test_replay_opts : public command_test {
protected:
    test_replay_opts() { memset(&m_opts, 0, sizeof(m_opts)); }

    ~test_replay_opts()
    {
        if (m_parsed) {
            predreg_replay_opts_cleanup(&m_opts);
        }
    }

    int parse(const std::vector<std::string> &args)
    {
        std::vector<std::string> all = {"ucx_predreg replay"};

        all.insert(all.end(), args.begin(), args.end());
        m_args = std::make_unique<string_vector>(all);
        if (m_parsed) {
            predreg_replay_opts_cleanup(&m_opts);
        }
        m_parsed = true;
        optind   = 0;
        return capture([&] {
            return predreg_replay_opts_parse(m_args->count(), m_args->get(),
                                             &m_opts);
        });
    }

    void expect_refused(const std::vector<std::string> &args,
                        const std::string &message)
    {
        EXPECT_EQ(PREDREG_EXIT_USAGE, parse(args));
        EXPECT_TRUE(contains(m_errors, message)) << m_errors;
    }

    unsigned num_policies() const
    {
        unsigned num = 0;

        for (unsigned i = 0; i < PREDREG_REPLAY_LAST; ++i) {
            num += (m_opts.policies[i] != 0);
        }
        return num;
    }

    std::unique_ptr<string_vector> m_args;
    predreg_replay_opts_t          m_opts;
    bool                           m_parsed = false;
};

TEST_F(test_replay_opts, none) {
    EXPECT_EQ(0, parse({"a", "b"})) << m_errors;
    EXPECT_EQ(2, m_opts.num_paths);
    EXPECT_STREQ("a", m_opts.paths[0]);
    EXPECT_STREQ("b", m_opts.paths[1]);
    EXPECT_EQ(PREDREG_REPLAY_LAST - 3u, num_policies());
    EXPECT_FALSE(m_opts.policies[PREDREG_REPLAY_MERGING]);
    EXPECT_FALSE(m_opts.json);
    EXPECT_FALSE(m_opts.per_rank);
    EXPECT_FALSE(m_opts.reg.is_given);
    EXPECT_FALSE(m_opts.shared_processor);
    EXPECT_EQ(0u, m_opts.num_ranks);
    expect_refused({}, "replay: what was recorded is missing; accepted: folders "
                   "of traces, or traces");
}

/* What shows what is possible under a bound is played beside predict if there is one */
TEST_F(test_replay_opts, bounds) {
    for (const char *bound : {"MAX_PINNED=1g", "MAX_REGIONS=100"}) {
        EXPECT_EQ(0, parse({"--set", bound, "a"})) << m_errors;
        EXPECT_EQ(PREDREG_REPLAY_LAST - 1u, num_policies());
        EXPECT_FALSE(m_opts.policies[PREDREG_REPLAY_MERGING]);
        EXPECT_EQ(0, parse({"--curve", "--set", bound, "a"})) << m_errors;
        EXPECT_TRUE(m_opts.policies[PREDREG_REPLAY_BOUNDED]);
        EXPECT_FALSE(m_opts.policies[PREDREG_REPLAY_LRU]);
    }
}

TEST_F(test_replay_opts, policies) {
    EXPECT_EQ(0, parse({"--policy", "predict,lru=64m", "--policy=regions=100",
                        "a"})) << m_errors;
    EXPECT_EQ(3u, num_policies());
    EXPECT_TRUE(m_opts.policies[PREDREG_REPLAY_PREDICT]);
    EXPECT_EQ(64ul << 20, m_opts.limits[PREDREG_REPLAY_LRU]);
    EXPECT_EQ(100u, m_opts.limits[PREDREG_REPLAY_REGIONS]);

    for (unsigned i = 0; i < PREDREG_REPLAY_LAST; ++i) {
        EXPECT_EQ(0, parse({"--policy", predreg_policies[i].name, "a"}));
        EXPECT_EQ(1u, num_policies());
        EXPECT_TRUE(m_opts.policies[i]);
    }
}

TEST_F(test_replay_opts, bad_policies) {
    for (const char *bad : {"fast", "", "predic", "predictor"}) {
        expect_refused({"--policy", bad, "a"}, std::string("--policy: '") + bad +
                       "'; accepted: predict, on-demand, arena[=BYTES], "
                       "leave-pinned, merging, lru[=BYTES], regions[=N], strict-lru, "
                       "bounded, clairvoyant");
    }
    expect_refused({"--policy=predict,predict", "a"},
                   "--policy: 'predict' is given twice");
    expect_refused({"--policy=predict=5", "a"},
                   "only arena[=BYTES], lru[=BYTES], regions[=N] have a limit");
    for (const char *bad : {"lru=", "lru=0", "lru=x", "lru=-1", "lru=5x",
                            "lru=17179869185g", "regions=inf"}) {
        expect_refused({"--policy", bad, "a"}, std::string("--policy: '") + bad +
                       "'; accepted: a number from 1");
    }
}

TEST_F(test_replay_opts, set) {
    EXPECT_EQ(0, parse({"--set", "history=4", "--set",
                        "UCX_RCACHE_PRED_MAX_PINNED=1m", "--set", "Pieces=n",
                        "a"})) << m_errors;
    EXPECT_EQ(4u, m_opts.knobs.history);
    EXPECT_EQ(1ul << 20, m_opts.knobs.max_pinned);
    EXPECT_FALSE(m_opts.knobs.pieces);
    for (const char *good : {"HELPER=progress", "MAX_SITES=16",
                             "KNOWN_REGIONS=16", "DQ_SIZE=64",
                             "MAX_REGIONS=4", "EAGER_FRACTION=50"}) {
        EXPECT_EQ(0, parse({"--set", good, "a"})) << m_errors;
    }
}

TEST_F(test_replay_opts, bad_knobs) {
    for (const char *bad : {"HISTORY", "=4", "UCX_RCACHE_PRED_=4"}) {
        expect_refused({"--set", bad, "a"}, std::string("--set: '") + bad +
                       "'; accepted: KNOB=VALUE");
    }
    expect_refused({"--set=POLICY=predict", "a"}, "POLICY is said by --policy");
    expect_refused({"--set=window=3", "a"}, "WINDOW is part of what was");
    expect_refused({"--set=unwind=n", "a"}, "UNWIND is part of what was");
    expect_refused({"--set=NODE_MAX_PINNED=1g", "--ranks=8", "a"},
                   "NODE_MAX_PINNED and NODE_MAX_REGIONS are of the job that was recorded");
    expect_refused({"--set=HISTRY=3", "a"},
                   "--set: there is no knob 'HISTRY', the nearest is HISTORY; "
                   "accepted in a replay: HELPER, BUDGET, "
                   "MAX_PINNED");
    expect_refused({"--set=COLOUR=red", "a"},
                   "--set: there is no knob 'COLOUR'; accepted in a replay: "
                   "HELPER, BUDGET, MAX_PINNED");
    expect_refused({"--set=SUMMARY=text", "a"},
                   "'SUMMARY' changes nothing in a replay; accepted: HELPER, "
                   "BUDGET, MAX_PINNED, MAX_REGIONS, NODE_MAX_PINNED, "
                   "NODE_MAX_REGIONS, HISTORY, MAX_SITES, "
                   "KNOWN_REGIONS, DQ_SIZE, PIECES, EAGER_FRACTION");
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"--set=HISTORY=17", "a"}));
    EXPECT_TRUE(contains(log_watch::take(), "HISTORY=17"));
    EXPECT_EQ(PREDREG_EXIT_USAGE, parse({"--set=HISTORY=many", "a"}));
    EXPECT_TRUE(contains(log_watch::take(), "many"));
}

TEST_F(test_replay_opts, costs) {
    EXPECT_EQ(0, parse({"--reg-cost=10000,50", "--dereg-cost", "1e3,0.5",
                        "a"}));
    EXPECT_TRUE(m_opts.reg.is_given);
    EXPECT_EQ(10000, m_opts.reg.cost.op);
    EXPECT_EQ(50, m_opts.reg.cost.page);
    EXPECT_TRUE(m_opts.dereg.is_given);
    EXPECT_EQ(1000, m_opts.dereg.cost.op);
    EXPECT_EQ(0.5, m_opts.dereg.cost.page);
    for (const char *bad : {"", "1", "1,", ",1", "1,2,3", "1;2", "-1,2", "1,nan",
                            "1e30,1"}) {
        expect_refused({"--reg-cost", bad, "a"}, std::string("--reg-cost: '") +
                       bad + "'; accepted: OP,PAGE");
        expect_refused({"--dereg-cost", bad, "a"},
                       std::string("--dereg-cost: '") + bad + "'; accepted");
    }
}

TEST_F(test_replay_opts, numbers) {
    EXPECT_EQ(0, parse({"--ranks=16777216", "--ranks-per-node=4",
                        "--cores-per-node=4", "--node-max=1m", "--json",
                        "--shared-processor", "a"})) << m_errors;
    EXPECT_TRUE(m_opts.shared_processor);
    EXPECT_EQ(16777216u, m_opts.num_ranks);
    EXPECT_EQ(4u, m_opts.ranks_per_node);
    EXPECT_EQ(4u, m_opts.cores_per_node);
    EXPECT_EQ(1ul << 20, m_opts.node_max);
    EXPECT_TRUE(m_opts.json);
    EXPECT_EQ(0, parse({"--per-rank", "a"}));
    EXPECT_TRUE(m_opts.per_rank);

    for (const char *option : {"ranks", "ranks-per-node", "cores-per-node"}) {
        for (const char *bad : {"0", "16777217", "x", "1x"}) {
            expect_refused({std::string("--") + option, bad, "a"},
                           std::string("--") + option + ": '" + bad +
                           "'; accepted: 1 to 16777216");
        }
    }
    for (const char *bad : {"0", "inf", "auto", "x", "-1", "17179869185g"}) {
        expect_refused({"--node-max", bad, "a"}, std::string("--node-max: '") +
                       bad + "'; accepted: a number of bytes from 1");
    }
}

TEST_F(test_replay_opts, larger_job) {
    for (const char *option : {"--ranks-per-node=2", "--cores-per-node=2",
                               "--node-max=1m"}) {
        expect_refused({option, "a"}, "are of the job that --ranks asks for");
    }
    expect_refused({"--ranks=4", "--cores-per-node=4", "a"},
                   "--cores-per-node needs --ranks-per-node");
    expect_refused({"--ranks=4", "--ranks-per-node=4", "--cores-per-node=3",
                    "a"}, "--cores-per-node: 3; accepted: at least one for each "
                   "of the 4 ranks");
}

TEST_F(test_replay_opts, bad_options) {
    expect_refused({"--wrong", "a"}, "replay --help lists what is accepted");
    expect_refused({"--set"}, "replay --help lists what is accepted");
}

TEST_F(test_replay_opts, curve) {
    EXPECT_EQ(0, parse({"--curve", "traces"})) << m_errors;
    EXPECT_TRUE(m_opts.curve);
    EXPECT_EQ(4u, num_policies()) << "those that the report draws beside it";
    EXPECT_TRUE(m_opts.policies[PREDREG_REPLAY_CLAIRVOYANT]);
    EXPECT_EQ(7u, m_opts.budgets.num);

    EXPECT_EQ(0, parse({"--curve", "--policy=lru", "--set", "BUDGET=3",
                        "traces"})) << m_errors;
    EXPECT_EQ(3u, num_policies()) << "and what the curve is made of";
    EXPECT_TRUE(m_opts.policies[PREDREG_REPLAY_PREDICT]);
    EXPECT_TRUE(m_opts.policies[PREDREG_REPLAY_LEAVE_PINNED]);
    EXPECT_EQ(8u, m_opts.budgets.num);
    EXPECT_EQ(5u, m_opts.budgets.usual);

    expect_refused({"--per-rank", "--ranks=4", "traces"}, "--per-rank is of");
    expect_refused({"--curve", "--ranks=4", "traces"},
                   "accepted is one of the two");
}
