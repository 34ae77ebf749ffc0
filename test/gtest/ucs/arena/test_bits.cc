/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/arena/memory/bits.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

/* Every range of three words, against bits of a vector */
TEST(test_arena_bits, ranges_are_set_cleared_and_found) {
    constexpr size_t NUM = 192;

    for (size_t first = 0; first < NUM; ++first) {
        for (size_t end = first + 1; end <= NUM; ++end) {
            uint64_t bits[4] = {0, 0, 0, 0xfeed}; /* The last one is not ours */

            ucs_arena_bits_set(bits, first, end);
            ASSERT_EQ(first, ucs_arena_bits_next_set(bits, 0, NUM));
            ASSERT_EQ(end, ucs_arena_bits_next_clear(bits, first, NUM));
            ASSERT_EQ(NUM, ucs_arena_bits_next_set(bits, end, NUM));
            ASSERT_EQ(first, ucs_arena_bits_next_set(bits, 0, first));
            ASSERT_EQ((first > 0) ? 0 : end,
                      ucs_arena_bits_next_clear(bits, 0, NUM));
            ASSERT_TRUE(ucs_arena_bits_is_set(bits, end - 1));
            ASSERT_EQ(0xfeedu, bits[3]);

            for (auto &word : bits) {
                word = ~word;
            }
            ucs_arena_bits_set(bits, first, end);
            ASSERT_EQ(NUM, ucs_arena_bits_next_clear(bits, 0, NUM));
            ucs_arena_bits_clear(bits, first, end);
            ASSERT_EQ(first, ucs_arena_bits_next_clear(bits, 0, NUM));
            ASSERT_EQ(end, ucs_arena_bits_next_set(bits, first, NUM));
            ASSERT_FALSE(ucs_arena_bits_is_set(bits, first));
            ASSERT_EQ(~0xfeedul, bits[3]);
        }
    }
}

TEST(test_arena_bits, random_ranges) {
    constexpr size_t NUM = 1000;
    std::vector<uint64_t> bits((NUM + 63) / 64);
    std::vector<bool> model(NUM);
    std::mt19937 random(1);

    for (unsigned step = 0; step < 20000; ++step) {
        size_t first = random() % NUM;
        size_t end   = std::min(NUM, first + 1 + random() % 100);
        bool value   = random() % 2;

        (value ? ucs_arena_bits_set : ucs_arena_bits_clear)(bits.data(), first,
                                                            end);
        std::fill(model.begin() + first, model.begin() + end, value);

        first = random() % NUM;
        ASSERT_EQ(std::find(model.begin() + first, model.end(), true) -
                          model.begin(),
                  (ptrdiff_t)ucs_arena_bits_next_set(bits.data(), first, NUM));
        ASSERT_EQ(std::find(model.begin() + first, model.end(), false) -
                          model.begin(),
                  (ptrdiff_t)ucs_arena_bits_next_clear(bits.data(), first,
                                                       NUM));
    }
}
