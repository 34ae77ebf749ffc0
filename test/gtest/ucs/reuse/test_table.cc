/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "reuse_access.h"

#include <ucs/reuse/costs.h>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

/* The table of small buffers that a program sends */
class test_reuse_table : public ::testing::Test {
protected:
    /* Small, so that lines get full */
    static constexpr unsigned BITS = 4;
    static constexpr unsigned LINES = 1 << BITS;

    void SetUp() override
    {
        make(0.2);
    }

    void TearDown() override
    {
        test_reuse_table_free(m_table);
    }

    void make(double min_hot, unsigned bits = BITS)
    {
        if (m_table != nullptr) {
            test_reuse_table_free(m_table);
        }
        m_table = test_reuse_table_make(bits, min_hot);
        ASSERT_NE(nullptr, m_table);
    }

    /* So many addresses whose buffers are of one line */
    std::vector<uintptr_t> of_one_line(unsigned count, unsigned line = 3)
    {
        std::vector<uintptr_t> addresses;

        for (uintptr_t address = 0x10000; addresses.size() < count;
             address += 64) {
            if (test_reuse_table_line(m_table, address) == line) {
                addresses.push_back(address);
            }
        }
        return addresses;
    }

    test_reuse_buffer_t *add(uintptr_t address)
    {
        test_reuse_buffer_t *buffer = test_reuse_table_add(m_table, address);

        EXPECT_EQ(buffer, test_reuse_table_find(m_table, address));
        return buffer;
    }

    /* Whether the table takes a buffer */
    bool takes(uintptr_t address)
    {
        return test_reuse_table_add(m_table, address) != nullptr;
    }

    int heat(uintptr_t address, uint32_t handle)
    {
        return test_reuse_table_heat(m_table,
                                     test_reuse_table_find(m_table, address),
                                     address, handle);
    }

    /* Fill a line with cold buffers, until the table stops. @return them */
    std::vector<uintptr_t> stop()
    {
        auto addresses = of_one_line(test_reuse_line_buffers() + 1);

        for (unsigned i = 0; i < test_reuse_line_buffers(); ++i) {
            EXPECT_TRUE(takes(addresses[i]));
        }
        EXPECT_FALSE(takes(addresses.back()));
        EXPECT_TRUE(test_reuse_table_is_stopped(m_table));
        addresses.pop_back();
        return addresses;
    }

    test_reuse_table_t *m_table = nullptr;
};

TEST_F(test_reuse_table, is_empty_at_first) {
    for (uintptr_t address = 8; address < 0x10000; address += 8) {
        ASSERT_EQ(nullptr, test_reuse_table_find(m_table, address));
    }
    EXPECT_EQ(0u, test_reuse_table_num_buffers(m_table));
}

TEST_F(test_reuse_table, a_buffer_is_found_by_its_address_alone) {
    test_reuse_buffer_t *buffer = add(0x7f0000001000);

    ASSERT_NE(nullptr, buffer);
    EXPECT_EQ(0u, test_reuse_buffer_handle(buffer));
    EXPECT_EQ(nullptr, test_reuse_table_find(m_table, 0x7f0000001001));
    EXPECT_EQ(nullptr, test_reuse_table_find(m_table, 0x7f0000000fff));
    EXPECT_EQ(1u, test_reuse_table_num_buffers(m_table));
}

TEST_F(test_reuse_table, counts_each_buffer_by_itself) {
    test_reuse_buffer_t *a = add(0x1000);
    test_reuse_buffer_t *b = add(0x2000);

    EXPECT_EQ(1u, test_reuse_buffer_count(a));
    EXPECT_EQ(2u, test_reuse_buffer_count(a));
    EXPECT_EQ(1u, test_reuse_buffer_count(b));
    EXPECT_EQ(3u, test_reuse_buffer_count(a));
}

TEST_F(test_reuse_table, counting_ends_at_the_largest_number) {
    test_reuse_buffer_t *buffer = add(0x1000);
    uint32_t count              = 0;

    for (uint32_t i = 0; i < test_reuse_max_count() + 10; ++i) {
        count = test_reuse_buffer_count(buffer);
    }
    EXPECT_EQ(test_reuse_max_count(), count);
}

TEST_F(test_reuse_table, a_buffer_is_heated_once) {
    test_reuse_buffer_t *buffer = add(0x1000);

    EXPECT_TRUE(heat(0x1000, 7));
    EXPECT_FALSE(heat(0x1000, 8));
    EXPECT_EQ(7u, test_reuse_buffer_handle(buffer));
    EXPECT_EQ(1u, test_reuse_table_num_hot(m_table));
}

