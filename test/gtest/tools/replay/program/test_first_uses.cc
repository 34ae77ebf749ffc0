/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>

extern "C" {
#include <common/c_access.h>
}

#include <gtest/gtest.h>

extern "C" {
#include <tools/replay/program/costs.h>
}

#include <vector>


class test_first_uses : public ::testing::Test {
protected:
    static constexpr uint64_t PAGE = 4096;

    ~test_first_uses() { predreg_first_uses_cleanup(&m_uses); }

    /* @return whether a use of these pages tells what its registration took */
    bool tells(uint64_t first, uint64_t last, unsigned domain = 0,
               uint64_t duration = 100)
    {
        size_t before = m_uses.points.num_points;

        predreg_first_uses_begin(&m_uses, domain, first * PAGE,
                                 (last - first) * PAGE, duration);
        return m_uses.points.num_points > before;
    }

    void unmap(uint64_t first, uint64_t last)
    {
        predreg_first_uses_unmap(&m_uses, first * PAGE, last * PAGE);
    }

    predreg_first_uses_t m_uses = {};
};

TEST_F(test_first_uses, only_the_first)
{
    EXPECT_TRUE(tells(10, 20));
    EXPECT_FALSE(tells(10, 20));
    EXPECT_TRUE(tells(20, 30)); /* Beside it */
    EXPECT_TRUE(tells(10, 20, 1));
}

/* Slices of memory that is registered find it there */
TEST_F(test_first_uses, slices)
{
    EXPECT_TRUE(tells(10, 20));
    EXPECT_FALSE(tells(10, 11));
    EXPECT_FALSE(tells(12, 13));
    EXPECT_FALSE(tells(19, 20));
}

/* More of the same memory is registered as a whole; what only overlaps is
 * registered as one with what was there */
TEST_F(test_first_uses, growing)
{
    EXPECT_TRUE(tells(10, 20));
    EXPECT_TRUE(tells(10, 30));
    EXPECT_FALSE(tells(25, 35));
    EXPECT_FALSE(tells(10, 35));
    EXPECT_TRUE(tells(50, 60));
    EXPECT_TRUE(tells(5, 70));
    EXPECT_FALSE(tells(36, 49));
}

TEST_F(test_first_uses, unmapped)
{
    EXPECT_TRUE(tells(10, 20));
    EXPECT_TRUE(tells(10, 20, 3));
    unmap(0, 10);
    unmap(20, 100);
    unmap(15, 15);
    EXPECT_FALSE(tells(10, 20));
    unmap(14, 16);
    EXPECT_FALSE(tells(10, 14));
    EXPECT_FALSE(tells(16, 20));
    EXPECT_TRUE(tells(14, 16));
    EXPECT_TRUE(tells(14, 16, 3));
    unmap(0, 100);
    EXPECT_TRUE(tells(10, 20));
}

TEST_F(test_first_uses, not_measured)
{
    EXPECT_FALSE(tells(10, 20, 0, 0));
    EXPECT_FALSE(tells(10, 20));
}

/* Against a table of pages */
TEST_F(test_first_uses, random_uses)
{
    const unsigned num_pages = 200;
    std::vector<bool> pages[2];
    unsigned seed = 1, told = 0;

    pages[0].resize(num_pages);
    pages[1].resize(num_pages);
    for (unsigned i = 0; i < 20000; ++i) {
        uint64_t first  = rand_r(&seed) % (num_pages - 10);
        uint64_t last   = first + 1 + rand_r(&seed) % 9;
        unsigned domain = rand_r(&seed) % 2;

        if (rand_r(&seed) % 3 == 0) {
            unmap(first, last);
            for (uint64_t page = first; page < last; ++page) {
                pages[0][page] = pages[1][page] = false;
            }
            continue;
        }

        unsigned known = 0;
        for (uint64_t page = first; page < last; ++page) {
            known             += pages[domain][page];
            pages[domain][page] = true;
        }
        bool is_told = tells(first, last, domain);
        told        += is_told;
        EXPECT_TRUE(is_told || (known > 0));
    }
    EXPECT_LT(1000u, told);
}

TEST_F(test_first_uses, out_of_memory)
{
    EXPECT_GE(end_without_memory([&]() {
        for (uint64_t i = 1; i < 5; ++i) {
            predreg_first_uses_begin(&m_uses, 0, i * 10 * PAGE, PAGE, 1);
        }
        predreg_first_uses_begin(&m_uses, 0, 5 * PAGE, 30 * PAGE, 1);
        predreg_first_uses_unmap(&m_uses, 8 * PAGE, 9 * PAGE);
        return false;
    }), 5u);
}
