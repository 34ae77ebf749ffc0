/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/arena/memory/blocks.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

/* Free blocks and live pages of three open slabs, beside a vector that has the
 * state of each page */
class test_arena_blocks : public ::testing::Test {
protected:
    static constexpr uint32_t SHIFT = 6, SLAB = 1 << SHIFT, SLABS = 3;
    static constexpr int HELD = 100; /* And the kind */
    static constexpr int LIVE = 200;

    test_arena_blocks() :
        m_blocks(), m_tags(SLABS * SLAB), m_live(SLABS * SLAB / 64),
        m_usage(SLABS), m_model(SLABS * SLAB, UCS_ARENA_KIND_FRESH)
    {
        m_blocks.tags       = m_tags.data();
        m_blocks.live       = m_live.data();
        m_blocks.usage      = m_usage.data();
        m_blocks.slab_pages = SLAB;
        m_blocks.slab_shift = SHIFT;
        for (uint32_t slab = 0; slab < SLABS; ++slab) {
            ucs_arena_blocks_open(&m_blocks, slab, SLAB, 5);
        }
    }

    void set(uint32_t first, uint32_t length, int state)
    {
        std::fill(m_model.begin() + first, m_model.begin() + first + length,
                  state);
    }

    uint64_t count(int state)
    {
        return std::count(m_model.begin(), m_model.end(), state);
    }

    /* Idle blocks are as long as can be; all is counted */
    void check()
    {
        uint64_t held = 0;

        for (uint32_t first = 0, end; first < m_model.size(); first = end) {
            int state = m_model[first];

            if (state == LIVE) {
                EXPECT_TRUE(ucs_arena_bits_is_set(m_live.data(), first));
                EXPECT_EQ(0u, m_tags[first].kind);
                end = first + 1;
                continue;
            }

            EXPECT_FALSE(ucs_arena_bits_is_set(m_live.data(), first));
            end = first + ucs_arena_blocks_length(&m_blocks, first);
            ASSERT_GT(end, first);
            ASSERT_LE(end, m_model.size());
            ASSERT_EQ(first / SLAB, (end - 1) / SLAB);
            for (uint32_t page = first; page < end; ++page) {
                ASSERT_EQ(state, m_model[page]);
            }
            if (state >= HELD) {
                EXPECT_TRUE(ucs_arena_blocks_is_held(&m_blocks, first));
                EXPECT_EQ(state - HELD,
                          ucs_arena_blocks_held_kind(&m_blocks, first));
                EXPECT_EQ(UCS_ARENA_KIND_LAST,
                          ucs_arena_blocks_idle_kind(&m_blocks, first));
                held += end - first;
            } else {
                EXPECT_FALSE(ucs_arena_blocks_is_held(&m_blocks, first));
                EXPECT_EQ(state, ucs_arena_blocks_idle_kind(&m_blocks, first));
                EXPECT_TRUE((end % SLAB == 0) || (m_model[end] != state));
            }
        }

        EXPECT_EQ(held, m_blocks.num_held);
        EXPECT_EQ(count(LIVE), m_blocks.num_live);
        for (int kind = 0; kind < UCS_ARENA_KIND_LAST; ++kind) {
            EXPECT_EQ(count(kind), m_blocks.num[kind]);
        }
        check_usage();
    }

    void check_usage()
    {
        for (uint32_t slab = 0; slab < SLABS; ++slab) {
            auto begin = m_model.begin() + slab * SLAB, end = begin + SLAB;

            EXPECT_EQ(std::count(begin, end, LIVE), m_usage[slab].live);
            EXPECT_EQ(std::count_if(begin, end,
                                    [](int state) { return state < HELD; }),
                      m_usage[slab].idle);
            EXPECT_EQ(std::count_if(begin, end,
                                    [](int state) {
                                        return (state >= HELD) && (state != LIVE);
                                    }),
                      m_usage[slab].held);
        }
    }

    /* Live pages that follow each other. @return their number */
    uint32_t live_run(uint32_t first)
    {
        uint32_t end = first;

        while ((end < m_model.size()) && (m_model[end] == LIVE) &&
               (end / SLAB == first / SLAB)) {
            ++end;
        }
        return end - first;
    }