TEST_F(test_reuse_table, another_ones_place_is_not_heated) {
    test_reuse_buffer_t *buffer = add(0x1000);

    EXPECT_FALSE(test_reuse_table_heat(m_table, buffer, 0x2000, 7));
    EXPECT_EQ(0u, test_reuse_buffer_handle(buffer));
    EXPECT_EQ(0u, test_reuse_table_num_hot(m_table));
}

TEST_F(test_reuse_table, a_buffer_cools_and_is_counted_anew) {
    test_reuse_buffer_t *buffer = add(0x1000);

    test_reuse_buffer_count(buffer);
    heat(0x1000, 7);
    test_reuse_table_cool(m_table, buffer, 8); /* Not its handle */
    EXPECT_EQ(7u, test_reuse_buffer_handle(buffer));

    test_reuse_table_cool(m_table, buffer, 7);
    EXPECT_EQ(0u, test_reuse_buffer_handle(buffer));
    EXPECT_EQ(0u, test_reuse_table_num_hot(m_table));
    EXPECT_EQ(1u, test_reuse_buffer_count(buffer));

    test_reuse_table_cool(m_table, buffer, 7); /* Is cold already */
    EXPECT_EQ(0u, test_reuse_table_num_hot(m_table));
    EXPECT_TRUE(heat(0x1000, 9));
}

TEST_F(test_reuse_table, chains_grow_while_enough_is_hot) {
    auto addresses = of_one_line(100);
    std::set<test_reuse_buffer_t*> places;

    for (unsigned i = 0; i < addresses.size(); ++i) {
        test_reuse_buffer_t *buffer = add(addresses[i]);

        ASSERT_NE(nullptr, buffer);
        ASSERT_TRUE(places.insert(buffer).second);
        if (i % 4 == 0) {
            EXPECT_TRUE(heat(addresses[i], i + 1));
        }
    }

    for (unsigned i = 0; i < addresses.size(); ++i) {
        test_reuse_buffer_t *buffer = test_reuse_table_find(m_table,
                                                            addresses[i]);

        ASSERT_NE(nullptr, buffer);
        EXPECT_EQ((i % 4 == 0) ? i + 1 : 0u, test_reuse_buffer_handle(buffer));
    }
    EXPECT_EQ(100u, test_reuse_table_num_buffers(m_table));
}

TEST_F(test_reuse_table, stops_when_a_chain_would_grow_for_cold_buffers) {
    auto addresses = stop();

    /* Not even where there is room */
    EXPECT_FALSE(takes(of_one_line(1, 5)[0]));

    /* What it has is found still */
    for (uintptr_t address : addresses) {
        EXPECT_NE(nullptr, test_reuse_table_find(m_table, address));
    }
}

TEST_F(test_reuse_table, a_table_that_is_full_without_chains_does_not_stop) {
    for (unsigned line = 0; line < LINES; ++line) {
        for (uintptr_t address : of_one_line(test_reuse_line_buffers(), line)) {
            EXPECT_TRUE(takes(address));
        }
    }
    EXPECT_FALSE(test_reuse_table_is_stopped(m_table));
    EXPECT_EQ(LINES * test_reuse_line_buffers(),
              test_reuse_table_num_buffers(m_table));
}

TEST_F(test_reuse_table, begins_again_when_enough_is_hot) {
    auto addresses = stop();

    /* One of three is more than 20 % */
    EXPECT_TRUE(heat(addresses[0], 1));
    EXPECT_FALSE(test_reuse_table_is_stopped(m_table));
    EXPECT_TRUE(takes(of_one_line(test_reuse_line_buffers() + 1).back()));
}

TEST_F(test_reuse_table, begins_again_only_when_enough_is_hot) {
    make(0.6);
    auto addresses = stop();

    EXPECT_TRUE(heat(addresses[0], 1));
    EXPECT_TRUE(test_reuse_table_is_stopped(m_table));
    EXPECT_TRUE(heat(addresses[1], 2));
    EXPECT_FALSE(test_reuse_table_is_stopped(m_table));
}

TEST_F(test_reuse_table, never_stops_if_nothing_has_to_be_hot) {
    make(0);
    for (uintptr_t address : of_one_line(50)) {
        EXPECT_TRUE(takes(address));
    }
}

TEST_F(test_reuse_table, starts_anew_after_many_refusals) {
    auto addresses = of_one_line(200);
    unsigned refused;

    for (unsigned i = 0; i < 3; ++i) {
        add(addresses[i]);
    }
    EXPECT_FALSE(takes(addresses[3]));

    for (refused = 0; !takes(addresses[refused % 100 + 3]); ++refused) {
        ASSERT_LT(refused, 1000000u);
    }
    /* It costs a walk through the table, which must not be often */
    EXPECT_GE(refused, 4 * test_reuse_line_buffers());
    EXPECT_GE(refused, unsigned(LINES));

    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(nullptr, test_reuse_table_find(m_table, addresses[i]));
    }
    EXPECT_EQ(1u, test_reuse_table_num_buffers(m_table));
}

