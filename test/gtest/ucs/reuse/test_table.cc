/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/reuse/buffers.h>
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
        destroy();
    }

    void make(double min_hot, unsigned bits = BITS)
    {
        destroy();
        m_table = new ucs_reuse_table_t;
        ASSERT_EQ(UCS_OK, ucs_reuse_table_init(m_table, bits, min_hot));
    }

    void destroy()
    {
        if (m_table != nullptr) {
            ucs_reuse_table_cleanup(m_table);
            delete m_table;
        }
    }

    /* So many addresses whose buffers are of one line */
    std::vector<uintptr_t> of_one_line(unsigned count, unsigned line = 3)
    {
        std::vector<uintptr_t> addresses;

        for (uintptr_t address = 0x10000; addresses.size() < count;
             address += 64) {
            if (ucs_hash_bits(address, m_table->bits) == line) {
                addresses.push_back(address);
            }
        }
        return addresses;
    }

    ucs_reuse_buffer_t *add(uintptr_t address)
    {
        ucs_reuse_buffer_t *buffer = ucs_reuse_table_add(m_table, (void*)address);

        EXPECT_EQ(buffer, ucs_reuse_table_find(m_table, (void*)address));
        return buffer;
    }

    /* Whether the table takes a buffer */
    bool takes(uintptr_t address)
    {
        return ucs_reuse_table_add(m_table, (void*)address) != nullptr;
    }

    int heat(uintptr_t address, uint32_t handle)
    {
        return ucs_reuse_table_heat(m_table,
                                    ucs_reuse_table_find(m_table, (void*)address),
                                    (void*)address, handle);
    }

    /* Fill a line with cold buffers, until the table stops. @return them */
    std::vector<uintptr_t> stop()
    {
        auto addresses = of_one_line(UCS_REUSE_LINE_BUFFERS + 1);

        for (unsigned i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
            EXPECT_TRUE(takes(addresses[i]));
        }
        EXPECT_FALSE(takes(addresses.back()));
        EXPECT_TRUE(m_table->is_stopped);
        addresses.pop_back();
        return addresses;
    }

    ucs_reuse_table_t *m_table = nullptr;
};

TEST_F(test_reuse_table, is_empty_at_first) {
    for (uintptr_t address = 8; address < 0x10000; address += 8) {
        ASSERT_EQ(nullptr, ucs_reuse_table_find(m_table, (void*)address));
    }
    EXPECT_EQ(0u, m_table->num_buffers);
}

TEST_F(test_reuse_table, a_buffer_is_found_by_its_address_alone) {
    ucs_reuse_buffer_t *buffer = add(0x7f0000001000);

    ASSERT_NE(nullptr, buffer);
    EXPECT_EQ(0u, ucs_reuse_buffer_handle(buffer));
    EXPECT_EQ(nullptr, ucs_reuse_table_find(m_table, (void*)0x7f0000001001));
    EXPECT_EQ(nullptr, ucs_reuse_table_find(m_table, (void*)0x7f0000000fff));
    EXPECT_EQ(1u, m_table->num_buffers);
}

TEST_F(test_reuse_table, counts_each_buffer_by_itself) {
    ucs_reuse_buffer_t *a = add(0x1000);
    ucs_reuse_buffer_t *b = add(0x2000);

    EXPECT_EQ(1u, ucs_reuse_buffer_count(a));
    EXPECT_EQ(2u, ucs_reuse_buffer_count(a));
    EXPECT_EQ(1u, ucs_reuse_buffer_count(b));
    EXPECT_EQ(3u, ucs_reuse_buffer_count(a));
}

TEST_F(test_reuse_table, counting_ends_at_the_largest_number) {
    ucs_reuse_buffer_t *buffer = add(0x1000);
    uint32_t count              = 0;

    for (uint32_t i = 0; i < UCS_REUSE_MAX_COUNT + 10; ++i) {
        count = ucs_reuse_buffer_count(buffer);
    }
    EXPECT_EQ(UCS_REUSE_MAX_COUNT, count);
}

