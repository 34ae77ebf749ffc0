/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fh_world.h"

#include <common/sanitizer.h>

extern "C" {
#include <common/c_access.h>
}

#include <string.h>

#include <memory>
#include <unordered_map>

/* An address sanitizer sees the same accesses in each order, and tests of fewer steps have
 * them as well */
#define SKIP_IF_SLOW() \
    if (ADDRESS_SANITIZER) { \
        GTEST_SKIP() << "it would take long"; \
    }

/*
 * All that can happen in small worlds: every order of what threads, workers and
 * the network do, from every state that can be reached. In each state nothing
 * may be wrong (fh_check()). Since each step uses something up, no state is
 * reached from itself, so that whatever the order is, a world comes to an end;
 * and there, everybody must have got what it was to get (fh_check_end()).
 */
class test_explore : public ::testing::Test {
protected:
    static constexpr size_t   HEAP_SIZE  = 1 << 18;
    static constexpr unsigned MAX_STATES = 4000000;

    test_explore() : m_heap(HEAP_SIZE) {}

    void explore(const fh_params_t &params)
    {
        test_heap_begin(m_heap.data(), m_heap.size());
        ASSERT_TRUE(fh_make(params));
        m_error.clear();
        m_bits  = 0;
        m_stuck = 0;
        m_seen.clear();
        m_deepest = 0;
        visit();
        test_heap_resume(m_heap.data(), m_heap.size());
        fh_cleanup();
        test_heap_end();

        EXPECT_EQ("", m_error) << path_text();
        EXPECT_FALSE(m_seen.empty());
        m_num_states += m_seen.size();
        RecordProperty("states", std::to_string(m_num_states));
        RecordProperty("steps", std::to_string(m_deepest));
    }

    /* In how many states the deadlock-avoidance bit had been given; and that
     * because nobody could have gone on without */
    unsigned m_bits  = 0;
    unsigned m_stuck = 0;

private:
    /* Visit this state, if it is a new one, and all that can be reached from
     * it */
    void visit()
    {
        uint64_t key = hash();
        auto found   = m_seen.emplace(key, true);

        /* Also on another way to it: not all that is checked is in the hash */
        m_error = fh_check();
        if (!m_error.empty()) {
            return;
        }

        if (!found.second) {
            m_error = found.first->second ? "a state is reached from itself" :
                                            "";
            return;
        }

        m_deepest = std::max(m_deepest, m_path.size());
        m_bits   += fh_world->nodes[0].remote.stats.bits;
        m_stuck  += fh_world->nodes[0].remote.stats.stuck;
        if (m_seen.size() > MAX_STATES) {
            m_error = "too many states";
            return;
        }

        visit_next();
        m_seen[key] = false;
    }

    void visit_next()
    {
        std::vector<fh_step_t> steps = fh_steps();
        /* Not a vector, which is copied byte by byte without -O */
        std::unique_ptr<char[]> copy;
        size_t used;

        if (steps.empty()) {
            m_error = fh_check_end();
            return;
        }

        used = test_heap_end();
        copy.reset(new char[used]);
        memcpy(copy.get(), m_heap.data(), used);
        for (const fh_step_t &step : steps) {
            memcpy(m_heap.data(), copy.get(), used);
            test_heap_resume(m_heap.data(), m_heap.size());
            m_path.push_back(step);
            fh_take(step);
            visit();
            if (!m_error.empty()) {
                return;
            }
            m_path.pop_back();
            test_heap_end();
        }
        memcpy(m_heap.data(), copy.get(), used);
        test_heap_resume(m_heap.data(), m_heap.size());
    }

    /* The FNV-1a hash: that two of a million states have the same one has a
     * chance of 1 to 10^7 */
    uint64_t hash()
    {
        uint64_t hash = 0xcbf29ce484222325ul;

        m_state.clear();
        fh_append_state(m_state);
        for (uint8_t byte : m_state) {
            hash = (hash ^ byte) * 0x100000001b3ul;
        }
        return hash;
    }

    std::string path_text() const
    {
        std::string text;

        for (const fh_step_t &step : m_path) {
            text += fh_text(step) + "\n";
        }
        return text;
    }

