/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/reuse/buffers.h>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

/* The registrations of hot buffers */
class test_reuse_slots : public ::testing::Test {
protected:
    static constexpr uintptr_t PAGE = 0x1000;

    void SetUp() override
    {
        m_slots = new ucs_reuse_slots_t;
        ASSERT_EQ(UCS_OK, ucs_reuse_slots_init(m_slots));
    }

    void TearDown() override
    {
        ucs_reuse_slots_cleanup(m_slots);
        delete m_slots;
    }

    /* A slot of pages first to end - 1. @return its number */
    uint32_t fill(uintptr_t first, uintptr_t end)
    {
        return ucs_reuse_slots_fill(m_slots, PAGE * first, PAGE * end,
                                    reinterpret_cast<void*>(first), nullptr);
    }

    ucs_reuse_slot_t *acquire(uint32_t number, uintptr_t start, uintptr_t end)
    {
        return ucs_reuse_slots_acquire(m_slots, number, start, end);
    }

    /* Whether a slot can be used that has this page */
    bool is_live(uint32_t number, uintptr_t page)
    {
        ucs_reuse_slot_t *slot = acquire(number, PAGE * page,
                                          PAGE * page + 1);

        if (slot != nullptr) {
            ucs_reuse_slot_release(slot);
        }
        return slot != nullptr;
    }

    void unmap(uintptr_t first, uintptr_t end)
    {
        ucs_reuse_slots_unmapped(m_slots, PAGE * first, PAGE * end);
    }

    ucs_reuse_slot_t *at(uint32_t number)
    {
        return ucs_reuse_slots_at(m_slots, number);
    }

    ucs_reuse_slots_t *m_slots;
};

TEST_F(test_reuse_slots, a_slot_is_filled_and_used) {
    uint32_t number = fill(16, 18);
    ucs_reuse_slot_t *slot;

    ASSERT_NE(0u, number);
    EXPECT_EQ(2 * PAGE, m_slots->bytes);
    EXPECT_FALSE(ucs_reuse_slot_is_sent(at(number)));

    slot = acquire(number, 16 * PAGE + 5, 17 * PAGE);
    ASSERT_EQ(at(number), slot);
    EXPECT_EQ(reinterpret_cast<void*>(16), slot->handle);
    EXPECT_TRUE(ucs_reuse_slot_is_sent(slot));
    EXPECT_EQ(slot, acquire(number, 17 * PAGE, 18 * PAGE));
    ucs_reuse_slot_release(slot);
    EXPECT_TRUE(ucs_reuse_slot_is_sent(slot));
    ucs_reuse_slot_release(slot);
    EXPECT_FALSE(ucs_reuse_slot_is_sent(slot));
}

TEST_F(test_reuse_slots, what_is_not_all_registered_is_refused) {
    uint32_t number = fill(16, 18);

    EXPECT_NE(nullptr, acquire(number, 16 * PAGE, 18 * PAGE));
    ucs_reuse_slot_release(at(number));
    EXPECT_EQ(nullptr, acquire(number, 16 * PAGE - 1, 17 * PAGE));
    EXPECT_EQ(nullptr, acquire(number, 17 * PAGE, 18 * PAGE + 1));
    EXPECT_EQ(nullptr, acquire(number, 15 * PAGE, 19 * PAGE));
    EXPECT_EQ(nullptr, acquire(number, 20 * PAGE, 21 * PAGE));
    EXPECT_FALSE(ucs_reuse_slot_is_sent(at(number)));
}

TEST_F(test_reuse_slots, unmapping_marks_exactly_what_overlaps) {
    uint32_t a = fill(10, 12);
    uint32_t b = fill(12, 14);
    uint32_t c = fill(14, 16);

    ucs_reuse_slots_unmapped(m_slots, 12 * PAGE, 14 * PAGE);
    EXPECT_TRUE(is_live(a, 10));
    EXPECT_FALSE(is_live(b, 12));
    EXPECT_TRUE(is_live(c, 14));
    EXPECT_EQ(1u, m_slots->num_dead);

    unmap(9, 10);
    EXPECT_TRUE(is_live(a, 10));
    unmap(11, 12);
    EXPECT_FALSE(is_live(a, 10));
    unmap(15, 20);
    EXPECT_FALSE(is_live(c, 14));
    EXPECT_EQ(3u, m_slots->num_dead);
    unmap(0, 100); /* They are dead already */
    EXPECT_EQ(3u, m_slots->num_dead);
}

TEST_F(test_reuse_slots, all_memory_can_be_unmapped) {
    uint32_t a = fill(10, 12);
    uint32_t b = fill(1000, 1001);

    ucs_reuse_slots_unmapped(m_slots, 0, UINTPTR_MAX);
    EXPECT_FALSE(is_live(a, 10));
    EXPECT_FALSE(is_live(b, 1000));
}

