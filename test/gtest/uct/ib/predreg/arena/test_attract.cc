/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_test.h"

#include <string.h>


/* What malloc() is told to map */
class test_attract : public ::testing::Test {
protected:
    static constexpr size_t   MIN    = 128 << 10;
    static constexpr size_t   MAX    = 64 << 20;
    static constexpr uint64_t SETTLE = UCT_PREDREG_ATTRACT_SETTLE;
    static constexpr uint64_t MANY   = UCT_PREDREG_ATTRACT_MIN_REFUSED;

    test_attract() : m_attract(attract_make(MIN, MAX)) { }

    ~test_attract() { attract_destroy(m_attract); }

    int look()
    {
        return uct_predreg_attract_look(m_attract, m_now, m_answered, m_refused,
                                        m_full);
    }

    /* All is mapped at first, but nothing is communicated, and that is over */
    void SetUp() override
    {
        EXPECT_EQ(UCT_PREDREG_ATTRACT_TRY, look());
        EXPECT_EQ(+MIN, m_attract->attracted);
        try_out();
        EXPECT_EQ(UCT_PREDREG_ATTRACT_UNUSED, look());
    }

    void try_out()
    {
        for (unsigned i = 1; i < UCT_PREDREG_ATTRACT_TRIAL; ++i) {
            EXPECT_FALSE(uct_predreg_attract_unmapped(m_attract));
            EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
        }
        EXPECT_TRUE(uct_predreg_attract_unmapped(m_attract));
    }

    /* Communicate, and let malloc() be told */
    void attract(size_t length)
    {
        EXPECT_TRUE(uct_predreg_attract_note(m_attract, length));
        EXPECT_EQ(UCT_PREDREG_ATTRACT_MORE, look());
        EXPECT_EQ(length, m_attract->attracted);
    }

    uct_predreg_attract_t *m_attract;
    uint64_t       m_now      = 1000;
    uint64_t       m_answered = 0;
    uint64_t       m_refused  = 0;
    bool           m_full     = true;
};

TEST_F(test_attract, shorter_and_shorter) {
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    attract(MAX);
    EXPECT_FALSE(uct_predreg_attract_note(m_attract, MAX));
    attract(MIN);
    EXPECT_FALSE(uct_predreg_attract_note(m_attract, 2 * MIN));
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
}

/* The arena would not serve it */
TEST_F(test_attract, too_short_and_too_long) {
    EXPECT_FALSE(uct_predreg_attract_note(m_attract, MIN - 1));
    EXPECT_FALSE(uct_predreg_attract_note(m_attract, MAX + 1));
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
}

TEST_F(test_attract, from_the_beginning_on) {
    attract_destroy(m_attract);
    m_attract = attract_make(MIN, MAX);
    EXPECT_TRUE(uct_predreg_attract_note(m_attract, 3 * MIN));
    EXPECT_EQ(UCT_PREDREG_ATTRACT_TRY, look());
    try_out();
    EXPECT_EQ(UCT_PREDREG_ATTRACT_MORE, look());
    EXPECT_EQ(3 * MIN, m_attract->attracted);
    EXPECT_FALSE(uct_predreg_attract_unmapped(m_attract));
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
}

TEST_F(test_attract, settles_once) {
    attract(MAX);
    m_now += SETTLE - 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    attract(MIN);
    m_now += SETTLE - 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    m_now += 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_SETTLED, look());
    m_now += 10 * SETTLE;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
}

/* Then malloc() is left alone, for good */
TEST_F(test_attract, arena_is_too_small) {
    attract(MIN);
    m_refused  = MANY - 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    m_refused  = MANY;
    m_answered = MANY;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    m_refused  = 3 * MANY;
    m_answered = 3 * MANY - 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_OVER, look());
    m_refused  = 100 * MANY;
    m_now     += 10 * SETTLE;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
}

/* The helper makes room: what was refused until then counts for nothing */
TEST_F(test_attract, arena_has_room_to_come) {
    attract(MIN);
    m_full    = false;
    m_refused = 100 * MANY;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    m_full     = true;
    m_refused += MANY - 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    m_refused += 1;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_OVER, look());
}

/* Whoever maps memory by itself is refused what there is no room for */
TEST_F(test_attract, refused_without_having_attracted) {
    m_refused = 100 * MANY;
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
    attract(MIN);
    EXPECT_EQ(UCT_PREDREG_ATTRACT_NOTHING, look());
}

TEST_F(test_attract, what_malloc_has_mapped) {
    const size_t page_size = 4096;
    alignas(4096) size_t page[2 * 512];

    memset(page, 0, sizeof(page));
    page[1] = sizeof(page) | 2;
    EXPECT_TRUE(uct_predreg_attract_is_malloced(&page[2], page_size));
    EXPECT_FALSE(uct_predreg_attract_is_malloced(&page[3], page_size));
    EXPECT_FALSE(uct_predreg_attract_is_malloced(&page[512], page_size));
    /* In the heap, and of another arena of glibc */
    for (size_t bits : {0, 1, 4, 5, 3, 6, 7}) {
        page[1] = sizeof(page) | bits;
        EXPECT_FALSE(uct_predreg_attract_is_malloced(&page[2], page_size));
    }
}
