/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_access.h"

#include <ucs/reuse/costs.h>

#include <gtest/gtest.h>

/* What is known of the messages of endpoints */
class test_endpoints : public ::testing::Test {
protected:
    void SetUp() override
    {
        uct_predreg_endpoints_forget();
    }

    void TearDown() override
    {
        uct_predreg_endpoints_forget();
    }

    static ucp_ep_h ep(unsigned i)
    {
        return reinterpret_cast<ucp_ep_h>(0x7f0000001000 + 64ul * i);
    }

    static bool is_left_alone(ucp_ep_h ep, size_t length,
                              uct_predreg_message_t message =
                                      UCT_PREDREG_MESSAGE_TAG)
    {
        return test_endpoint_has_no_zcopy(ep, message, length);
    }
};

TEST_F(test_endpoints, nothing_is_known_at_first) {
    EXPECT_FALSE(is_left_alone(ep(0), 1));
    EXPECT_FALSE(is_left_alone(ep(0), UCS_REUSE_MAX_LENGTH));
}

TEST_F(test_endpoints, what_is_not_longer_is_copied_too) {
    uct_predreg_endpoint_copies(ep(0), UCT_PREDREG_MESSAGE_TAG, 1000);
    EXPECT_TRUE(is_left_alone(ep(0), 1));
    EXPECT_TRUE(is_left_alone(ep(0), 1024));
    EXPECT_FALSE(is_left_alone(ep(0), 1025));
    EXPECT_FALSE(is_left_alone(ep(0), UCS_REUSE_MAX_LENGTH));

    uct_predreg_endpoint_copies(ep(0), UCT_PREDREG_MESSAGE_TAG, 500);
    EXPECT_TRUE(is_left_alone(ep(0), 1024));
    uct_predreg_endpoint_copies(ep(0), UCT_PREDREG_MESSAGE_TAG, UCS_REUSE_MAX_LENGTH);
    EXPECT_TRUE(is_left_alone(ep(0), UCS_REUSE_MAX_LENGTH));
}

TEST_F(test_endpoints, what_is_not_shorter_goes_by_rendezvous_too) {
    uct_predreg_endpoint_has_rndv(ep(0), UCT_PREDREG_MESSAGE_TAG, 4000);
    EXPECT_FALSE(is_left_alone(ep(0), 1));
    EXPECT_FALSE(is_left_alone(ep(0), 3968));
    EXPECT_TRUE(is_left_alone(ep(0), 3969));
    EXPECT_TRUE(is_left_alone(ep(0), UCS_REUSE_MAX_LENGTH));

    uct_predreg_endpoint_has_rndv(ep(0), UCT_PREDREG_MESSAGE_TAG, 8000);
    EXPECT_TRUE(is_left_alone(ep(0), 3969));
}

TEST_F(test_endpoints, both_ends_are_kept) {
    uct_predreg_endpoint_copies(ep(0), UCT_PREDREG_MESSAGE_TAG, 512);
    uct_predreg_endpoint_has_rndv(ep(0), UCT_PREDREG_MESSAGE_TAG, 4097);
    EXPECT_TRUE(is_left_alone(ep(0), 512));
    EXPECT_FALSE(is_left_alone(ep(0), 513));
    EXPECT_FALSE(is_left_alone(ep(0), 4096));
    EXPECT_TRUE(is_left_alone(ep(0), 4097));
}

TEST_F(test_endpoints, rendezvous_of_the_shortest_leaves_nothing) {
    uct_predreg_endpoint_has_rndv(ep(0), UCT_PREDREG_MESSAGE_TAG, 1);
    EXPECT_TRUE(is_left_alone(ep(0), 1));
    EXPECT_TRUE(is_left_alone(ep(0), UCS_REUSE_MAX_LENGTH));
}

TEST_F(test_endpoints, kinds_and_endpoints_are_apart) {
    uct_predreg_endpoint_copies(ep(0), UCT_PREDREG_MESSAGE_AM, 8192);
    EXPECT_TRUE(is_left_alone(ep(0), 100, UCT_PREDREG_MESSAGE_AM));
    EXPECT_FALSE(is_left_alone(ep(0), 100, UCT_PREDREG_MESSAGE_TAG));
    EXPECT_FALSE(is_left_alone(ep(0), 100, UCT_PREDREG_MESSAGE_STREAM));
    EXPECT_FALSE(is_left_alone(ep(1), 100, UCT_PREDREG_MESSAGE_AM));
}

TEST_F(test_endpoints, a_later_one_takes_the_place_and_nothing_else) {
    for (unsigned i = 0; i < 100000; ++i) {
        uct_predreg_endpoint_copies(ep(i), UCT_PREDREG_MESSAGE_TAG, 8192);
        ASSERT_TRUE(is_left_alone(ep(i), 100));
        ASSERT_FALSE(is_left_alone(ep(i + 1), 100));
    }
}

TEST_F(test_endpoints, all_are_forgotten) {
    uct_predreg_endpoint_copies(ep(0), UCT_PREDREG_MESSAGE_TAG, 8192);
    uct_predreg_endpoints_forget();
    EXPECT_FALSE(is_left_alone(ep(0), 100));
}
