/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lanes_model.h"

#include <common/sanitizer.h>

#include <gtest/gtest.h>

/* All interleavings of threads in their lanes and threads that take the lock: see
 * common/interleave.h */
class test_lanes_model : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (THREAD_SANITIZER || ADDRESS_SANITIZER) {
            GTEST_SKIP() << "sanitizers do not know coroutines";
        }
    }

    /* @return what was found to be untrue, or an empty text */
    std::string explore(unsigned lanes, unsigned locks, unsigned uses,
                        bool is_weak = false)
    {
        lanes_model_t model        = {lanes, locks, uses, is_weak};
        interleave_result_t result = lanes_model_explore(&model);

        m_states = result.states;
        return (result.failed == nullptr) ? "" : result.failed;
    }

    uint64_t m_states = 0;
};

TEST_F(test_lanes_model, a_lane_and_the_lock) {
    EXPECT_EQ("", explore(1, 1, 2));
    EXPECT_GT(m_states, 1000u);
}

TEST_F(test_lanes_model, two_lanes_and_the_lock) {
    EXPECT_EQ("", explore(2, 1, 1));
    EXPECT_GT(m_states, 1000u);
}

TEST_F(test_lanes_model, a_lane_and_two_that_take_the_lock) {
    EXPECT_EQ("", explore(1, 2, 1));
    EXPECT_GT(m_states, 1000u);
}

/* Whoever enters a lane has to see the lock, or to be seen: it takes a store that is
 * there before the load after it */
TEST_F(test_lanes_model, release_stores_alone_would_not_do) {
    EXPECT_NE("", explore(1, 1, 1, true));
}
