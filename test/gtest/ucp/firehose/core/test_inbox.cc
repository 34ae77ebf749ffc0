/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <utility>
#include <vector>

extern "C" {
#include <common/touched.h>
#include "inbox_access.h"
}

class test_fh_inbox : public ::testing::Test {
protected:
    using messages_t = std::vector<std::pair<uint32_t, uint64_t>>;

    /* All messages whose turn it is, as they are taken */
    static messages_t take(test_inbox_t *fh)
    {
        messages_t messages;
        uint64_t number = 0;
        uint32_t sender;

        while ((sender = test_inbox_next(fh, &number)) != UINT32_MAX) {
            messages.push_back({sender, number});
        }
        return messages;
    }

    /* Pages with what is known of processes that some messages touch */
    static unsigned touched(uint32_t num_procs)
    {
        test_inbox_t *fh = test_inbox_make(num_procs);
        unsigned count;

        test_inbox_count(fh);
        for (uint64_t i = 0; i < 10; ++i) {
            test_inbox_receive(fh, num_procs / 2, i);
            EXPECT_EQ(messages_t({{num_procs / 2, i}}), take(fh));
        }
        count = test_touched_stop();
        test_inbox_free(fh);
        return count;
    }
};

/* Messages of a peer are taken by number, and peers take turns */
TEST_F(test_fh_inbox, order) {
    test_inbox_t *fh = test_inbox_make(4);

    test_inbox_receive(fh, 3, 1);
    EXPECT_EQ(messages_t(), take(fh));
    test_inbox_receive(fh, 3, 2);
    test_inbox_receive(fh, 1, 0);
    test_inbox_receive(fh, 3, 0);
    test_inbox_receive(fh, 1, 1);
    EXPECT_EQ(messages_t({{3, 0}, {1, 0}, {3, 1}, {1, 1}, {3, 2}}), take(fh));
    test_inbox_free(fh);
}

TEST_F(test_fh_inbox, put_back) {
    test_inbox_t *fh = test_inbox_make(2);
    uint64_t number  = 0;

    test_inbox_receive(fh, 0, 0);
    test_inbox_receive(fh, 0, 1);
    EXPECT_EQ(0u, test_inbox_next(fh, &number));
    test_inbox_put_back(fh);
    EXPECT_EQ(messages_t({{0, 0}, {0, 1}}), take(fh));
    test_inbox_free(fh);
}

/* A message costs the same however many processes there are */
TEST_F(test_fh_inbox, others_cost_nothing) {
    EXPECT_LE(touched(1000), 2u);
    EXPECT_LE(touched(200000), 2u);
}
