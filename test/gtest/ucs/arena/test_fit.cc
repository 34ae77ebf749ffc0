/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/arena/memory/fit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

/* Finding a block by its length. Blocks are given room in a table of their own:
 * nothing here looks at neighbours */
class test_arena_fit : public ::testing::Test {
protected:
    test_arena_fit() : m_fit(), m_tags(1 << 22)
    {
    }

    void add(uint32_t block, uint32_t length)
    {
        m_tags[block].length = length;
        ucs_arena_fit_add(&m_fit, m_tags.data(), block);
    }

    void remove(uint32_t block)
    {
        ucs_arena_fit_remove(&m_fit, m_tags.data(), block);
    }

    uint32_t find(uint32_t length)
    {
        return ucs_arena_fit_find(&m_fit, m_tags.data(), length);
    }

    ucs_arena_fit_t              m_fit;
    std::vector<ucs_arena_tag_t> m_tags;
};

TEST_F(test_arena_fit, nothing_is_found_in_nothing) {
    EXPECT_EQ(UCS_ARENA_NO_PAGE, find(1));
    EXPECT_EQ(UCS_ARENA_NO_PAGE, find(UCS_ARENA_FIT_MAX));
    EXPECT_EQ(UCS_ARENA_NO_PAGE, ucs_arena_fit_longest(&m_fit));
}

/* A block is found by its own length, and by none above */
TEST_F(test_arena_fit, every_length_is_found) {
    std::vector<uint32_t> lengths;

    for (uint32_t length = 1; length < 300; ++length) {
        lengths.push_back(length);
    }
    for (uint32_t pow2 = 512; pow2 <= UCS_ARENA_FIT_MAX; pow2 *= 2) {
        for (uint32_t length : {pow2 - 1, pow2, pow2 + 1, pow2 + pow2 / 32,
                                pow2 + pow2 / 3}) {
            if (length <= UCS_ARENA_FIT_MAX) {
                lengths.push_back(length);
            }
        }
    }

    for (uint32_t length : lengths) {
        add(7, length);
        EXPECT_EQ(7u, find(length));
        EXPECT_EQ(7u, find(1));
        EXPECT_EQ(7u, ucs_arena_fit_longest(&m_fit));
        if (length < UCS_ARENA_FIT_MAX) {
            EXPECT_EQ(UCS_ARENA_NO_PAGE, find(length + 1));
        }
        remove(7);
        EXPECT_EQ(UCS_ARENA_NO_PAGE, find(1));
    }
}

TEST_F(test_arena_fit, the_shortest_that_has_room_is_taken) {
    add(1, 1000);
    add(2, 20);
    add(3, 100);
    EXPECT_EQ(2u, find(20));
    EXPECT_EQ(3u, find(21));
    EXPECT_EQ(1u, find(101));
    EXPECT_EQ(1u, ucs_arena_fit_longest(&m_fit));
    remove(1);
    EXPECT_EQ(3u, ucs_arena_fit_longest(&m_fit));
}

TEST_F(test_arena_fit, the_one_freed_last_is_found_first) {
    add(10, 1000);
    add(20, 1000);
    add(30, 1000);
    EXPECT_EQ(30u, find(1000));
    remove(20); /* Amid the list */
    remove(30);
    EXPECT_EQ(10u, find(1000));
}

/* A few blocks of a list are too short: it goes on to longer ones, and does not
 * look at all */
TEST_F(test_arena_fit, looks_at_few) {
    for (uint32_t i = 0; i < 1000; ++i) {
        add(2 * i, 1024 + i % 2);
    }
    add(2001, 1056);
    EXPECT_EQ(1025u, m_tags[find(1025)].length);
    EXPECT_EQ(2001u, find(1026));
}

/* Whenever a block is long enough by 1/32, one is found, and it is long enough;
 * and no list that is passed over has a block that is sure to do */
TEST_F(test_arena_fit, random_blocks) {
    std::map<uint32_t, uint32_t> blocks; /* By first page */
    std::mt19937 random(2);

    auto pick_length = [&random]() {
        return 1 + random() % (1u << (random() % 19));
    };

    for (unsigned step = 0; step < 20000; ++step) {
        uint32_t block = random() % m_tags.size();

        if ((blocks.size() < 200) && (blocks.count(block) == 0)) {
            blocks[block] = pick_length();
            add(block, blocks[block]);
        } else if (!blocks.empty() && (random() % 2 == 0)) {
            auto it = blocks.lower_bound(block);

            it = (it == blocks.end()) ? blocks.begin() : it;
            remove(it->first);
            blocks.erase(it);
        }

        uint32_t length = pick_length();
        uint32_t found  = find(length);
        uint32_t least  = UINT32_MAX; /* Length of the shortest that has it */

        for (auto &known : blocks) {
            if (known.second >= length + length / 32 + 1) {
                least = std::min(least, known.second);
            }
        }

        if (found == UCS_ARENA_NO_PAGE) {
            ASSERT_EQ(UINT32_MAX, least);
            continue;
        }

        ASSERT_EQ(1u, blocks.count(found));
        ASSERT_GE(blocks[found], length);
        if (least != UINT32_MAX) {
            ASSERT_LE(blocks[found], least + least / 32);
        }
    }
}
