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

    void make_short()
    {
        m_params.first_slab = FIRST * PAGE;
        make();
        tend();
    }

    std::string lengths()
    {
        std::string text;

        for (size_t slab = 0; slab < SLABS; ++slab) {
            if (m_memory.at(slab * SLAB).is_mapped) {
                text += (text.empty() ? "" : " ") +
                        std::to_string(m_memory.length_of(slab * SLAB));
            }
        }
        return text;
    }
};

TEST_F(test_arena_grow, the_first_slab_is_short) {
    make_short();
    EXPECT_EQ("", lengths());
    EXPECT_NE(nullptr, allocate(1));
    EXPECT_EQ("4", lengths());
    EXPECT_EQ("live 1 fresh 3", states());
    EXPECT_NE(nullptr, allocate(3));
    EXPECT_NE(nullptr, allocate(1));
    EXPECT_EQ("4 4", lengths());
    EXPECT_EQ(0u, stats().refused);
}

/* Each slab has an eighth of what there is already, and room for the request */
TEST_F(test_arena_grow, slabs_grow_with_the_arena) {
    make_short();
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_NE(nullptr, allocate(SLAB));
    EXPECT_EQ("64 64", lengths());
    EXPECT_NE(nullptr, allocate(5));
    EXPECT_EQ("64 64 16", lengths());
}

TEST_F(test_arena_grow, slabs_are_multiples_of_the_first_one) {
    make_short();
    EXPECT_NE(nullptr, allocate(30));
    EXPECT_EQ("32", lengths());
}

TEST_F(test_arena_grow, memory_that_is_longer_than_any_slab) {
    make_short();
    EXPECT_EQ(nullptr, allocate(SLAB + 1));
    EXPECT_EQ("", lengths());
    EXPECT_EQ(1u, stats().too_large);
}

TEST_F(test_arena_grow, a_long_slab_is_given_back_when_it_is_empty) {
    make_short();
    EXPECT_NE(nullptr, allocate(1));
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_NE(nullptr, allocate(SLAB));
    }
    EXPECT_EQ("4 64 64 64", lengths());
    free_page(SLAB, 3 * SLAB);
    m_now += IDLE;
    tend();
    EXPECT_EQ("4", lengths());
}

TEST_F(test_arena_grow, the_limit_is_kept) {
    m_params.limit = (SLAB + 6) * PAGE;
    make_short();
    EXPECT_NE(nullptr, allocate(4));
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
    make_short();
    EXPECT_EQ(m_memory.address_of(0), allocate_registered(4));
    ASSERT_EQ("4", lengths());
    EXPECT_NE(nullptr, ucs_arena_find(m_arena, m_memory.base(), 4 * PAGE));
    EXPECT_NE(nullptr, ucs_arena_find(m_arena, m_memory.base() + 4 * PAGE - 1, 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base(), 4 * PAGE + 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base() + 4 * PAGE, 1));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base(), 0));
    EXPECT_EQ(nullptr, ucs_arena_find(m_arena, m_memory.base() + 1, SIZE_MAX));

    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ucs_arena_extend(m_arena, m_memory.base() + 4 * PAGE, PAGE));
    /* Freed are those pages which are somebody's */
    EXPECT_EQ(UCS_OK,
              ucs_arena_free(m_arena, m_memory.base() + 4 * PAGE, PAGE, m_now));
    EXPECT_EQ(4u * PAGE, stats().live);
}

/* A program that maps something else there spoils the slab, which is opened anew
 * when that is gone */
TEST_F(test_arena_grow, what_is_mapped_behind_a_slab_spoils_it) {
    m_params.limit = FIRST * PAGE;
    make_short();
    allocate(1);
    spoil(10, 5);
    EXPECT_EQ(nullptr, allocate(1));
    tend();
    EXPECT_EQ(6u * PAGE, stats().live);
    free_page(0, 15);
    tend();
    EXPECT_EQ(0u, stats().live);
    EXPECT_NE(nullptr, allocate(4));
    EXPECT_EQ("4", lengths());
}