    std::vector<char>                  m_heap;
    /* Hashes of the states that were seen, and whether they are on the way to
     * where it is now */
    std::unordered_map<uint64_t, bool> m_seen;
    std::vector<fh_step_t>             m_path;
    std::vector<uint8_t>               m_state;
    std::string                        m_error;
    size_t                             m_num_states = 0;
    size_t                             m_deepest    = 0;
};


/* Two threads of a node that move firehoses on the same peer */
TEST_F(test_explore, one_firehose) {
    fh_params_t params;

    params.share   = 1;
    params.max_run = 1;
    params.buckets = 3;
    explore(params);
}

TEST_F(test_explore, two_firehoses) {
    fh_params_t params;

    explore(params);
    EXPECT_LT(0u, m_bits);
}

TEST_F(test_explore, three_firehoses) {
    SKIP_IF_SLOW();
    fh_params_t params;

    params.share   = 3;
    params.max_run = 3;
    params.buckets = 4;
    explore(params);
    EXPECT_LT(0u, m_bits);
}

/* The bit comes at the first opportunity, or as late as can be */
TEST_F(test_explore, limits_of_attempts) {
    SKIP_IF_SLOW();
    fh_params_t params;

    params.ops      = 1;
    params.threads[0] = 3;
    for (unsigned limit : {1, 3, 100}) {
        params.da_limit = limit;
        explore(params);
        EXPECT_LT(0u, m_bits) << limit;
        EXPECT_EQ((limit == 1), (m_stuck == 0)) << limit;
    }
}

/* Messages that have no room for all that a request needs */
TEST_F(test_explore, short_messages) {
    fh_params_t params;

    params.max_move = 1;
    params.buckets  = 3;
    explore(params);
}

/* Two threads on each of two nodes that use each other's memory */
TEST_F(test_explore, two_nodes) {
    SKIP_IF_SLOW();
    fh_params_t params;

    params.threads[1] = 2;
    params.ops        = 1;
    params.buckets    = 2;
    explore(params);
}

/* They pin memory of their own as well, that of the same buckets, with as much
 * room for it as there has to be */
TEST_F(test_explore, puts) {
    SKIP_IF_SLOW();
    fh_params_t params;

    params.threads[1] = 2;
    params.ops        = 1;
    params.program    = FH_BOTH;
    params.buckets    = 2;
    params.share      = 1;
    params.max_run    = 1;
    explore(params);
    params.threads[0] = 1;
    params.workers    = 2;
    explore(params);
}

TEST_F(test_explore, local_pins) {
    fh_params_t params;

    params.threads[0] = 3;
    params.program    = FH_LOCAL;
    params.max_victim = 2;
    params.buckets    = 4;
    params.ops        = 1;
    params.workers    = 2;
    explore(params);
}

/* Each operation fails, or does not */
TEST_F(test_explore, failures) {
    fh_params_t params;

    params.fails   = true;
    params.ops     = 1;
    params.buckets = 3;
    explore(params);
    params.program    = FH_LOCAL;
    params.max_victim = 2;
    params.ops        = 2;
    explore(params);
}

/* Each pin is refused room, or is not: victims give way to it */
TEST_F(test_explore, refusals) {
    fh_params_t params;

    params.fails   = true;
    params.error   = UCS_ERR_EXCEEDS_LIMIT;
    params.tries   = 1;
    params.ops     = 1;
    params.buckets = 3;
    explore(params);
    params.program    = FH_LOCAL;
    params.max_victim = 2;
    params.ops        = 2;
    explore(params);
    params.max_victim = 3;
    params.workers    = 2;
    params.ops        = 1;
    explore(params);
}

/* The memory that they use goes away and comes back */
TEST_F(test_explore, withdrawal) {
    fh_params_t params;

    params.withdraws = 1;
    params.buckets   = 2;
    params.max_run   = 2;
    params.ops       = 1;
    explore(params);
    params.withdraws = 2;
    params.threads[0] = 1;
    params.ops       = 2;
    params.fails     = true;
    explore(params);
    params.error     = UCS_ERR_EXCEEDS_LIMIT;
    explore(params);
}
