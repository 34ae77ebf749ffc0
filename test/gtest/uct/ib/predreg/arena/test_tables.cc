/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_access.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

class test_arena_handles : public ::testing::Test {
protected:
    static constexpr size_t MAX    = 64;
    static constexpr uint32_t NONE = UINT32_MAX;

    void SetUp() override
    {
        m_handles = handles_make(MAX);
    }

    void TearDown() override
    {
        handles_destroy(m_handles);
    }

    void set(const std::vector<uint64_t> &keys,
             const std::vector<uint32_t> &slabs)
    {
        handles_set(m_handles, keys.data(), slabs.data(), keys.size());
    }

    uct_predreg_handles_t *m_handles;
};

TEST_F(test_arena_handles, none) {
    EXPECT_EQ(NONE, uct_predreg_handles_find(m_handles, 1));
    set({}, {});
    EXPECT_EQ(NONE, uct_predreg_handles_find(m_handles, 1));
}

TEST_F(test_arena_handles, all_are_replaced) {
    set({0x1000, 0x2000, 0x3000}, {7, 8, 9});
    EXPECT_EQ(7u, uct_predreg_handles_find(m_handles, 0x1000));
    EXPECT_EQ(8u, uct_predreg_handles_find(m_handles, 0x2000));
    EXPECT_EQ(9u, uct_predreg_handles_find(m_handles, 0x3000));
    EXPECT_EQ(NONE, uct_predreg_handles_find(m_handles, 0x4000));
    set({0x2000}, {1});
    EXPECT_EQ(NONE, uct_predreg_handles_find(m_handles, 0x1000));
    EXPECT_EQ(1u, uct_predreg_handles_find(m_handles, 0x2000));
    set({0x1000, 0x4000}, {0, 3});
    EXPECT_EQ(0u, uct_predreg_handles_find(m_handles, 0x1000));
    EXPECT_EQ(NONE, uct_predreg_handles_find(m_handles, 0x2000));
}

TEST_F(test_arena_handles, as_many_as_there_can_be) {
    std::vector<uint64_t> keys;
    std::vector<uint32_t> slabs;

    for (uint32_t i = 0; i < MAX; ++i) {
        keys.push_back(0x7f0000000000 + (64 * i));
        slabs.push_back(i / 8);
    }
    set(keys, slabs);
    for (size_t i = 0; i < MAX; ++i) {
        EXPECT_EQ(slabs[i], uct_predreg_handles_find(m_handles, keys[i]));
        EXPECT_EQ(NONE, uct_predreg_handles_find(m_handles, keys[i] + 8));
    }
}

/* A handle that stays is found whatever else comes and goes, and one that was
 * never there is not */
TEST_F(test_arena_handles, found_while_they_are_replaced) {
    std::atomic<bool> is_over(false);
    std::atomic<uint64_t> num_found(0);

    set({0x5000}, {5});
    std::vector<std::thread> readers;
    for (unsigned i = 0; i < 2; ++i) {
        readers.emplace_back([&]() {
            while (!is_over) {
                ASSERT_EQ(5u, uct_predreg_handles_find(m_handles, 0x5000));
                ASSERT_EQ(NONE, uct_predreg_handles_find(m_handles, 0x6000));
                ++num_found;
            }
        });
    }

    for (uint64_t i = 1; (i < 20000) || (num_found < 1000); ++i) {
        std::vector<uint64_t> keys;
        std::vector<uint32_t> slabs;
        for (uint64_t key = 0; key < i % 16; ++key) {
            keys.push_back(0x10000 + ((i * 31 + key) * 16));
            slabs.push_back(key + 100);
        }
        keys.insert(keys.begin() + (keys.size() / 2), 0x5000);
        slabs.insert(slabs.begin() + (slabs.size() / 2), 5);
        set(keys, slabs);
    }
    is_over = true;
    for (auto &reader : readers) {
        reader.join();
    }
}


class test_arena_altered : public ::testing::Test {
protected:
    static constexpr uintptr_t BASE = 0x100000000;
    static constexpr size_t PAGE    = 4096;
    static constexpr size_t PAGES   = 200;

    typedef std::vector<std::pair<size_t, size_t>> runs_t;

    void SetUp() override
    {
        m_altered = altered_make(BASE, PAGES * PAGE, PAGE);
    }

    void TearDown() override
    {
        altered_destroy(m_altered);
    }

    static uintptr_t at(size_t page)
    {
        return BASE + (page * PAGE);
    }

    void add(size_t first, size_t end)
    {
        uct_predreg_altered_add(m_altered, at(first), at(end));
    }

    int has(size_t first, size_t end)
    {
        return uct_predreg_altered_has(m_altered, at(first), at(end));
    }

    /* Pages of each run: first and number */
    runs_t remove(size_t first, size_t end)
    {
        m_runs.clear();
        uct_predreg_altered_remove(m_altered, at(first), at(end), note);
        return m_runs;
    }

    static int note(void *address, size_t length)
    {
        m_runs.emplace_back(((uintptr_t)address - BASE) / PAGE, length / PAGE);
        return 1;
    }

    static int refuse(void *address, size_t length)
    {
        return 0;
    }

    static runs_t  m_runs;
    uct_predreg_altered_t *m_altered;
};

test_arena_altered::runs_t test_arena_altered::m_runs;

TEST_F(test_arena_altered, runs) {
    EXPECT_FALSE(has(0, PAGES));
    EXPECT_EQ(runs_t(), remove(0, PAGES));
    add(3, 5);
    add(60, 70);
    add(199, 200);
    EXPECT_TRUE(has(4, 6));
    EXPECT_FALSE(has(5, 60));
    EXPECT_TRUE(has(0, PAGES));
    EXPECT_TRUE(has(70, PAGES));
    EXPECT_EQ(runs_t({{60, 10}, {199, 1}}), remove(5, PAGES));
    EXPECT_FALSE(has(5, PAGES));
    EXPECT_EQ(runs_t({{4, 1}}), remove(4, 100));
    EXPECT_EQ(runs_t({{3, 1}}), remove(0, PAGES));
}

TEST_F(test_arena_altered, a_part_of_a_page_is_the_page) {
    uct_predreg_altered_add(m_altered, at(1) + 1, at(1) + 2);
    EXPECT_FALSE(has(0, 1));
    EXPECT_TRUE(has(1, 2));
    EXPECT_FALSE(has(2, PAGES));
    EXPECT_TRUE(uct_predreg_altered_has(m_altered, at(0), at(1) + 1));
}