TEST_F(test_reuse_table, a_buffer_is_heated_once) {
    ucs_reuse_buffer_t *buffer = add(0x1000);

    EXPECT_TRUE(heat(0x1000, 7));
    EXPECT_FALSE(heat(0x1000, 8));
    EXPECT_EQ(7u, ucs_reuse_buffer_handle(buffer));
    EXPECT_EQ(1u, m_table->num_hot);
}

TEST_F(test_reuse_table, another_ones_place_is_not_heated) {
    ucs_reuse_buffer_t *buffer = add(0x1000);

    EXPECT_FALSE(ucs_reuse_table_heat(m_table, buffer, (void*)0x2000, 7));
    EXPECT_EQ(0u, ucs_reuse_buffer_handle(buffer));
    EXPECT_EQ(0u, m_table->num_hot);
}

TEST_F(test_reuse_table, a_buffer_cools_and_is_counted_anew) {
    ucs_reuse_buffer_t *buffer = add(0x1000);

    ucs_reuse_buffer_count(buffer);
    heat(0x1000, 7);
    ucs_reuse_table_cool(m_table, buffer, 8); /* Not its handle */
    EXPECT_EQ(7u, ucs_reuse_buffer_handle(buffer));

    ucs_reuse_table_cool(m_table, buffer, 7);
    EXPECT_EQ(0u, ucs_reuse_buffer_handle(buffer));
    EXPECT_EQ(0u, m_table->num_hot);
    EXPECT_EQ(1u, ucs_reuse_buffer_count(buffer));

    ucs_reuse_table_cool(m_table, buffer, 7); /* Is cold already */
    EXPECT_EQ(0u, m_table->num_hot);
    EXPECT_TRUE(heat(0x1000, 9));
}

TEST_F(test_reuse_table, chains_grow_while_enough_is_hot) {
    auto addresses = of_one_line(100);
    std::set<ucs_reuse_buffer_t*> places;

    for (unsigned i = 0; i < addresses.size(); ++i) {
        ucs_reuse_buffer_t *buffer = add(addresses[i]);

        ASSERT_NE(nullptr, buffer);
        ASSERT_TRUE(places.insert(buffer).second);
        if (i % 4 == 0) {
            EXPECT_TRUE(heat(addresses[i], i + 1));
        }
    }

    for (unsigned i = 0; i < addresses.size(); ++i) {
        ucs_reuse_buffer_t *buffer = ucs_reuse_table_find(m_table,
                                                           (void*)addresses[i]);

        ASSERT_NE(nullptr, buffer);
        EXPECT_EQ((i % 4 == 0) ? i + 1 : 0u, ucs_reuse_buffer_handle(buffer));
    }
    EXPECT_EQ(100u, m_table->num_buffers);
}

TEST_F(test_reuse_table, stops_when_a_chain_would_grow_for_cold_buffers) {
    auto addresses = stop();

    /* Not even where there is room */
    EXPECT_FALSE(takes(of_one_line(1, 5)[0]));

    /* What it has is found still */
    for (uintptr_t address : addresses) {
        EXPECT_NE(nullptr, ucs_reuse_table_find(m_table, (void*)address));
    }
}

TEST_F(test_reuse_table, a_table_that_is_full_without_chains_does_not_stop) {
    for (unsigned line = 0; line < LINES; ++line) {
        for (uintptr_t address : of_one_line(UCS_REUSE_LINE_BUFFERS, line)) {
            EXPECT_TRUE(takes(address));
        }
    }
    EXPECT_FALSE(m_table->is_stopped);
    EXPECT_EQ(LINES * UCS_REUSE_LINE_BUFFERS,
              m_table->num_buffers);
}

TEST_F(test_reuse_table, begins_again_when_enough_is_hot) {
    auto addresses = stop();

    /* One of three is more than 20 % */
    EXPECT_TRUE(heat(addresses[0], 1));
    EXPECT_FALSE(m_table->is_stopped);
    EXPECT_TRUE(takes(of_one_line(UCS_REUSE_LINE_BUFFERS + 1).back()));
}