TEST_F(test_reuse_slots, a_dead_one_is_taken_when_nothing_is_in_flight) {
    uint32_t number         = fill(10, 12);
    ucs_reuse_slot_t *slot = acquire(number, 10 * PAGE, 11 * PAGE);

    EXPECT_EQ(nullptr, ucs_reuse_slots_take_dead(m_slots));
    unmap(10, 11);
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_dead(m_slots));
    EXPECT_EQ(nullptr, acquire(number, 10 * PAGE, 11 * PAGE));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_dead(m_slots));
    ucs_reuse_slot_release(slot);
    EXPECT_EQ(slot, ucs_reuse_slots_take_dead(m_slots));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_dead(m_slots));
    EXPECT_EQ(0u, m_slots->num_dead);

    EXPECT_EQ(2 * PAGE, m_slots->bytes);
    ucs_reuse_slots_free(m_slots, slot);
    EXPECT_EQ(0u, m_slots->bytes);
    EXPECT_EQ(nullptr, acquire(number, 10 * PAGE, 11 * PAGE));
    unmap(0, 100); /* Nobody's memory */
    EXPECT_EQ(0u, m_slots->num_dead);
}

TEST_F(test_reuse_slots, a_slot_is_retired_once) {
    uint32_t number = fill(10, 12);

    ucs_reuse_slots_retire(m_slots, ucs_reuse_slots_at(m_slots, number));
    ucs_reuse_slots_retire(m_slots, ucs_reuse_slots_at(m_slots, number));
    EXPECT_EQ(1u, m_slots->num_dead);
    EXPECT_NE(nullptr, ucs_reuse_slots_take_dead(m_slots));
    ucs_reuse_slots_retire(m_slots, at(number)); /* It is taken */
    EXPECT_EQ(0u, m_slots->num_dead);
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_dead(m_slots));
}

TEST_F(test_reuse_slots, a_slot_that_is_put_back_is_dead_for_another_time) {
    uint32_t number         = fill(10, 12);
    ucs_reuse_slot_t *slot = ucs_reuse_slots_take_victim(m_slots);

    ASSERT_EQ(at(number), slot);
    EXPECT_FALSE(is_live(number, 10));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_dead(m_slots));
    ucs_reuse_slots_put_dead(m_slots, slot);
    EXPECT_FALSE(is_live(number, 10));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_victim(m_slots));
    EXPECT_EQ(slot, ucs_reuse_slots_take_dead(m_slots));
}

TEST_F(test_reuse_slots, a_free_slot_is_filled_again) {
    uint32_t number = fill(10, 12);

    ucs_reuse_slots_retire(m_slots, ucs_reuse_slots_at(m_slots, number));
    ucs_reuse_slots_free(m_slots, ucs_reuse_slots_take_dead(m_slots));
    EXPECT_EQ(number, fill(20, 21));

    /* Who remembers the number does not send other memory by it */
    EXPECT_EQ(nullptr, acquire(number, 10 * PAGE, 11 * PAGE));
    EXPECT_TRUE(is_live(number, 20));
    EXPECT_EQ(PAGE, m_slots->bytes);
}

TEST_F(test_reuse_slots, a_taken_slot_is_not_filled) {
    uint32_t number = fill(10, 12);

    EXPECT_EQ(at(number), ucs_reuse_slots_take_victim(m_slots));
    EXPECT_NE(number, fill(20, 21));
}

TEST_F(test_reuse_slots, victims_are_those_not_used_of_late) {
    uint32_t a = fill(10, 11);
    uint32_t b = fill(11, 12);
    uint32_t c = fill(12, 13);

    /* The first round finds all of them new, so that it takes the first one of
     * the second round */
    EXPECT_EQ(at(a), ucs_reuse_slots_take_victim(m_slots));
    EXPECT_TRUE(is_live(b, 11)); /* It is used */
    EXPECT_EQ(at(c), ucs_reuse_slots_take_victim(m_slots));
    EXPECT_EQ(at(b), ucs_reuse_slots_take_victim(m_slots));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_victim(m_slots));
}

TEST_F(test_reuse_slots, a_victim_has_nothing_in_flight) {
    uint32_t a              = fill(10, 11);
    uint32_t b              = fill(11, 12);
    ucs_reuse_slot_t *slot = acquire(a, 10 * PAGE, 11 * PAGE);

    EXPECT_EQ(at(b), ucs_reuse_slots_take_victim(m_slots));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_victim(m_slots));
    EXPECT_TRUE(is_live(a, 10));
    ucs_reuse_slot_release(slot);
    EXPECT_EQ(at(a), ucs_reuse_slots_take_victim(m_slots));
}

