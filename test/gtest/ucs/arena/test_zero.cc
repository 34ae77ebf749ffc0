/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/arena/memory/zero.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

/* Filling memory with zeros */
TEST(test_arena_zero, fills_exactly_the_range) {
    alignas(64) static uint8_t memory[64 * 64];

    for (size_t first = 0; first < 4; ++first) {
        for (size_t lines : {0, 1, 2, 3, 7, 59}) {
            uint8_t *start = memory + first * 64, *end = start + lines * 64;

            std::fill(std::begin(memory), std::end(memory), 0xa5);
            ucs_arena_zero(start, end - start);
            EXPECT_EQ(start, std::find(memory, start, 0));
            EXPECT_EQ(end - start, std::count(start, end, 0));
            EXPECT_EQ(0, std::count(end, std::end(memory), 0));
        }
    }
}
