/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "map_access.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

class test_win_map : public ::testing::Test {
protected:
    void SetUp() override
    {
        m_map = test_win_map_make();
    }

    void TearDown() override
    {
        test_win_map_free(m_map);
    }

    /* A handle as UCP has them, and what belongs to it */
    static void *handle(uintptr_t i)
    {
        return (void*)(0x7f0000000000 + (i * 64));
    }

    static void *value(uintptr_t i)
    {
        return (void*)(i + 1);
    }

    test_win_map_t *m_map;
};

TEST_F(test_win_map, has_what_was_put) {
    uintptr_t i;

    for (i = 0; i < 5000; ++i) {
        ASSERT_EQ(nullptr, ucp_win_map_find(m_map, handle(i)));
        ASSERT_EQ(UCS_OK, ucp_win_map_put(m_map, handle(i), value(i)));
    }
    for (i = 0; i < 5000; i += 2) {
        ASSERT_EQ(value(i), ucp_win_map_take(m_map, handle(i)));
        ASSERT_EQ(nullptr, ucp_win_map_take(m_map, handle(i)));
    }
    for (i = 0; i < 5000; ++i) {
        ASSERT_EQ((i % 2) ? value(i) : nullptr,
                  ucp_win_map_find(m_map, handle(i)));
    }
}

TEST_F(test_win_map, nothing_belongs_to_null) {
    for (uintptr_t i = 0; i < 5000; ++i) {
        ucp_win_map_put(m_map, handle(i), value(i));
    }
    for (uintptr_t i = 0; i < 5000; ++i) {
        ucp_win_map_take(m_map, handle(i));
    }
    EXPECT_EQ(nullptr, ucp_win_map_find(m_map, nullptr));
    EXPECT_EQ(nullptr, ucp_win_map_take(m_map, nullptr));
}

TEST_F(test_win_map, has_one_of_a_handle) {
    ucp_win_map_put(m_map, handle(1), value(1));
    ucp_win_map_put(m_map, handle(1), value(2));
    EXPECT_EQ(value(2), ucp_win_map_take(m_map, handle(1)));
    EXPECT_EQ(nullptr, ucp_win_map_find(m_map, handle(1)));
}

TEST_F(test_win_map, uses_entries_again) {
    uintptr_t i;

    for (i = 0; i < 1000; ++i) {
        ucp_win_map_put(m_map, handle(7), value(i));
        ucp_win_map_take(m_map, handle(7));
    }
    EXPECT_EQ(1u, test_win_map_count(m_map));
}

TEST_F(test_win_map, is_read_while_others_change_it) {
    std::atomic<bool> is_over(false);
    std::atomic<unsigned> wrong(0);
    std::vector<std::thread> readers;
    uintptr_t i, round;

    /* These stay; those around them come and go, in the same buckets */
    for (i = 0; i < 64; ++i) {
        ucp_win_map_put(m_map, handle(i), value(i));
    }
    for (int t = 0; t < 2; ++t) {
        readers.emplace_back([&] {
            while (!is_over) {
                for (uintptr_t j = 0; j < 64; ++j) {
                    wrong += ucp_win_map_find(m_map, handle(j)) != value(j);
                }
            }
        });
    }
    for (round = 0; round < 20; ++round) {
        for (i = 1000; i < 6000; ++i) {
            ucp_win_map_put(m_map, handle(i + round), value(i));
        }
        for (i = 1000; i < 6000; ++i) {
            ucp_win_map_take(m_map, handle(i + round));
        }
    }
    is_over = true;
    for (std::thread &reader : readers) {
        reader.join();
    }
    EXPECT_EQ(0u, wrong);
}
