/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fh_world.h"

extern "C" {
#include <common/c_access.h>
}

#include <random>

/*
 * Long random walks through worlds that are too large to be explored: three
 * nodes with four threads each, operations that fail, memory that goes away,
 * nodes that die. After each step nothing may be wrong (fh_check()), and each
 * walk ends with nobody waiting (fh_check_end()).
 */
class test_walk : public ::testing::TestWithParam<unsigned> {
protected:
    static constexpr size_t HEAP_SIZE = 1 << 24;

    test_walk() : m_heap(HEAP_SIZE), m_random(GetParam()) {}

    static fh_params_t large()
    {
        fh_params_t params;

        params.nodes = FH_NODES;
        for (unsigned &threads : params.threads) {
            threads = FH_THREADS / FH_NODES;
        }
        params.ops        = 40;
        params.program    = FH_BOTH;
        params.buckets    = 12;
        params.share      = 4;
        params.max_run    = 4;
        params.max_victim = 5;
        params.max_move   = 3;
        params.da_limit   = 4;
        params.workers    = 2;
        return params;
    }

    /* One step; false if there is none */
    bool step()
    {
        std::vector<fh_step_t> steps = fh_steps();

        if (steps.empty()) {
            return false;
        }

        fh_step_t step = steps[m_random() % steps.size()];
        /* Not everything fails, and memory seldom goes away: else nobody would
         * get far */
        if (step.fails) {
            step.fails = (m_random() % 4 == 0);
        }
        if ((step.kind == FH_STEP_WITHDRAW) && (m_random() % 50 != 0)) {
            return true;
        }
        fh_take(step);
        return true;
    }

    /* @param deaths  How many nodes die, some time */
    void walk(const fh_params_t &params, unsigned deaths = 0)
    {
        std::string error;

        test_heap_begin(m_heap.data(), m_heap.size());
        ASSERT_TRUE(fh_make(params));
        for (unsigned i = 0; step(); ++i) {
            if ((deaths > 0) && (m_random() % 500 == 0)) {
                fh_take({FH_STEP_KILL, --deaths + 1});
            }
            error = fh_check();
            ASSERT_EQ("", error) << "after step " << i;
        }

        EXPECT_EQ("", fh_check_end());
        m_ok     = fh_world->num_ok;
        m_errors = fh_world->num_errors;
        m_stats  = fh_world->nodes[0].remote.stats;
        check_keys();
        fh_cleanup();
        test_heap_end();
    }

    /* Each key that was accepted is there, or was handed back */
    void check_keys()
    {
        int64_t num_keys = 0;

        for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
            const fh_node_t &node = fh_world->nodes[i];
            if (node.is_dead) {
                return; /* What it had is gone */
            }
            num_keys += node.remote.num_entries;
        }
        EXPECT_EQ(num_keys, fh_world->num_keys);
    }

    uint64_t              m_ok;
    uint64_t              m_errors;
    ucp_fh_remote_stats_t m_stats;

private:
    std::vector<char> m_heap;
    std::mt19937      m_random;
};


TEST_P(test_walk, all_is_granted) {
    fh_params_t params = large();

    walk(params);
    /* A pin of each use, and a request */
    EXPECT_EQ(2 * FH_THREADS * params.ops, m_ok);
    EXPECT_EQ(0u, m_errors);
    EXPECT_LT(0u, m_stats.bits);
}

TEST_P(test_walk, failures) {
    fh_params_t params = large();

    params.fails = true;
    walk(params);
    EXPECT_LT(0u, m_ok);
    EXPECT_LT(0u, m_errors);
}

TEST_P(test_walk, refusals) {
    fh_params_t params = large();

    params.fails = true;
    params.error = UCS_ERR_NO_MEMORY;
    params.tries = 100;
    walk(params);
    EXPECT_LT(0u, m_ok);
}

TEST_P(test_walk, memory_goes_away) {
    fh_params_t params = large();

    params.withdraws = 20;
    walk(params);
    EXPECT_LT(0u, m_ok);
}

/* Buckets have two registrations, of what is exposed and of what local pins want */
TEST_P(test_walk, edges) {
    fh_params_t params = large();

    params.has_edge  = true;
    params.withdraws = 20;
    walk(params);
    EXPECT_LT(0u, m_ok);
}

TEST_P(test_walk, edges_fail) {
    fh_params_t params = large();

    params.has_edge = true;
    params.fails    = true;
    walk(params, 1);
    EXPECT_LT(0u, m_ok);
    EXPECT_LT(0u, m_errors);
}

TEST_P(test_walk, nodes_die) {
    walk(large(), 1);
    EXPECT_LT(0u, m_ok);
}

TEST_P(test_walk, everything) {
    fh_params_t params = large();

    params.withdraws = 10;
    params.fails     = true;
    walk(params, 2);
    EXPECT_LT(0u, m_ok);
}

INSTANTIATE_TEST_SUITE_P(seeds, test_walk, ::testing::Range(1u, 9u));
