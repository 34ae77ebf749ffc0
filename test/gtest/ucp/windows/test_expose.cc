/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include <ucp/windows/key.h>
#include "expose_access.h"
}

/* What becomes of a window by the length of its key: the address of Firehose, and UCP's own
 * key, whose parts have up to 255 bytes for each memory domain */
class test_win_expose : public ::testing::Test {
protected:
    void TearDown() override
    {
        test_win_expose_end();
    }

    /* Bytes of a key but for its address */
    size_t rest(size_t part, unsigned num_domains)
    {
        size_t length;
        void *memh;

        test_win_expose_begin(1, part, num_domains);
        EXPECT_TRUE(test_win_expose_map(&memh));
        length = test_win_expose_pack(memh);
        test_win_expose_unmap(memh);
        return length - 1;
    }

    void expect_window(size_t address, size_t part, unsigned num_domains)
    {
        void *memh;

        test_win_expose_begin(address, part, num_domains);
        ASSERT_TRUE(test_win_expose_map(&memh));
        EXPECT_EQ(size_t(UCP_WIN_KEY_MAX), test_win_expose_pack(memh));
        test_win_expose_unmap(memh);
        expect_nothing_left();
        EXPECT_EQ(nullptr, test_win_exposed().why_pinned);
    }

    /* It is UCP's business, and nothing is left of the attempt */
    void expect_pinned(size_t address, size_t part, unsigned num_domains)
    {
        void *memh;

        test_win_expose_begin(address, part, num_domains);
        EXPECT_FALSE(test_win_expose_map(&memh));
        expect_nothing_left();
        ASSERT_NE(nullptr, test_win_exposed().why_pinned);
        EXPECT_NE(nullptr, strstr(test_win_exposed().why_pinned, "1024 bytes"));
    }

    void expect_nothing_left()
    {
        EXPECT_EQ(0, test_win_exposed().num_mapped);
        EXPECT_EQ(0, test_win_exposed().num_exposed);
    }
};

TEST_F(test_win_expose, a_key_as_long_as_programs_have_room_for) {
    expect_window(UCP_WIN_KEY_MAX - rest(10, 2), 10, 2);
    expect_window(UCP_WIN_KEY_MAX - rest(255, 2), 255, 2);
}

TEST_F(test_win_expose, a_window_whose_key_is_longer_is_pinned) {
    expect_pinned(UCP_WIN_KEY_MAX - rest(10, 2) + 1, 10, 2);
    expect_pinned(UCP_WIN_KEY_MAX - rest(255, 2) + 1, 255, 2);
}

/* All domains that UCP can have, with the longest keys */
TEST_F(test_win_expose, a_window_whose_key_is_as_long_as_can_be_is_pinned) {
    expect_pinned(200, 255, 64);
}