TEST_F(test_reuse_table, begins_again_only_when_enough_is_hot) {
    make(0.6);
    auto addresses = stop();

    EXPECT_TRUE(heat(addresses[0], 1));
    EXPECT_TRUE(m_table->is_stopped);
    EXPECT_TRUE(heat(addresses[1], 2));
    EXPECT_FALSE(m_table->is_stopped);
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
    EXPECT_GE(refused, 4 * UCS_REUSE_LINE_BUFFERS);
    EXPECT_GE(refused, unsigned(LINES));

    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(nullptr, ucs_reuse_table_find(m_table, (void*)addresses[i]));
    }
    EXPECT_EQ(1u, m_table->num_buffers);
}

TEST_F(test_reuse_table, hot_buffers_stay_when_it_starts_anew) {
    make(0.9);
    auto addresses = stop();
    ucs_reuse_buffer_t *hot = ucs_reuse_table_find(m_table, (void*)addresses[1]);
    uintptr_t another        = of_one_line(1, 5)[0];
    unsigned i;

    ucs_reuse_buffer_count(hot);
    EXPECT_TRUE(heat(addresses[1], 4));
    EXPECT_TRUE(m_table->is_stopped);
    for (i = 0; !takes(another); ++i) {
        ASSERT_LT(i, 1000000u);
    }

    EXPECT_EQ(hot, ucs_reuse_table_find(m_table, (void*)addresses[1]));
    EXPECT_EQ(4u, ucs_reuse_buffer_handle(hot));
    EXPECT_EQ(nullptr, ucs_reuse_table_find(m_table, (void*)addresses[0]));
    EXPECT_EQ(2u, m_table->num_buffers);
    EXPECT_EQ(1u, m_table->num_hot);
}

TEST_F(test_reuse_table, a_place_that_is_taken_over_begins_at_0) {
    auto addresses = stop();
    uintptr_t another = of_one_line(UCS_REUSE_LINE_BUFFERS + 1).back();
    unsigned i;

    for (uintptr_t address : addresses) {
        ucs_reuse_buffer_count(ucs_reuse_table_find(m_table, (void*)address));
    }

    for (i = 0; !takes(another); ++i) {
        ASSERT_LT(i, 1000000u);
    }
    EXPECT_EQ(1u, ucs_reuse_buffer_count(ucs_reuse_table_find(m_table, (void*)another)));
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
                ucs_reuse_buffer_t *buffer;
                uint32_t handle;

                buffer = ucs_reuse_table_find(m_table, (void*)address);
                if (buffer == nullptr) {
                    buffer = ucs_reuse_table_add(m_table, (void*)address);
                }
                if (buffer == nullptr) {
                    ++wrong;
                    continue;
                }

                ucs_reuse_buffer_count(buffer);
                handle = ++handles;
                if (ucs_reuse_table_heat(m_table, buffer, (void*)address, handle) &&
                    (i % 2 == 0)) {
                    ucs_reuse_table_cool(m_table, buffer, handle);
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    unsigned hot = 0;
    for (unsigned i = 1; i <= COUNT; ++i) {
        ucs_reuse_buffer_t *buffer = ucs_reuse_table_find(m_table,
                                                           (void*)(0x1000ul * i));

        ASSERT_NE(nullptr, buffer);
        hot += (ucs_reuse_buffer_handle(buffer) != 0);
    }
    EXPECT_EQ(0u, wrong);
    EXPECT_LE(hot, m_table->num_hot);
    EXPECT_GE(m_table->num_buffers, COUNT);
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
                ucs_reuse_buffer_t *buffer;

                buffer = ucs_reuse_table_find(m_table, (void*)address);
                if (buffer == nullptr) {
                    buffer = ucs_reuse_table_add(m_table, (void*)address);
                }
                if (buffer == nullptr) {
                    continue;
                }

                ucs_reuse_buffer_count(buffer);
                if ((i % 64 == 0) &&
                    ucs_reuse_table_heat(m_table, buffer, (void*)address, i + 1)) {
                    /* A hot buffer keeps its place */
                    if (ucs_reuse_buffer_handle(buffer) != i + 1) {
                        ++wrong;
                    }
                    ucs_reuse_table_cool(m_table, buffer, i + 1);
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0u, wrong);
    EXPECT_EQ(0u, m_table->num_hot);
}