TEST_F(test_reuse_slots, there_is_no_victim_of_none) {
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_victim(m_slots));
    EXPECT_EQ(nullptr, ucs_reuse_slots_take_any(m_slots));
}

TEST_F(test_reuse_slots, a_full_table_takes_no_more) {
    std::set<uint32_t> numbers;

    for (unsigned i = 0; i < UCS_REUSE_MAX_SLOTS; ++i) {
        uint32_t number = fill(i + 1, i + 2);

        ASSERT_NE(0u, number);
        ASSERT_TRUE(numbers.insert(number).second);
    }
    EXPECT_EQ(0u, fill(100000, 100001));
    EXPECT_EQ(UCS_REUSE_MAX_SLOTS * PAGE, m_slots->bytes);

    ucs_reuse_slots_free(m_slots, ucs_reuse_slots_take_victim(m_slots));
    EXPECT_NE(0u, fill(100000, 100001));
    EXPECT_EQ(0u, fill(100001, 100002));
}

TEST_F(test_reuse_slots, at_the_end_all_are_taken) {
    uint32_t live   = fill(10, 11);
    uint32_t dead   = fill(11, 12);
    uint32_t flying = fill(12, 13);
    uint32_t taken  = fill(13, 14);
    std::set<ucs_reuse_slot_t*> slots;
    ucs_reuse_slot_t *slot;

    acquire(flying, 12 * PAGE, 13 * PAGE);
    ucs_reuse_slots_retire(m_slots, ucs_reuse_slots_at(m_slots, taken));
    EXPECT_EQ(at(taken), ucs_reuse_slots_take_dead(m_slots));
    ucs_reuse_slots_retire(m_slots, ucs_reuse_slots_at(m_slots, dead));

    while ((slot = ucs_reuse_slots_take_any(m_slots)) != nullptr) {
        EXPECT_TRUE(slots.insert(slot).second);
        ucs_reuse_slots_free(m_slots, slot);
    }
    EXPECT_EQ((std::set<ucs_reuse_slot_t*>{at(live), at(dead), at(flying)}),
              slots);
    EXPECT_EQ(0u, m_slots->num_dead);
    EXPECT_EQ(PAGE, m_slots->bytes);
}

/* Threads that fill slots, use them, unmap their memory and take them: nobody
 * sends by a slot that another one has taken */
TEST_F(test_reuse_slots, many_threads) {
    static constexpr unsigned PAGES = 16;
    std::vector<std::thread> threads;
    std::atomic<uint32_t> numbers[PAGES] = {};
    std::atomic<int> registered[PAGES]   = {};
    std::atomic<unsigned> wrong{0};
    std::atomic<unsigned> used{0};
    std::atomic<int> stop{0};

    auto take = [&](ucs_reuse_slot_t *slot) {
        if (slot != nullptr) {
            auto page = reinterpret_cast<uintptr_t>(
                    slot->handle) - 1;

            if (--registered[page] < 0) {
                ++wrong;
            }
            ucs_reuse_slots_free(m_slots, slot);
        }
    };

    for (unsigned t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            unsigned i = 0;

            while (!stop) {
                unsigned page           = i++ % PAGES;
                uintptr_t start         = PAGE * (page + 1);
                uint32_t number         = numbers[page];
                ucs_reuse_slot_t *slot = (number == 0) ? nullptr :
                                          acquire(number, start, start + 8);

                if (slot != nullptr) {
                    if ((registered[page] <= 0) ||
                        (slot->handle !=
                         reinterpret_cast<void*>(uintptr_t(page + 1)))) {
                        ++wrong;
                    }
                    ++used;
                    ucs_reuse_slot_release(slot);
                }
            }
        });
    }

    threads.emplace_back([&] {
        for (unsigned i = 0; (i < 100000) || (used < 1000); ++i) {
            unsigned page = (i * 5) % PAGES;

            ++registered[page];
            numbers[page] = fill(page + 1, page + 2);
            if (i % 3 == 0) {
                unmap(page + 1, page + 2);
            }
            take(ucs_reuse_slots_take_dead(m_slots));
            if (i % 2 == 0) {
                take(ucs_reuse_slots_take_victim(m_slots));
            }
        }
        stop = 1;
    });

    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0u, wrong);

    ucs_reuse_slot_t *slot;
    while ((slot = ucs_reuse_slots_take_any(m_slots)) != nullptr) {
        take(slot);
    }
    EXPECT_EQ(0u, wrong);
    EXPECT_EQ(0u, m_slots->bytes);
    for (auto &count : registered) {
        EXPECT_EQ(0, count);
    }
}
