/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <stdatomic.h>

extern "C" {
#include <ucs/base/map.h>
}

#include <common/child.h>
#include <common/sanitizer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

class test_map : public ::testing::Test {
protected:
    void SetUp() override
    {
        ucs_mutex_init(&m_map.lock, UCS_RANK_WIN_MAP, 0);
    }

    void TearDown() override
    {
        ucs_map_cleanup(&m_map);
    }

    /* A handle as UCP has them, and its value */
    static void *handle(uintptr_t i)
    {
        return (void*)(0x7f0000000000 + (i * 64));
    }

    static void *value(uintptr_t i)
    {
        return (void*)(i + 1);
    }

    size_t num_places() const
    {
        return 1ul << m_map.table.load()->bits;
    }

    ucs_map_t m_map = {};
};

TEST_F(test_map, has_what_was_put) {
    uintptr_t i;

    for (i = 0; i < 5000; ++i) {
        ASSERT_EQ(nullptr, ucs_map_find(&m_map, handle(i)));
        ASSERT_EQ(UCS_OK, ucs_map_put(&m_map, handle(i), value(i)));
        ASSERT_EQ(value(i), ucs_map_get(&m_map, handle(i)));
    }
    for (i = 0; i < 5000; i += 2) {
        ASSERT_EQ(value(i), ucs_map_take(&m_map, handle(i)));
        ASSERT_EQ(nullptr, ucs_map_take(&m_map, handle(i)));
    }
    for (i = 0; i < 5000; ++i) {
        ASSERT_EQ((i % 2) ? value(i) : nullptr,
                  ucs_map_find(&m_map, handle(i)));
    }
}

TEST_F(test_map, nothing_belongs_to_null) {
    EXPECT_EQ(nullptr, ucs_map_find(&m_map, nullptr));
    EXPECT_EQ(nullptr, ucs_map_take(&m_map, handle(1)));
    for (uintptr_t i = 0; i < 5000; ++i) {
        ucs_map_put(&m_map, handle(i), value(i));
    }
    for (uintptr_t i = 0; i < 5000; ++i) {
        ucs_map_take(&m_map, handle(i));
    }
    EXPECT_EQ(nullptr, ucs_map_find(&m_map, nullptr));
    EXPECT_EQ(nullptr, ucs_map_take(&m_map, nullptr));
}

TEST_F(test_map, has_one_value_of_a_handle) {
    ucs_map_put(&m_map, handle(1), value(1));
    ucs_map_put(&m_map, handle(1), value(2));
    EXPECT_EQ(value(2), ucs_map_take(&m_map, handle(1)));
    EXPECT_EQ(nullptr, ucs_map_find(&m_map, handle(1)));
}

TEST_F(test_map, uses_a_place_again) {
    uintptr_t i;

    for (i = 0; i < 1000; ++i) {
        ucs_map_put(&m_map, handle(7), value(i));
        ucs_map_take(&m_map, handle(7));
    }
    EXPECT_EQ(64u, num_places());
    EXPECT_EQ(0u, m_map.table.load()->used);
}

/* 30 handles at a time, of 100 000: the table stays as large as for 120 */
TEST_F(test_map, does_not_grow_where_handles_come_and_go) {
    uintptr_t i;

    for (i = 0; i < 100000; ++i) {
        ucs_map_put(&m_map, handle(i), value(i));
        if (i >= 30) {
            ASSERT_EQ(value(i - 30), ucs_map_take(&m_map, handle(i - 30)));
        }
        ASSERT_EQ(value(i), ucs_map_find(&m_map, handle(i)));
    }
    EXPECT_LE(num_places(), 256u);
}

TEST_F(test_map, is_usable_in_a_forked_child_of_a_thread_that_was_writing) {
    ucs_map_put(&m_map, handle(1), value(1));
    ucs_mutex_lock(&m_map.lock);
    {
        child process([this]() -> int {
            ucs_rank_forget(); /* The child's only thread has no lock */
            ucs_map_forked(&m_map, UCS_RANK_WIN_MAP);
            EXPECT_EQ(value(1), ucs_map_take(&m_map, handle(1)));
            EXPECT_EQ(UCS_OK, ucs_map_put(&m_map, handle(2), value(2)));
            return testing::Test::HasFailure();
        });
        EXPECT_EQ(0, process.reap());
    }
    ucs_mutex_unlock(&m_map.lock);
}

/* The search for the handle ends where another thread puts a handle */
TEST_F(test_map, has_no_value_of_the_handle_beside) {
    auto first = [](uintptr_t i) { return ucs_hash_bits((uintptr_t)handle(i), 6); };
    std::atomic<bool> is_over(false);
    unsigned wrong  = 0;
    uintptr_t other = 1;

    while (first(other) != first(0)) {
        ++other;
    }
    ucs_map_put(&m_map, handle(other), value(1));
    ASSERT_EQ(64u, num_places());
    std::thread writer([&] {
        for (unsigned i = 0; i < 1000000 / SANITIZER_SLOWDOWN; ++i) {
            ucs_map_take(&m_map, handle(other));
            ucs_map_put(&m_map, handle(other), value(1));
        }
        is_over = true;
    });
    while (!is_over) {
        wrong += ucs_map_find(&m_map, handle(0)) != nullptr;
    }
    writer.join();
    EXPECT_EQ(0u, wrong);
}

TEST_F(test_map, is_read_while_others_change_it) {
    std::atomic<bool> is_over(false);
    std::atomic<unsigned> wrong(0);
    std::vector<std::thread> readers;
    uintptr_t i, round;

    /* These stay; the map grows, and its places around them are taken and left */
    for (i = 0; i < 64; ++i) {
        ucs_map_put(&m_map, handle(i), value(i));
    }
    for (int t = 0; t < 2; ++t) {
        readers.emplace_back([&] {
            while (!is_over) {
                for (uintptr_t j = 0; j < 64; ++j) {
                    wrong += ucs_map_find(&m_map, handle(j)) != value(j);
                }
                wrong += ucs_map_find(&m_map, handle(100000)) != nullptr;
            }
        });
    }
    for (round = 0; round < 20; ++round) {
        for (i = 1000; i < 6000; ++i) {
            ucs_map_put(&m_map, handle(i + round), value(i));
        }
        for (i = 1000; i < 6000; ++i) {
            ucs_map_take(&m_map, handle(i + round));
        }
    }
    is_over = true;
    for (std::thread &reader : readers) {
        reader.join();
    }
    EXPECT_EQ(0u, wrong);
}