    ucs_arena_blocks_t             m_blocks;
    std::vector<ucs_arena_tag_t>   m_tags;
    std::vector<uint64_t>          m_live;
    std::vector<ucs_arena_usage_t> m_usage;
    std::vector<int>               m_model;
};

TEST_F(test_arena_blocks, neighbours_of_one_kind_become_one) {
    ucs_arena_blocks_make_live(&m_blocks, 0, 16);
    ucs_arena_blocks_retire(&m_blocks, 0, 4, 6, 1);
    ucs_arena_blocks_release(&m_blocks, 0, UCS_ARENA_KIND_FRESH);
    EXPECT_EQ(4u, ucs_arena_blocks_length(&m_blocks, 0));
    EXPECT_EQ(SLAB - 16, ucs_arena_blocks_length(&m_blocks, 16));

    /* Those with pages between them do not */
    ucs_arena_blocks_retire(&m_blocks, 4, 4, 7, 0);
    ucs_arena_blocks_retire(&m_blocks, 12, 4, 8, 0);
    EXPECT_EQ(4u, ucs_arena_blocks_length(&m_blocks, 4));
    ucs_arena_blocks_retire(&m_blocks, 8, 4, 9, 0);
    EXPECT_EQ(12u, ucs_arena_blocks_length(&m_blocks, 4));
    EXPECT_EQ(4u, ucs_arena_blocks_length(&m_blocks, 0));
    EXPECT_EQ(9u, m_usage[0].empty_since);
    EXPECT_EQ(5u, m_usage[1].empty_since);

    /* Nor a held one, until it is released */
    EXPECT_EQ(12u, ucs_arena_blocks_hold(&m_blocks, 4, SLAB));
    ucs_arena_blocks_release(&m_blocks, 4, UCS_ARENA_KIND_FRESH);
    EXPECT_EQ(SLAB, ucs_arena_blocks_length(&m_blocks, 0));
    check();
}

TEST_F(test_arena_blocks, random_steps) {
    std::mt19937 random(3);

    for (unsigned step = 0; (step < 10000) && !HasFailure(); ++step) {
        uint32_t page   = random() % m_model.size();
        uint32_t length = 1 + random() % 20;
        int kind        = random() % UCS_ARENA_KIND_LAST;

        switch (random() % 4) {
        case 0: /* Allocate */
            page = ucs_arena_fit_find(&m_blocks.fit[kind], m_blocks.tags, length);
            if (page != UCS_ARENA_NO_PAGE) {
                ucs_arena_blocks_make_live(&m_blocks, page, length);
                set(page, length, LIVE);
            }
            break;
        case 1: /* Free */
            length = std::min(length, live_run(page));
            if (length > 0) {
                int is_held = random() % 2;

                ucs_arena_blocks_retire(&m_blocks, page, length, 1, is_held);
                set(page, length,
                    UCS_ARENA_KIND_DIRTY + (is_held ? HELD : 0));
            }
            break;
        case 2: /* Hold a part of a block */
            page = ucs_arena_fit_longest(&m_blocks.fit[kind]);
            if (page != UCS_ARENA_NO_PAGE) {
                length = ucs_arena_blocks_hold(&m_blocks, page, length);
                set(page, length, kind + HELD);
            }
            break;
        default: /* Release a held block */
            if (ucs_arena_blocks_is_held(&m_blocks, page)) {
                length = ucs_arena_blocks_length(&m_blocks, page);
                ucs_arena_blocks_release(&m_blocks, page,
                                         (ucs_arena_kind_t)kind);
                set(page, length, kind);
            }
            break;
        }
        check();
    }
}

TEST_F(test_arena_blocks, a_slab_comes_and_goes) {
    EXPECT_EQ(SLAB, ucs_arena_blocks_hold(&m_blocks, SLAB, SLAB));
    ucs_arena_blocks_drop(&m_blocks, SLAB);
    ucs_arena_blocks_close(&m_blocks, 1);
    EXPECT_EQ(2u * SLAB, m_blocks.num[UCS_ARENA_KIND_FRESH]);
    EXPECT_EQ(0u, m_usage[1].held);
    ucs_arena_blocks_open(&m_blocks, 1, SLAB, 6);
    EXPECT_EQ(6u, m_usage[1].empty_since);
    check();
}