TEST_F(test_reuse_table, hot_buffers_stay_when_it_starts_anew) {
    make(0.9);
    auto addresses = stop();
    test_reuse_buffer_t *hot = test_reuse_table_find(m_table, addresses[1]);
    uintptr_t another        = of_one_line(1, 5)[0];
    unsigned i;

    test_reuse_buffer_count(hot);
    EXPECT_TRUE(heat(addresses[1], 4));
    EXPECT_TRUE(test_reuse_table_is_stopped(m_table));
    for (i = 0; !takes(another); ++i) {
        ASSERT_LT(i, 1000000u);
    }

    EXPECT_EQ(hot, test_reuse_table_find(m_table, addresses[1]));
    EXPECT_EQ(4u, test_reuse_buffer_handle(hot));
    EXPECT_EQ(nullptr, test_reuse_table_find(m_table, addresses[0]));
    EXPECT_EQ(2u, test_reuse_table_num_buffers(m_table));
    EXPECT_EQ(1u, test_reuse_table_num_hot(m_table));
}

TEST_F(test_reuse_table, a_place_that_is_taken_over_begins_at_0) {
    auto addresses = stop();
    uintptr_t another = of_one_line(test_reuse_line_buffers() + 1).back();
    unsigned i;

    for (uintptr_t address : addresses) {
        test_reuse_buffer_count(test_reuse_table_find(m_table, address));
    }

    for (i = 0; !takes(another); ++i) {
        ASSERT_LT(i, 1000000u);
    }
    EXPECT_EQ(1u, test_reuse_buffer_count(
            test_reuse_table_find(m_table, another)));
}

/* Threads that add the same buffers, heat and cool them */
TEST_F(test_reuse_table, many_threads) {
    static constexpr unsigned THREADS = 4;
    static constexpr unsigned COUNT   = 1000;
    std::vector<std::thread> threads;
    std::atomic<uint32_t> handles{0};
    std::atomic<unsigned> wrong{0};

    make(0, 8);
    for (unsigned t = 0; t < THREADS; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 20 * COUNT; ++i) {
                uintptr_t address = 0x1000 * (1 + (i * (t + 1)) % COUNT);
                test_reuse_buffer_t *buffer;
                uint32_t handle;

                buffer = test_reuse_table_find(m_table, address);
                if (buffer == nullptr) {
                    buffer = test_reuse_table_add(m_table, address);
                }
                if (buffer == nullptr) {
                    ++wrong;
                    continue;
                }

                test_reuse_buffer_count(buffer);
                handle = ++handles;
                if (test_reuse_table_heat(m_table, buffer, address, handle) &&
                    (i % 2 == 0)) {
                    test_reuse_table_cool(m_table, buffer, handle);
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    unsigned hot = 0;
    for (unsigned i = 1; i <= COUNT; ++i) {
        test_reuse_buffer_t *buffer = test_reuse_table_find(m_table,
                                                            0x1000 * i);

        ASSERT_NE(nullptr, buffer);
        hot += (test_reuse_buffer_handle(buffer) != 0);
    }
    EXPECT_EQ(0u, wrong);
    EXPECT_LE(hot, test_reuse_table_num_hot(m_table));
    EXPECT_GE(test_reuse_table_num_buffers(m_table), COUNT);
}

/* Threads that drive a small table to stop and to start anew all the time,
 * while others look up, count and heat */
TEST_F(test_reuse_table, threads_while_it_starts_anew) {
    std::vector<std::thread> threads;
    std::atomic<unsigned> wrong{0};

    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 200000; ++i) {
                uintptr_t address = 0x1000 * (1 + (i * 7 + t * 1000003) % 5000);
                test_reuse_buffer_t *buffer;

                buffer = test_reuse_table_find(m_table, address);
                if (buffer == nullptr) {
                    buffer = test_reuse_table_add(m_table, address);
                }
                if (buffer == nullptr) {
                    continue;
                }

                test_reuse_buffer_count(buffer);
                if ((i % 64 == 0) &&
                    test_reuse_table_heat(m_table, buffer, address, i + 1)) {
                    /* A hot buffer keeps its place */
                    if (test_reuse_buffer_handle(buffer) != i + 1) {
                        ++wrong;
                    }
                    test_reuse_table_cool(m_table, buffer, i + 1);
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0u, wrong);
    EXPECT_EQ(0u, test_reuse_table_num_hot(m_table));
}
