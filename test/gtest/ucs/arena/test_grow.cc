/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include <string>
#include <vector>

/* Slabs that are short while there are few, and grow with the arena */
class test_arena_grow : public arena_test {
protected:
    static constexpr size_t FIRST = SLAB / 16; /* Pages */

    /* Marks are in pages, as they are with the longest slabs */
    void make_with(size_t low_water, size_t high_water)
    {
        m_params.first_slab = FIRST * PAGE;
        m_params.low_water  = low_water * PAGE;
        m_params.high_water = high_water * PAGE;
        make();
        tend();
    }

    /* The program gets memory, and unmaps it, if it comes from elsewhere */
    bool use(size_t pages)
    {
        void *address = allocate(pages);

        if (address != nullptr) {
            free(address, pages);
            return true;
        }
        arena_missed(m_arena, pages * PAGE, m_now);
        tend();
        arena_left(m_arena, pages * PAGE);
        return false;
    }

    /* Let there be a slab for requests of so many pages */
    void grow(size_t pages)
    {
        for (int i = 0; i < 3; ++i) {
            EXPECT_FALSE(use(pages));
        }
    }

    std::string lengths()
    {
        std::string text;

        for (size_t slab = 0; slab < SLABS; ++slab) {
            if (m_memory.at(slab * SLAB).is_registered) {
                text += (text.empty() ? "" : " ") +
                        std::to_string(m_memory.length_of(slab * SLAB));
            }
        }
        return text;
    }
};

TEST_F(test_arena_grow, the_first_slab_is_short) {
    make_with(SLAB / 4, SLAB);
    EXPECT_EQ("4", lengths());
    EXPECT_EQ("clean 4", states());
    /* The low-water mark is one page, as long as slabs have four */
    EXPECT_NE(nullptr, allocate(3));
    EXPECT_EQ(UCS_ARENA_NEVER, arena_due(m_arena));
    EXPECT_NE(nullptr, allocate(1));
    tend();
    EXPECT_EQ("4 4", lengths());
    EXPECT_EQ(0u, stats().refused);
}

/* Each slab has an eighth of what there is already */
TEST_F(test_arena_grow, slabs_grow_with_the_arena) {
    make_with(0, SLAB);
    grow(SLAB);
    EXPECT_NE(nullptr, allocate(SLAB));
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(nullptr, allocate(1));
        tend();
        EXPECT_NE(nullptr, allocate(8));
    }
    EXPECT_EQ("64 8 8", lengths());
    m_now += 2 * IDLE;
    grow(32);
    EXPECT_NE(nullptr, allocate(32));
    EXPECT_EQ(nullptr, allocate(1));
    tend();
    EXPECT_EQ("64 8 8 32 12", lengths());
}

/* Memory that is longer than a slab is provided for when it comes again and
 * again */
TEST_F(test_arena_grow, long_memory_is_provided_for_at_the_third_time) {
    make_with(0, SLAB);
    EXPECT_FALSE(use(30));
    EXPECT_FALSE(use(29));
    EXPECT_EQ("", lengths());
    EXPECT_FALSE(use(30));
    EXPECT_EQ("32", lengths()); /* Multiples of the first one */
    EXPECT_TRUE(use(30));
    EXPECT_EQ(3u, stats().refused);
}

TEST_F(test_arena_grow, long_memory_that_is_kept_is_not_provided_for) {
    make_with(0, SLAB);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(nullptr, allocate(30));
        arena_missed(m_arena, 30 * PAGE, m_now);
        tend();
    }
    /* What is unmapped now does not come again ten times */
    arena_left(m_arena, 30 * PAGE);
    arena_left(m_arena, 30 * PAGE);
    EXPECT_FALSE(use(30));
    /* Nor does short memory tell anything */
    arena_left(m_arena, FIRST * PAGE);
    EXPECT_EQ("", lengths());
}

TEST_F(test_arena_grow, long_memory_that_comes_seldom_is_not_provided_for) {
    make_with(0, SLAB);
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(use(30));
        m_now += IDLE * 3 / 4;
    }
    EXPECT_EQ("", lengths());
}

TEST_F(test_arena_grow, memory_that_is_longer_than_any_slab_is_not_counted) {
    make_with(0, SLAB);
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(use(SLAB + 1));
    }
    EXPECT_EQ("", lengths());
    EXPECT_EQ(10u, stats().too_large);
}

TEST_F(test_arena_grow, a_long_slab_is_given_back_when_it_is_not_needed) {
    make_with(SLAB / 4, SLAB);
    grow(SLAB);
    EXPECT_EQ("4 64", lengths());
    m_now += IDLE;
    tend();
    EXPECT_EQ("4", lengths());
    EXPECT_EQ("clean 4", states());
}

TEST_F(test_arena_grow, the_limit_is_kept) {
    m_params.limit = (SLAB + 6) * PAGE;
    make_with(0, SLAB);
    EXPECT_EQ(nullptr, allocate(1));
    tend();
    EXPECT_NE(nullptr, allocate(4));
    grow(SLAB);
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ("4 64", lengths());
    /* For two pages there would be room, for a slab there is none */
    EXPECT_EQ(nullptr, allocate(1));
    m_now += RETRY;
    tend();
    EXPECT_EQ("4 64", lengths());
    EXPECT_EQ((SLAB + 4) * PAGE, stats().committed);
}

/* Addresses behind the end of a short slab are nobody's */
TEST_F(test_arena_grow, nothing_is_found_behind_a_slab) {
    make_with(SLAB / 4, SLAB);
    ASSERT_EQ("4", lengths());
    EXPECT_NE(nullptr, arena_find(m_arena, m_memory.base(), 4 * PAGE));
    EXPECT_NE(nullptr, arena_find(m_arena, m_memory.base() + 4 * PAGE - 1, 1));
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base(), 4 * PAGE + 1));
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base() + 4 * PAGE, 1));
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base(), 0));
    EXPECT_EQ(nullptr, arena_find(m_arena, m_memory.base() + 1, SIZE_MAX));

    void *address = allocate(4);
    ASSERT_NE(nullptr, address);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              arena_extend(m_arena, m_memory.base() + 4 * PAGE, PAGE));
    /* Freed are those pages which are somebody's */
    EXPECT_EQ(UCS_OK,
              arena_free(m_arena, m_memory.base() + 4 * PAGE, PAGE, m_now));
    EXPECT_EQ(4u * PAGE, stats().live);
}

/* A program that maps something else there spoils the slab, which is opened anew
 * when that is gone */
TEST_F(test_arena_grow, what_is_mapped_behind_a_slab_spoils_it) {
    make_with(0, SLAB);
    EXPECT_EQ(nullptr, allocate(1));
    tend();
    spoil(10, 5);
    tend();
    EXPECT_EQ("", lengths());
    EXPECT_EQ(5u * PAGE, stats().live);
    free_page(10, 5);
    tend();
    EXPECT_EQ(0u, stats().live);
    EXPECT_EQ(0u, stats().committed);
    EXPECT_EQ(nullptr, allocate(1));
    tend();
    EXPECT_EQ("4", lengths());
    EXPECT_NE(nullptr, allocate(4));
}
